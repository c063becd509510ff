// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Defines signature tables of layers on images [batch, channels, height, width]. A row says with
// which placements an operator is local on one mesh axis.
//
//   convolution       x, weight [outputs, channels, k, k] -> y. In the first two dims, this is the
//                     contraction "nc","oc" -> "no": images, output channels (y is split) or input
//                     channels (y is partial) may be split.
//   maximum pooling   a non-linear map of complete planes [height, width]. x and y have the same
//                     placement: S(0), S(1) or B
//   average pooling   a linear map of complete planes. x and y have the same placement: S(0), S(1),
//                     B or P
//   upsampling        like average pooling
//   group norm        x, gain, bias -> y: S(0), B, B -> S(0); S(1), S(0), S(0) -> S(1); B, B, B ->
//                     B; B, P, P -> P. S(1) is allowed only if it cuts no group of channels.
//   flatten           [batch, c, h, w] -> [batch, c h w]. x and y have the same placement: S(0), B
//                     or P. S(1) is allowed only if h and w are 1, because a balanced split of c
//                     channels is generally not a balanced split of c h w features. A linear layer
//                     that reads the three dims c, h, w itself can keep a split of channels.
//
// No row of these tables splits height or width, because an operator with such a split is generally
// not local. A rank that has a part of the rows of an image also needs some rows of its neighbours
// (a halo) if windows reach over the border between the parts. Plans of redistributions do not move
// halos. The exchange of a halo is an action of its own in the program of the training step.
// `halo_row` is an additional row for layers with such an exchange:
//
//   x S(2), w B -> y S(2)      dy S(2) -> dx S(2), dw P
//
// An operator with this row is local only after an exchange of halos, which step/halo.hpp prices. A
// layer offers this row only on request (nn/window.hpp).

#include <ashlar/signature/training_row.hpp>

namespace ashlar {

constexpr signature_table convolution_signatures() {
  return contraction_signatures("nc", "oc", "no");
}

constexpr signature_table max_pool_signatures() { return nonlinear_map_signatures(2); }

constexpr signature_table average_pool_signatures() { return linear_map_signatures(2); }

constexpr signature_table upsample_signatures() { return linear_map_signatures(2); }

/// Returns the signature table of group norm: x, gain, bias -> y. The row that splits channels
/// holds only if every rank has whole groups.
constexpr signature_table group_norm_signatures() {
  signature_table table;
  table.push_back({{broadcast(), broadcast(), broadcast()}, broadcast()});
  table.push_back({{split(0, 0), broadcast(), broadcast()}, split(0, 0)});
  table.push_back({{split(1, 0), split(0, 0), split(0, 0)}, split(1, 0)});
  table.push_back({{broadcast(), partial(), partial()}, partial()});
  return table;
}

/// Returns the signature table of flatten. `planes_of_one` says that height and width have extent
/// 1, so that channels may be split.
constexpr signature_table flatten_signatures(bool planes_of_one) {
  signature_table table;
  for (auto const& row : linear_map_signatures(2))
    if (planes_of_one || !row.in[0].is_split_of(1)) table.push_back(row);
  return table;
}

constexpr training_table convolution_training_rows(bool bias) {
  return linear_training_rows("nc", "oc", "no", bias ? "o" : "");
}

/// Returns the signature rows for training (forward and backward) of maximum pooling. These rows
/// equal the rows of an element-wise non-linear map: dx is linear in dy and depends on x through
/// the positions of the maxima, which the forward pass records.
constexpr training_table max_pool_training_rows() { return nonlinear_training_rows("nc"); }

constexpr training_table average_pool_training_rows() {
  return join_independent(average_pool_signatures());
}

constexpr training_table upsample_training_rows() {
  return join_independent(upsample_signatures());
}

/// Returns the signature rows for training (forward and backward) of group norm. For a given x, dx
/// and the gradients of gain and bias are linear in dy, so dy may be partial where x is B. The
/// gradients of a channel's gain and bias are sums over all images, so they are partial where
/// images are split.
constexpr training_table group_norm_training_rows() {
  training_table table;
  for (auto const& f : group_norm_signatures()) {
    auto const x = f.in[0], use = f.in[1];
    if (use.is_partial()) continue;
    if (x.is_split()) {
      auto const grad = use.is_split() ? use : partial();
      table.push_back({x, x, x, x, {use, use}, {grad, grad}});
      continue;
    }
    for (auto const dy : {broadcast(), partial()})
      table.push_back({x, x, dy, dy, {use, use}, {dy, dy}});
  }
  return table;
}

/// Returns the signature row for training that splits images by their rows (dim 2), for a layer
/// with the given number of parameters. The row requires an exchange of halos.
constexpr training_row halo_row(int parameters) {
  auto const rows = split(2, 0);
  training_row row{rows, rows, rows, rows};
  for (int k = 0; k < parameters; ++k) {
    row.use.push_back(broadcast());
    row.grad.push_back(partial());
  }
  return row;
}

constexpr training_table flatten_training_rows(bool planes_of_one) {
  return join_independent(flatten_signatures(planes_of_one));
}

}  // namespace ashlar
