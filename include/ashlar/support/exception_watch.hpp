// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Tells a destructor whether it runs because of an exception: more exceptions are in flight now
// than when the object was constructed. Testing for any exception in flight would be wrong: another
// destructor that runs during stack unwinding may create and destroy such an object normally.

#include <exception>

namespace ashlar {

class exception_watch {
 public:
  bool is_passing() const { return std::uncaught_exceptions() > before_; }

 private:
  int before_ = std::uncaught_exceptions();
};

}  // namespace ashlar
