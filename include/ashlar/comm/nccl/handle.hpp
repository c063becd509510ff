// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// One NCCL communicator, from its creation to its destruction. All its calls are non-blocking.
// settle() polls until a call has ended. For calls that create a communicator, a deadline limits
// this wait, so that a rank does not wait forever for a dead rank. The watchdog limits the wait for
// operations, because it knows whether the other ranks are only late.
//
//   created     from the unique id of all ranks, or by splitting another communicator; all members
//               do this at the same point of the program
//   destroyed   by finalize and destroy; by abort after a fault, since finalize would hang
//
// The watchdog's thread may abort the communicator at any time. So every call is made under a lock,
// and throws after an abort. Except in the destructor, the lock is never held for long, because no
// call blocks.

#include <chrono>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include <ashlar/comm/nccl/error.hpp>
#include <ashlar/comm/nccl/unique_id.hpp>

namespace ashlar::nccl {

class handle {
 public:
  using milliseconds = std::chrono::milliseconds;

  /// Creates the communicator of all ranks. Collective over all ranks of the program. The caller
  /// must have selected the device.
  handle(unique_id const& id, int rank, int size, milliseconds deadline)
      : where_{rank, "", "ncclCommInitRankConfig"}, deadline_(deadline), name_("ashlar") {
    ncclUniqueId bytes;
    static_assert(sizeof bytes == sizeof id);
    std::memcpy(&bytes, &id, sizeof bytes);
    auto config = settings();
    make(ncclCommInitRankConfig(&comm_, size, bytes, rank, &config));
  }
  /// Creates a communicator by splitting `parent`. The members of the new communicator are the
  /// ranks that give the same `color`, ordered by their keys. Collective over the parent. `name` is
  /// the name of the axes for NCCL's log. If `is_alone`, the communicators that are split from the
  /// new one do not share its buffers.
  handle(handle& parent, int color, int key, std::string name, bool is_alone = false)
      : where_{parent.where_.rank, name, "ncclCommSplit"}, deadline_(parent.deadline_),
        name_("ashlar " + std::move(name)) {
    auto config = settings();
    // splitShare says whether communicators that are split from the new one share its buffers: NCCL
    // reads this setting of the parent. The communicators of a part's groups share the buffers of
    // the part, because a part and its groups use the same stream one after another. The
    // communicator of all ranks does not set this, so the communicators that are split from it
    // share nothing. These are the groups of the mesh, its parts, and the communicator of
    // crossings, which runs at the same time as transfers.
    config.splitShare = is_alone ? 0 : 1;
    // split() waits until the parent has ended the split. Only then has NCCL written comm_.
    parent.split(where_, color, key, &comm_, config);
    make(ncclSuccess);
  }
  /// Takes part in a split of this communicator without becoming a member of a new one. Collective.
  void stay_out_of_split() {
    ncclComm_t none = nullptr;
    split({where_.rank, where_.axes, "ncclCommSplit"}, NCCL_SPLIT_NOCOLOR, 0, &none, settings());
  }
  handle(handle const&) = delete;
  handle& operator=(handle const&) = delete;
  ~handle() {
    std::lock_guard const lock(mutex_);
    if (comm_ == nullptr) return;
    ncclResult_t state = ncclSuccess;
    auto const end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    bool is_well = ncclCommGetAsyncError(comm_, &state) == ncclSuccess && state == ncclSuccess;
    if (is_well) {
      auto const status = ncclCommFinalize(comm_);
      is_well = status == ncclSuccess || status == ncclInProgress;
    }
    while (is_well && ncclCommGetAsyncError(comm_, &state) == ncclSuccess &&
           state == ncclInProgress && std::chrono::steady_clock::now() < end)
      std::this_thread::yield();
    if (is_well && state == ncclSuccess) ncclCommDestroy(comm_);
    else ncclCommAbort(comm_);
  }

  /// Calls f(communicator) under the lock. Throws ashlar::error if this call fails, or if the
  /// communicator was aborted.
  template <class Call>
  ncclResult_t call(call_site const& where, Call const& f) {
    auto const lock = hold();
    ncclComm_t const comm = get(where);
    ncclResult_t const status = f(comm);
    check(status, where, comm);
    return status;
  }
  /// Locks the communicator, for several calls.
  std::unique_lock<std::mutex> hold() { return std::unique_lock(mutex_); }
  /// Returns the communicator. Requires the lock from hold().
  ncclComm_t get(call_site const& where) const {
    if (comm_ == nullptr)
      throw error("nccl", to_string(where) + ": the communicator was aborted. " + why_down_);
    return comm_;
  }

  /// Waits until NCCL has given the previous call to the device. The first operations of a group
  /// wait here for the other members, with which NCCL connects this rank. Throws ashlar::error if
  /// the call fails, if the watchdog aborts the communicator, or if `is_limited` and the call does
  /// not end before the deadline.
  void settle(call_site const& where, bool is_limited = false) {
    auto const end = std::chrono::steady_clock::now() + deadline_;
    for (ncclResult_t state = ncclInProgress;;) {
      call(where, [&](ncclComm_t comm) { return ncclCommGetAsyncError(comm, &state); });
      if (state == ncclSuccess) return;
      check(state, where);
      if (is_limited && std::chrono::steady_clock::now() > end)
        throw error("nccl", to_string(where) + ": " + explain(ncclInProgress));
      std::this_thread::yield();
    }
  }

  /// Returns the error message of an asynchronous fault of this or another rank, or an empty
  /// string. Thread-safe.
  std::string fault() {
    auto const lock = hold();
    ncclResult_t state = ncclSuccess;
    if (comm_ == nullptr || ncclCommGetAsyncError(comm_, &state) != ncclSuccess) return "";
    if (state == ncclSuccess || state == ncclInProgress) return "";
    call_site where = where_;
    where.what = "while operations were pending";
    return to_string(where) + ": " + explain(state, comm_);
  }
  /// Aborts pending operations and makes all later calls throw. Thread-safe.
  void abort(std::string const& why) {
    std::lock_guard const lock(mutex_);
    if (comm_ == nullptr) return;
    why_down_ = why;
    ncclCommAbort(std::exchange(comm_, nullptr));
  }

 private:
  ncclConfig_t settings() const {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    config.commName = name_.c_str();
    return config;
  }
  /// Splits this communicator and waits until NCCL has written the new one to *made. If that fails,
  /// aborts this communicator, so that NCCL does not write to *made later, and throws
  /// ashlar::error.
  void split(call_site const& where, int color, int key, ncclComm_t* made, ncclConfig_t config) {
    try {
      call(where, [&](ncclComm_t comm) { return ncclCommSplit(comm, color, key, made, &config); });
      settle(where, true);
    } catch (error const& e) {
      abort(e.what());
      throw;
    }
  }
  /// Waits until the communicator is ready. `status` is the result of the call that creates it.
  void make(ncclResult_t status) {
    try {
      check(status, where_);
      settle(where_, true);
    } catch (...) {
      abort("It could not be created.");
      throw;
    }
  }

  call_site where_;
  milliseconds deadline_;
  std::string name_;
  ncclComm_t comm_ = nullptr;
  std::string why_down_;
  std::mutex mutex_;
};

}  // namespace ashlar::nccl
