// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Says whether a test is to run all its cases, as the line `// thorough: NAME=all` of its file has
// it (CONTRIBUTING.md).

#include <cstdlib>
#include <string_view>

namespace ashlar_test {

/// Returns whether the environment variable `name` is "all".
inline bool wants_all(char const* name) {
  char const* const value = std::getenv(name);
  return value != nullptr && std::string_view(value) == "all";
}

}  // namespace ashlar_test
