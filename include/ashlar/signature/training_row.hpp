// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A training row describes a layer in training on one mesh axis: the placements of its input, its
// output, its parameters, and all their gradients. The row joins a signature of the forward
// operator with matching signatures of the backward operators. So all of these operators are local.
// Most training rows are derived from the signature tables of the forward and backward operators.
//
//   x, y      input and output activation     dy, dx    their gradients; dy may differ from y
//   use[i]    parameter i as the forward and backward operators read it
//   grad[i]   the gradient of parameter i as the backward operator produces it
//   stat[i]   a statistic that the layer itself redistributes from one placement to another, such
//             as the row maxima and sums of a cross-entropy whose classes are split
//
// The gradient of a split tensor has the same split. The gradient of a broadcast or partial tensor
// is broadcast or partial. Rows that first slice a broadcast gradient are not listed, because the
// planner can add this redistribution anyway.

#include <ashlar/signature/network.hpp>

namespace ashlar {

inline constexpr int max_parameters = 4;  ///< the most parameters of one layer
inline constexpr int max_statistics = 3;

struct role_move {
  axis_placement from;
  axis_placement to;
  friend constexpr bool operator==(role_move const&, role_move const&) = default;
};

struct training_row {
  axis_placement x, y, dy, dx;
  inplace_vector<axis_placement, max_parameters> use{}, grad{};
  inplace_vector<role_move, max_statistics> stat{};
  friend constexpr bool operator==(training_row const&, training_row const&) = default;
};

using training_table = inplace_vector<training_row, 24>;

/// Returns the signature rows for training (forward and backward) of a map without parameters. Its
/// gradient dx is linear in dy and depends on x. Joins each signature of `forward` (x -> y) with
/// each signature of `backward` (dy, x -> dx) that has the same placement of x.
constexpr training_table join_map(signature_table const& forward, signature_table const& backward) {
  training_table table;
  for (auto const& f : forward)
    for (auto const& b : backward)
      if (same_role(b.in[1], f.in[0])) table.push_back({f.in[0], f.out, b.in[0], b.out});
  return table;
}

/// Returns the signature rows for training (forward and backward) of a map whose gradient needs no
/// activation of the forward pass. Examples are identity, scale, dropout and residual addition. A
/// split in the forward pass requires the same split in the backward pass. B or P in the forward
/// pass combines freely with B or P in the backward pass.
constexpr training_table join_independent(signature_table const& forward) {
  training_table table;
  for (auto const& f : forward)
    for (auto const& g : forward) {
      bool const pair = f.in[0].is_split() || g.in[0].is_split() ? same_role(f.in[0], g.in[0])
                                                                 : true;
      if (pair) table.push_back({f.in[0], f.out, g.out, g.in[0]});
    }
  return table;
}

/// Returns the signature rows for training (forward and backward) of a linear layer y = x w + bias,
/// with dims given by letters. Joins the signatures of the forward pass with those of dx = dy wᵀ,
/// dw = xᵀ dy and dbias = Σ dy.
constexpr training_table linear_training_rows(std::string_view x, std::string_view w,
                                              std::string_view y, std::string_view bias) {
  training_table table;
  auto const forward = contraction_signatures(x, w, y);
  auto const add = add_signatures(y, bias);
  auto const input_gradient = contraction_signatures(y, w, x);
  auto const weight_gradient = contraction_signatures(x, y, w);
  for (auto const& f : forward) {
    if (f.in[1].is_partial()) continue;  // a parameter is never stored partial
    for (auto const& i : input_gradient) {
      if (!same_role(i.in[1], f.in[1])) continue;
      int const w_row = find_row(weight_gradient, f.in[0], i.in[0]);
      if (w_row < 0) continue;
      training_row row{f.in[0], f.out, i.in[0], i.out, {f.in[1]}, {weight_gradient[w_row].out}};
      if (!bias.empty()) {
        // Finds the placement that the bias must have to be added to y without communication. The
        // gradient of the bias is dy, summed over the dims that the bias lacks.
        int added = -1;
        for (int a = 0; a < add.size() && added < 0; ++a)
          if (same_role(add[a].in[0], f.out) && same_role(add[a].out, f.out)) added = a;
        if (added < 0) continue;
        axis_placement bias_gradient = i.in[0];
        if (bias_gradient.is_split()) {
          auto const split_letter = y[static_cast<std::size_t>(bias_gradient.dim)];
          bias_gradient = detail::role_of(bias, split_letter);
          if (bias_gradient.is_broadcast()) bias_gradient = partial();
        }
        row.use.push_back(add[added].in[1]);
        row.grad.push_back(bias_gradient);
      }
      table.push_back(row);
    }
  }
  return table;
}

/// Returns the signature rows for training (forward and backward) of an element-wise non-linear map
/// (gelu, relu), whose gradient is dx = dy · f'(x).
constexpr training_table nonlinear_training_rows(std::string_view letters) {
  return join_map(nonlinear_map_signatures(static_cast<int>(letters.size())),
                  multiply_signatures(letters, letters));
}

/// Returns the signature rows for training (forward and backward) of dropout, scale, identity and
/// residual addition.
constexpr training_table independent_training_rows(int rank) {
  return join_independent(linear_map_signatures(rank));
}

/// Returns the signature rows for training (forward and backward) of layer norm over the last dim.
/// For a given x, dx and the gradients of the parameters are linear in dy. The gradients of the
/// parameters are sums over all rows of x.
constexpr training_table layer_norm_training_rows(int rank) {
  training_table table;
  for (auto const& f : layer_norm_signatures(rank)) {
    if (f.in[1].is_partial()) continue;
    axis_placement const x = f.in[0];
    if (x.is_split()) {
      table.push_back({x, x, x, x, {broadcast(), broadcast()}, {partial(), partial()}});
      continue;
    }
    for (auto const dy : {broadcast(), partial()})
      table.push_back({x, x, dy, dy, {broadcast(), broadcast()}, {dy, dy}});
  }
  return table;
}

/// Returns the signature rows for training (forward and backward) of a transpose. Dim i of the
/// result is dim order[i] of the operand.
constexpr training_table transpose_training_rows(inplace_vector<int, max_rank> const& order) {
  signature_table sums;
  for (auto const& row : transpose_signatures(order))
    if (row.out.op == reduction::sum) sums.push_back(row);
  return join_independent(sums);
}

/// Returns the signature rows for training (forward and backward) of the attention core, whose
/// input has `rank` dims. For given q, k and v, the gradient of the input is linear in dy, so dy
/// may be partial where the input is B. Each sequence and each head is computed on its own.
constexpr training_table attention_training_rows(int rank = 4) {
  training_table table;
  for (auto const& f : attention_signatures(rank)) {
    table.push_back({f.in[0], f.out, f.out, f.in[0]});
    if (f.in[0].is_broadcast()) table.push_back({f.in[0], f.out, partial(), partial()});
  }
  return table;
}

/// A training row that splits a tensor may leave a part of the layer's flops undivided, so that
/// every rank repeats it. This is the largest permitted part, as a fraction. It is small, because
/// the search prices a row as if the ranks divided all work of the layer (step/work.hpp).
inline constexpr double most_repeated_flops = 1.0 / 16;

/// Returns the signature rows for training (forward and backward) of attention to a context, whose
/// queries have `rank` dims. The parameter is the weight of keys and values. For given queries and
/// context, the gradients of the parameter and of the queries are linear in dy. The context is data
/// and has no gradient. Where dim 0 of the queries is split, dim 0 of the context is split, too.
/// Where a dim between the batch and the heads is split, every rank computes the keys and values of
/// the whole context. The table has these rows only if `splits_sequence` is true.
constexpr training_table context_attention_training_rows(int rank, bool splits_sequence = true) {
  training_table table;
  for (auto const& f : context_attention_signatures(rank)) {
    auto const x = f.in[0], use = f.in[2];
    if (!splits_sequence && x.is_split() && x.dim > 0 && x.dim < rank - 2) continue;
    if (x.is_split()) {
      table.push_back({x, x, x, x, {use}, {use.is_split() ? use : partial()}});
      continue;
    }
    for (auto const dy : {broadcast(), partial()}) table.push_back({x, x, dy, dy, {use}, {dy}});
  }
  return table;
}

/// Returns the signature rows for training (forward and backward) of a token embedding: ids [batch,
/// seq] -> [batch, seq, d]. The parameters are the table [vocabulary, d] and, if `positions` is
/// set, the learned positions [length, d]. Ids have no gradient, so dx is B.
constexpr training_table embedding_training_rows(bool positions) {
  training_table table;
  int const feature = 2;
  auto const push = [&](axis_placement x, axis_placement y, axis_placement dy, axis_placement use,
                        axis_placement grad, axis_placement position_use,
                        axis_placement position_grad) {
    training_row row{x, y, dy, broadcast(), {use}, {grad}};
    if (positions) {
      row.use.push_back(position_use);
      row.grad.push_back(position_grad);
    }
    table.push_back(row);
  };
  for (auto const& f : embedding_signatures(2)) {
    auto const ids = f.in[0], words = f.in[1];
    if (words.is_partial()) continue;
    if (ids.is_split_of(0)) {  // the batch is split: every rank needs all positions
      push(ids, f.out, f.out, words, partial(), broadcast(), partial());
    } else if (ids.is_split_of(1)) {  // positions are split: each rank needs only its own
      push(ids, f.out, f.out, words, partial(), split(0, 0), split(0, 0));
    } else if (words.is_split_of(1)) {  // features are split
      push(ids, f.out, split(feature, 0), words, split(1, 0), split(1, 0), split(1, 0));
    } else if (words.is_split_of(0)) {  // vocabulary is split: y and positions are partial
      push(ids, f.out, broadcast(), words, split(0, 0), partial(), broadcast());
    } else {
      push(ids, f.out, broadcast(), words, broadcast(), broadcast(), broadcast());
      push(ids, f.out, partial(), words, partial(), broadcast(), partial());
    }
  }
  return table;
}

/// Returns the signature rows for training (forward and backward) of the cross-entropy loss of
/// logits [.., classes]. y is the scalar loss, whose gradient is the constant 1. There are two
/// statistics: first the row maxima, then the row sums of exponentials together with the target
/// logits.
constexpr training_table cross_entropy_training_rows(int rank) {
  training_table table;
  role_move const none{broadcast(), broadcast()};
  for (auto const& f : cross_entropy_signatures(rank)) {
    auto const x = f.in[0];
    role_move const rows = x.is_split() ? role_move{x, x} : none;
    table.push_back({x, f.out, broadcast(), x, {}, {}, {rows, rows}});
  }
  auto const classes = split(rank - 1, 0);
  auto const sum = shifted_sum_signatures(rank);
  auto const maximum = reduce_signatures(rank, {rank - 1}, reduction::max);
  auto const sums = sum[find_row(sum, classes, broadcast())].out;
  auto const maxima = maximum[find_row(maximum, classes)].out;
  table.push_back({classes,
                   broadcast(),
                   broadcast(),
                   classes,
                   {},
                   {},
                   {{maxima, broadcast()}, {sums, broadcast()}}});
  return table;
}

/// Returns the signature rows for training (forward and backward) of a loss that sums a function of
/// x and a target over all elements. If any dim is split, each rank's loss is a partial sum.
constexpr training_table summed_loss_training_rows(int rank) {
  training_table table;
  table.push_back({broadcast(), broadcast(), broadcast(), broadcast()});
  for (int d = 0; d < rank; ++d)
    table.push_back({split(d, 0), partial(), broadcast(), split(d, 0)});
  return table;
}

}  // namespace ashlar
