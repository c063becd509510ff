// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A training step as data: the list of actions that every rank of a mesh carries out, in order. It is
// built from a problem and a plan (build.hpp), transformed by passes (pass_*.hpp), checked (check.hpp),
// and read by folds (seconds, timeline, bytes, memory). nn::executor walks it.
//
// All ranks of a mesh have the same program. What a rank computes follows from its coordinates.

#include <vector>

#include <ashlar/plan/redistribution.hpp>
#include <ashlar/step/action.hpp>

namespace ashlar::search {
inline namespace step {

/// One redistribution of a program, between its begin_move and its end_move.
struct program_move {
  search::step::phase phase = search::step::phase::forward;
  int element = 0;  ///< the one that receives an activation or gradient, or owns the rest
  moved what = moved::activation;
  int index = 0;  ///< of the parameter or statistic
  int micro_batch = 0;
  int from = -1, to = -1;  ///< values
  int path = 0;            ///< index into program::paths
  int bucket = -1;         ///< moves of one bucket begin together; -1: this one travels alone

  friend constexpr bool operator==(program_move const&, program_move const&) = default;
};

struct program {
  topology mesh;
  int micro_batches = 1;
  int elements = 0;
  std::vector<action> actions;
  std::vector<value> values;
  std::vector<program_move> moves;
  std::vector<redistribution_plan> paths;  ///< each distinct one once
  std::int64_t resident = 0;  ///< bytes of optimizer states and rounded copies, for the whole step

  constexpr redistribution_plan const& path_of(program_move const& m) const {
    return paths[static_cast<std::size_t>(m.path)];
  }
  constexpr program_move const& move_of(action const& a) const {
    return moves[static_cast<std::size_t>(a.move)];
  }
  constexpr value const& value_of(int number) const {
    return values[static_cast<std::size_t>(number)];
  }
  friend constexpr bool operator==(program const&, program const&) = default;
};

}  // namespace step
}  // namespace ashlar::search
