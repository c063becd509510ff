// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The one exception of the library. Its text names the operation, what is wrong, and what to do
// instead; comm/mpi/environment.hpp adds the rank of one that nobody catches and stops the others.
// The sentence of a condition that is also checked at compile time is the same literal there.

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
