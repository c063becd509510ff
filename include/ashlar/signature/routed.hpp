// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The training rows of the three layers of a mixture of experts. x and the result have dims [tokens..,
// features]. Between the layers are routed tensors r [tokens.., experts, features] (layout/shape.hpp).
// t stands for each of the tokens' dims, e for the dim of the experts, d for the last dim of r.
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
//               B, P   B, P   B, P   B, P   each of x, y alike with each of dy, dx alike
//
// The router is computed by tokens or whole, never split inside a sum, so that no plan turns a route
// by the order of a sum. Its two statistics are the probabilities [tokens.., experts], which stay
// where they are, and the choices [tokens.., ..], which all ranks get.
//
// For given routes all three backward passes are linear in dy, so dy may be a partial sum wherever x
// is replicated. The last feature of a row of r before the experts is its gate. Its gradient is the
// last feature of the gradient of that row. So no second tensor passes beside the experts.

#include <ashlar/signature/contraction.hpp>
#include <ashlar/signature/training_row.hpp>

namespace ashlar {

/// Returns the signature table of x [t, d] -> r [t, e, d] at given routes: that of `te,td->ted`,
/// where all ranks have the routes `te` and so split them at will. Rows that split experts are left
/// out: a slice makes them from whole rows for free.
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

/// Returns the training rows of the layer that routes tokens x, which has `rank` dims.
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

/// Returns the training rows of the experts' two products, of a routed x with `rank` dims. The
/// parameters are [experts, features, hidden] and [experts, hidden, features].
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

/// Returns the training rows of the sum over the experts of each token, of a routed x with `rank`
/// dims.
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
