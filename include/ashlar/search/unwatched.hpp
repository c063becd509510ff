// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The run of a search that nobody limits or looks at: what detail::watch (algorithm.hpp) is, without
// a clock, so that it can be in the compiler.

namespace ashlar::search::detail {

struct unwatched {
  constexpr bool go_on() { return true; }
  constexpr bool improves(double) { return true; }
  constexpr void raise_bound(double) {}
};

}  // namespace ashlar::search::detail
