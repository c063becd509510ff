// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the files of trials (measured steps, sync/tuning/trial.hpp): reading a file gives what was
// written, and the error of a damaged file names the file and the trial. The fuzz target of JSON
// readers reads files that are damaged in many other ways.

#include <fstream>
#include <string>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/temporary_folder.hpp>

#include <ashlar/io/json/trial_file.hpp>

namespace ashlar_test {
namespace {

namespace sync = ashlar::sync;

/// Replaces the last occurrence of a text in a file.
void damage(std::string const& path, std::string const& what, std::string const& by) {
  auto all = text_of_file(path);
  auto const at = all.rfind(what);
  REQUIRE(at != std::string::npos);
  std::ofstream(path) << all.replace(at, what.size(), by);
}

sync::trial_log log_of_two() {
  sync::trial_log log{0xffffffffffffffffull, {}};
  for (int k = 0; k < 2; ++k) {
    sync::trial t;
    t.space = 12345678901234567890ull;
    t.seconds = 0.1 + k / 3.0;
    t.predicted = 0.2;
    t.slopes[4] = 1 / 7.0;
    t.totals[11] = 1e-300;
    t.strategy = {{0, 3 + k}, {-1, 2}, {ashlar::search::bucketing::by_number, 128, -1}};
    log.trials.push_back(t);
  }
  return log;
}

TEST_CASE("a log of trials is read as it was written") {
  temporary_folder const folder;
  auto const log = log_of_two();
  ashlar::io::save_trials(folder.file("trials.json"), log);
  auto const read = ashlar::io::load_trials(folder.file("trials.json"));
  CHECK(read.parameters == log.parameters);
  REQUIRE(read.trials.size() == 2);
  for (std::size_t k = 0; k < 2; ++k) {
    auto const &a = read.trials[k], &b = log.trials[k];
    CHECK(a.space == b.space);
    CHECK(a.seconds == b.seconds);
    CHECK(a.predicted == b.predicted);
    CHECK(a.slopes == b.slopes);
    CHECK(a.totals == b.totals);
    CHECK(a.strategy == b.strategy);
  }
}

TEST_CASE("the error of a damaged log of trials names the file and the trial") {
  temporary_folder const folder;
  auto const path = folder.file("trials.json");
  auto const refused = [&](std::string const& what, std::string const& by) {
    ashlar::io::save_trials(path, log_of_two());
    damage(path, what, by);
    return message_of([&] { ashlar::io::load_trials(path); });
  };
  auto const seconds = refused("\"seconds\": 0.4", "\"seconds\": -0.4");
  CHECK(has(seconds, path));
  CHECK(has(seconds, "trial 1: seconds: must be a number of seconds"));
  CHECK(has(refused("\"predicted\": 0.2", "\"predicted\": true"), "predicted: must be a number"));
  CHECK(has(refused("0.14285714285714285", "10.5"), "influences: has a number that is too large"));
  CHECK(has(refused("0.14285714285714285", "false"), "influences: must be a list of numbers"));
  CHECK(has(refused("\"predicted\"", "\"predicated\""), "is not a known key"));
  CHECK(has(refused("by number", "by hand"), "is not one of best, by bytes and by number"));
  CHECK(has(refused("\"version\": 1", "\"version\": 2"), "2 is unknown"));
  CHECK(has(refused("\"first\": -1", "\"first\": -2"), "trial 1: division"));
  CHECK(has(message_of([] { ashlar::io::load_trials("/no/such/file"); }), "cannot be read"));
}

}  // namespace
}  // namespace ashlar_test
