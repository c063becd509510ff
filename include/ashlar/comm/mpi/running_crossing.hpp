// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A crossing that runs in the background: a tensor moves between two parts of a mesh while the
// program computes. The messages of the crossing advance when the mesh's pending operations
// advance.

#include <utility>

#include <ashlar/comm/mpi/crossing_messages.hpp>
#include <ashlar/comm/operation_queue.hpp>
#include <ashlar/comm/watch/flight_record.hpp>

namespace ashlar::mpi {

class running_crossing final : public pending_operation {
 public:
  /// `both` is the number of the two parts together in the flight record (both_parts.hpp).
  /// `arguments` are those of the constructor of crossing_messages.
  template <class... Arguments>
  running_crossing(operation_queue& operations, watch::flight_record& record, int both,
                   Arguments&&... arguments)
      : operations_(&in_use(operations)), record_(&record),
        messages_(std::forward<Arguments>(arguments)...) {
    number_ = record.began("a crossing between two parts", both);
    operations.add(*this);
  }
  running_crossing(running_crossing const&) = delete;
  running_crossing& operator=(running_crossing const&) = delete;
  ~running_crossing() override {
    if (has_ended_) return;
    operations_->abandon();
    operations_->remove(*this);
  }

  bool advance() override {
    if (has_ended_) return true;
    has_ended_ = messages_.advance();
    if (has_ended_) {
      operations_->remove(*this);
      record_->ended(number_);
    }
    return has_ended_;
  }

 private:
  /// Returns the queue. Throws ashlar::error if the mesh is abandoned, before any message begins.
  static operation_queue& in_use(operation_queue& operations) {
    operations.refuse_if_abandoned();
    return operations;
  }

  operation_queue* operations_;
  watch::flight_record* record_;
  std::uint64_t number_ = 0;  // the number of the crossing in the record
  crossing_messages messages_;
  bool has_ended_ = false;
};

}  // namespace ashlar::mpi
