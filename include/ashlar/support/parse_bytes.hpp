// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Parses sizes of memory as people write them: "140GB", "1.5 GiB", "4096".
//
//   unit       B or none   kB KB   MB    GB    TB        KiB    MiB    GiB    TiB
//   bytes      1           1e3     1e6   1e9   1e12      2^10   2^20   2^30   2^40
//
// The number is decimal, without sign or exponent. In every locale, the decimal separator is a
// point. A fraction of a byte is dropped.

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ashlar {

/// Returns the bytes that `text` describes, or nothing if `text` is not a size or the size is 9e18
/// bytes or more.
inline std::optional<std::int64_t> parse_bytes(std::string_view text) {
  struct unit {
    std::string_view name;
    double bytes;
  };
  constexpr unit units[] = {
      {"", 1},      {"B", 1},        {"kB", 1e3},     {"KB", 1e3},     {"MB", 1e6},     {"GB", 1e9},
      {"TB", 1e12}, {"KiB", 1024.0}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40},
  };
  // from_chars would also accept -1, inf and nan.
  if (text.empty() || !((text[0] >= '0' && text[0] <= '9') || text[0] == '.')) return {};
  double number = 0;
  char const* const end = text.data() + text.size();
  auto const read = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (read.ec != std::errc()) return {};
  std::string_view unit_text(read.ptr, static_cast<std::size_t>(end - read.ptr));
  while (!unit_text.empty() && unit_text.front() == ' ') unit_text.remove_prefix(1);
  for (auto const& u : units)
    if (unit_text == u.name && number * u.bytes < 9e18)
      return static_cast<std::int64_t>(number * u.bytes);
  return {};
}

}  // namespace ashlar
