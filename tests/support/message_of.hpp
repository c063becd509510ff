// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Helpers for tests of error messages: the text of the ashlar::error that an action throws, and
// searches in texts.

#include <string>

#include <ashlar/support/error.hpp>

namespace ashlar_test {

template <class Action>
std::string message_of(Action action) {
  try {
    action();
  } catch (ashlar::error const& e) {
    return e.what();
  }
  return "nothing was thrown";
}

inline bool has(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

inline int occurrences(std::string const& text, std::string const& part) {
  int n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

}  // namespace ashlar_test
