// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Defines signature tables of the operators of neural networks. A row says with which placements an
// operator is local on one mesh axis. S(last) splits the feature dim, S(d) any dim before it:
//
//   layer norm   x, gain, bias      S(d), B, B -> S(d)      B, B, B -> B       B, P, P -> P
//   embedding    ids, table         S(d), B -> S(d)         B, S(1) -> S(last) (columns)
//                                   B, S(0) -> P (vocabulary: ids outside the shard give zero)
//                                   B, P -> P               B, B -> B
//   attention    q, k, v of each token: [batch, seq, heads, 3 head_dim] -> [batch, seq, heads,
//                head_dim]
//                                   S(0) -> S(0) (sequences)  S(2) -> S(2) (heads)  B -> B
//                of images [batch, height, width, heads, 3 head_dim]: S(0), S(3) (heads) and B
//   attention to a context: queries [batch, .., heads, head_dim], context [batch, length, width],
//                weight of keys and values [width, heads, 2 head_dim]
//                -> [batch, .., heads, head_dim]
//                                   S(0), S(0), B -> S(0) (sequences)
//                                   S(d), B, B -> S(d) (queries; d between batch and heads)
//                                   S(heads), B, S(1) -> S(heads)   B, B, B -> B
//   cross-entropy, summed over rows: logits [.., classes], targets [..] -> scalar
//                                   S(d), S(d) -> P         B, B -> B
//
// If the classes are split, the cross-entropy is not a single local operator, but consists of
// three:
//
//   maximum over the classes        S(last) -> Pmax
//   sum of exponentials             S(last), B -> P (the second operand is the maximum of each row)
//   look-up of the target's logit   S(last), B -> P (the second operand is the target of each row)
//
// shifted_sum_signatures returns the table of the last two operators.

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

/// Returns the signature table of an embedding of ids with `rank` dims. The result has one dim
/// more.
constexpr signature_table embedding_signatures(int rank) {
  signature_table table;
  table.push_back({{broadcast(), broadcast()}, broadcast()});
  for (int d = 0; d < rank; ++d) table.push_back({{split(d, 0), broadcast()}, split(d, 0)});
  table.push_back({{broadcast(), split(1, 0)}, split(rank, 0)});
  table.push_back({{broadcast(), split(0, 0)}, partial()});
  table.push_back({{broadcast(), partial()}, partial()});
  return table;
}

/// Returns the signature table of attention among the tokens of a sequence. The operand has `rank`
/// dims. The heads are the dim before the last one.
constexpr signature_table attention_signatures(int rank = 4) {
  signature_table table;
  table.push_back({{broadcast()}, broadcast()});
  table.push_back({{split(0, 0)}, split(0, 0)});
  table.push_back({{split(rank - 2, 0)}, split(rank - 2, 0)});
  return table;
}

/// Returns the signature table of attention to a context: queries with `rank` dims, context, weight
/// of keys and values. The heads are the last but one dim of the queries. The result of a query
/// does not depend on other queries, so all dims between the batch and the heads may be split, too.
constexpr signature_table context_attention_signatures(int rank) {
  signature_table table;
  auto const whole = broadcast();
  table.push_back({{whole, whole, whole}, whole});
  table.push_back({{split(0, 0), split(0, 0), whole}, split(0, 0)});
  for (int d = 1; d + 2 < rank; ++d) table.push_back({{split(d, 0), whole, whole}, split(d, 0)});
  table.push_back({{split(rank - 2, 0), whole, split(1, 0)}, split(rank - 2, 0)});
  return table;
}

/// Returns the signature table of the cross-entropy of logits with `rank` dims. No row of this
/// table splits the classes.
constexpr signature_table cross_entropy_signatures(int rank) {
  signature_table table;
  table.push_back({{broadcast(), broadcast()}, broadcast()});
  for (int d = 0; d + 1 < rank; ++d) table.push_back({{split(d, 0), split(d, 0)}, partial()});
  return table;
}

/// Returns the signature table of operators that sum g(logit, v) over the classes of each row. v is
/// the maximum of the row (sum of exponentials) or its target (the target's logit). A split of the
/// class dim gives P, because each rank sums over its classes only.
constexpr signature_table shifted_sum_signatures(int rank) {
  signature_table table;
  table.push_back({{broadcast(), broadcast()}, broadcast()});
  for (int d = 0; d + 1 < rank; ++d) table.push_back({{split(d, 0), split(d, 0)}, split(d, 0)});
  table.push_back({{split(rank - 1, 0), broadcast()}, partial()});
  return table;
}

}  // namespace ashlar
