// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Letters between the ranks of a mesh, independent of the transfers of the mesh. A letter needs no
// ticket, and nobody waits for a letter. The receiving rank takes a letter when this rank next
// advances its pending transfers (operation_queue.hpp): while it waits, between the actions of a
// training step, and between blocks of a computation. Then a handler gets the complete letter.
//
//   expect(from, kind, bytes)        from now on, receives letters of this kind from rank `from`
//   send(to, kind, bytes, fill)      sends a letter that fill(span of bytes) writes
//   handler(from, kind, letter)      must not wait; it may send letters
//
// All letters of one kind from one rank to another have the same size and arrive in the order in
// which they were sent. A rank may send letters to itself. The mailbox has an MPI communicator of
// its own.
//
// The destructor waits until MPI has sent all letters. So the receivers must still expect letters
// at that time: ranks destroy their mailboxes only after a barrier.

#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <mpi.h>

#include <ashlar/comm/mpi/check.hpp>
#include <ashlar/comm/operation_queue.hpp>
#include <ashlar/support/error.hpp>
#include <ashlar/support/exception_watch.hpp>
#include <ashlar/support/keep_forever.hpp>

namespace ashlar::mpi {

class mailbox final : public pending_operation {
 public:
  using handler = std::function<void(int from, int kind, std::span<std::byte const>)>;

  /// `operations` advances the mailbox, and must outlive the mailbox. Nothing else may use `comm`.
  mailbox(operation_queue& operations, MPI_Comm comm, handler take)
      : operations_(&operations), comm_(comm), take_(std::move(take)) {
    operations.serve(*this);
  }
  mailbox(mailbox const&) = delete;
  mailbox& operator=(mailbox const&) = delete;
  ~mailbox() override {
    operations_->stop_serving(*this);
    if (watch_.is_passing() || operations_->is_abandoned()) {
      // MPI may still use the buffers.
      keep_forever(std::move(expected_));
      keep_forever(std::move(sent_));
      return;
    }
    for (auto& e : expected_) {
      MPI_Cancel(&e.request);
      MPI_Wait(&e.request, MPI_STATUS_IGNORE);
    }
    for (auto& s : sent_) MPI_Wait(&s.request, MPI_STATUS_IGNORE);
  }

  /// From now on, receives letters of kind `kind` and of `bytes` bytes from rank `from`.
  void expect(int from, int kind, std::size_t bytes) {
    expected_.push_back(letter_of(from, kind, bytes));
    receive(expected_.back());
  }

  /// Sends a letter of `bytes` bytes, which fill(std::span<std::byte>) writes.
  template <class Fill>
  void send(int to, int kind, std::size_t bytes, Fill const& fill) {
    auto& own = free_letter(to, kind, bytes);
    fill(std::span(own.buffer.get(), bytes));
    check(MPI_Isend(own.buffer.get(), static_cast<int>(bytes), MPI_BYTE, to, kind, comm_,
                    &own.request));
  }

  /// Gives the letters that have arrived to the handler. Returns false: a mailbox does not end.
  bool advance() override {
    for (std::size_t i = 0; i < expected_.size(); ++i) {
      auto& e = expected_[i];
      if (!has_ended(e)) continue;
      try {
        take_(e.rank, e.kind, std::span<std::byte const>(e.buffer.get(), e.bytes));
      } catch (...) {
        operations_->abandon();
        throw;
      }
      receive(e);
    }
    for (auto& s : sent_) has_ended(s);
    return false;
  }

 private:
  struct letter {
    int rank, kind;
    std::size_t bytes;
    std::unique_ptr<std::byte[]> buffer;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  static letter letter_of(int rank, int kind, std::size_t bytes) {
    if (bytes > static_cast<std::size_t>(most_bytes))
      throw error("mailbox", "a letter of " + std::to_string(bytes) +
                                 " bytes is too large for one message. Use more ranks.");
    return {rank, kind, bytes, std::make_unique_for_overwrite<std::byte[]>(bytes)};
  }
  void receive(letter& e) {
    check(MPI_Irecv(e.buffer.get(), static_cast<int>(e.bytes), MPI_BYTE, e.rank, e.kind, comm_,
                    &e.request));
  }
  static bool has_ended(letter& l) {
    int ended = 0;
    check(MPI_Test(&l.request, &ended, MPI_STATUS_IGNORE));
    return ended != 0;
  }
  /// Returns a letter whose buffer MPI does not use.
  letter& free_letter(int to, int kind, std::size_t bytes) {
    for (auto& s : sent_)
      if (s.rank == to && s.kind == kind && s.bytes == bytes && has_ended(s)) return s;
    sent_.push_back(letter_of(to, kind, bytes));
    return sent_.back();
  }

  static constexpr int most_bytes = std::numeric_limits<int>::max();

  operation_queue* operations_;
  MPI_Comm comm_;
  handler take_;
  std::vector<letter> expected_, sent_;
  exception_watch watch_;
};

}  // namespace ashlar::mpi
