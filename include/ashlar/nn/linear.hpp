// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A linear layer over the last dims of x:
//
//   y [lead.., out..] = x [lead.., in..] · w [in.., out..] + bias [out..]
//
//   linear(512, 2048)                     [batch, seq, 512] -> [batch, seq, 2048]
//   linear({512}, {8, 192})               [batch, seq, 512] -> [batch, seq, 8, 192]
//   linear({8, 64}, {512})                [batch, seq, 8, 64] -> [batch, seq, 512]
//
// If the heads of an attention have a dim of their own, plans can split the heads over ranks
// without cutting any head.
//
// The signature rows are those of a contraction. Each row gives placements for the forward and the
// backward pass (signature/training_row.hpp). Initialization: normal deviates of variance 1 / in;
// the bias is zero.

#include <cmath>

#include <ashlar/nn/layer.hpp>

namespace ashlar::nn {

/// Sets the costs of a layer whose y is a product of x and a matrix of `columns` columns, and whose
/// gradients are two such products.
constexpr void set_product_costs(search::layer_spec& s, std::int64_t columns) {
  s.forward_flops = 2.0 * static_cast<double>(s.x.elements()) * static_cast<double>(columns);
  s.backward_flops = 2 * s.forward_flops;
  s.forward_values = s.backward_values = static_cast<double>(s.y.elements());
  s.backward = search::backward_form::halves;
  s.gradient_flops = s.forward_flops;
  s.gradient_values = s.backward_values;
  s.saved_values = static_cast<double>(s.x.elements());
}

/// A layer that maps x [lead.., in..] to y [lead.., out..]. Its passes do not communicate. The
/// plan's redistributions happen before and after the passes.
template <int In = 1, int Out = 1>
class linear {
 public:
  static constexpr bool runs_on_devices = true;
  using parameters = ranks<In + Out, Out>;
  template <int XRank>
  static constexpr int y_rank = XRank - In + Out;

  constexpr linear(std::int64_t in, std::int64_t out, bool bias = true)
    requires(In == 1 && Out == 1)
      : in_{in}, out_{out}, bias_(bias) {}
  constexpr linear(std::int64_t const (&in)[In], std::int64_t const (&out)[Out], bool bias = true)
      : bias_(bias) {
    for (auto const n : in) in_.extent.push_back(n);
    for (auto const n : out) out_.extent.push_back(n);
  }

  constexpr search::layer_spec spec(shape const& x) const {
    int const lead = x.rank() - In;
    bool fits = lead >= 1 && lead <= 3;
    for (int d = 0; fits && d < In; ++d) fits = x[lead + d] == in_[d];
    if (!fits)
      throw error("nn::linear", "the input is " + to_string(x) + " but the layer takes " +
                                    to_string(in_) + " in its last dims.");
    search::layer_spec s;
    s.name = "linear";
    s.x = x;
    for (int d = 0; d < lead; ++d) s.y.extent.push_back(x[d]);
    for (int d = 0; d < Out; ++d) s.y.extent.push_back(out_[d]);
    s.parameters.push_back({"weight", weight_extents(), true});
    if (bias_) s.parameters.push_back({"bias", out_, false});
    // The signature rows are those of a contraction, which is written with one letter per dim, as
    // in an einsum. The leading dims get the letters a, b, c. The contracted dims and then the
    // output dims get the letters from d on.
    char x_letters[max_rank]{}, y_letters[max_rank]{}, w_letters[max_rank]{};
    for (int d = 0; d < lead; ++d) x_letters[d] = y_letters[d] = static_cast<char>('a' + d);
    for (int d = 0; d < In; ++d) x_letters[lead + d] = w_letters[d] = static_cast<char>('d' + d);
    for (int d = 0; d < Out; ++d)
      y_letters[lead + d] = w_letters[In + d] = static_cast<char>('d' + In + d);
    auto const view = [](char const* letters, int n) {
      return std::string_view(letters, static_cast<std::size_t>(n));
    };
    s.rows = linear_training_rows(view(x_letters, x.rank()), view(w_letters, In + Out),
                                  view(y_letters, lead + Out),
                                  view(w_letters + In, bias_ ? Out : 0));
    set_product_costs(s, out_.elements());
    s.gemm.m = (1u << lead) - 1;
    s.gemm.k = ((1u << In) - 1) << lead;
    s.gemm.n = ((1u << Out) - 1) << lead;
    return s;
  }

  initial_values initial(int k) const {
    if (k == 1) return all_equal(0);
    return normal_deviates(1 / std::sqrt(static_cast<double>(in_.elements())));
  }

  template <class Call>
  auto forward(Call const& c) const {
    static_assert(
        Call::x_rank > In,
        "nn::linear: the input needs at least one dim besides those that the layer takes.");
    auto const w = c.template parameter<0>();
    auto y = c.make_y();
    auto const multiply = [&](auto const* bias) {
      linear_forward(c.processor(), rows(y), columns(y), inner(c.x()), c.x().data(), w.data(), bias,
                     y.data());
    };
    if (bias_) multiply(c.template parameter<1>().data());
    else multiply(static_cast<decltype(w.data())>(nullptr));
    return made(y, c.x());
  }
  template <class Call>
  void weight_gradient(Call const& c) const {
    auto const& x = c.template kept<0>();
    auto const& dy = c.dy();
    auto const& on = c.processor();
    std::int64_t const m = rows(dy), n = columns(dy), k = inner(x);
    gemm(on, true, false, k, n, m, 1, x.data(), k, dy.data(), n, 1, c.template gradient<0>().data(),
         n);
    if (bias_) add_column_sums(on, c.memory(), dy.data(), m, n, c.template gradient<1>().data());
  }
  template <class Call>
  auto input_gradient(Call const& c) const {
    auto const w = c.template parameter<0>();
    auto const& dy = c.dy();
    auto dx = c.make_dx();
    std::int64_t const m = rows(dy), n = columns(dy), k = inner(dx);
    gemm(c.processor(), false, true, m, k, n, 1, dy.data(), n, w.data(), n, 0, dx.data(), k);
    return dx;
  }

 private:
  // The extents of the local product y = x w of matrices. The last Out dims of y are the columns of
  // y, and the last In dims of x are the columns of x. All dims before them are rows.
  template <class Y>
  static std::int64_t rows(Y const& y) {
    return product(y, 0, Y::rank - Out);
  }
  template <class Y>
  static std::int64_t columns(Y const& y) {
    return product(y, Y::rank - Out, Y::rank);
  }
  template <class X>
  static std::int64_t inner(X const& x) {
    return product(x, X::rank - In, X::rank);
  }
  template <class Tensor>
  static std::int64_t product(Tensor const& t, int first, int last) {
    std::int64_t n = 1;
    for (int d = first; d < last; ++d) n *= t.local_size(d);
    return n;
  }

  constexpr shape weight_extents() const {
    shape s = in_;
    for (int d = 0; d < Out; ++d) s.extent.push_back(out_[d]);
    return s;
  }

  shape in_, out_;
  bool bias_;
};

}  // namespace ashlar::nn
