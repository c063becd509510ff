// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The description, for the search, of a layer that is written as its formula (formula.hpp), or of a
// formula that joins the two nets of a branch (formula_join.hpp).
//
// The spec predicts memory with two rules. A kept value counts as split along a dim of x if every
// signature row that splits this dim also splits the value. A temporary counts as split if every
// row that splits x, or every row that splits y, also splits the temporary. It then counts as split
// like x or like y, whichever is split less. All other values count as whole. So a value that is
// split only because a weight is split, such as the hidden features of an MLP, takes less memory
// than predicted.

#include <span>

#include <ashlar/nn/parameter.hpp>
#include <ashlar/signature/formula/passes.hpp>
#include <ashlar/signature/formula/rows.hpp>
#include <ashlar/step/layer_spec.hpp>

namespace ashlar::nn {

/// A weight of a formula. Unlike in weight_spec, the number of dims is known only at run time.
struct formula_weight {
  step::label name;
  shape extents;
  initial_values initial;
  bool has_initial = false;
};

/// What the spec of a formula states besides the properties of the formula itself.
struct formula_facts {
  step::label name;
  shape x;
  std::span<formula_weight const> weights;
  inplace_vector<step::layer_constant, step::max_constants> constants;
};

namespace detail {

/// Counts node i, which the forward pass keeps, in s.saved_values or s.saved_beside.
constexpr void count_kept(step::layer_spec& s, formulas::differentiated_formula const& f,
                          formulas::formula_rows const& rows, int i) {
  auto const values = static_cast<double>(f.g[i].extents.elements());
  unsigned dims = 0;
  for (int d = 0; d < s.x.rank(); ++d)
    if (rows.splits(i, [d](training_row const& row) { return row.x.is_split_of(d); }))
      dims |= 1u << d;
  if (dims + 1 == 1u << s.x.rank()) {
    s.saved_values += values;
    return;
  }
  for (auto& part : s.saved_beside)
    if (part.dims == dims) {
      part.values += values;
      return;
    }
  if (s.saved_beside.size() < s.saved_beside.capacity()) {
    s.saved_beside.push_back({values, dims});
    return;
  }
  s.saved_beside.back().values += values;  // the list is full, so the prediction is too high
  s.saved_beside.back().dims &= dims;
}

/// Returns how many elements the temporaries of a pass have, in the pass with the most. A temporary
/// counts as split if every signature row with a split x also splits the temporary, or if every row
/// with a split y does. If `split` is true, counts only split temporaries, otherwise only those
/// that are not split.
constexpr double temporaries(formulas::differentiated_formula const& f,
                             formulas::formula_rows const& rows, bool split) {
  using formulas::backward_part;
  auto const counts = [&](int i) {
    return split == (rows.splits(i, [](training_row const& row) { return row.x.is_split(); }) ||
                     rows.splits(i, [](training_row const& row) { return row.y.is_split(); }));
  };
  auto const alike = [&](int i, int j) { return rows.splits_alike(i, j); };
  auto placed = formulas::kept_nodes(f, formulas::backward_nodes(f, backward_part::both));
  placed.push_back(f.y);
  double most = formulas::temporaries_of(f.g, formulas::forward_nodes(f), placed, {}, counts,
                                         alike);
  bool const joins = f.first >= 0;  // if so, one pass makes both gradients
  for (auto const part : {backward_part::both, backward_part::weights, backward_part::input}) {
    if (joins && part != backward_part::both) continue;
    placed.clear();
    if (part != backward_part::weights) placed.push_back(f.dx);
    if (joins) placed.push_back(f.gradients[0]);
    double const needs = formulas::temporaries_of(
        f.g, formulas::backward_nodes(f, part), placed,
        joins || part == backward_part::input ? inplace_vector<int, max_parameters>() : f.gradients,
        counts, alike);
    if (needs > most) most = needs;
  }
  return most;
}

constexpr step::layer_spec formula_spec_here(formula_facts const& facts,
                                             formulas::differentiated_formula const& f) {
  step::layer_spec s;
  s.name = facts.name;
  s.x = facts.x;
  s.y = f.g[f.y].extents;
  s.constants = facts.constants;
  auto const rows = formulas::training_rows(f);
  s.rows = rows.table;
  if (f.first >= 0)  // the first net's output is placed like x, and is no parameter
    for (auto& row : s.rows) row.use.clear(), row.grad.clear();
  s.couples_rows = rows.couples_rows;
  auto const whole = formulas::backward_nodes(f, formulas::backward_part::both);
  auto const alone = formulas::backward_nodes(f, formulas::backward_part::weights);
  auto const input = formulas::backward_nodes(f, formulas::backward_part::input);
  bool reads_weights = false, shares = false;
  int k = 0;
  for (auto const& w : facts.weights) {
    int const node = f.weights[k++];
    s.parameters.push_back({w.name, w.extents, whole.reads[node]});
    reads_weights = reads_weights || alone.reads[node];
  }
  for (int i = 0; i < f.g.size(); ++i) shares = shares || (alone.computes[i] && input.computes[i]);
  auto const forward = formulas::work_of(f, formulas::forward_nodes(f));
  auto const backward = formulas::work_of(f, whole), gradients = formulas::work_of(f, alone);
  s.forward_flops = forward.flops;
  s.forward_values = forward.values;
  s.backward_flops = backward.flops;
  s.backward_values = backward.values;
  if (!facts.weights.empty() && !reads_weights) {
    s.backward = shares ? step::backward_form::separable : step::backward_form::halves;
    s.gradient_flops = gradients.flops;
    s.gradient_values = gradients.values;
  }
  if (f.first < 0 && formulas::dominant_product(f) >= 0) {
    int const last = facts.x.rank() - 1;
    s.gemm.m = (1u << last) - 1;
    s.gemm.k = s.gemm.n = 1u << last;
  }
  s.temporary_values = temporaries(f, rows, true);
  s.workspace_values = temporaries(f, rows, false);
  for (int const tensor : {f.x, f.first})
    if (tensor >= 0 && whole.reads[tensor])
      s.saved_values += static_cast<double>(facts.x.elements());
  for (int const i : formulas::kept_nodes(f, whole)) count_kept(s, f, rows, i);
  return s;
}

ASHLAR_INLINE step::layer_spec formula_spec_at_run_time(formula_facts const& facts,
                                                        formulas::differentiated_formula const& f);
#if ASHLAR_DEFINES(NN)
ASHLAR_INLINE step::layer_spec formula_spec_at_run_time(formula_facts const& facts,
                                                        formulas::differentiated_formula const& f) {
  return formula_spec_here(facts, f);
}
#endif

}  // namespace detail

/// Returns the spec of a layer whose formula, with its gradient, is `f`.
constexpr step::layer_spec formula_spec(formula_facts const& facts,
                                        formulas::differentiated_formula const& f) {
  ASHLAR_RETURN(detail::formula_spec_here(facts, f), detail::formula_spec_at_run_time(facts, f));
}

}  // namespace ashlar::nn
