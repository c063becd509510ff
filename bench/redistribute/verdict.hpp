// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The times of one case at one size, and the targets that they should reach:
//
//   ours    the library
//   bare    the fastest MPI program without packing
//   block   the MPI program that is one MPI_Reduce_scatter_block, for the cases that have one
//   pass    a memcpy of the whole tensor, divided evenly among the ranks
//
// The targets depend on the value of ASHLAR_SHARED_MEMORY, on the case and on the size of the
// tensor:
//
//   value          cases         size             target
//   off, default   all           below 256 KiB    ours - bare <= 2 us
//   off            all           from 256 KiB     bare / ours >= 0.95
//   off            with block    from 16 MiB      block / ours >= 3
//   default        group step    from 256 KiB     bare / ours >= 2
//   default        group plan    from 256 KiB     bare / ours >= 0.95
//   default        with block    from 16 MiB      block / ours >= 10
//   default        copies        from 128 MiB     ours / pass <= 1.5
//
// cases.hpp lists the groups "step" and "plan". "copies" are the four steps of a matrix that
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
  if (t.ours.trials == 0 || t.bare.trials == 0) return list;  // not measured because of --only
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
