// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Measures the time that a program spends in transfers, waiting or copying. The destructor adds the
// time since construction to the mesh's seconds, unless an enclosing timer already counts it.

#include <chrono>

#include <ashlar/comm/mesh_core.hpp>

namespace ashlar {

class transfer_timer {
 public:
  explicit transfer_timer(mesh_core& m) : mesh_(m.is_timed ? nullptr : &m) {
    m.is_timed = true;
    if (mesh_ != nullptr) start_ = clock::now();
  }
  transfer_timer(transfer_timer const&) = delete;
  ~transfer_timer() {
    if (mesh_ == nullptr) return;
    mesh_->seconds += std::chrono::duration<double>(clock::now() - start_).count();
    mesh_->is_timed = false;
  }

 private:
  using clock = std::chrono::steady_clock;
  mesh_core* mesh_;
  clock::time_point start_;
};

}  // namespace ashlar
