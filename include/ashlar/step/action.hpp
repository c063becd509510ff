// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// One line of a training step's program: what a rank does, with which values.
//
//   kind              computes   reads                                makes             adds to
//   forward           yes        x, parameters in use, statistics     y, saved,
//                                                                     statistics
//   recompute         yes        as forward, in a recomputed segment  as forward
//   weight_gradient   yes        dy, saved                                              gradient sums
//   input_gradient    yes        dy, saved, parameters in use         dx
//   backward          yes        all of both                          dx                gradient sums
//   begin_move        no         the value that moves
//   end_move          no                                              the moved value
//   update            yes        the gradient                                           the parameter
//   release           no         (values that nobody reads any more)
//
// Values are told apart by number: the program has a table of them (program.hpp).

#include <ashlar/step/element_size.hpp>
#include <ashlar/step/work.hpp>

namespace ashlar::search {
inline namespace step {

enum class action_kind : signed char {
  forward,
  recompute,
  weight_gradient,
  input_gradient,
  backward,
  begin_move,
  end_move,
  update,
  release
};

constexpr char const* to_string(action_kind kind) {
  switch (kind) {
    case action_kind::forward: return "forward";
    case action_kind::recompute: return "recompute";
    case action_kind::weight_gradient: return "weight gradient";
    case action_kind::input_gradient: return "input gradient";
    case action_kind::backward: return "backward";
    case action_kind::begin_move: return "begin move";
    case action_kind::end_move: return "end move";
    case action_kind::update: return "update";
    case action_kind::release: return "release";
  }
  return "";
}

/// Whether an action occupies the rank's processor.
constexpr bool computes(action_kind kind) {
  return kind <= action_kind::backward || kind == action_kind::update;
}

/// What a value of a program is.
enum class value_kind : signed char {
  data,       ///< the input of the net, whole on every rank
  x,          ///< an activation that was moved to where its element reads it
  y,          ///< an activation as its element made it
  dy,         ///< a gradient that was moved to where its element reads it
  dx,         ///< a gradient as its element made it
  saved,      ///< what a forward pass keeps for the backward pass
  used,       ///< a parameter as the operators read it
  statistic,  ///< a statistic as the element made it
  reduced,    ///< a statistic after its move
  sum,        ///< a parameter's gradient as the micro-batches add it up
  gradient,   ///< a parameter's gradient where the parameter is stored
  stored      ///< a parameter as it lies between steps
};

constexpr char const* to_string(value_kind kind) {
  constexpr char const* names[] = {"data", "x",         "y",       "dy",  "dx",       "saved",
                                   "used", "statistic", "reduced", "sum", "gradient", "stored"};
  return names[static_cast<int>(kind)];
}

/// One value: what it is, of which element (and which of its parameters or statistics), in which
/// micro-batch, and whether a recomputation made it. `bytes`: of the largest shard.
struct value {
  value_kind kind = value_kind::data;
  int element = 0;
  int index = 0;
  int micro_batch = 0;
  bool again = false;
  std::int64_t bytes = 0;

  /// Whether the value is there when a step begins: data, and what lasts.
  constexpr bool is_given() const { return kind == value_kind::data || lasts(); }
  /// Whether the value is there before the step and after it.
  constexpr bool lasts() const { return kind == value_kind::sum || kind == value_kind::stored; }
  friend constexpr bool operator==(value const&, value const&) = default;
};

/// Numbers of values.
using value_list = inplace_vector<int, 12>;

struct action {
  action_kind kind = action_kind::forward;
  search::step::phase phase = search::step::phase::forward;
  int element = 0;
  int part = 0;  ///< of a forward pass that its statistics cut, or the parameter of an update
  int micro_batch = 0;
  int move = -1;                ///< index into program::moves
  double seconds = 0;           ///< of a computation on the busiest rank
  double halo_seconds = 0;      ///< of the exchange of halos that goes with it (halo.hpp)
  std::int64_t halo_bytes = 0;  ///< that the busiest rank receives in it
  std::int64_t workspace = 0;   ///< bytes that a computation needs besides its values
  value_list reads, makes, adds;

  friend constexpr bool operator==(action const&, action const&) = default;
};

}  // namespace step
}  // namespace ashlar::search
