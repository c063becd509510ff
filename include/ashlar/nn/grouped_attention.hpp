// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Self-attention in which groups of query heads have one key head and one value head in common, and
// in which queries and keys may carry rotary positions. The core is between two projections:
//
//   q k v [batch, seq, kv_heads, (queries + 2) head_dim]
//     ->  [batch, seq, kv_heads, queries head_dim]           queries = heads / kv_heads
//
// For each key head, the last dim has the features of its query heads, then its key, then its
// value. A plan may split the sequences (dim 0) or the key heads (dim 2), as
// attention_training_rows says. So each rank has the key and value of each of its query heads, and
// heads can be split over at most as many ranks as there are key heads. Each rank has whole
// sequences, so the position of a token is the same however the batch or the heads are split.
//
// device/host/rotary.hpp says which features form a pair and how pairs are rotated, with the source
// of the formula. device/host/grouped_attention.hpp says how the passes compute. The backward pass
// needs x, y and the log-sum-exp of each row of scores, but not the scores. It computes the rotated
// queries and keys again. nn::attention_core is attention without groups and rotary positions, and
// runs on GPUs too.

#include <ashlar/device/host/grouped_attention.hpp>
#include <ashlar/nn/attention.hpp>
#include <ashlar/nn/chain.hpp>
#include <ashlar/nn/kept.hpp>
#include <ashlar/nn/linear.hpp>
#include <ashlar/support/buffer.hpp>

namespace ashlar::nn {

using device::rotary_scaling;

/// A layer that maps [batch, seq, kv_heads, (queries + 2) head_dim] to [batch, seq, kv_heads,
/// queries head_dim]. Its passes do not communicate. It runs on the host only.
class grouped_attention_core {
 public:
  /// `queries` is the number of query heads per key head. A rotary base of 0 leaves queries and
  /// keys without positions. Throws ashlar::error if there is no query head, if the base is
  /// negative, if the scaling is not possible, or if there is a scaling but no base.
  constexpr explicit grouped_attention_core(std::int64_t queries, double rotary_base = 0,
                                            attention_mask mask = attention_mask::causal,
                                            rotary_scaling const& scaling = {})
      : queries_(queries), angles_{rotary_base, scaling}, mask_(mask) {
    if (queries < 1)
      throw error("nn::grouped_attention_core",
                  "a key head needs 1 query head or more, not " + std::to_string(queries) + ".");
    if (rotary_base < 0)
      throw error("nn::grouped_attention_core",
                  "the rotary base must be positive, such as 10000, or 0 for no positions.");
    if (!scaling.is_possible())
      throw error("nn::grouped_attention_core",
                  "the scaling of rotary positions needs positive numbers, and a low that is less "
                  "than high, as in {.factor = 8, .low = 1, .high = 4, .original = 8192}.");
    if (rotary_base == 0 && !scaling.is_none())
      throw error("nn::grouped_attention_core",
                  "a scaling of rotary positions is given, but the rotary base is 0, so there are "
                  "none. Give a base (in nn::attention, .rotary = true), or no scaling.");
  }

  constexpr search::layer_spec spec(shape const& x) const {
    if (x.rank() != 4 || x[3] % (queries_ + 2) != 0)
      throw error("nn::grouped_attention_core",
                  "the input is " + to_string(x) + " but must be [batch, seq, kv_heads, " +
                      std::to_string(queries_ + 2) + " head_dim], with " +
                      std::to_string(queries_) + " query heads, a key and a value per key head.");
    std::int64_t const head_dim = x[3] / (queries_ + 2);
    if (angles_.base > 0 && head_dim % 2 != 0)
      throw error("nn::grouped_attention_core",
                  "rotary positions turn pairs of features, but head_dim is " +
                      std::to_string(head_dim) + ". Choose an even head_dim, or no rotary base.");
    search::layer_spec s;
    s.name = "grouped_attention";
    s.x = s.y = x;
    s.y[3] = queries_ * head_dim;
    s.rows = attention_training_rows(4);
    auto const values = static_cast<double>(s.y.elements());
    auto const tokens = static_cast<double>(x[1]);
    double const part = mask_ == attention_mask::causal ? 0.5 : 1;  // share of scores computed
    double const rows = values / static_cast<double>(head_dim);     // one per token and query head
    s.forward_flops = 4 * part * values * tokens;                   // q k^T and scores v
    s.backward_flops = 2.5 * s.forward_flops;
    s.forward_values = 2 * part * rows * tokens;
    s.backward_values = 3 * part * rows * tokens;
    if (angles_.base > 0) {
      auto const turned = values + values / static_cast<double>(queries_);
      s.forward_values += 2 * turned;
      s.backward_values += 4 * turned;
    }
    s.saved_values = static_cast<double>(x.elements()) + values + rows;
    if (mask_ == attention_mask::causal) s.cached_values = 2 * head_dim;
    s.workspace_values = static_cast<double>(device::host::grouped_backward_workspace(
        {x[0], x[1], x[2], queries_, head_dim, true, angles_}));
    s.gemm.m = s.gemm.n = 1u << 1;
    s.gemm.fixed_k = head_dim;
    s.constants.push_back({"rotary_base", angles_.base});
    if (auto const& scaling = angles_.scaling; !scaling.is_none()) {
      s.constants.push_back({"rotary_factor", scaling.factor});
      s.constants.push_back({"rotary_low", scaling.low});
      s.constants.push_back({"rotary_high", scaling.high});
      s.constants.push_back({"rotary_original", scaling.original});
    }
    return s;
  }

