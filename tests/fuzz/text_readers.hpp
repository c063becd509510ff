// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Passes arbitrary bytes to the readers of text: meshes, placements, sizes, tables of algorithms,
// headers of .npy files and of token files, pipeline schedules, and the reports that watchdogs send
// each other. A reader must return a value or throw ashlar::error. If a reader of meshes,
// placements, tables, .npy headers or schedules accepts a text, the value must stay the same when
// it is printed and read again.

#include <cstdlib>
#include <string>
#include <string_view>

#include <ashlar/comm/mpi/algorithm_text.hpp>
#include <ashlar/comm/watch/diagnosis.hpp>
#include <ashlar/io/npy_header.hpp>
#include <ashlar/mesh/text.hpp>
#include <ashlar/step/pipeline/check.hpp>
#include <ashlar/support/parse_bytes.hpp>
#include <ashlar/train/token_layout.hpp>

namespace ashlar_test {

/// Returns how many of the readers accept the text. The readers of token files and of reports are
/// not counted. Ends the program with std::abort if a reader is faulty.
inline int accepted_by_text_readers(std::string_view text) {
  int accepted = 0;
  auto const attempt = [&](auto read) {
    try {
      read(std::string(text));
      ++accepted;
    } catch (ashlar::error const&) {
    }
  };
  auto const demand = [](bool holds) {
    if (!holds) std::abort();
  };
  attempt([&](std::string const& t) {
    auto const mesh = ashlar::parse_topology(t);
    demand(ashlar::parse_topology(to_string(mesh)) == mesh);
    demand(mesh.ranks() >= 1 && mesh.ranks() <= ashlar::max_ranks);
  });
  attempt([&](std::string const& t) {
    auto const p = ashlar::parse_placement(t);
    demand(ashlar::parse_placement(to_string(p)) == p);
  });
  attempt([&](std::string const& t) {
    auto const bytes = ashlar::parse_bytes(t);
    if (!bytes) throw ashlar::error("parse_bytes", "refused");
    demand(*bytes >= 0);
  });
  attempt([&](std::string const& t) {
    auto const table = ashlar::mpi::parse_algorithms(t, "fuzzed");
    if (table.empty()) throw ashlar::error("collectives", "empty");
    demand(ashlar::mpi::to_string(ashlar::mpi::parse_algorithms(
               ashlar::mpi::to_string(table), "again")) == ashlar::mpi::to_string(table));
  });

  attempt([&](std::string const& t) {
    auto const header = ashlar::io::parse_npy_header(t);
    auto const again = ashlar::io::parse_npy_header(
        ashlar::io::npy_text(header.type, header.extents));
    demand(again.extents == header.extents && again.type == header.type);
  });

  // Reads the bytes as a token file. Headers of token files are not text, so accepted headers are
  // not counted.
  for (auto const format : {ashlar::train::token_format::by_name, ashlar::train::token_format::u16,
                            ashlar::train::token_format::llm_c, ashlar::train::token_format::npy})
    try {
      auto const size = static_cast<std::int64_t>(text.size());
      auto const layout = ashlar::train::token_layout_of(text, size, ".bin", format);
      demand(layout.tokens >= 0 && layout.data >= 0 &&
             layout.tokens <= (size - layout.data) / layout.bytes);
    } catch (ashlar::error const&) {
    }

  attempt([&](std::string const& t) {
    auto const schedule = ashlar::pipelines::parse_schedule(t);
    demand(ashlar::pipelines::parse_schedule(to_string(schedule)) == schedule);
    auto const fault = ashlar::pipelines::fault_of(schedule);
    if (!fault.empty()) throw ashlar::error("schedule", fault);
  });

  // The reader of reports accepts any text, so it is not counted.
  auto const once = to_lines(ashlar::watch::report_from_lines(std::string(text)));
  auto const twice = to_lines(ashlar::watch::report_from_lines(once));
  demand(to_lines(ashlar::watch::report_from_lines(twice)) == twice);
  std::vector<ashlar::watch::rank_report> reports(4, ashlar::watch::report_from_lines(once));
  for (int r = 0; r < 4; ++r) reports[static_cast<std::size_t>(r)].rank = r;
  (void)ashlar::watch::diagnose({{"node", 2}, {"gpu", 2}}, reports);
  return accepted;
}

}  // namespace ashlar_test
