// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A locale in which streams write 1234 as "1 234", as French and Swedish locales do. Such a stream
// also reads "12 34" as one number whose groups are wrong, and fails.

#include <locale>
#include <string>

namespace ashlar_test {

/// Makes this locale the global locale of C++ as long as the object exists.
class spaced_digits {
 public:
  spaced_digits() : before_(std::locale::global({std::locale(), new spaces})) {}
  spaced_digits(spaced_digits const&) = delete;
  spaced_digits& operator=(spaced_digits const&) = delete;
  ~spaced_digits() { std::locale::global(before_); }

 private:
  struct spaces : std::numpunct<char> {
    char do_thousands_sep() const override { return ' '; }
    std::string do_grouping() const override { return "\3"; }
  };

  std::locale before_;
};

}  // namespace ashlar_test
