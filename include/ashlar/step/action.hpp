// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// An action is one line of a training step's program: what a rank does, and with which values. A
// value is a tensor of the step.
//
//   kind             computes  reads                              makes              adds to
//   forward          yes       x, parameters in use, statistics   y, saved, statistic
//   recompute        yes       (repeats a forward action of a recomputed segment)
//   weight_gradient  yes       dy, saved                                             gradient sums
//   input_gradient   yes       dy, saved, parameters in use       dx
//   backward         yes       dy, saved, parameters in use       dx, skipped        gradient sums
//   begin_move       no        the source of a redistribution
//   end_move         no                                           its result
//   add_gradient     no        the gradient of a tied parameter's                    the gradient
//                              later use                                             of the first
//                                                                                    use
//   update           yes       the gradient                                          the parameter,
//                                                                                    or its master
//   begin_send       no        a value that goes to another part of the mesh
//   end_send         no        the same value
//   begin_receive    no
//   end_receive      no                                           a value from another part
//   exchange_halo    no        x                                  x with halo
//   add_halo         no        dx with halo                       dx
//   exchange_rows    no        a gradient sum in rows             the gradient
//   release          no        (values that no later action reads)
//
// The end of a skip, or of a branch that does not add, makes a gradient for each of the two tensors
// that it joins (problem.hpp). `skipped` is the gradient of the first one: the input of the skip,
// or the output of the branch's first net. A tied parameter has two uses, each with a gradient of
// its own; add_gradient adds the two. The master of a parameter exists only if the parameter is
// updated at one placement and stored at another (plan.hpp). If a gradient is delayed
// (parameter_choice::delay), a step adds to the gradient sum, but synchronizes the pending sum,
// which is the gradient sum of the previous step. A gradient in rows has only the rows of an
// embedding table that the step has read (row_exchange.hpp).
//
// Here "saved" means the values that a layer keeps for its backward pass, and "parameters in use"
// means parameters at the placement where the layer reads them. A statistic is a tensor that is
// redistributed between two parts of a forward pass. Sends and receives are the two sides of a
// crossing: a transfer between two parts of a pipeline's mesh (build_stage.hpp). A redistribution
// before a send or after a receive has a begin_move and an end_move of its own.
//
// A layer whose window slides along a split dim has a halo (halo.hpp). Then its forward pass reads
// x with halo in addition to x, and its backward pass makes dx with halo instead of dx.
//
// An action refers to a value by its index in the program's table of values (program.hpp).

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
  begin_send,
  end_send,
  begin_receive,
  end_receive,
  exchange_halo,
  add_halo,
  release,
  add_gradient,
  exchange_rows
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
    case action_kind::begin_send: return "begin send";
    case action_kind::end_send: return "end send";
    case action_kind::begin_receive: return "begin receive";
    case action_kind::end_receive: return "end receive";
    case action_kind::exchange_halo: return "exchange halo of x";
    case action_kind::add_halo: return "add halo of dx";
    case action_kind::release: return "release";
    case action_kind::add_gradient: return "add gradient";
    case action_kind::exchange_rows: return "exchange rows";
  }
  return "";
}

/// Returns whether an action computes. The other actions move tensors between ranks, add the
/// gradients of a tied parameter, or free memory.
constexpr bool computes(action_kind kind) {
  return kind <= action_kind::backward || kind == action_kind::update;
}

/// The kinds of values of a program. An element reads x and dy, and makes y and dx. It is a layer,
/// or the begin, turn or end of a residual, skip or branch (problem.hpp).
enum class value_kind : signed char {
  data,       ///< the input of the net, replicated on every rank
  x,          ///< an activation, at the placement at which its element reads it
  y,          ///< an activation, at the placement at which its element makes it
  dy,         ///< the gradient of y, at the placement at which its element reads it
  dx,         ///< the gradient of x, at the placement at which its element makes it
  skipped,    ///< the gradient of the first of the two tensors that a skip or a branch joins
  x_halo,     ///< x with its halo: on each rank, all indices that the rank's windows cover
  dx_halo,    ///< the gradient of x_halo; where ranks overlap, their values must be added
  saved,      ///< all that a forward pass saves for the backward pass
  used,       ///< a parameter, at the placement at which its layer reads it
  statistic,  ///< a statistic, at the placement at which its element makes it
  reduced,    ///< a statistic after its redistribution
  sum,        ///< a parameter's gradient, summed over the micro-batches
  gradient,   ///< a parameter's gradient, at the placement at which the parameter is updated
  stored,     ///< a parameter as stored between steps
  master,     ///< a parameter at the placement of its update, if it is stored at another placement
  renewed,    ///< the updated parameter, which replaces the stored one
  copy,       ///< a tied parameter that one part of a pipeline stores and another part reads
  addend,     ///< the gradient of a tied parameter's later use, not yet added to the first use's
  pending     ///< a delayed gradient: the previous step's sum, which this step synchronizes
};

constexpr char const* to_string(value_kind kind) {
  constexpr char const* names[] = {
      "data",         "x",      "y",       "dy",        "dx",      "skipped", "x with halo",
      "dx with halo", "saved",  "used",    "statistic", "reduced", "sum",     "gradient",
      "stored",       "master", "renewed", "copy",      "addend",  "pending"};
  return names[static_cast<int>(kind)];
}

/// A value of a program: a tensor of the step. `index` is the index of the parameter or statistic
/// to which the value belongs. `again` is true if a recomputation makes the value. `bytes` is the
/// size of the value's largest shard. `delay` is the delay of a pending gradient, in steps.
struct value {
  value_kind kind = value_kind::data;
  int element = 0;
  int index = 0;
  int micro_batch = 0;
  bool again = false;
  std::int64_t bytes = 0;
  int delay = 0;

  /// Returns whether the value exists when a step begins. This holds for the data and for all
  /// values that outlast a step.
  constexpr bool is_given() const { return kind == value_kind::data || lasts(); }
  /// Returns whether the value exists both before and after the step.
  constexpr bool lasts() const {
    return kind == value_kind::sum || kind == value_kind::stored || kind == value_kind::master ||
           kind == value_kind::pending;
  }
  friend constexpr bool operator==(value const&, value const&) = default;
};

/// A list of values, as indices into program::values.
using value_list = inplace_vector<int, 12>;

struct action {
  action_kind kind = action_kind::forward;
  search::step::phase phase = search::step::phase::forward;
  int element = 0;
  int part = 0;  ///< part of a forward pass, or index of a parameter or statistic
  int micro_batch = 0;
  int move = -1;  ///< index into program::moves, or -1 if no move begins or ends
  /// Index into program::crossings, or -1 if nothing is sent or received.
  int crossing = -1;
  double seconds = 0;           ///< seconds of the computation, on the busiest rank
  int halo = -1;                ///< index into program::halos, or -1 without an exchange of halos
  double halo_seconds = 0;      ///< seconds of the exchange of halos (halo.hpp)
  std::int64_t halo_bytes = 0;  ///< bytes that the busiest rank receives in that exchange
  int rows = -1;                ///< index into program::row_exchanges; -1: exchanges no rows
  double rows_seconds = 0;      ///< seconds of the exchange of rows (row_exchange.hpp)
  std::int64_t rows_bytes = 0;  ///< bytes that the busiest rank receives in that exchange
  std::int64_t workspace = 0;   ///< bytes that the action needs in addition to its values
  value_list reads{}, makes{}, adds{};

  friend constexpr bool operator==(action const&, action const&) = default;
};

}  // namespace step
}  // namespace ashlar::search
