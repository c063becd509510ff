// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Writes pipeline schedules as text and reads them. Each position has a line: its number, a colon,
// and its passes. A pass is a letter (schedule.hpp) and the number of its micro-batch, as in F3. If
// its chunk is not chunk 0, a point and the number of the chunk follow, as in F3.1. If odd chunks
// run backwards, a line "vee" comes first. Lines that begin with # are comments.
//
//   0: F0 F1 B0 F2 B1 B2
//   1: F0 B0 F1 B1 F2 B2

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include <ashlar/step/pipeline/schedule.hpp>
#include <ashlar/support/error.hpp>

namespace ashlar::pipelines {

inline constexpr std::string_view pass_letters = "FBIW";

inline std::string to_string(action const& a) {
  std::string text(1, pass_letters[static_cast<std::size_t>(a.what)]);
  text += std::to_string(a.micro_batch);
  if (a.chunk != 0) text += "." + std::to_string(a.chunk);
  return text;
}

inline std::string to_string(schedule const& s) {
  std::string text = s.wired == wiring::vee ? "vee\n" : "";
  for (std::size_t p = 0; p < s.order.size(); ++p) {
    text += std::to_string(p) + ":";
    for (auto const& a : s.order[p]) text.append(" ").append(to_string(a));
    text += "\n";
  }
  return text;
}

namespace detail {

/// Reads a number from the start of `text` and removes it. Returns -1 if there is none, or if it is
/// a million or more.
inline int take_number(std::string_view& text) {
  int n = -1;
  if (text.empty() || text[0] < '0' || text[0] > '9') return -1;
  auto const [end, fault] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (fault != std::errc() || n < 0 || n >= 1'000'000) return -1;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return n;
}

inline std::string_view take_word(std::string_view& text, std::string_view ends) {
  auto const begin = std::min(text.size(), text.find_first_not_of(" \t\r"));
  text.remove_prefix(begin);
  auto const word = text.substr(0, text.find_first_of(ends));
  text.remove_prefix(word.size());
  return word;
}

}  // namespace detail

/// Reads a schedule from a text of the form above. The largest micro-batch number and the largest
/// chunk number in the text determine how many micro-batches and chunks the schedule has. Throws
/// ashlar::error with the number of the line if the text is not of this form. fault_of (check.hpp)
/// tells whether the schedule can run.
inline schedule parse_schedule(std::string_view text) {
  schedule s{0, 0, 0, wiring::straight, {}};
  for (int line = 1; !text.empty(); ++line) {
    auto row = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), row.size() + 1));
    auto const refuse = [&](std::string const& why) {
      throw error("parse_schedule", "line " + std::to_string(line) + ": " + why);
    };
    auto const first = row.find_first_not_of(" \t\r");
    if (first == std::string_view::npos || row[first] == '#') continue;
    row.remove_prefix(first);
    if (auto rest = row; s.order.empty() && detail::take_word(rest, " \t\r") == "vee" &&
                         rest.find_first_not_of(" \t\r") == std::string_view::npos) {
      s.wired = wiring::vee;
      continue;
    }
    if (detail::take_number(row) != s.positions || row.empty() || row[0] != ':')
      refuse("expected the passes of position " + std::to_string(s.positions) + ", as in \"" +
             std::to_string(s.positions) + ": F0 F1 B0\".");
    row.remove_prefix(1);
    ++s.positions;
    s.order.emplace_back();
    for (auto word = detail::take_word(row, " \t\r"); !word.empty();
         word = detail::take_word(row, " \t\r")) {
      auto rest = word;
      auto const letter = pass_letters.find(rest[0]);
      rest.remove_prefix(1);
      action a{};
      if (letter != std::string_view::npos) {
        a.what = static_cast<pass>(letter);
        a.micro_batch = detail::take_number(rest);
        if (!rest.empty() && rest[0] == '.') {
          rest.remove_prefix(1);
          a.chunk = detail::take_number(rest);
        }
      }
      if (letter == std::string_view::npos || a.micro_batch < 0 || a.chunk < 0 || !rest.empty())
        refuse(
            "\"" + std::string(word) +
            "\" is not a pass: F, B, I or W with a micro-batch, as in F3, or with a chunk, as in "
            "F3.1.");
      s.micro_batches = std::max(s.micro_batches, a.micro_batch + 1);
      s.chunks = std::max(s.chunks, a.chunk + 1);
      s.order.back().push_back(a);
    }
  }
  if (s.order.empty()) throw error("parse_schedule", "the text has no position.");
  s.micro_batches = std::max(s.micro_batches, 1);
  s.chunks = std::max(s.chunks, 1);
  return s;
}

}  // namespace ashlar::pipelines
