// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The interface of a transport. A transport carries out transfers (transfer.hpp), either blocking
// or in the background. It decides whether elements are copied from a neighbour's memory or sent as
// messages. Backends (mpi, nccl) and decorators (counting.hpp) implement the interface. The
// functions are virtual because decorators are added and removed at run time. A virtual call costs
// nanoseconds, but even the cheapest transfer costs a microsecond.
//
// The source and the target of a transfer must not overlap, except that an all-reduce may be
// in-place. Until a transfer has ended, its source must not be written and its target must not be
// accessed.

#include <memory>

#include <ashlar/comm/element_type.hpp>
#include <ashlar/comm/operation_queue.hpp>
#include <ashlar/comm/transfer.hpp>

namespace ashlar {

/// A transfer, its source and target arrays, and its ticket. The ticket is the transfer's number in
/// its group of axes (operation_queue.hpp).
///
/// Local steps of a plan (slice and zero_pad) have ticket 0. Whether start() gets them depends on
/// the backend:
/// - On the host, start() gets no local steps.
/// - On a device, start() gets a local step if is_queued() is true for an earlier step of the same
///   plan. So the device's queue runs the local step after the earlier one.
struct transfer_request {
  transfer const* what = nullptr;
  element_type type = element_type::f32;
  void const* source = nullptr;
  void* target = nullptr;
  std::uint64_t ticket = 0;
  /// The name of the tensor that is moved, such as "1.3.0.weight", for messages to the user
  /// (operation_label.hpp). Null means that it has no name.
  char const* label = nullptr;
};

class communicator {
 public:
  virtual ~communicator() = default;
  communicator() = default;
  communicator(communicator const&) = delete;
  communicator& operator=(communicator const&) = delete;

  /// Creates the communicators that groups along `axes` need. Must be called before the first
  /// transfer of these groups. All ranks must call open() in the same order, while they may call
  /// start() in different orders. Collective over the mesh.
  virtual void open(axis_list const& axes) = 0;
  /// Carries out a transfer and returns when it has ended. Collective over the group.
  virtual void run(transfer_request const& s) = 0;
  /// Begins a transfer, which later calls of advance() continue. The objects to which `s` points
  /// must live until the transfer has ended. The destructor of the returned object waits for the
  /// end of the transfer. Collective over the group.
  virtual std::unique_ptr<pending_operation> start(transfer_request const& s) = 0;
  /// Notes that a crossing begins, which is a move of a tensor to or from another part of the mesh.
  /// This rank receives `received_bytes` bytes in the crossing. Only decorators that record
  /// transfers use this call. All decorators pass it on.
  virtual void note_crossing(std::int64_t received_bytes) { (void)received_bytes; }
  /// Waits for all ranks of the mesh.
  virtual void barrier() = 0;
  /// Returns whether operations that begin now are captured for later replay. The program cannot
  /// query whether a captured operation has ended.
  virtual bool is_captured() const { return false; }
};

}  // namespace ashlar