  template <class Call>
  auto forward(Call const& c) const {
    static_assert(Call::x_rank == 4,
                  "nn::grouped_attention_core: the input must be [batch, seq, kv_heads, (queries + "
                  "2) head_dim].");
    using T = typename Call::value_type;
    auto const& x = c.x();
    auto y = c.make_y();
    auto const e = extents(x);
    kept<T> log_sum_exp(c.mesh(), e.batch * e.groups * e.queries * e.sequence);
    if (c.pass().cache != nullptr) {
      forward_cached(c, e, y.data(), log_sum_exp.data());
    } else {
      buffer<T> workspace(c.memory(), device::host::grouped_forward_workspace(e));
      device::host::grouped_attention_forward(static_cast<T const*>(x.data()), e, workspace.data(),
                                              y.data(), log_sum_exp.data());
    }
    return made(y, x, y, std::move(log_sum_exp));
  }
  template <class Call>
  auto backward(Call const& c) const {
    using T = typename Call::value_type;
    auto const& x = c.template kept<0>();
    auto dx = c.make_dx();
    auto const e = extents(x);
    buffer<T> workspace(c.memory(), device::host::grouped_backward_workspace(e));
    device::host::grouped_attention_backward(
        static_cast<T const*>(c.dy().data()), static_cast<T const*>(x.data()),
        static_cast<T const*>(c.template kept<1>().data()),
        static_cast<T const*>(c.template kept<2>().data()), e, workspace.data(), dx.data());
    return dx;
  }

 private:
  template <class X>
  device::host::grouped_extents extents(X const& x) const {
    return {x.local_size(0),
            x.local_size(1),
            x.local_size(2),
            queries_,
            x.local_size(3) / (queries_ + 2),
            mask_ == attention_mask::causal,
            angles_};
  }

  std::int64_t queries_;
  device::rotary_angles angles_;
  attention_mask mask_;
};

/// The sizes and properties of nn::attention.
struct attention_options {
  std::int64_t features = 0;
  std::int64_t heads = 1;  ///< the number of query heads, which must divide the features
  /// The number of key heads, which must divide the number of query heads. 0 means one key head for
  /// each query head.
  std::int64_t kv_heads = 0;
  bool rotary = false;  ///< whether queries and keys are rotated by their positions
  double rotary_base = 10000;
  rotary_scaling scaling{};  ///< how the rotary positions are scaled (device/rotary_angles.hpp)
  bool bias = false;         ///< whether the projections have a bias
  attention_mask mask = attention_mask::causal;
};

/// Returns self-attention with its projections: a linear layer to the queries, keys and values, the
/// core, and a linear layer back. Maps [batch, seq, features] to the same extents. Throws
/// ashlar::error if the number of heads does not divide the number of features, or the number of
/// key heads does not divide the number of heads. Also throws if the rotary base is not positive
/// although `rotary` is set, if the scaling is not possible, or if there is a scaling but no rotary
/// positions.
constexpr auto attention(attention_options const& o) {
  std::int64_t const kv_heads = o.kv_heads == 0 ? o.heads : o.kv_heads;
  std::int64_t const head_dim = detail::extent_of_head("nn::attention", o.features, o.heads,
                                                       "features");
  if (kv_heads < 1 || o.heads % kv_heads != 0)
    throw error("nn::attention", std::to_string(kv_heads) + " key heads do not divide " +
                                     std::to_string(o.heads) +
                                     " query heads. Choose a number of kv_heads that does.");
  if (o.rotary && !(o.rotary_base > 0))
    throw error("nn::attention",
                "the rotary base must be positive, such as 10000. Without positions, write "
                ".rotary = false.");
  std::int64_t const queries = o.heads / kv_heads;
  return chain(linear<1, 2>({o.features}, {kv_heads, (queries + 2) * head_dim}, o.bias),
               grouped_attention_core(queries, o.rotary ? o.rotary_base : 0, o.mask, o.scaling),
               linear<2, 1>({kv_heads, queries * head_dim}, {o.features}, o.bias));
}

}  // namespace ashlar::nn
