// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Refuses rows of a layer's rule table that are certainly wrong. The check uses only the layer's
// spec. It refuses:
//
//   a table without rows
//   layer_spec::turns_together below 1
//   a split of a dim that the tensor does not have
//   an owned tensor: only stored parameters can be owned
//   a gradient that is P(max) or P(min): gradients are sums, and sums and maxima do not commute
//   numbers of uses or gradients that are not equal to the number of parameters
//   a number of redistributions of statistics that is not equal to the number of statistics
//   a halo in a dim that x or y does not have, or with an invalid window
//   a window that does not have one place for each index of y
//   a split of the window's dim in only some of x, y, dy and dx: then the exchange of halos could
//   not tell which rank reads what
//   blocks (block_spec) in a dim that x does not have, or whose number does not divide its extent
//
// nn::verify (nn/verify.hpp) runs the layer and checks that it computes the results that a row
// states.

#include <string>

#include <ashlar/placement/text.hpp>
#include <ashlar/step/layer_spec.hpp>

namespace ashlar::search {
inline namespace step {

/// Returns the text of a row of a layer's rule table, such as "rows[2] (x S(0), y S(0), dy S(0), dx
/// S(0), weight B, gradient of weight P)".
inline std::string row_text(layer_spec const& spec, int number) {
  auto const& row = spec.rows[number];
  std::string text = "rows[" + std::to_string(number) + "] (x " + to_string(row.x) + ", y " +
                     to_string(row.y) + ", dy " + to_string(row.dy) + ", dx " + to_string(row.dx);
  for (int k = 0; k < row.use.size() && k < spec.parameters.size(); ++k)
    text += std::string(", ") + spec.parameters[k].name.text + " " + to_string(row.use[k]);
  for (int k = 0; k < row.grad.size() && k < spec.parameters.size(); ++k)
    text += std::string(", gradient of ") + spec.parameters[k].name.text + " " +
            to_string(row.grad[k]);
  for (int k = 0; k < row.stat.size(); ++k)
    text += ", statistic " + std::to_string(k) + " from " + to_string(row.stat[k].from) + " to " +
            to_string(row.stat[k].to);
  return text + ")";
}

namespace step_detail {

inline error wrong_row(layer_spec const& spec, int number, std::string const& what) {
  return error(spec.name.text, row_text(spec, number) + " " + what);
}

constexpr void check_role(layer_spec const& spec, int number, axis_placement const& role,
                          char const* tensor, int index, int rank) {
  if (role.is_split() && (role.dim < 0 || role.dim >= rank))
    throw wrong_row(spec, number,
                    "splits dim " + std::to_string(role.dim) + " of " + tensor +
                        (index < 0 ? "" : " " + std::to_string(index)) + ", which has " +
                        std::to_string(rank) + (rank == 1 ? " dim" : " dims") +
                        ". Dims count from 0.");
  if (role.is_owned())
    throw wrong_row(spec, number,
                    std::string("has ") + tensor + " as " + to_string(role) +
                        ", but a layer computes on all ranks: write broadcast(), split(dim, 0) or "
                        "partial(). Only stored parameters can be owned.");
}

constexpr void check_gradient(layer_spec const& spec, int number, axis_placement const& role,
                              char const* tensor) {
  if (role.is_partial() && role.op != reduction::sum)
    throw wrong_row(spec, number,
                    std::string("has ") + tensor + " as " + to_string(role) +
                        ", but gradients add up: write partial(), split(dim, 0) or broadcast().");
}

constexpr void check_count(layer_spec const& spec, int number, int have, int want,
                           char const* entries, char const* things) {
  if (have != want)
    throw wrong_row(spec, number,
                    "has " + std::to_string(have) + " " + entries + " but the layer has " +
                        std::to_string(want) + " " + things + ". A row has one entry for each.");
}

constexpr void check_halo(layer_spec const& spec) {
  int const d = spec.halo.dim;
  if (d >= spec.x.rank() || d >= spec.y.rank())
    throw error(spec.name.text, "layer_spec::halo names dim " + std::to_string(d) +
                                    ", which x or y does not have. Dims count from 0.");
  if (char const* const wrong = spec.halo.window.fault())
    throw error(spec.name.text, std::string("layer_spec::halo: ") + wrong);
  if (auto const places = spec.halo.window.places(spec.x[d]); places != spec.y[d])
    throw error(spec.name.text, "the window of layer_spec::halo has " + std::to_string(places) +
                                    " places in dim " + std::to_string(d) + ", but y has " +
                                    std::to_string(spec.y[d]) + ". Give the layer's own window.");
  for (int i = 0; i < spec.rows.size(); ++i) {
    auto const& row = spec.rows[i];
    bool const x = row.x.is_split_of(d);
    if (row.y.is_split_of(d) != x || row.dy.is_split_of(d) != x || row.dx.is_split_of(d) != x)
      throw wrong_row(spec, i,
                      "splits dim " + std::to_string(d) +
                          ", along which the window slides, in only some of x, y, dy and dx. "
                          "Split it in all of them, as halo_row does, or in none.");
  }
}

constexpr void check_blocks(layer_spec const& spec) {
  int const d = spec.blocks.dim;
  if (d >= spec.x.rank() || spec.blocks.count < 1 || spec.x[d] % spec.blocks.count != 0)
    throw error(spec.name.text,
                "layer_spec::blocks asks for " + std::to_string(spec.blocks.count) +
                    " equal blocks of dim " + std::to_string(d) +
                    " of x. Give a dim of x, and a number that divides its extent.");
}

}  // namespace step_detail

/// Throws ashlar::error at the first fault of the list above. The message names the layer and, if
/// the fault is in one row, this row.
constexpr void check_rows(layer_spec const& spec) {
  if (spec.rows.size() == 0)
    throw error(spec.name.text, "the spec has no rows, so no plan can place the layer. Add at "
                                "least the row in which every tensor is replicated.");
  if (spec.turns_together < 1)
    throw error(spec.name.text, "layer_spec::turns_together is " +
                                    std::to_string(spec.turns_together) +
                                    ", but must be 1 or more: it is the number of micro-batches "
                                    "whose forward passes come before their backward passes.");
  if (spec.halo.dim >= 0) step_detail::check_halo(spec);
  if (spec.blocks.dim >= 0) step_detail::check_blocks(spec);
  int const parameters = spec.parameters.size(), statistics = spec.statistics.size();
  for (int i = 0; i < spec.rows.size(); ++i) {
    auto const& row = spec.rows[i];
    auto const role = [&](axis_placement const& r, char const* tensor, int index, int rank) {
      step_detail::check_role(spec, i, r, tensor, index, rank);
    };
    role(row.x, "x", -1, spec.x.rank());
    role(row.dx, "dx", -1, spec.x.rank());
    role(row.y, "y", -1, spec.y.rank());
    role(row.dy, "dy", -1, spec.y.rank());
    step_detail::check_gradient(spec, i, row.dy, "dy");
    step_detail::check_gradient(spec, i, row.dx, "dx");
    step_detail::check_count(spec, i, row.use.size(), parameters, "uses", "parameters");
    step_detail::check_count(spec, i, row.grad.size(), parameters, "gradients", "parameters");
    step_detail::check_count(spec, i, row.stat.size(), statistics, "moves", "statistics");
    for (int k = 0; k < parameters; ++k) {
      int const rank = spec.parameters[k].extents.rank();
      role(row.use[k], "parameter", k, rank);
      role(row.grad[k], "the gradient of parameter", k, rank);
      step_detail::check_gradient(spec, i, row.grad[k], "the gradient of a parameter");
    }
    for (int k = 0; k < statistics; ++k) {
      role(row.stat[k].from, "statistic", k, spec.statistics[k].rank());
      role(row.stat[k].to, "statistic", k, spec.statistics[k].rank());
    }
  }
}

}  // namespace step
}  // namespace ashlar::search
