// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Memory that is not there, as an error that says what was asked, for what, what is left and what to do:
//
//   who allocates   knows the bytes, and what is left
//   who asked       knows what for: it catches this and throws `asked_by` of it (a tensor names its shape)

#include <cstdint>
#include <string>

#include <ashlar/support/error.hpp>

namespace ashlar {

class out_of_memory : public error {
 public:
  /// "device memory" or "host memory"; `by`: who asked; `left`: a clause of what is there, perhaps
  /// empty.
  out_of_memory(std::string const& operation, std::string const& memory, std::int64_t bytes,
                std::string const& by = {}, std::string const& left = {})
      : error(operation, "out of " + memory + ": " + std::to_string(bytes) +
                             " bytes were asked for" + (by.empty() ? "" : " by " + by) +
                             (left.empty() ? "" : ", " + left) +
                             ". Split over more ranks, or lower the batch."),
        memory_(memory), bytes_(bytes), left_(left) {}

  /// The same, of an operation and a name that say more.
  out_of_memory asked_by(std::string const& operation, std::string const& by) const {
    return {operation, memory_, bytes_, by, left_};
  }

  std::int64_t bytes() const { return bytes_; }

 private:
  std::string memory_;
  std::int64_t bytes_;
  std::string left_;
};

}  // namespace ashlar
