// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a tool sees of the NVTX ranges of a thread (fake_nvtx.cpp): "step{forward{}backward{}}".

#include <string>

namespace fake {

/// Of this thread, from the making of the object on.
class recorded_ranges {
 public:
  recorded_ranges();
  std::string const& text() const;
  int open() const;                   ///< begun and not ended
  std::string const& domain() const;  ///< of the last one
};

}  // namespace fake
