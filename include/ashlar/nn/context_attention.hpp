// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The core of multi-head cross-attention. The queries are x. Keys and values are projected from a
// context [batch, length, width], which belongs to the batch as targets do. Every query attends to
// all tokens of its context:
//
//   q [batch, seq, heads, head_dim]  ->  [batch, seq, heads, head_dim]
//
// The sequence may consist of two dims, so that the queries are the pixels of an image. The weight
// of keys and values is the layer's parameter, [width, heads, 2 head_dim]. There is no bias. The
// context is data, so it has no gradient.
//
// Plans may split the samples (dim 0), the heads and, if the sequence is long, the dims of seq
// (signature/network.hpp). If seq is split, every rank computes the keys and values of the whole
// context and the gradient of their weight. So seq may be split only if these products are a small
// part of the work (most_repeated_flops). Every rank gets the context of its samples as a part of
// the batch, so nothing is communicated. For the backward pass, keys and values are kept, but not
// the scores. In a net, all layers with a context read the same context. Its values follow the
// input of each micro-batch (model.hpp). Initialization: normal deviates of variance 1 / width.

#include <cmath>

#include <ashlar/device/host/context_attention.hpp>
#include <ashlar/nn/kept.hpp>
#include <ashlar/nn/layer.hpp>
#include <ashlar/support/buffer.hpp>

namespace ashlar::nn {

/// The extents of the tokens to which the queries of one sample attend: `length` tokens of `width`
/// features.
struct context_size {
  std::int64_t length = 1;
  std::int64_t width = 1;
};

/// A layer that maps queries [batch, seq, heads, head_dim] to y of the same extents, where seq is
/// one dim or two. Its passes do not communicate. It runs on the host only.
class context_attention {
 public:
  using parameters = ranks<3>;

  /// Throws ashlar::error unless the context has at least one token and one feature.
  constexpr explicit context_attention(context_size const& context) : context_(context) {
    if (context.length < 1 || context.width < 1)
      throw error("nn::context_attention",
                  "the context must have a length and a width of 1 or more.");
  }

  constexpr search::layer_spec spec(shape const& x) const {
    int const r = x.rank();
    if (r != 4 && r != 5)
      throw error("nn::context_attention",
                  "the input is " + to_string(x) +
                      " but must be queries, [batch, seq, heads, head_dim], or [batch, height, "
                      "width, heads, head_dim] for images.");
    search::layer_spec s;
    s.name = "context_attention";
    s.x = s.y = x;
    s.context = {x[0], context_.length, context_.width};
    s.parameters.push_back({"keys_values", {context_.width, x[r - 2], 2 * x[r - 1]}, false});
    auto const values = static_cast<double>(x.elements());
    auto const length = static_cast<double>(context_.length);
    auto const keys_values = static_cast<double>(x[0] * x[r - 2] * 2 * x[r - 1]) * length;
    double const projection = 2 * keys_values * static_cast<double>(context_.width);
    double const scores = values / static_cast<double>(x[r - 1]) * length;
    s.forward_flops = projection + 4 * values * length;
    s.backward_flops = projection + 10 * values * length;
    double const undivided = 2 * projection;  // the flops that a split of seq does not divide
    s.rows = context_attention_training_rows(
        r, undivided <= most_repeated_flops * (s.forward_flops + s.backward_flops));
    s.forward_values = keys_values + 2 * scores;
    s.backward_values = 2 * keys_values + 3 * scores;
    s.saved_values = 2 * values + scores / length;
    s.saved_beside.push_back({static_cast<double>(s.context.elements()), 1});
    s.saved_beside.push_back({keys_values, 1u | 1u << (r - 2)});
    s.workspace_values = keys_values + static_cast<double>(device::host::context_backward_workspace(
                                           {x[0], r == 4 ? x[1] : x[1] * x[2], context_.length,
                                            x[r - 2], x[r - 1]}));
    return s;
  }

  initial_values initial(int) const {
    return normal_deviates(1 / std::sqrt(static_cast<double>(context_.width)));
  }

  template <class Call>
  auto forward(Call const& c) const {
    static_assert(
        Call::x_rank == 4 || Call::x_rank == 5,
        "nn::context_attention: the input must be queries, [batch, seq, heads, head_dim], "
        "or [batch, height, width, heads, head_dim] for images.");
    using T = typename Call::value_type;
    auto const& x = c.x();
    auto const context = c.template context<3>();
    auto const weight = c.template parameter<0>();
    auto y = c.make_y();
    auto const e = extents(x);
    kept<T> keys_values(c.mesh(), e.elements_of_keys_values());
    kept<T> log_sum_exp(c.mesh(), e.batch * e.heads * e.queries);
    std::int64_t const columns = e.heads * 2 * e.head_dim;
    gemm(c.processor(), false, false, e.batch * e.keys, columns, context_.width, 1, context.data(),
         context_.width, weight.data(), columns, 0, keys_values.data(), columns);
    buffer<T> workspace(c.memory(), device::host::context_forward_workspace(e));
    device::host::context_attention_forward(static_cast<T const*>(x.data()),
                                            static_cast<T const*>(keys_values.data()), e,
                                            workspace.data(), y.data(), log_sum_exp.data());
    return made(y, x, context, y, std::move(keys_values), std::move(log_sum_exp));
  }
  template <class Call>
  auto backward(Call const& c) const {
    using T = typename Call::value_type;
    auto const& x = c.template kept<0>();
    auto const& context = c.template kept<1>();
    auto dx = c.make_dx();
    auto const e = extents(x);
    buffer<T> workspace(c.memory(), device::host::context_backward_workspace(e));
    buffer<T> slopes(c.memory(), e.elements_of_keys_values());
    device::host::context_attention_backward(static_cast<T const*>(c.dy().data()),
                                             static_cast<T const*>(x.data()),
                                             static_cast<T const*>(c.template kept<3>().data()),
                                             static_cast<T const*>(c.template kept<2>().data()),
                                             static_cast<T const*>(c.template kept<4>().data()), e,
                                             workspace.data(), dx.data(), slopes.data());
    std::int64_t const columns = e.heads * 2 * e.head_dim;
    gemm(c.processor(), true, false, context_.width, columns, e.batch * e.keys, 1, context.data(),
         context_.width, slopes.data(), columns, 1, c.template gradient<0>().data(), columns);
    return dx;
  }

 private:
  template <class X>
  device::host::context_extents extents(X const& x) const {
    constexpr int r = X::rank;
    return {x.local_size(0), r == 4 ? x.local_size(1) : x.local_size(1) * x.local_size(2),
            context_.length, x.local_size(r - 2), x.local_size(r - 1)};
  }

  context_size context_;
};

}  // namespace ashlar::nn
