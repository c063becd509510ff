// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Says which of its cases a test runs. The line `// thorough: NAME=all` in the file of a test asks
// for all cases (CONTRIBUTING.md).

#include <cstdlib>
#include <string_view>

namespace ashlar_test {

/// Returns the value of the environment variable `name`, or an empty text if it is not set.
inline std::string_view wanted_cases(char const* name) {
  char const* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}
/// Returns whether the environment variable `name` is "all".
inline bool wants_all(char const* name) { return wanted_cases(name) == "all"; }

}  // namespace ashlar_test
