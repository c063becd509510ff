// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A crossing between two parts of a mesh that goes on while the program computes. Its messages
// advance whenever the mesh's pending operations do.

#include <utility>

#include <ashlar/comm/mpi/crossing_messages.hpp>
#include <ashlar/comm/operation_queue.hpp>

namespace ashlar::mpi {

class running_crossing final : public pending_operation {
 public:
  /// The arguments after `operations` are those of crossing_messages.
  template <class... Arguments>
  explicit running_crossing(operation_queue& operations, Arguments&&... arguments)
      : operations_(&operations), messages_(std::forward<Arguments>(arguments)...) {
    operations.refuse_if_abandoned();
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
    if (has_ended_) operations_->remove(*this);
    return has_ended_;
  }

 private:
  operation_queue* operations_;
  crossing_messages messages_;
  bool has_ended_ = false;
};

}  // namespace ashlar::mpi
