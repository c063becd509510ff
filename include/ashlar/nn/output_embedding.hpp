// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The last layer of a language model, which compares each feature vector with the vector of every
// word:
//
//   y [lead.., vocabulary] = x [lead.., features] · tableᵀ,   table [vocabulary, features]
//
// It computes the same as linear(features, vocabulary, false), but its parameter has the extents of
// an embedding's table. So nn::tied (tied.hpp) can make one parameter of the two.
//
// The signature rows are those of a contraction, as in linear.hpp. Initialization: normal deviates
// of variance 1 / features. A tied table has the initial values of the embedding.

#include <cmath>

#include <ashlar/nn/linear.hpp>

namespace ashlar::nn {

/// A layer that maps x [lead.., features] to y [lead.., vocabulary]. Its passes do not communicate.
class output_embedding {
 public:
  static constexpr bool runs_on_devices = true;
  using parameters = ranks<2>;

  constexpr output_embedding(std::int64_t features, std::int64_t vocabulary)
      : features_(features), vocabulary_(vocabulary) {}

  constexpr search::layer_spec spec(shape const& x) const {
    int const lead = x.rank() - 1;
    if (lead < 1 || lead > 3 || x[lead] != features_)
      throw error("nn::output_embedding", "the input is " + to_string(x) +
                                              " but the layer takes [.., " +
                                              std::to_string(features_) + "].");
    search::layer_spec s;
    s.name = "output_embedding";
    s.x = s.y = x;
    s.y[lead] = vocabulary_;
    s.parameters.push_back({"table", {vocabulary_, features_}, true});
    char const x_letters[] = "abcd", y_letters[] = "abce";
    auto const last_of = [&](char const* letters) {
      return std::string_view(letters + 3 - lead, static_cast<std::size_t>(lead + 1));
    };
    s.rows = linear_training_rows(last_of(x_letters), "ed", last_of(y_letters), "");
    set_product_costs(s, vocabulary_);
    s.gemm.m = (1u << lead) - 1;
    s.gemm.k = s.gemm.n = 1u << lead;
    return s;
  }

  initial_values initial(int) const {
    return normal_deviates(1 / std::sqrt(static_cast<double>(features_)));
  }

  template <class Call>
  auto forward(Call const& c) const {
    auto const table = c.template parameter<0>();
    auto y = c.make_y();
    auto const [m, n, k] = extents(c.x(), y);
    gemm(c.processor(), false, true, m, n, k, 1, c.x().data(), k, table.data(), k, 0, y.data(), n);
    return made(y, c.x());
  }
  template <class Call>
  void weight_gradient(Call const& c) const {
    auto const& x = c.template kept<0>();
    auto const& dy = c.dy();
    auto const [m, n, k] = extents(x, dy);
    gemm(c.processor(), true, false, n, k, m, 1, dy.data(), n, x.data(), k, 1,
         c.template gradient<0>().data(), k);
  }
  template <class Call>
  auto input_gradient(Call const& c) const {
    auto const table = c.template parameter<0>();
    auto const& dy = c.dy();
    auto dx = c.make_dx();
    auto const [m, n, k] = extents(dx, dy);
    gemm(c.processor(), false, false, m, k, n, 1, dy.data(), n, table.data(), k, 0, dx.data(), k);
    return dx;
  }

 private:
  /// The extents of the local product: rows, words and features.
  struct product {
    std::int64_t m, n, k;
  };
  template <class X, class Y>
  static product extents(X const& x, Y const& y) {
    return {detail::local_rows_of(x), y.local_size(Y::rank - 1), x.local_size(X::rank - 1)};
  }

  std::int64_t features_, vocabulary_;
};

}  // namespace ashlar::nn
