// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Sizes of memory as people write them: "140GB", "1.5 GiB", "4096".
//
//   unit       B or none   kB KB   MB    GB    TB        KiB    MiB    GiB    TiB
//   bytes      1           1e3     1e6   1e9   1e12      2^10   2^20   2^30   2^40

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

namespace ashlar {

/// The bytes that a text says; nothing if it is no size, or one beyond 9e18.
inline std::optional<std::int64_t> parse_bytes(std::string const& text) {
  struct unit {
    char const* name;
    double bytes;
  };
  constexpr unit units[] = {
      {"", 1},      {"B", 1},        {"kB", 1e3},     {"KB", 1e3},     {"MB", 1e6},     {"GB", 1e9},
      {"TB", 1e12}, {"KiB", 1024.0}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40},
  };
  if (text.empty() || !((text[0] >= '0' && text[0] <= '9') || text[0] == '.')) return {};
  char* end = nullptr;
  double const number = std::strtod(text.c_str(), &end);
  std::string unit_text(end);
  while (!unit_text.empty() && unit_text.front() == ' ') unit_text.erase(0, 1);
  for (auto const& u : units)
    if (end != text.c_str() && unit_text == u.name && number * u.bytes < 9e18)
      return static_cast<std::int64_t>(number * u.bytes);
  return {};
}

}  // namespace ashlar
