// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// What a transport must do: carry one transfer (transfer.hpp), at once or bit by bit. Whether the
// elements come out of a neighbour's memory or as messages is its business, never the plan's.
// Backends (mpi) and decorators (counting) implement it; nothing above this room knows which it has.
// The call is virtual because decorators come and go at run time; it costs nanoseconds where the
// cheapest transfer costs a microsecond.
//
// Source and target do not overlap, except that an all-reduce may have one array as both. Until a
// transfer has ended the source must not be written, nor the target touched.

#include <memory>

#include <ashlar/comm/element_type.hpp>
#include <ashlar/comm/operation_queue.hpp>
#include <ashlar/comm/transfer.hpp>

namespace ashlar {

/// A transfer, the arrays it goes between, and its turn (operation_queue.hpp). A step that stays on its rank has
/// none (0): it is started only behind one that is_queued.
struct transfer_request {
  transfer const* what = nullptr;
  element_type type = element_type::f32;
  void const* source = nullptr;
  void* target = nullptr;
  std::uint64_t ticket = 0;
};

class communicator {
 public:
  virtual ~communicator() = default;
  communicator() = default;
  communicator(communicator const&) = delete;
  communicator& operator=(communicator const&) = delete;

  /// Makes what the groups along `axes` need, if this is their first transfer. Called in program
  /// order, unlike start. Collective over the mesh.
  virtual void open(axis_list const& axes) = 0;
  /// Carries a transfer to its end. Collective over the group.
  virtual void run(transfer_request const& s) = 0;
  /// Begins a transfer, which goes on when advance() is called. What `s` points to must stay until
  /// it has ended; dropping it waits for its end. Collective over the group.
  virtual std::unique_ptr<pending_operation> start(transfer_request const& s) = 0;
  /// Waits for all ranks of the mesh.
  virtual void barrier() = 0;
  /// Whether what is begun now is written down for later: nobody can ask when it ends.
  virtual bool is_captured() const { return false; }
};

}  // namespace ashlar
