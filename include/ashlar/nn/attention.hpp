// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The core of multi-head self-attention, between its two projections. With a causal mask, a token
// attends to itself and the tokens before it. Without a mask, it attends to the whole sequence:
//
//   q k v [batch, seq, heads, 3 head_dim]  ->  [batch, seq, heads, head_dim]
//
// The tokens of an image are its pixels, row by row. So for images, the sequence consists of two
// dims:
//
//   q k v [batch, height, width, heads, 3 head_dim]  ->  [batch, height, width, heads, head_dim]
//
// Plans may split the sequences (dim 0) or the heads (the dim before the last). Each rank then has
// whole heads and sequences, and their number may differ between ranks. For the backward pass, the
// log-sum-exp of each row of scores is kept, but not the scores.

#include <ashlar/device/attention_extents.hpp>
#include <ashlar/device/host/cached_attention.hpp>
#include <ashlar/nn/chain.hpp>
#include <ashlar/nn/kept.hpp>
#include <ashlar/nn/layer.hpp>
#include <ashlar/nn/linear.hpp>
#include <ashlar/nn/token_cache.hpp>
#include <ashlar/support/buffer.hpp>

namespace ashlar::nn {

enum class attention_mask : signed char { causal, none };

/// Runs the forward pass of an attention layer on the next tokens of sequences. The keys and values
/// of earlier tokens are in the cache of the pass. The keys and values of the next tokens are added
/// to this cache. The function runs on the host only: nn::generator does not compile for other
/// meshes.
template <class Call, class Y, class Sums>
void forward_cached([[maybe_unused]] Call const& c,
                    [[maybe_unused]] device::host::grouped_extents const& e, [[maybe_unused]] Y* y,
                    [[maybe_unused]] Sums* log_sum_exp) {
  if constexpr (Call::processor_type::is_host) {
    auto const& cache = *c.pass().cache;
    buffer<Y> workspace(c.memory(), device::host::cached_attention_workspace(e, cache.places));
    device::host::cached_attention_forward(
        static_cast<Y const*>(c.x().data()), e, {cache.tokens, cache.places}, workspace.data(),
        cache.template shard<Y>(c.pass().element), y, log_sum_exp);
  }
}

/// A layer that maps [batch, seq, heads, 3 head_dim] to [batch, seq, heads, head_dim], where seq is
/// one dim or two. Its passes do not communicate.
class attention_core {
 public:
  static constexpr bool runs_on_devices = true;

  constexpr explicit attention_core(attention_mask mask = attention_mask::causal) : mask_(mask) {}

  constexpr search::layer_spec spec(shape const& x) const {
    int const r = x.rank();
    if ((r != 4 && r != 5) || x[r - 1] % 3 != 0)
      throw error("nn::attention_core",
                  "the input is " + to_string(x) +
                      " but must be [batch, seq, heads, 3 head_dim], or [batch, height, width, "
                      "heads, 3 head_dim] for images.");
    search::layer_spec s;
    s.name = "attention";
    s.x = s.y = x;
    s.y[r - 1] /= 3;
    s.rows = attention_training_rows(r);
    std::int64_t const tokens = r == 4 ? x[1] : x[1] * x[2], heads = x[r - 2];
    auto const values = static_cast<double>(s.y.elements());
    double const part = mask_ == attention_mask::causal ? 0.5 : 1;      // share of scores computed
    s.forward_flops = 4 * part * values * static_cast<double>(tokens);  // q k^T and scores v
    s.backward_flops = 2.5 * s.forward_flops;
    auto const scores = part * static_cast<double>(x[0] * tokens * heads) *
                        static_cast<double>(tokens);
    s.forward_values = 2 * scores;
    s.backward_values = 3 * scores;
    s.saved_values = 4 * values;
    if (r == 4 && mask_ == attention_mask::causal) s.cached_values = 2 * s.y[3];
    s.workspace_values = static_cast<double>(device::host::attention_backward_workspace(
        {x[0], tokens, heads, s.y[r - 1], mask_ == attention_mask::causal}));
    // The GEMM is one product of seq x seq x head_dim for each sequence and head. Bit d of mask m
    // stands for dim d of x, and bit d of mask n for dim d of y (gemm_dims). The sequence is dim 1
    // of both, or dims 1 and 2 for images.
    s.gemm.m = s.gemm.n = r == 4 ? 1u << 1 : 3u << 1;
    s.gemm.fixed_k = s.y[r - 1];
    return s;
  }

  template <class Call>
  auto forward(Call const& c) const {
    static_assert(
        Call::x_rank == 4 || Call::x_rank == 5,
        "nn::attention_core: the input must be [batch, seq, heads, 3 head_dim], or [batch, "
        "height, width, heads, 3 head_dim] for images.");
    auto const e = extents(c.x());
    auto y = c.make_y();
    kept<typename Call::accumulated> log_sum_exp(c.mesh(), e.batch * e.heads * e.sequence);
    if (c.pass().cache != nullptr)
      forward_cached(c, {e.batch, e.sequence, e.heads, 1, e.head_dim}, y.data(),
                     log_sum_exp.data());
    else
      attention_forward(c.processor(), c.memory(), c.x().data(), e, y.data(), log_sum_exp.data());
    return made(y, c.x(), y, std::move(log_sum_exp));
  }
  template <class Call>
  auto backward(Call const& c) const {
    auto const& x = c.template kept<0>();
    auto dx = c.make_dx();
    attention_backward(c.processor(), c.memory(), c.dy().data(), x.data(),
                       c.template kept<1>().data(), c.template kept<2>().data(), extents(x),
                       dx.data());
    return dx;
  }

 private:
  template <class X>
  device::attention_extents extents(X const& x) const {
    constexpr int r = X::rank;
    return {x.local_size(0), r == 4 ? x.local_size(1) : x.local_size(1) * x.local_size(2),
            x.local_size(r - 2), x.local_size(r - 1) / 3, mask_ == attention_mask::causal};
  }

  attention_mask mask_;
};

namespace detail {

/// Returns the extent of one head. Throws ashlar::error if the number of heads does not divide
/// `features`. The error comes from `entity`. `unit` says in it what is counted, as in "channels".
constexpr std::int64_t extent_of_head(char const* entity, std::int64_t features, std::int64_t heads,
                                      char const* unit) {
  if (heads < 1 || features < 1 || features % heads != 0)
    throw error(entity, std::to_string(heads) + " heads do not divide " + std::to_string(features) +
                            " " + unit + ". Choose a number of heads that does.");
  return features / heads;
}

/// Returns multi-head self-attention with its projections. Its errors are those of extent_of_head.
constexpr auto projected_attention(char const* entity, std::int64_t features, std::int64_t heads,
                                   attention_mask mask, char const* unit) {
  std::int64_t const d = extent_of_head(entity, features, heads, unit);
  return chain(linear<1, 2>({features}, {heads, 3 * d}), attention_core(mask),
               linear<2, 1>({heads, d}, {features}));
}

}  // namespace detail

}  // namespace ashlar::nn
