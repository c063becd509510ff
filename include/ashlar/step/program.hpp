// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A program is a training step as data: the list of actions that every rank of a mesh executes in
// order. build.hpp makes it from a problem and a plan. Passes transform it (pass.hpp), and
// check.hpp checks it. Other files compute its seconds, timeline, bytes and memory. nn::executor
// runs it.
//
// All ranks of a mesh have the same program. The coordinates of a rank determine its part of each
// computation. In a pipeline each part of the mesh has a program of its own (build_stage.hpp),
// whose `mesh` is the part.

#include <vector>

#include <ashlar/layout/halo_layout.hpp>
#include <ashlar/plan/cross_mesh_plan.hpp>
#include <ashlar/step/action.hpp>
#include <ashlar/step/row_exchange.hpp>

namespace ashlar::search {
inline namespace step {

/// One redistribution of a program. It runs between its begin_move and its end_move.
struct program_move {
  search::step::phase phase = search::step::phase::forward;
  int element = 0;  ///< element that receives the tensor, or that owns the parameter or statistic
  moved what = moved::activation;
  int index = 0;  ///< index of the parameter or statistic
  int micro_batch = 0;
  int from = -1, to = -1;  ///< indices of the source and of the result in program::values
  int path = 0;            ///< index into program::paths
  /// Number of the bucket that contains this move, or -1 if none does. All moves of a bucket begin
  /// together.
  int bucket = -1;

  friend constexpr bool operator==(program_move const&, program_move const&) = default;
};

/// A send to another part of the mesh, or a receive from one, in the program of a pipeline's part.
/// The transfer runs between the begin action and the end action of this crossing.
struct program_crossing {
  bool is_send = false;
  moved what =
      moved::activation;  ///< an activation, its gradient, or a tied parameter or its gradient
  int element = 0;        ///< element of this part that makes or reads the tensor
  int micro_batch = 0;
  int value = -1;  ///< index of what is sent or received in program::values
  int number = 0;  ///< place in the common order of all crossings; equal for sender and receiver
  int plan = 0;    ///< index into program::crossing_plans
  search::step::phase phase = search::step::phase::forward;

  friend constexpr bool operator==(program_crossing const&, program_crossing const&) = default;
};

struct program {
  topology mesh;
  int micro_batches = 1;
  int interleaved = 1;  ///< number of micro-batches that take turns (turns.hpp)
  /// Says whether all micro-batches that take turns end their forward passes before the first of
  /// them begins its backward pass (layer_spec::turns_together).
  bool waits_for_forwards = false;
  int elements = 0;
  int element_size = 0;  ///< bytes per element of a tensor of activations
  /// Says whether stored parameters are renewed at the start of the step, from the values that the
  /// step before has updated, instead of after the updates (renewal_first.hpp).
  bool renews_first = false;
  std::vector<action> actions;
  std::vector<value> values;
  std::vector<program_move> moves;
  std::vector<redistribution_plan> paths;  ///< the distinct plans of the moves
  std::vector<program_crossing> crossings;
  /// The plans of the crossings. A crossing runs only `across` of its plan; the redistributions
  /// before and after it are moves.
  std::vector<cross_mesh_plan> crossing_plans;
  std::vector<halo_layout> halos;           ///< the distinct exchanges of halos
  std::vector<row_exchange> row_exchanges;  ///< the exchanges of rows of gradients
  /// Bytes of the optimizer states, the parameter copies in the element type, the errors of wires
  /// and the kept delayed gradients of a rank.
  std::int64_t resident = 0;

  constexpr redistribution_plan const& path_of(program_move const& m) const {
    return paths[static_cast<std::size_t>(m.path)];
  }
  constexpr program_move const& move_of(action const& a) const {
    return moves[static_cast<std::size_t>(a.move)];
  }
  constexpr program_crossing const& crossing_of(action const& a) const {
    return crossings[static_cast<std::size_t>(a.crossing)];
  }
  constexpr halo_layout const& halo_of(action const& a) const {
    return halos[static_cast<std::size_t>(a.halo)];
  }
  constexpr row_exchange const& rows_of(action const& a) const {
    return row_exchanges[static_cast<std::size_t>(a.rows)];
  }
  constexpr value const& value_of(int number) const {
    return values[static_cast<std::size_t>(number)];
  }
  friend constexpr bool operator==(program const&, program const&) = default;
};

}  // namespace step
}  // namespace ashlar::search
