// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Reads flight records, which the watchdog writes when a rank has waited for too long
// (comm/watch/record_file.hpp has the format).

#include <string>
#include <vector>

#include <ashlar/io/json/json_file.hpp>
#include <ashlar/mesh/rank_report.hpp>
#include <ashlar/mesh/text.hpp>

namespace ashlar::io {

struct flight_file {
  topology mesh;
  std::string diagnosis;
  std::vector<watch::rank_report> ranks;  ///< one report for each rank, in order
};

namespace detail {

inline std::uint64_t count_of(nlohmann::json const& value, std::string const& name) {
  auto const number = whole_number(value, name);
  if (number < 0) throw error(name, "must not be negative.");
  return static_cast<std::uint64_t>(number);
}

inline watch::rank_report report_of(nlohmann::json const& j, int rank) {
  watch::rank_report report;
  report.rank = rank;
  if (whole_number(j.at("rank"), "rank") != rank)
    throw error("ranks", "report " + std::to_string(rank) + " is of another rank.");
  if (j.contains("silence")) {
    report.silence = j.at("silence").get<std::string>();
    return report;
  }
  report.host = j.at("host").get<std::string>();
  report.process = whole_number(j.at("process"), "process");
  report.work = j.at("work").get<std::string>();
  report.waits = j.at("waits").get<double>();
  for (auto const& [axes, count] : j.at("begun").items())
    report.begun[axes] = count_of(count, "begun");
  for (auto const& o : j.at("operations"))
    report.operations.push_back({count_of(o.at("number"), "number"),
                                 o.at("axes").get<std::string>(), o.at("ended").get<bool>(),
                                 o.at("age").get<double>(), whole_number(o.at("step"), "step"),
                                 o.at("text").get<std::string>()});
  return report;
}

inline flight_file flight_of(nlohmann::json const& j) {
  check_format(j, "ashlar flight record", 1);
  flight_file file;
  file.mesh = parse_topology(j.at("mesh").get<std::string>());
  file.diagnosis = j.at("diagnosis").get<std::string>();
  auto const& ranks = j.at("ranks");
  if (static_cast<std::int64_t>(ranks.size()) != file.mesh.ranks())
    throw error("ranks", "there are " + std::to_string(ranks.size()) +
                             " reports, but the mesh has " + std::to_string(file.mesh.ranks()) +
                             " ranks.");
  for (int r = 0; r < file.mesh.ranks(); ++r)
    file.ranks.push_back(report_of(ranks.at(static_cast<std::size_t>(r)), r));
  return file;
}

}  // namespace detail

/// Reads a flight record. Throws ashlar::error if the file cannot be read or is not a flight
/// record.
inline flight_file load_flight(std::string const& path) {
  auto const j = detail::read_json(path, "load_flight");
  return detail::interpret(path, "load_flight", [&] { return detail::flight_of(j); });
}

}  // namespace ashlar::io
