// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The exception for a failed allocation. The text says who requested how many bytes, how much
// memory is left if this is known, and what to do. Two places contribute to this text:
//
//   the allocator    states the number of bytes and, if it is known, how much memory is left
//   its caller       names the requester, for example a tensor with its shape: the caller catches
//                    this exception and throws the result of `asked_by`

#include <cstdint>
#include <string>

#include <ashlar/support/error.hpp>

namespace ashlar {

class out_of_memory : public error {
 public:
  ///   memory   "device memory" or "host memory"
  ///   bytes    the requested bytes
  ///   by       names the requester; may be empty
  ///   left     a clause that says how much memory is left; may be empty
  out_of_memory(std::string const& operation, std::string const& memory, std::int64_t bytes,
                std::string const& by = {}, std::string const& left = {})
      : error(operation, "out of " + memory + ": " + (by.empty() ? "the program" : by) +
                             " requested " + std::to_string(bytes) + " bytes" +
                             (left.empty() ? "" : ", " + left) +
                             ". Split over more ranks, or reduce the batch size."),
        memory_(memory), bytes_(bytes), left_(left) {}

  /// Returns a copy of this exception with a more specific operation and requester.
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
