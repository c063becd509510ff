// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace ashlar_test {

/// Sets an environment variable for the lifetime of this object. Meanwhile no other thread may read
/// the environment.
class scoped_environment {
 public:
  scoped_environment(char const* name, char const* value) : name_(name) {
    if (char const* const now = std::getenv(name)) before_ = now;
    ::setenv(name, value, 1);
  }
  scoped_environment(scoped_environment const&) = delete;
  scoped_environment& operator=(scoped_environment const&) = delete;
  ~scoped_environment() {
    if (before_) ::setenv(name_, before_->c_str(), 1);
    else ::unsetenv(name_);
  }

 private:
  char const* name_;
  std::optional<std::string> before_;
};

}  // namespace ashlar_test
