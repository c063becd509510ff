// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The times of one case at one size, and the targets that they should reach. The times are `ours`
// (the library), `bare` (the fastest MPI program without packing), `block` (the MPI program that is
// one MPI_Reduce_scatter_block) and `pass` (a memcpy of the whole tensor, divided evenly among the
// ranks). The targets depend on the value of ASHLAR_SHARED_MEMORY in the first column:
//
//   off, default  below 256 KiB           ours - bare <= 2 us
//   off           from 256 KiB            bare / ours >= 0.95
//                 block, from 16 MiB      block / ours >= 3
//   default       steps, from 256 KiB     bare / ours >= 2
//                 plans, from 256 KiB     bare / ours >= 0.95
//                 block, from 16 MiB      block / ours >= 10
//                 copies, from 128 MiB    ours / pass <= 1.5
//
// "steps" and "plans" are the two groups of cases (cases.hpp). "block" applies to the cases that
// have such a program. "copies" are the four steps from S to S, S to B and P to S of a matrix that
// report() in main.cpp names in `is_copy`.

#include <cstdint>
#include <string>
#include <vector>

#include "../support/trials.hpp"

namespace ashlar_bench {

struct case_times {
  timing ours, typed, bare, block, packed, scalapack, costa, pass, shard;
  std::string bare_name;
};

struct target {
  std::string wanted;  ///< for example "bare/ours >= 0.95"
  double reached = 0;
  bool met = true;
};

inline std::vector<target> targets_of(case_times const& t, bool messages, bool is_step,
                                      bool is_copy, std::int64_t bytes) {
  std::vector<target> list;
  double const ours = t.ours.median;
  if (t.ours.trials == 0 || t.bare.trials == 0) return list;  // not measured, because of --only
  auto const at_least = [&](std::string name, double reached, double limit, char const* text) {
    list.push_back({name + " >= " + text, reached, reached >= limit});
  };
  if (bytes < 256 * 1024) {
    double const added = (ours - t.bare.median) * 1e6;
    list.push_back({"ours - bare <= 2 us", added, added <= 2});
    return list;
  }
  double const ratio = t.bare.median / ours;
  if (!messages && is_step) at_least("bare/ours", ratio, 2, "2");
  else at_least("bare/ours", ratio, 0.95, "0.95");
  if (t.block.median > 0 && bytes >= 16 * 1024 * 1024) {
    if (messages) at_least("block/ours", t.block.median / ours, 3, "3");
    else at_least("block/ours", t.block.median / ours, 10, "10");
  }
  if (!messages && is_copy && bytes >= 128 * 1024 * 1024) {
    double const passes = ours / t.pass.median;
    list.push_back({"ours/pass <= 1.5", passes, passes <= 1.5});
  }
  return list;
}

}  // namespace ashlar_bench
