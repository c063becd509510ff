// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <utility>

namespace ashlar {

/// Moves `value` to memory that is never freed, for buffers that MPI may use after an exception has
/// ended their transfer. The process can still reach them, so that leak checkers do not report
/// them. Only the thread that calls MPI may call this function.
template <class T>
void keep_forever(T value) {
  struct kept {
    T value;
    kept* before;
  };
  static kept* last = nullptr;
  last = new kept{std::move(value), last};
}

}  // namespace ashlar
