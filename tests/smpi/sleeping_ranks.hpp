// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Replaces the system's sched_yield, which a waiting rank of the library calls between two polls.
// This version sleeps, because polls take no simulated time. Include this header in exactly one
// translation unit of a program.

#include <support/simulated_element.hpp>

namespace ashlar_test {

/// The simulated seconds for which a waiting rank sleeps between two polls.
inline double nap = 1e-6;

}  // namespace ashlar_test

extern "C" int sched_yield() noexcept {
  ashlar_test::sleep_for(ashlar_test::nap);
  return 0;
}
