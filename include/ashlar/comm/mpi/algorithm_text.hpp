// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The table of algorithms (algorithm_table.hpp) as text:
//
//   # kind          members  bytes   nodes             algorithm
//   all-reduce      3        64KiB   any               ring
//   all-gather      2        0       several-per-node  ring
//
//   kind        all-gather, reduce-scatter, all-reduce
//   members     the row applies to groups with at least this many members
//   bytes       the row applies to whole arrays of at least this size: 4096, 64KiB, 16MiB
//               (units: support/parse_bytes.hpp)
//   nodes       any, one-node, one-per-node, several-per-node (`spread` in algorithm_table.hpp)
//   algorithm   pairwise, ring, library
//
// Later rows take precedence over earlier ones. Text after # is a comment.

#include <algorithm>
#include <charconv>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <ashlar/comm/mpi/algorithm_table.hpp>
#include <ashlar/support/parse_bytes.hpp>

namespace ashlar::mpi {

namespace detail {

/// Sets `value` to the enumerator with the name `word`. Returns false if there is none.
template <class Enum, std::size_t Count>
bool named(std::string const& word, Enum const (&all)[Count], Enum& value) {
  auto const* const it = std::find_if(all, all + Count,
                                      [&](Enum e) { return word == to_string(e); });
  if (it == all + Count) return false;
  value = *it;
  return true;
}

/// Returns a list of names for a message, such as "pairwise, ring or library".
template <class Enum, std::size_t Count>
std::string names_of(Enum const (&all)[Count]) {
  std::string text;
  for (std::size_t i = 0; i < Count; ++i) {
    if (i > 0) text += i + 1 == Count ? " or " : ", ";
    text += to_string(all[i]);
  }
  return text;
}

}  // namespace detail

/// Parses a table. Throws ashlar::error that names `file` and the faulty line.
inline algorithm_table parse_algorithms(std::string const& text, std::string const& file) {
  algorithm_table table;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    auto const refuse = [&](std::string const& what) {
      throw error("collectives", file + ", line " + std::to_string(number) + ": " + what);
    };
    std::istringstream words(line.substr(0, line.find('#')));
    std::vector<std::string> const word{std::istream_iterator<std::string>(words), {}};
    if (word.empty()) continue;
    if (word.size() != 5)
      refuse("a row has 5 words, not " + std::to_string(word.size()) +
             ". Write: kind, members, bytes, nodes, algorithm.");
    algorithm_row row;
    if (!detail::named(word[0], tunable_collectives, row.kind))
      refuse("'" + word[0] + "' is not a collective with a choice of algorithms. Write " +
             detail::names_of(tunable_collectives) + ".");
    char const* const end = word[1].data() + word[1].size();
    auto const read = std::from_chars(word[1].data(), end, row.least_members);
    if (read.ec != std::errc() || read.ptr != end || row.least_members < 2 ||
        row.least_members > max_ranks)
      refuse("'" + word[1] + "' is not a number of members. Write 2 or more.");
    auto const bytes = parse_bytes(word[2]);
    if (!bytes)
      refuse("'" + word[2] + "' is not a size. Write bytes such as 0, 4096, 64KiB or 16MiB.");
    row.least_bytes = *bytes;
    if (!detail::named(word[3], all_spreads, row.where))
      refuse("'" + word[3] + "' is not a distribution over nodes. Write " +
             detail::names_of(all_spreads) + ".");
    if (!detail::named(word[4], all_algorithms, row.use))
      refuse("'" + word[4] + "' is not an algorithm. Write " + detail::names_of(all_algorithms) +
             ".");
    if (table.size() == table.capacity())
      refuse("more than " + std::to_string(table.capacity()) + " rows. Remove some of them.");
    table.push_back(row);
  }
  return table;
}

/// Returns the table as text that parse_algorithms reads.
inline std::string to_string(algorithm_table const& table) {
  std::string text = "# kind members bytes nodes algorithm\n";
  for (auto const& row : table)
    text += std::string(to_string(row.kind)) + " " + std::to_string(row.least_members) + " " +
            std::to_string(row.least_bytes) + " " + to_string(row.where) + " " +
            to_string(row.use) + "\n";
  return text;
}

}  // namespace ashlar::mpi
