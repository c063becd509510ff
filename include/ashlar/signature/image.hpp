// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Layers on images [batch, channels, height, width], per axis:
//
//   convolution       x, weight [outputs, channels, k, k] -> y: in its first two dims the contraction
//                     "nc","oc" -> "no", so images, output channels (y) or input channels (partial)
//                     may be split
//   maximum pooling   a non-linear map of whole planes: S(0), S(1), B
//   average pooling   a linear map of whole planes: S(0), S(1), B, P
//   flatten           [batch, d...] -> [batch, product]: S(0), B, P; S(1) only where the other dims are
//                     1, for a balanced split of c channels is none of c h w features. A linear layer
//                     that takes the three dims themselves keeps a split of channels.
//
// No row of these tables splits height or width: a rank with h / p rows of an image needs rows that
// its neighbours hold, as far as the window reaches over the border, and no collective of the algebra
// brings them. `halo_row` is the row that such a layer may offer besides,
//
//   x S(2), w B -> y S(2)      dy S(2) -> dx S(2), dw P
//
// local once that halo is there; step/halo.hpp prices the exchange. It is not one of the tables, so
// that nothing is taken for local that is not, and no layer offers it unless it is asked to.

#include <ashlar/signature/training_row.hpp>

namespace ashlar {

constexpr signature_table convolution_signatures() {
  return contraction_signatures("nc", "oc", "no");
}

constexpr signature_table max_pool_signatures() { return nonlinear_map_signatures(2); }

constexpr signature_table average_pool_signatures() { return linear_map_signatures(2); }

/// `planes_of_one`: all dims but the first two are 1.
constexpr signature_table flatten_signatures(bool planes_of_one) {
  signature_table table;
  for (auto const& row : linear_map_signatures(2))
    if (planes_of_one || !row.in[0].is_split_of(1)) table.push_back(row);
  return table;
}

constexpr training_table convolution_training_rows(bool bias) {
  return linear_training_rows("nc", "oc", "no", bias ? "o" : "");
}

/// dx is made of dy by indices that the forward pass found: a product with dy of what is known of x.
constexpr training_table max_pool_training_rows() { return nonlinear_training_rows("nc"); }

constexpr training_table average_pool_training_rows() {
  return join_independent(average_pool_signatures());
}

/// A split of the rows of images, for a layer with so many parameters; with the exchange of a halo.
constexpr training_row halo_row(int parameters) {
  auto const rows = split(2, 0);
  training_row row{rows, rows, rows, rows, {}, {}, {}};
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
