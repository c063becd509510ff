// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The experts of a mixture. Each expert is a perceptron: two products with gelu in between. It
// computes the rows of the tokens that are routed to it (dispatch.hpp):
//
//   y = gate · gelu(x in[e]) out[e]
//
// Here x is a row without its last feature, the gate is this last feature, and in[e] and out[e] are
// the matrices of expert e.
//
// Because the gate is applied here, combining the rows of a token is a plain sum. If a plan splits
// the hidden features, each rank computes a part of the hidden features of a row. Then y and the
// gradients of x and of the gate are partial sums.

#include <algorithm>
#include <cmath>

#include <ashlar/device/functor.hpp>
#include <ashlar/device/host/operations.hpp>
#include <ashlar/nn/layer.hpp>
#include <ashlar/nn/mixture_log.hpp>
#include <ashlar/nn/moe_options.hpp>
#include <ashlar/signature/routed.hpp>
#include <ashlar/tensor/routed.hpp>

namespace ashlar::nn {

/// Computes y from x, routed rows [tokens.., experts, features + 1] whose last feature is the gate.
/// The extents of y are [tokens.., experts, features]. Communicates nothing.
class experts {
 public:
  static constexpr bool takes_rows = true;
  using parameters = ranks<3, 3>;

  /// Throws ashlar::error if the options are invalid: see check() in moe_options.hpp.
  constexpr experts(std::int64_t features, moe_options const& o)
      : features_(features), hidden_(o.hidden > 0 ? o.hidden : 4 * features), experts_(o.experts) {
    nn::check(o);
  }

  constexpr search::layer_spec spec(shape const& x) const {
    int const r = x.rank();
    if (!x.is_routed() || x.experts() != experts_ || x[r - 1] != features_ + 1)
      throw error("nn::experts", "the input is " + to_string(x) + " but must be rows of " +
                                     std::to_string(features_) + " features and a gate for " +
                                     std::to_string(experts_) +
                                     " experts. Put nn::dispatch before it.");
    search::layer_spec s;
    s.name = "experts";
    s.x = s.y = x;
    s.y[r - 1] = features_;
    s.parameters.push_back({"in", {experts_, features_, hidden_}, true});
    s.parameters.push_back({"out", {experts_, hidden_, features_}, true});
    s.rows = experts_training_rows(r);
    auto const values = static_cast<double>(s.y.elements());
    double const between = values / static_cast<double>(features_) * static_cast<double>(hidden_);
    s.forward_flops = 4 * values * static_cast<double>(hidden_);
    s.backward_flops = 2 * s.forward_flops;
    s.forward_values = 2 * between + 2 * values;
    s.backward_values = 3 * between + 3 * values;
    s.saved_values = static_cast<double>(x.elements()) + between + values;
    s.temporary_values = 2 * between + values;  // backward, if one expert has all rows of its rank
    return s;
  }

  initial_values initial(int k) const {
    return normal_deviates(1 / std::sqrt(static_cast<double>(k == 0 ? features_ : hidden_)));
  }

  template <class Call>
  auto forward(Call const& c) const {
    using T = typename Call::value_type;
    auto const in = c.template parameter<0>();
    auto const out = c.template parameter<1>();
    auto const& rows = rows_of(c.x());
    tell_loads(c, *rows.routes);
    auto y = make_routed<decltype(c.make_y())>(c.mesh(), c.spec().y, as_value(c.at().y()),
                                               rows.routes);
    std::int64_t const d = features_, f = in.local_size(2);
    kept<T> sums(c.mesh(), rows.size() * f), ungated(c.mesh(), rows.size() * d);
    for_each_expert(rows, [&](std::int64_t e, std::int64_t first, std::int64_t n) {
      T const* const x = c.x().data() + first * (d + 1);
      T* const h = sums.data() + first * f;
      T* const z = ungated.data() + first * d;
      buffer<T> active(c.memory(), n * f);
      gemm(c.processor(), false, false, n, f, d, 1, x, d + 1, of(in, e), f, 0, h, f);
      map(c.processor(), device::value_of<device::gelu>{}, static_cast<T const*>(h), n * f,
          active.data());
      gemm(c.processor(), false, false, n, d, f, 1, constant(active.data()), f, of(out, e), d, 0, z,
           d);
      for (std::int64_t r = 0; r < n; ++r)
        for (std::int64_t i = 0; i < d; ++i)
          y.data()[(first + r) * d + i] = x[r * (d + 1) + d] * z[r * d + i];
    });
    return made(y, c.x(), std::move(sums), std::move(ungated));
  }

