// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Defines the report of one rank for the watchdog: its last operations, and whether it waits for
// other ranks. Ranks ask each other for reports when some rank has waited for too long. They send a
// report as text, one item per line (to_lines, report_from_lines). The text is the same in every
// locale, because ranks may have different ones. The flight record, a file with the reports of all
// ranks, contains them as JSON (comm/watch/record_file.hpp).

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <ashlar/config.hpp>

namespace ashlar::watch {

/// One operation of a rank, such as a collective. All ranks of the group that runs an operation
/// give it the same number.
struct reported_operation {
  std::uint64_t number = 0;  ///< counts the operations along the same axes, from 1
  /// The axes of the operation's group: "gpu" or "node+gpu". For a group in a part of the mesh,
  /// "@" and the group's ranks in the whole mesh follow: "gpu@4,5". The text is empty for an
  /// operation of all ranks of the mesh, and "@4,5" for an operation of all ranks of a part.
  std::string axes;
  bool has_ended = false;
  double age = 0;          ///< seconds since the operation began
  std::int64_t step = -1;  ///< the training step; negative outside of training
  std::string text;        ///< "all-gather along gpu of 512x1024 float [S(0)] -> [B]"

  friend bool operator==(reported_operation const&, reported_operation const&) = default;
};

struct rank_report {
  int rank = 0;
  /// The reason why there is no report of this rank, such as "its process 77 on host n3 is
  /// stopped". Empty if there is a report.
  std::string silence;
  std::string host;
  std::int64_t process = 0;
  std::string work;  ///< long work for which others may wait, such as "writes a file", or empty
  /// Seconds that the rank has waited for others, or negative if it does not wait.
  double waits = -1;
  std::map<std::string, std::uint64_t> begun;  ///< number of operations begun, by their axes
  std::vector<reported_operation> operations;  ///< the last operations, the oldest first

  bool is_waiting() const { return waits >= 0; }
  /// Returns the operation that a waiting rank waits for: the oldest one that has not ended, or
  /// null.
  reported_operation const* awaited() const {
    for (auto const& o : operations)
      if (!o.has_ended) return &o;
    return nullptr;
  }

  friend bool operator==(rank_report const&, rank_report const&) = default;
};

ASHLAR_INLINE std::string to_lines(rank_report const& r);

/// Reads the lines that to_lines writes. Skips lines that it does not know.
ASHLAR_INLINE rank_report report_from_lines(std::string const& lines);

}  // namespace ashlar::watch

#if ASHLAR_DEFINES(TEXT)
#include <locale>
#include <sstream>

namespace ashlar::watch {

ASHLAR_INLINE std::string to_lines(rank_report const& r) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  out << "rank " << r.rank << "\nhost " << r.host << "\nprocess " << r.process << "\nwaits "
      << r.waits << '\n';
  if (!r.work.empty()) out << "work " << r.work << '\n';
  if (!r.silence.empty()) out << "silence " << r.silence << '\n';
  for (auto const& [axes, count] : r.begun) out << "begun " << count << ' ' << axes << '\n';
  for (auto const& o : r.operations)
    out << "operation " << o.number << ' ' << o.has_ended << ' ' << o.age << ' ' << o.step << ' '
        << (o.axes.empty() ? "-" : o.axes) << ' ' << o.text << '\n';
  return out.str();
}

ASHLAR_INLINE rank_report report_from_lines(std::string const& lines) {
  rank_report r;
  std::istringstream in(lines);
  for (std::string line; std::getline(in, line);) {
    std::istringstream item(line);
    item.imbue(std::locale::classic());
    std::string key;
    item >> key >> std::ws;
    if (key == "rank") item >> r.rank;
    else if (key == "host") std::getline(item, r.host);
    else if (key == "process") item >> r.process;
    else if (key == "waits") item >> r.waits;
    else if (key == "work") std::getline(item, r.work);
    else if (key == "silence") std::getline(item, r.silence);
    else if (key == "begun") {
      std::uint64_t count = 0;
      std::string axes;
      item >> count >> std::ws;
      std::getline(item, axes);
      r.begun[axes] = count;
    } else if (key == "operation") {
      reported_operation o;
      item >> o.number >> o.has_ended >> o.age >> o.step >> o.axes >> std::ws;
      if (o.axes == "-") o.axes.clear();
      std::getline(item, o.text);
      r.operations.push_back(std::move(o));
    }
  }
  return r;
}

}  // namespace ashlar::watch
#endif
