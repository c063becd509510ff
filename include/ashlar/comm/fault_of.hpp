// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Turns the exception of some work into a text, which one rank can send to the others.

#include <exception>
#include <string>

#include <ashlar/support/error.hpp>

namespace ashlar {

/// Calls work() and returns the text of the exception that work() throws. If the exception is an
/// ashlar::error, the text is without its operation. Returns an empty string if and only if work()
/// throws nothing.
template <class Work>
std::string fault_of(Work work) {
  std::string text;
  try {
    work();
    return {};
  } catch (error const& e) {
    text = std::string(e.what()).substr(e.operation().size() + 2);
  } catch (std::exception const& e) {
    text = e.what();
  } catch (...) {
  }
  return text.empty() ? "an exception without a text" : text;
}

}  // namespace ashlar
