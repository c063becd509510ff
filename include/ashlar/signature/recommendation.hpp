// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Defines signature tables of the layers of recommendation models (DLRM, Naumov et al. 2019). A row
// says with which placements an operator is local on one mesh axis:
//
//   embedding tables   ids [batch, tables], values [tables, rows, d] -> [batch, tables, d]
//                        S(0), B -> S(0)   samples       S(1), S(0) -> S(1)   whole tables
//                        B, S(1) -> P      rows          B, S(2) -> S(2)      columns
//                        B, P -> P                       B, B -> B
//   interaction        [batch, n, d] -> [batch, (d) + n (n - 1) / 2]: the dot products of all pairs
//                      of vectors, optionally after the d elements of the first vector
//                        S(0) -> S(0)      S(2) -> P     B -> B
//   bottom MLP         [batch, n, d], weights [in + 1, out].. -> [batch, 1 + n, d]: computes one
//                      vector from numeric features, which every rank has, and puts it in front of
//                      the n vectors. B.. means that all (or all other) weights are broadcast
//                        S(0), B.. -> S(0)     B, B.. -> B     S(2), B.., S(1) -> S(2)
//
// If the rows of an embedding are split, ids outside a rank's shard give zero. If the columns of an
// interaction are split, each rank contributes its columns' part of the dot products. If the first
// vector is part of the result, each rank also contributes its columns of that vector.

#include <ashlar/signature/training_row.hpp>

namespace ashlar {

constexpr signature_table embedding_tables_signatures() {
  signature_table table;
  table.push_back({{broadcast(), broadcast()}, broadcast()});
  table.push_back({{split(0, 0), broadcast()}, split(0, 0)});
  table.push_back({{split(1, 0), split(0, 0)}, split(1, 0)});
  table.push_back({{broadcast(), split(1, 0)}, partial()});
  table.push_back({{broadcast(), split(2, 0)}, split(2, 0)});
  table.push_back({{broadcast(), partial()}, partial()});
  return table;
}

constexpr signature_table interaction_signatures() {
  signature_table table;
  table.push_back({{broadcast()}, broadcast()});
  table.push_back({{split(0, 0)}, split(0, 0)});
  table.push_back({{split(2, 0)}, partial()});
  return table;
}

/// Returns the signature table of the gradient of the interaction: dy, x -> dx.
constexpr signature_table interaction_gradient_signatures() {
  signature_table table;
  table.push_back({{broadcast(), broadcast()}, broadcast()});
  table.push_back({{partial(), broadcast()}, partial()});
  table.push_back({{split(0, 0), split(0, 0)}, split(0, 0)});
  table.push_back({{broadcast(), split(2, 0)}, split(2, 0)});
  return table;
}

/// Returns the signature rows for training (forward and backward) of embedding tables. Ids have no
/// gradient, so dx is B.
constexpr training_table embedding_tables_training_rows() {
  training_table table;
  for (auto const& f : embedding_tables_signatures()) {
    auto const ids = f.in[0], values = f.in[1];
    if (values.is_partial()) continue;
    auto const push = [&](axis_placement dy, axis_placement grad) {
      table.push_back({ids, f.out, dy, broadcast(), {values}, {grad}});
    };
    if (ids.is_split_of(0)) {
      push(f.out, partial());
    } else if (values.is_split()) {
      push(f.out.is_partial() ? broadcast() : f.out, values);
    } else {
      push(broadcast(), broadcast());
      push(partial(), partial());
    }
  }
  return table;
}

constexpr training_table interaction_training_rows() {
  return join_map(interaction_signatures(), interaction_gradient_signatures());
}

/// Returns the signature rows for training (forward and backward) of the bottom MLP with `layers`
/// weights. The backward pass of the MLP reads only the first vector of dy, because the MLP
/// computed only that vector.
constexpr training_table bottom_mlp_training_rows(int layers) {
  training_table table;
  auto const push = [&](axis_placement x, axis_placement dy, axis_placement last,
                        axis_placement grad, axis_placement last_grad) {
    training_row row{x, x, dy, dy};
    for (int i = 0; i < layers; ++i) {
      row.use.push_back(i + 1 < layers ? broadcast() : last);
      row.grad.push_back(i + 1 < layers ? grad : last_grad);
    }
    table.push_back(row);
  };
  push(broadcast(), broadcast(), broadcast(), broadcast(), broadcast());
  push(broadcast(), partial(), broadcast(), partial(), partial());
  push(split(0, 0), split(0, 0), broadcast(), partial(), partial());
  push(split(2, 0), split(2, 0), split(1, 0), partial(), split(1, 0));
  return table;
}

}  // namespace ashlar
