// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The interface of a transport, which carries out transfers (transfer.hpp), either blocking or in
// the background. The transport decides whether elements are copied from a neighbour's memory or
// sent as messages; a plan does not depend on it. Backends (mpi) and decorators (counting)
// implement this interface, and code above this room does not know which implementation it uses.
// The functions are virtual because decorators are added and removed at run time. A virtual call
// costs nanoseconds, the cheapest transfer a microsecond.
//
// Source and target do not overlap, except that an all-reduce may be in-place. Until a transfer has
// ended, its source must not be written and its target must not be accessed.

#include <memory>

#include <ashlar/comm/element_type.hpp>
#include <ashlar/comm/operation_queue.hpp>
#include <ashlar/comm/transfer.hpp>

namespace ashlar {

/// A transfer, its source and target arrays, and its ticket (operation_queue.hpp). A local step of
/// a plan (slice or zero_pad) needs no ticket and has ticket 0. Only devices are given local steps,
/// to run them in the order of their queue: start() gets one only after a step of the same plan for
/// which is_queued() is true.
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

  /// Creates the communicators that groups along `axes` need, if this is their first transfer.
  /// Unlike start, it must be called in program order. Collective over the mesh.
  virtual void open(axis_list const& axes) = 0;
  /// Carries out a transfer and returns when it has ended. Collective over the group.
  virtual void run(transfer_request const& s) = 0;
  /// Begins a transfer; later calls of advance() continue it. The objects that `s` points to must
  /// live until the transfer has ended. Destroying the returned object waits for the end.
  /// Collective over the group.
  virtual std::unique_ptr<pending_operation> start(transfer_request const& s) = 0;
  /// Waits for all ranks of the mesh.
  virtual void barrier() = 0;
  /// Returns whether operations begun now are captured for later replay. Nobody can query when such
  /// an operation ends.
  virtual bool is_captured() const { return false; }
};

}  // namespace ashlar
