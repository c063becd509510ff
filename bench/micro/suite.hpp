// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The list of microbenchmarks. Each file of this folder adds its own by a `family` at namespace scope,
// so adding a file is enough. All ranks build the same list, since they are one program.
//
//   name       kind/argument:value/..., such as step/all_gather/dim:0/bytes:4096. The suite appends the
//              number of ranks, so that comparisons of two files never pair different numbers.
//   prepare    makes the operands, on every rank, when the benchmark is about to run
//   work       what is timed, how its result is checked, and what one run moves and computes

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <ashlar/ashlar.hpp>

namespace ashlar_bench::micro {

/// What one run of a benchmark moves and computes. Zeros are not reported.
struct counts {
  double bytes = 0;       ///< steps: the size of nccl-tests; elsewhere what is read and written
  double bus_factor = 0;  ///< bus bandwidth per algorithm bandwidth (bandwidth.hpp)
  double flops = 0;       ///< of all ranks together
};

struct work {
  std::function<void()> run;         ///< called by all ranks, as often by each
  counts per_run{};                  ///< those of rank 0 are reported
  std::function<bool()> is_right{};  ///< of this rank's result after one run, called by all ranks
  bool in_turns = false;             ///< between trials a second instance runs once (conductor.hpp)
};

/// The ranks of the program.
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

/// The functions that add the benchmarks of each file.
inline std::vector<void (*)(suite&)>& families() {
  static std::vector<void (*)(suite&)> all;
  return all;
}

struct family {
  explicit family(void (*add)(suite&)) { families().push_back(add); }
};

}  // namespace ashlar_bench::micro
