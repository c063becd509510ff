// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Texts as strings of JSON, for files that are written without a library for JSON.

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

namespace ashlar {

/// Returns `text` as a JSON string, with its quotes.
inline std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (char const c : text) {
    auto const code = static_cast<unsigned char>(c);
    char escaped[8];
    if (c == '"' || c == '\\') (out += '\\') += c;
    else if (code < 0x20)
      out.append(escaped,
                 static_cast<std::size_t>(std::snprintf(escaped, sizeof escaped, "\\u%04x", code)));
    else out += c;
  }
  return out + '"';
}

}  // namespace ashlar
