// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The list of microbenchmarks. Each .cpp file of this folder registers its benchmarks by a global
// object of type `family`. Adding a benchmark therefore changes no other file. All ranks build the
// same list in the same order, because they run the same program. A benchmark has:
//
//   name       kind/argument:value/..., such as step/all_gather/dim:0/bytes:4096. The suite appends
//              the number of ranks, so that a comparison of two result files never pairs runs on
//              different numbers of ranks.
//   prepare    allocates the operands on every rank, just before the benchmark runs
//   work       the function that is timed, the check of its result, and the counts of one run

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <ashlar/ashlar.hpp>

#include "../support/grid_rows.hpp"

namespace ashlar_bench::micro {

/// The bytes and floating-point operations of one run of a benchmark. Zeros are not reported.
struct counts {
  /// For redistribution steps the size in bytes that nccl-tests uses (bandwidth.hpp), for other
  /// benchmarks the bytes that a rank reads and writes.
  double bytes = 0;
  double bus_factor = 0;  ///< bus bandwidth divided by algorithm bandwidth (bandwidth.hpp)
  double flops = 0;       ///< floating-point operations of all ranks together
};

struct work {
  std::function<void()> run;  ///< the timed function; all ranks call it equally often
  counts per_run{};           ///< Only the counts of rank 0 are reported.
  /// Returns whether this rank's result is right. All ranks call it after one run. The function is
  /// empty if the result is not checked.
  std::function<bool()> is_right{};
  /// If true, a second instance of the benchmark runs once before each trial (conductor.hpp).
  bool in_turns = false;
};

struct team {
  MPI_Comm world;
  int ranks;

  ashlar::mesh on(ashlar::topology const& t) const { return {world, t}; }
  ashlar::mesh line() const { return on({{"x", ranks}}); }
};

struct benchmark_case {
  std::string name;
  std::function<work(team const&)> prepare;
};

class suite {
 public:
  explicit suite(int ranks) : ranks_(ranks) {}

  int ranks() const { return ranks_; }
  void add(std::string const& name, std::function<work(team const&)> prepare) {
    cases_.push_back({name + "/ranks:" + std::to_string(ranks_), std::move(prepare)});
  }
  std::vector<benchmark_case> const& cases() const { return cases_; }

 private:
  int ranks_;
  std::vector<benchmark_case> cases_;
};

/// Returns the registered functions, each of which adds benchmarks to a suite.
inline std::vector<void (*)(suite&)>& families() {
  static std::vector<void (*)(suite&)> all;
  return all;
}

/// Registers a function that adds benchmarks.
struct family {
  explicit family(void (*add)(suite&)) { families().push_back(add); }
};

}  // namespace ashlar_bench::micro
