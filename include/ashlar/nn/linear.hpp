// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// y = x w + bias over the last dims of x: x [lead.., in..], w [in.., out..], y [lead.., out..].
//
//   linear(512, 2048)                     [batch, seq, 512] -> [batch, seq, 2048]
//   linear({512}, {8, 192})               -> [batch, seq, 8, 192]: heads are a dim of their own, so
//   linear({8, 64}, {512})                   that splitting heads over ranks never cuts one
//
// Rows of the plan: contraction signatures joined forward and backward (signature/training_row.hpp).
// Initialization: normal deviates of variance 1 / in, as GPT-2 scales them; bias zero.

#include <cmath>

#include <ashlar/nn/layer.hpp>

namespace ashlar::nn {

template <class T, int XRank, int In, int Out, class At>
class placed_linear {
  static constexpr int lead = XRank - In;
  static constexpr int y_dims = lead + Out;
  using input = input_of<T, XRank, At>;
  using weight = parameter_of<T, In + Out, 0, At>;
  using bias_type = parameter_of<T, Out, 1, At>;

 public:
  placed_linear(At const& at, shape const& y, weight w, std::optional<bias_type> bias)
      : at_(at), y_extents_(y), weight_(std::move(w)), bias_(std::move(bias)) {}

  auto forward(input const& x, pass const& p) {
    auto const w = weight_.use();
    auto y = empty<T, y_dims>(x.mesh(), y_extents_, at_.y());
    std::int64_t const k = product(x, lead, XRank), n = product(y, lead, y_dims);
    std::int64_t const m = product(y, 0, lead);
    auto const& on = x.mesh().processor();
    auto const multiply = [&](T const* bias) {
      linear_forward(on, m, n, k, x.data(), w.data(), bias, y.data());
    };
    if (bias_) multiply(bias_->use().data());
    else multiply(nullptr);
    if (p.saves()) x_ = x;
    return y;
  }

  template <distributed DY>
  auto backward(DY const& dy) {
    auto const w = weight_.use();
    auto dx = empty<T, XRank>(dy.mesh(), x_.extents(), at_.dx());
    std::int64_t const m = product(dy, 0, lead), n = product(dy, lead, y_dims);
    std::int64_t const k = product(x_, lead, XRank);
    backward_without_dx(dy);
    gemm(dy.mesh().processor(), false, true, m, k, n, 1, dy.data(), n, w.data(), n, 0, dx.data(),
         k);
    return dx;
  }
  template <distributed DY>
  void backward_without_dx(DY const& dy) {
    std::int64_t const m = product(dy, 0, lead), n = product(dy, lead, y_dims);
    std::int64_t const k = product(x_, lead, XRank);
    auto const& on = dy.mesh().processor();
    gemm(on, true, false, k, n, m, 1, x_.data(), k, dy.data(), n, 1, weight_.pending().data(), n);
    if (bias_) add_column_sums(on, dy.mesh().memory(), dy.data(), m, n, bias_->pending().data());
    x_ = {};
  }

  template <class F>
  void for_each_parameter(F f) {
    f(weight_);
    if (bias_) f(*bias_);
  }

 private:
  template <class Tensor>
  static std::int64_t product(Tensor const& t, int first, int last) {
    std::int64_t n = 1;
    for (int d = first; d < last; ++d) n *= t.local_size(d);
    return n;
  }

  At at_;
  shape y_extents_;
  weight weight_;
  std::optional<bias_type> bias_;
  input x_;
};

/// x [lead.., in..] -> y [lead.., out..]. Communicates nothing of its own: what its plan moves is moved
/// before and after.
template <int In = 1, int Out = 1>
class linear {
 public:
  template <int XRank>
  static constexpr int y_rank = XRank - In + Out;

  constexpr linear(std::int64_t in, std::int64_t out,
                   bool bias = true) requires(In == 1 && Out == 1)
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
    // One letter a dim: a, b, c lead; from d on those contracted, then the new ones.
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
    s.forward_flops = 2.0 * static_cast<double>(s.x.elements()) *
                      static_cast<double>(out_.elements());
    s.backward_flops = 2 * s.forward_flops;
    s.forward_values = static_cast<double>(s.y.elements());
    s.backward_values = static_cast<double>(s.y.elements());
    s.backward = search::backward_form::halves;
    s.gradient_flops = s.forward_flops;
    s.gradient_values = s.backward_values;
    s.saved_values = static_cast<double>(x.elements());
    s.gemm.m = (1u << lead) - 1;
    s.gemm.k = ((1u << In) - 1) << lead;
    s.gemm.n = ((1u << Out) - 1) << lead;
    return s;
  }

  template <class T, int XRank, class At, class Mesh>
  auto place(Mesh const& m, shape const& x, At const& at, stream_counter& streams) const {
    static_assert(XRank > In, "nn::linear: the input has no dims beside those the layer takes.");
    double const deviation = 1 / std::sqrt(static_cast<double>(in_.elements()));
    auto w = random_parameter<T, In + Out, 0>("weight", m, weight_extents(), at, deviation,
                                              streams.seed, streams.next++);
    std::optional<parameter_of<T, Out, 1, At>> b;
    if (bias_) b.emplace(constant_parameter<T, Out, 1>("bias", m, out_, at, T(0)));
    return placed_linear<T, XRank, In, Out, At>(at, spec(x).y, std::move(w), std::move(b));
  }

 private:
  constexpr shape weight_extents() const {
    shape s = in_;
    for (int d = 0; d < Out; ++d) s.extent.push_back(out_[d]);
    return s;
  }

  shape in_, out_;
  bool bias_;
};

}  // namespace ashlar::nn
