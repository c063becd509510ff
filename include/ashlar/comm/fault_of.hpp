// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Turns the exception of some work into a text, which one rank can send to the others.

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include <ashlar/support/error.hpp>

namespace ashlar {

/// Calls work() and returns the text of the exception that work() throws. If the exception is an
/// ashlar::error, the text does not include error::operation(). Returns an empty string if and only
/// if work() throws nothing.
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

/// Throws the same ashlar::error of `operation` on every rank. The error names rank `owner` and
/// contains that rank's `fault`; the `fault` of other ranks is ignored. spread(values) gives every
/// rank the values of `owner`. Every rank calls this function. Communicates: two spreads.
template <class Spread>
[[noreturn]] void throw_fault_of(std::int64_t owner, char const* operation,
                                 std::string const& fault, Spread const& spread) {
  auto length = static_cast<std::int64_t>(fault.size());
  spread(std::span(&length, 1));
  std::vector<std::int32_t> letters(fault.begin(), fault.end());
  letters.resize(static_cast<std::size_t>(length));
  spread(std::span(letters));
  std::string text;
  for (auto const letter : letters) text += static_cast<char>(letter);
  throw error(operation, "on rank " + std::to_string(owner) + ": " + text);
}

}  // namespace ashlar
