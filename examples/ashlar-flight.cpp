// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Reads flight records and says in one paragraph what went wrong. The watchdog writes a flight
// record when a rank has waited for others for too long, or when a transfer on a device has failed.
//
//   ashlar-flight ashlar_flight_0_4711.json
//   ashlar-flight --operations 20 ashlar_flight_*.json

#include <algorithm>
#include <cstdio>
#include <iostream>

#include <CLI/CLI.hpp>

#include <ashlar/comm/watch/diagnosis.hpp>
#include <ashlar/io/json/flight_file.hpp>

namespace {

/// If `all` has no report of a rank yet, takes the report of this rank from `more`.
void merge(ashlar::io::flight_file& all, ashlar::io::flight_file const& more,
           std::string const& path) {
  if (!(all.mesh == more.mesh))
    throw ashlar::error("ashlar-flight", path + " is of mesh " + to_string(more.mesh) +
                                             ", but the first file is of mesh " +
                                             to_string(all.mesh) + ". Give files of one job.");
  for (std::size_t r = 0; r < all.ranks.size(); ++r)
    if (!all.ranks[r].silence.empty()) all.ranks[r] = more.ranks[r];
}

void print(ashlar::io::flight_file const& file, int operations) {
  auto const paragraph = ashlar::watch::diagnose(file.mesh, file.ranks);
  std::cout << "mesh " << to_string(file.mesh) << "\n\n"
            << (paragraph.empty() ? file.diagnosis : paragraph) << "\n\n"
            << "rank      waits  last operations, the newest first\n";
  for (auto const& r : file.ranks) {
    std::printf("%4d  ", r.rank);
    if (!r.silence.empty()) {
      std::printf("        ?  %s\n", r.silence.c_str());
      continue;
    }
    std::printf("%9s", r.is_waiting() ? ashlar::watch::waited_text(r.waits).c_str() : "-");
    if (r.operations.empty()) std::printf("  none\n");
    int shown = 0;
    for (auto o = r.operations.rbegin(); o != r.operations.rend() && shown < operations; ++o) {
      std::printf("%s  %s: %s, began %s before the record\n", shown++ == 0 ? "" : "               ",
                  ashlar::watch::place_of(*o).c_str(), o->has_ended ? "ended" : "open",
                  ashlar::watch::waited_text(o->age).c_str());
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Says why a distributed program did not go on, from its flight records.");
  std::vector<std::string> paths;
  int operations = 1;
  app.add_option("files", paths, "flight records of one job")->required();
  app.add_option("--operations", operations, "how many operations of each rank are shown")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str()
      ->take_last();
  CLI11_PARSE(app, argc, argv);
  try {
    auto all = ashlar::io::load_flight(paths.front());
    for (auto const& path : paths) merge(all, ashlar::io::load_flight(path), path);
    print(all, operations);
  } catch (std::exception const& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
