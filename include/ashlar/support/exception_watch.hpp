// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Tells a destructor whether an exception is what ends its object: one more is passing than when the
// object was made. To ask whether any is passing would take an object that is made and ended in
// order, by a destructor that runs meanwhile, for one that is dropped.

#include <exception>

namespace ashlar {

class exception_watch {
 public:
  bool is_passing() const { return std::uncaught_exceptions() > before_; }

 private:
  int before_ = std::uncaught_exceptions();
};

}  // namespace ashlar
