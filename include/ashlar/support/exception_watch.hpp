// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Determines in a destructor whether the destructor runs because of an exception. This is the case
// if more exceptions are in flight now than when the exception_watch was constructed. A test for
// any exception in flight would be wrong: during stack unwinding, another destructor may create an
// object of the same class and destroy it normally.

#include <exception>

namespace ashlar {

class exception_watch {
 public:
  bool is_passing() const { return std::uncaught_exceptions() > before_; }

 private:
  int before_ = std::uncaught_exceptions();
};

}  // namespace ashlar
