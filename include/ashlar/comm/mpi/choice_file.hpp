// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The table of choices (choice.hpp) as a text file, named by the environment variable
// ASHLAR_COLLECTIVES, which then replaces the default one. Read when a mesh is made, by its first
// rank alone, which tells the others: they cannot differ.
//
//   # kind          members  bytes   nodes             algorithm
//   all-reduce      3        64KiB   any               ring
//   all-gather      2        0       several-per-node  ring
//
//   kind        all-gather, reduce-scatter, all-reduce
//   members     the row is for groups of so many or more
//   bytes       and for whole arrays of so many or more: 4096, 64KiB, 16MiB
//   nodes       any, one-node, one-per-node, several-per-node
//   algorithm   pairwise, ring, library
//
// Later rows come before earlier ones; text behind # says nothing.

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <ashlar/comm/mpi/check.hpp>
#include <ashlar/comm/mpi/choice.hpp>

namespace ashlar::mpi {

namespace detail {

/// The value whose name `word` is; false if there is none.
template <class Enum>
bool named(std::string const& word, int count, Enum& value) {
  for (int i = 0; i < count; ++i)
    if (word == to_string(static_cast<Enum>(i))) {
      value = static_cast<Enum>(i);
      return true;
    }
  return false;
}

/// A count with an optional KiB, MiB or GiB; -1 if it is none.
inline std::int64_t parsed_count(std::string const& word) {
  std::int64_t value = 0;
  std::size_t i = 0;
  for (; i < word.size() && word[i] >= '0' && word[i] <= '9'; ++i) {
    if (value > (std::int64_t(1) << 55)) return -1;
    value = value * 10 + (word[i] - '0');
  }
  if (i == 0) return -1;
  auto const unit = word.substr(i);
  int const shift = unit.empty() ? 0 : unit == "KiB" ? 10 : unit == "MiB" ? 20 : 30;
  if (shift == 30 && unit != "GiB") return -1;
  return value > INT64_MAX >> shift ? -1 : value << shift;
}

}  // namespace detail

/// Throws ashlar::error with `file` and the line of what is wrong.
inline choice_table parse_choices(std::string const& text, std::string const& file) {
  choice_table table;
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
    choice_row row;
    if (!detail::named(word[0], 3, row.kind))
      refuse("'" + word[0] + "' has no choice. Write all-gather, reduce-scatter or all-reduce.");
    auto const members = detail::parsed_count(word[1]);
    if (members < 2 || members > max_ranks)
      refuse("'" + word[1] + "' is no number of members. Write 2 or more.");
    row.least_members = static_cast<int>(members);
    row.least_bytes = detail::parsed_count(word[2]);
    if (row.least_bytes < 0)
      refuse("'" + word[2] + "' is no size. Write bytes such as 0, 4096, 64KiB or 16MiB.");
    if (!detail::named(word[3], 4, row.where))
      refuse("'" + word[3] +
             "' is no place. Write any, one-node, one-per-node or several-per-node.");
    if (!detail::named(word[4], 3, row.take))
      refuse("'" + word[4] + "' is no algorithm. Write pairwise, ring or library.");
    if (table.size() == table.capacity())
      refuse("more than " + std::to_string(table.capacity()) + " rows. Leave some out.");
    table.push_back(row);
  }
  return table;
}

/// The table as text that parse_choices reads.
inline std::string to_string(choice_table const& table) {
  std::string text = "# kind members bytes nodes algorithm\n";
  for (auto const& row : table)
    text += std::string(to_string(row.kind)) + " " + std::to_string(row.least_members) + " " +
            std::to_string(row.least_bytes) + " " + to_string(row.where) + " " +
            to_string(row.take) + "\n";
  return text;
}

/// The table of a mesh on the ranks of `comm`. Collective: rank 0's file, for all of them; what is
/// wrong with it is thrown on every rank.
inline choice_table choices_from_environment(MPI_Comm comm) {
  int rank = 0;
  check(MPI_Comm_rank(comm, &rank));
  std::string name, text;  // no name: the default table
  int is_readable = 1;
  if (rank == 0) {
    char const* const variable = std::getenv("ASHLAR_COLLECTIVES");
    if (variable != nullptr) name = variable;
    if (!name.empty()) {
      std::ifstream in(name, std::ios::binary);
      text.assign(std::istreambuf_iterator<char>(in), {});
      is_readable = in.is_open() && !in.bad() ? 1 : 0;
    }
  }
  int head[] = {static_cast<int>(name.size()), static_cast<int>(text.size()), is_readable};
  check(MPI_Bcast(head, 3, MPI_INT, 0, comm));
  if (head[0] == 0) return default_choices;
  name.resize(static_cast<std::size_t>(head[0]));
  text.resize(static_cast<std::size_t>(head[1]));
  check(MPI_Bcast(name.data(), head[0], MPI_CHAR, 0, comm));
  if (head[2] == 0)
    throw error("collectives", name + " cannot be read. Make it with bench/tune_collectives, or "
                                      "unset ASHLAR_COLLECTIVES.");
  check(MPI_Bcast(text.data(), head[1], MPI_CHAR, 0, comm));
  return parse_choices(text, name);
}

}  // namespace ashlar::mpi
