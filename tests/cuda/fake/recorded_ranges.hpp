// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Gives access to the NVTX ranges that the tool in fake_nvtx.cpp records for a thread. They
// have the form of a text, such as "step{forward{}backward{}}".

#include <string>

namespace fake {

/// The ranges of this thread since the construction of the object.
class recorded_ranges {
 public:
  recorded_ranges();
  std::string const& text() const;
  int open() const;                   ///< the number of ranges that have begun and not ended
  std::string const& domain() const;  ///< the domain of the range that began last
};

}  // namespace fake
