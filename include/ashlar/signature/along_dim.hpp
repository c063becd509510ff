// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Defines signature tables of argmax, argmin and the cumulative sum along a dim r. They need whole
// lines along r (all elements that differ only in their index of r), so no row splits r. A row says
// with which placements an operator is local on one mesh axis. d is any dim but r, and d' is the
// same dim in the result:
//
//   argmax, argmin along r  S(d) -> S(d')   B -> B   not partial
//                           not S(r): an index within a shard is not an index in the tensor, and
//                           the larger of two indices is not the index of the larger element
//   argmax, argmin of all   B -> B            no split: the index counts the elements of the tensor
//   cumulative sum along r  S(d) -> S(d)    B -> B   P -> P, since the sum is linear
//                           not S(r): a rank lacks the sums of the ranks before it

#include <ashlar/signature/elementwise.hpp>

namespace ashlar {

/// Returns the signature table of argmax and argmin along dim `dim` of a tensor with `rank` dims.
/// The result does not have this dim.
constexpr signature_table index_of_extremum_signatures(int rank, int dim) {
  signature_table table;
  table.push_back({{broadcast()}, broadcast()});
  for (int d = 0; d < rank; ++d)
    if (d != dim) table.push_back({{split(d, 0)}, split(d < dim ? d : d - 1, 0)});
  return table;
}

/// Returns the signature table of argmax and argmin of all elements of a tensor.
constexpr signature_table index_of_extremum_signatures() {
  signature_table table;
  table.push_back({{broadcast()}, broadcast()});
  return table;
}

/// Returns the signature table of the cumulative sum along dim `dim`.
constexpr signature_table cumulative_sum_signatures(int rank, int dim) {
  auto table = softmax_signatures(rank, dim);  // softmax, too, needs whole lines along the dim
  table.push_back({{partial()}, partial()});
  return table;
}

}  // namespace ashlar
