// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The base class of the library's own exceptions. The text names the operation, what is wrong, and
// what to do instead. For an uncaught exception, comm/mpi/environment.hpp adds the rank and stops
// the other ranks. Where a condition is checked both at compile time and at run time, the two
// checks report the same text.

#include <stdexcept>
#include <string>

namespace ashlar {

class error : public std::runtime_error {
 public:
  error(std::string const& operation, std::string const& what)
      : std::runtime_error(operation + ": " + what), operation_(operation) {}

  std::string const& operation() const { return operation_; }

 private:
  std::string operation_;
};

}  // namespace ashlar
