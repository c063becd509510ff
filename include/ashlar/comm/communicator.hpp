// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// What a transport must do: carry one exchange, at once or in the background. Backends (mpi) and
// decorators (counting) implement the two functions; nothing above this room knows which it has.
// The call is virtual because decorators come and go at run time; it costs nanoseconds where the
// cheapest exchange costs a microsecond.
//
//   kind            send                       recv
//   all_gather      my block                   every block, in group order   recv_counts: all blocks
//   reduce_scatter  every block                my block, reduced             recv_counts: all blocks
//   all_reduce      (in place, in recv)        recv_counts[0] elements
//   all_to_all      a block per member         a block from each member      both counts
//   permute         to member `to`             from member `from`            one count each
//                   where ranks do not pair up: counts per member, carried like an all_to_all
//
// Groups are named by axes (mesh/topology.hpp); blocks lie back to back. Reductions happen in an
// order that depends on the group only.

#include <memory>
#include <span>

#include <ashlar/comm/element_type.hpp>
#include <ashlar/machine/collective.hpp>
#include <ashlar/mesh/topology.hpp>

namespace ashlar {

struct exchange {
  collective kind = collective::all_gather;
  axis_list axes;
  element_type type = element_type::f32;
  reduction op = reduction::sum;
  void const* send = nullptr;
  void* recv = nullptr;
  std::span<std::int64_t const> send_counts;
  std::span<std::int64_t const> recv_counts;
  int to = 0;
  int from = 0;

  /// The kind of message pattern, which is that of `kind` but for a permute that is not pairwise.
  collective pattern() const {
    bool const per_member = kind == collective::permute && recv_counts.size() > 1;
    return per_member ? collective::all_to_all : kind;
  }
};

/// An exchange under way. Its buffers and counts must stay until wait() or destruction, which waits.
class pending_exchange {
 public:
  virtual ~pending_exchange() = default;
  virtual void wait() = 0;
  /// Whether it has ended; lets the transport make progress.
  virtual bool test() = 0;
};

class communicator {
 public:
  virtual ~communicator() = default;
  communicator() = default;
  communicator(communicator const&) = delete;
  communicator& operator=(communicator const&) = delete;

  /// Carries an exchange to its end. Collective over the group.
  virtual void run(exchange const& what) = 0;
  /// Begins an exchange. Collective over the group.
  virtual std::unique_ptr<pending_exchange> start(exchange const& what) = 0;
  /// Waits for all ranks of the mesh.
  virtual void barrier() = 0;
};

}  // namespace ashlar
