// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Defines signature tables of operators that need each line of a tensor along one dim r whole, and
// are not reductions. A row says with which placements an operator is local on one mesh axis. d is
// any dim but r, and d' the same dim in the result:
//
//   index of the largest    S(d) -> S(d')   B -> B   not S(r): the index within a shard is not the
//   or smallest along r     index in the tensor, and the larger of two indices is not the index of
//                           the larger element. Nothing partial passes.
//   cumulative sum along r  S(d) -> S(d)    B -> B   P -> P, since it is linear
//                           not S(r): a rank lacks the sums of the ranks before it

#include <ashlar/signature/elementwise.hpp>

namespace ashlar {

/// Returns the signature table of the index of the largest or smallest element along dim `dim`, which
/// the result lacks.
constexpr signature_table index_of_extremum_signatures(int rank, int dim) {
  signature_table table;
  table.push_back({{broadcast()}, broadcast()});
  for (int d = 0; d < rank; ++d)
    if (d != dim) table.push_back({{split(d, 0)}, split(d < dim ? d : d - 1, 0)});
  return table;
}

/// Returns the signature table of the cumulative sum along dim `dim`.
constexpr signature_table cumulative_sum_signatures(int rank, int dim) {
  auto table = softmax_signatures(rank, dim);  // also needs each line along the dim whole
  table.push_back({{partial()}, partial()});
  return table;
}

}  // namespace ashlar
