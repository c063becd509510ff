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
// No row splits height or width. A rank with h / p rows of an image needs the k - s rows (k the
// window's extent, s its stride) that its neighbours hold, and no collective of the algebra brings
// them. Where such a halo exchange is added, its row is x S(2), w B, y S(2), dy S(2), dx S(2), dw P,
// for extents that divide, and it costs per micro-batch, beside what a split of the batch costs,
//
//   2 (2 α + n c (k - s) w e β)      forward, of x; backward, the gradients of the same rows, added

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

constexpr training_table flatten_training_rows(bool planes_of_one) {
  return join_independent(flatten_signatures(planes_of_one));
}

}  // namespace ashlar