  template <class Call>
  auto backward(Call const& c) const {
    using T = typename Call::value_type;
    using A = typename Call::accumulated;
    auto const& x = c.template kept<0>();
    auto const in = c.template parameter<0>();
    auto const out = c.template parameter<1>();
    auto const of_in = c.template gradient<0>();
    auto const of_out = c.template gradient<1>();
    auto const& rows = rows_of(x);
    auto dx = make_routed<decltype(c.make_dx())>(c.mesh(), c.spec().x, as_value(c.at().dx()),
                                                 rows.routes);
    std::int64_t const d = features_, f = in.local_size(2);
    auto const& on = c.processor();
    for_each_expert(rows, [&](std::int64_t e, std::int64_t first, std::int64_t n) {
      T const* const own_x = x.data() + first * (d + 1);
      T const* const h = c.template kept<1>().data() + first * f;
      T const* const z = c.template kept<2>().data() + first * d;
      T const* const dy = c.dy().data() + first * d;
      T* const own_dx = dx.data() + first * (d + 1);
      buffer<T> dz(c.memory(), n * d), active(c.memory(), n * f), dh(c.memory(), n * f);
      for (std::int64_t r = 0; r < n; ++r) {
        A of_gate = 0;
        for (std::int64_t i = 0; i < d; ++i) {
          of_gate += A(dy[r * d + i]) * A(z[r * d + i]);
          dz.data()[r * d + i] = own_x[r * (d + 1) + d] * dy[r * d + i];
        }
        own_dx[r * (d + 1) + d] = static_cast<T>(of_gate);
      }
      map(on, device::value_of<device::gelu>{}, h, n * f, active.data());
      gemm(on, true, false, f, d, n, 1, constant(active.data()), f, constant(dz.data()), d, 1,
           of(of_out, e), d);
      gemm(on, false, true, n, f, d, 1, constant(dz.data()), d, of(out, e), d, 0, active.data(), f);
      map(on, device::gradient_of<device::gelu>{}, h, constant(active.data()), n * f, dh.data());
      gemm(on, true, false, d, f, n, 1, own_x, d + 1, constant(dh.data()), f, 1, of(of_in, e), f);
      gemm(on, false, true, n, d, f, 1, constant(dh.data()), f, of(in, e), f, 0, own_dx, d + 1);
    });
    return dx;
  }

 private:
  /// Adds two numbers to the report of the step: the number of rows of the fullest rank, and the
  /// mean number of rows per rank.
  template <class Call>
  static void tell_loads(Call const& c, routing const& routes) {
    auto* const log = c.pass().mixtures;
    if (log == nullptr || !c.pass().training || c.pass().is_recomputed || c.mesh().rank() != 0)
      return;
    auto const rows = rows_by_rank(routes, c.spec().x, c.mesh().topology(), as_value(c.at().x()));
    auto& told = log->told[{c.pass().number, c.pass().element}];
    told.fullest += static_cast<double>(*std::max_element(rows.begin(), rows.end()));
    double all = 0;
    for (auto const n : rows) all += static_cast<double>(n);
    told.mean += all / static_cast<double>(rows.size());
  }
  template <class T>
  static T const* constant(T const* values) {
    return values;
  }
  /// Returns a pointer to the matrix of expert e in the shard of `w`. Here e counts only the
  /// experts of this rank. `w` is a parameter or its gradient sum.
  template <class Weight>
  static auto of(Weight const& w, std::int64_t e) {
    return w.data() + e * w.local_size(1) * w.local_size(2);
  }
  /// Calls visit(expert, first row, number of rows) for each of this rank's experts that has rows.
  template <class Visit>
  static void for_each_expert(routed_rows const& rows, Visit const& visit) {
    for (std::size_t e = 0; e + 1 < rows.first.size(); ++e)
      if (rows.first[e + 1] > rows.first[e])
        visit(static_cast<std::int64_t>(e), rows.first[e], rows.first[e + 1] - rows.first[e]);
  }

  std::int64_t features_, hidden_;
  int experts_;
};

}  // namespace ashlar::nn
