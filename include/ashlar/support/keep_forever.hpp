// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <atomic>
#include <utility>

namespace ashlar {

/// Moves `value` to memory that is never freed, for what MPI may use after an exception has ended a
/// transfer. The process can still reach it, so that leak checkers do not report it. Any thread may
/// call this function.
template <class T>
void keep_forever(T value) {
  struct kept {
    T value;
    kept* before;
  };
  static std::atomic<kept*> last{nullptr};
  auto* const made = new kept{std::move(value), last.load()};
  while (!last.compare_exchange_weak(made->before, made)) {
  }
}

}  // namespace ashlar
