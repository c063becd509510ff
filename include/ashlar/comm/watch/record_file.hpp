// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Writes a flight record: the reports of all ranks that answered, and the diagnosis, as JSON. The
// program ashlar-flight reads it.
//
//   {"format": "ashlar flight record", "version": 1,
//    "mesh": "node=2,gpu=2", "diagnosis": "Rank 0 has waited ...",
//    "ranks": [{"rank": 0, "host": "n3", "process": 77, "work": "", "waits": 5.1,
//               "begun": {"gpu": 42},
//               "operations": [{"number": 42, "axes": "gpu", "ended": false, "age": 5.1,
//                               "step": 7, "text": "all-gather along gpu of ..."}]},
//              {"rank": 1, "silence": "its process 78 on n3 is stopped, ..."}]}

#include <span>
#include <string>

#include <ashlar/config.hpp>
#include <ashlar/mesh/rank_report.hpp>
#include <ashlar/mesh/topology.hpp>

namespace ashlar::watch {

/// Returns the text of a flight record.
ASHLAR_INLINE std::string flight_text(topology const& t, std::string const& diagnosis,
                                      std::span<rank_report const> reports);

/// Writes `text` to a new file "ashlar_flight_<rank>_<process>.json" in `folder`. If this file
/// exists, a number follows the process. Returns a sentence for the user that names the file, or
/// says why there is none. Returns an empty text if `folder` is empty. Never throws, because a more
/// important error is being reported.
ASHLAR_INLINE std::string write_flight_file(std::string const& folder, int rank,
                                            std::string const& text) noexcept;

}  // namespace ashlar::watch

#if ASHLAR_DEFINES(COMM)
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <locale>
#include <sstream>

#include <unistd.h>

#include <ashlar/mesh/text.hpp>
#include <ashlar/support/json_text.hpp>

namespace ashlar::watch {

ASHLAR_INLINE std::string flight_text(topology const& t, std::string const& diagnosis,
                                      std::span<rank_report const> reports) {
  std::ostringstream out;
  out.imbue(std::locale::classic());  // JSON has a decimal point
  out << "{\"format\": \"ashlar flight record\", \"version\": 1,\n \"mesh\": "
      << json_text(to_string(t)) << ",\n \"diagnosis\": " << json_text(diagnosis)
      << ",\n \"ranks\": [";
  char const* rank_comma = "\n  ";
  for (auto const& r : reports) {
    out << rank_comma << "{\"rank\": " << r.rank;
    rank_comma = ",\n  ";
    if (!r.silence.empty()) {
      out << ", \"silence\": " << json_text(r.silence) << '}';
      continue;
    }
    out << ", \"host\": " << json_text(r.host) << ", \"process\": " << r.process
        << ", \"work\": " << json_text(r.work) << ", \"waits\": " << r.waits
        << ",\n   \"begun\": {";
    char const* comma = "";
    for (auto const& [axes, count] : r.begun) {
      out << comma << json_text(axes) << ": " << count;
      comma = ", ";
    }
    out << "},\n   \"operations\": [";
    comma = "\n    ";
    for (auto const& o : r.operations) {
      out << comma << "{\"number\": " << o.number << ", \"axes\": " << json_text(o.axes)
          << ", \"ended\": " << (o.has_ended ? "true" : "false") << ", \"age\": " << o.age
          << ", \"step\": " << o.step << ", \"text\": " << json_text(o.text) << '}';
      comma = ",\n    ";
    }
    out << "]}";
  }
  out << "]}\n";
  return out.str();
}

ASHLAR_INLINE std::string write_flight_file(std::string const& folder, int rank,
                                            std::string const& text) noexcept try {
  if (folder.empty()) return "";
  std::string const name = folder + "/ashlar_flight_" + std::to_string(rank) + "_" +
                           std::to_string(getpid());
  std::string path = name + ".json";
  std::FILE* file = std::fopen(path.c_str(), "wx");
  for (int i = 2; file == nullptr && errno == EEXIST && i < 1000; ++i) {
    path = name + "_" + std::to_string(i) + ".json";
    file = std::fopen(path.c_str(), "wx");
  }
  bool const is_open = file != nullptr;
  bool good = is_open && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  int fault = errno;
  if (is_open && std::fclose(file) != 0 && good) {
    good = false;
    fault = errno;
  }
  if (good) return "The flight record is " + path + "; ashlar-flight reads it.";
  if (is_open) std::remove(path.c_str());  // a part of a record cannot be read
  return "The flight record " + path + " cannot be written: " + std::strerror(fault) +
         ". ASHLAR_FLIGHT_RECORDS names another folder.";
} catch (...) {
  return "";
}

}  // namespace ashlar::watch
#endif
