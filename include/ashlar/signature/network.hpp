// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Rule tables of the operators of neural networks. Rows for one mesh axis (last is the feature dim,
// d any dim before it):
//
//   layer norm   x, gain, bias      S(d), B, B -> S(d)      B, B, B -> B       B, P, P -> P
//   embedding    ids, table         S(d), B -> S(d)         B, S(1) -> S(last) (columns)
//                                   B, S(0) -> P (vocabulary: ids outside the shard give zero)
//                                   B, P -> P               B, B -> B
//   attention    q k v, per token [batch, seq, heads, 3 head_dim] -> [batch, seq, heads, head_dim]
//                                   S(0) -> S(0) (sequences)  S(2) -> S(2) (heads)  B -> B
//   cross-entropy, summed over rows: logits [.., classes], targets [..] -> scalar
//                                   S(d), S(d) -> P         B, B -> B
//     If the classes are split, the cross-entropy is not a single local operator. It then consists
//     of three: the maximum over the classes, a sum of exponentials, and a look-up of the target's
//     logit. The table of the maximum has the row S(last) -> Pmax. The other two have a second
//     operand (the maximum or the target of each row), and the row S(last), B -> P
//     (shifted_sum_signatures).

#include <ashlar/signature/elementwise.hpp>

namespace ashlar {

constexpr signature_table layer_norm_signatures(int rank) {
  signature_table table;
  table.push_back({{broadcast(), broadcast(), broadcast()}, broadcast()});
  for (int d = 0; d + 1 < rank; ++d)
    table.push_back({{split(d, 0), broadcast(), broadcast()}, split(d, 0)});
  table.push_back({{broadcast(), partial(), partial()}, partial()});
  return table;
}

/// Returns the table of an embedding of ids with `rank` dims. The result has one dim more.
constexpr signature_table embedding_signatures(int rank) {
  signature_table table;
  table.push_back({{broadcast(), broadcast()}, broadcast()});
  for (int d = 0; d < rank; ++d) table.push_back({{split(d, 0), broadcast()}, split(d, 0)});
  table.push_back({{broadcast(), split(1, 0)}, split(rank, 0)});
  table.push_back({{broadcast(), split(0, 0)}, partial()});
  table.push_back({{broadcast(), partial()}, partial()});
  return table;
}

constexpr signature_table attention_signatures() {
  signature_table table;
  table.push_back({{broadcast()}, broadcast()});
  table.push_back({{split(0, 0)}, split(0, 0)});
  table.push_back({{split(2, 0)}, split(2, 0)});
  return table;
}

/// Returns the table of the cross-entropy of logits with `rank` dims.
constexpr signature_table cross_entropy_signatures(int rank) {
  signature_table table;
  table.push_back({{broadcast(), broadcast()}, broadcast()});
  for (int d = 0; d + 1 < rank; ++d) table.push_back({{split(d, 0), split(d, 0)}, partial()});
  return table;
}

/// Returns the table of operators that compute, for each row, a sum over the classes of some
/// g(logit, v), where v is the row's maximum or target. These are the sum of exponentials and the
/// target's logit. Because of the sum over the classes, a split of the class dim gives P.
constexpr signature_table shifted_sum_signatures(int rank) {
  signature_table table;
  table.push_back({{broadcast(), broadcast()}, broadcast()});
  for (int d = 0; d + 1 < rank; ++d) table.push_back({{split(d, 0), split(d, 0)}, split(d, 0)});
  table.push_back({{split(rank - 1, 0), broadcast()}, partial()});
  return table;
}

}  // namespace ashlar
