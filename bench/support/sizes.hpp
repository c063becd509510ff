// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Parses and prints byte counts such as "4096", "64KiB" and "128MiB".

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

namespace ashlar_bench {

/// Converts a text to a number of bytes. Throws if the text is not a size below 2^63 bytes.
inline std::int64_t parse_size(std::string const& text) {
  std::size_t end = 0;
  std::int64_t value = 0;
  try {
    value = std::stoll(text, &end);
  } catch (std::exception const&) {
    end = 0;
  }
  std::string const unit = text.substr(end);
  std::int64_t const scale = unit.empty()    ? 1
                             : unit == "KiB" ? 1 << 10
                             : unit == "MiB" ? 1 << 20
                             : unit == "GiB" ? 1 << 30
                                             : 0;
  if (end == 0 || scale == 0 || value < 0 ||
      value > std::numeric_limits<std::int64_t>::max() / scale)
    throw std::runtime_error("\"" + text + "\" is not a size. Write 4096, 64KiB or 128MiB.");
  return value * scale;
}

/// Formats a byte count with the largest unit that divides it, for example "64 KiB".
inline std::string size_text(std::int64_t bytes) {
  char const* const units[] = {"B", "KiB", "MiB", "GiB"};
  int unit = 0;
  while (unit < 3 && bytes >= 1024 && bytes % 1024 == 0) bytes /= 1024, ++unit;
  return std::to_string(bytes) + " " + units[unit];
}

}  // namespace ashlar_bench
