// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Measures the time that a program spends in transfers, waiting or copying. The destructor adds the
// seconds since construction to the mesh's total (mesh::communication_seconds). A timer that starts
// while another one runs adds nothing. If transfers are pending at the start, the destructor also
// passes the seconds to operation_queue::count_waiting.

#include <optional>

#include <ashlar/comm/mesh_core.hpp>
#include <ashlar/support/stopwatch.hpp>

namespace ashlar {

class transfer_timer {
 public:
  explicit transfer_timer(mesh_core& m) {
    if (m.is_timed) return;
    m.is_timed = true;
    mesh_ = &m;
    is_beside_ = m.operations != nullptr && !m.operations->idle();
    time_.emplace();
  }
  transfer_timer(transfer_timer const&) = delete;
  ~transfer_timer() {
    if (mesh_ == nullptr) return;
    double const seconds = time_->seconds();
    mesh_->seconds += seconds;
    if (is_beside_) mesh_->operations->count_waiting(seconds);
    mesh_->is_timed = false;
  }

 private:
  bool is_beside_ = false;
  mesh_core* mesh_ = nullptr;      // null if another timer of this mesh is running
  std::optional<stopwatch> time_;  // empty in that case, which saves reading the clock
};

}  // namespace ashlar
