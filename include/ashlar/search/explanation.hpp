// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Holds the text of a report, ready to print.

#include <ostream>
#include <string>

namespace ashlar::search {

struct explanation {
  std::string text;
  friend std::ostream& operator<<(std::ostream& out, explanation const& e) { return out << e.text; }
};

}  // namespace ashlar::search
