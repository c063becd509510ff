// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A locale in which C writes numbers with a decimal comma.

#include <clocale>
#include <string>

#include <doctest/doctest.h>

namespace ashlar_test {

/// Sets LC_NUMERIC to a locale with a decimal comma as long as the object exists. If no such locale
/// is installed, prints a message and leaves the locale as it is.
class decimal_comma {
 public:
  decimal_comma() : before_(std::setlocale(LC_NUMERIC, nullptr)) {
    for (auto const* name : {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "fr_FR"})
      if (std::setlocale(LC_NUMERIC, name) != nullptr) break;
    if (*std::localeconv()->decimal_point == '.')
      MESSAGE("no locale with a decimal comma is installed");
  }
  decimal_comma(decimal_comma const&) = delete;
  decimal_comma& operator=(decimal_comma const&) = delete;
  ~decimal_comma() { std::setlocale(LC_NUMERIC, before_.c_str()); }

 private:
  std::string before_;
};

}  // namespace ashlar_test
