// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The training rows of the three layers of a mixture of experts. The first layer reads tokens
// [tokens.., features], and the last one makes tokens with these dims. Between the layers are
// routed tensors r [tokens.., experts, features] (layout/shape.hpp). x and y are the input and the
// output of a layer. t is any dim of the tokens, e the dim of the experts, d the dim of the
// features.
//
//   layer       x      y      dy     dx     parameters                     their gradients
//   dispatch    S(t)   S(t)   S(t)   S(t)   router B                       P
//               B      B      B      B      B                              B
//               B      B      P      P      B                              P
//   experts     S(t)   S(t)   S(t)   S(t)   in B, out B                    P, P
//               S(e)   S(e)   S(e)   S(e)   in S(0), out S(0)              S(0), S(0)
//               B      P      B      P      in S(2), out S(1)              S(2), S(1)
//               B      B      B      B      B, B                           B, B
//               B      B      P      P      B, B                           P, P
//   combine     S(t)   S(t)   S(t)   S(t)
//               S(d)   S(d)   S(d)   S(d)
//               S(e)   P      B      S(e)
//               B, P   B, P   B, P   B, P   four rows: y is placed as x, and dx as dy
//
// The router multiplies each token by a matrix and picks the experts with the highest results. No
// row splits the sums of this product over ranks. Otherwise a plan could change the order of a sum,
// and so its rounding, and so send a token to another expert. The dispatch layer has two
// statistics: the probabilities [tokens.., experts], which are not redistributed, and the chosen
// experts [tokens.., ..], which all ranks get.
//
// For given routes, the backward passes of all three layers are linear in dy. So dy may be a
// partial sum if x and all parameters of the layer are replicated. In the output of the dispatch
// layer, the last feature of a row is its gate, the weight of the expert's result. The gradient of
// the gate is the last feature of the row's gradient. So the gates need no tensor of their own.

#include <ashlar/signature/contraction.hpp>
#include <ashlar/signature/training_row.hpp>

namespace ashlar {

/// Returns the signature table of x [t, d] -> r [t, e, d] for given routes. The table is that of
/// the contraction `te,td->ted` of the routes and x. Every rank has all routes, so the table lists
/// only x and r, and leaves out rows with partial routes. It also leaves out rows that split the
/// experts, because a slice of a replicated r gives the same result without communication.
constexpr signature_table dispatch_signatures() {
  signature_table table;
  for (auto const& row : contraction_signatures("te", "td", "ted"))
    if (auto const& routes = row.in[0];
        !routes.is_partial() && !(routes.is_split() && routes.dim == 1))
      table.push_back({{row.in[1]}, row.out});
  return table;
}

/// Returns the signature table of r [t, e, d], w [e, d, f] -> y [t, e, f].
constexpr signature_table routed_matmul_signatures() {
  return contraction_signatures("ted", "edf", "tef");
}

/// Returns the training rows of the dispatch layer, which routes tokens x with `rank` dims.
constexpr training_table dispatch_training_rows(int rank) {
  training_table table;
  auto const all = broadcast();
  for (int d = 0; d + 1 < rank; ++d) {
    auto const t = split(d, 0);
    table.push_back({t, t, t, t, {all}, {partial()}, {{t, t}, {t, all}}});
  }
  for (auto const dy : {broadcast(), partial()})
    table.push_back({all, all, dy, dy, {all}, {dy}, {{all, all}, {all, all}}});
  return table;
}

/// Returns the training rows of the experts layer, for a routed x with `rank` dims. Each expert
/// computes two matrix products. Their weights are the parameters [experts, features, hidden] and
/// [experts, hidden, features].
constexpr training_table experts_training_rows(int rank) {
  training_table table;
  auto const all = broadcast();
  for (int d = 0; d + 2 < rank; ++d) {
    auto const t = split(d, 0);
    table.push_back({t, t, t, t, {all, all}, {partial(), partial()}});
  }
  auto const e = split(rank - 2, 0), own = split(0, 0);
  table.push_back({e, e, e, e, {own, own}, {own, own}});
  table.push_back(
      {all, partial(), all, partial(), {split(2, 0), split(1, 0)}, {split(2, 0), split(1, 0)}});
  for (auto const dy : {broadcast(), partial()})
    table.push_back({all, all, dy, dy, {all, all}, {dy, dy}});
  return table;
}

/// Returns the training rows of the combine layer, which sums the rows of each token over its
/// experts, for a routed x with `rank` dims.
constexpr training_table combine_training_rows(int rank) {
  training_table table;
  for (int d = 0; d + 2 < rank; ++d)
    table.push_back({split(d, 0), split(d, 0), split(d, 0), split(d, 0)});
  auto const e = split(rank - 2, 0), from = split(rank - 1, 0), to = split(rank - 2, 0);
  table.push_back({from, to, to, from});
  table.push_back({e, partial(), broadcast(), e});
  for (auto const x : {broadcast(), partial()})
    for (auto const dy : {broadcast(), partial()}) table.push_back({x, x, dy, dy});
  return table;
}

}  // namespace ashlar
