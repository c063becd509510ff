// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A layer that is written as its formula:
//
//   constexpr auto gain = nn::formula("gain", [](auto x, auto g) { return x * g; },
//                                     nn::weight("gain", {256}, nn::all_equal(1)));
//
// The function gets a symbol for x and one for each weight, in this order. It returns the symbol of
// y (signature/formula/symbol.hpp lists the operators). It runs when a net is described and when it
// is placed, and never in a pass (formula_passes.hpp). All other properties of the layer follow
// from the operators in the function:
//
//   rows            the placements in which every operator of the passes is local, except those
//                   that split a tensor but leave much work undivided (signature/formula/rows.hpp)
//   backward pass   the adjoints of the operators (signature/formula/adjoint.hpp)
//   costs           the flops of products, and the elements that other operators read and write
//   kept values     x, products and sums, if the backward pass reads them; element-wise results are
//                   computed again (signature/formula/passes.hpp)
//
// Initialization: a weight has the initial values that its weight_spec states. Without such values
// it gets normal deviates of variance 1 / (the product of all its extents but the last), as in
// nn::linear. The passes communicate nothing. They run on the host and on GPU ranks, except that
// the operator take_rows runs on the host only. On GPU ranks, nn::place refuses it.
//
// On the host, operators on the same rows are computed together, a few rows at a time, but each
// operator is a loop of its own. On a GPU, each operator is a kernel that reads and writes memory.
// A layer written by hand with fewer loops, such as nn::layer_norm, is faster than the same layer
// as a formula (bench/formulas measures both on the host).

#include <array>
#include <cmath>
#include <utility>

#include <ashlar/nn/formula_passes.hpp>
#include <ashlar/nn/formula_spec.hpp>
#include <ashlar/nn/layer.hpp>
#include <ashlar/signature/formula/symbol.hpp>

namespace ashlar::nn {

/// A weight of a formula: its name, its extents and its initial values.
template <int Rank>
struct weight_spec {
  step::label name;
  shape extents;
  initial_values initial;
  bool has_initial = false;
};

/// Describes a weight that starts with the given values.
template <int Rank>
constexpr weight_spec<Rank> weight(char const* name, std::int64_t const (&extents)[Rank],
                                   initial_values const& initial) {
  return {name, ashlar::detail::shape_of(extents), initial, true};
}
/// Describes a weight that starts with normal deviates of variance 1 / (the product of all its
/// extents but the last).
template <int Rank>
constexpr weight_spec<Rank> weight(char const* name, std::int64_t const (&extents)[Rank]) {
  static_assert(Rank >= 2,
                "nn::weight: a weight of one dim is a gain or a bias. Say its initial values, such "
                "as nn::weight(\"gain\", {features}, nn::all_equal(1)).");
  return {name, ashlar::detail::shape_of(extents), {}, false};
}

template <class F, int... Rank>
class formula_layer {
  static constexpr int count = static_cast<int>(sizeof...(Rank));
  static_assert(count <= max_parameters,
                "nn::formula: a layer has at most 4 weights. Divide the formula in an nn::chain.");

 public:
  using parameters = ranks<Rank...>;
  static constexpr bool runs_on_devices = true;

  constexpr formula_layer(char const* name, F const& f, weight_spec<Rank> const&... weights)
      : name_(name), f_(f), weights_{formula_weight{weights.name, weights.extents, weights.initial,
                                                    weights.has_initial}...} {}

  /// Returns a copy of the layer whose spec also states `value`, a number that occurs in its
  /// formula, under the name `name` (step::layer_constant).
  constexpr formula_layer with_constant(char const* name, double value) const {
    auto made = *this;
    made.constants_.push_back({name, value});
    return made;
  }

  template <int XRank>
  static constexpr int y_rank = decltype(std::declval<F const&>()(
      formulas::symbol<XRank>(), formulas::symbol<Rank>()...))::rank;

  constexpr step::layer_spec spec(shape const& x) const {
    return formula_spec({name_, x, weights_, constants_}, differentiated(x));
  }

  /// Returns a sentence that says why plans never place the input at `at` along a mesh axis. It
  /// names the operator that prevents this placement. `x` has the extents of the input. Returns an
  /// empty text if a signature row of the layer has this placement.
  std::string why_not(shape const& x, axis_placement const& at) const {
    return formulas::refusal(differentiated(x), at);
  }

  initial_values initial(int k) const {
    formula_weight const& w = weights_[static_cast<std::size_t>(k)];
    if (w.has_initial) return w.initial;
    std::int64_t in = 1;
    for (int d = 0; d + 1 < w.extents.rank(); ++d) in *= w.extents[d];
    return normal_deviates(1 / std::sqrt(static_cast<double>(in)));
  }

  /// Returns the passes for an input of extents `x`. Communicates nothing.
  auto passes(shape const& x) const { return formula_passes<count>(differentiated(x)); }

  // The next functions are for a formula that joins the outputs of the two nets of a branch
  // (formula_join.hpp). The outputs have extents `x`.

  template <int XRank>
  static constexpr int joined_rank = decltype(std::declval<F const&>()(
      formulas::symbol<XRank>(), formulas::symbol<XRank>()))::rank;

  constexpr step::layer_spec join_spec(shape const& x) const {
    return formula_spec({name_, x, weights_, constants_}, joining(x));
  }
  constexpr step::label const& name() const { return name_; }
  constexpr shape joined_extents(shape const& x) const {
    auto const f = join_of(x);
    return f.g[f.y].extents;
  }
  /// Returns the formula that joins the outputs of the two nets, with the gradient of each output.
  constexpr formulas::differentiated_formula joining(shape const& x) const {
    auto f = join_of(x);
    formulas::differentiate(f);
    return f;
  }

 private:
  template <std::size_t>
  using symbol_of = formulas::symbol<formulas::any_rank>;

  /// Returns the formula that joins the outputs of two nets, without its gradients.
  constexpr formulas::differentiated_formula join_of(shape const& x) const {
    formulas::differentiated_formula f;
    f.g.name = name_.text;
    f.noun = "the output of";
    f.weight_names.push_back("the first net");
    formulas::node leaf;
    leaf.extents = x;
    f.x = f.g.add(leaf);
    leaf.what = formulas::operation::weight;
    f.first = f.g.add(leaf);
    f.weights.push_back(f.first);
    using any = formulas::symbol<formulas::any_rank>;
    set_y(f, f_(any{&f.g, f.first}, any{&f.g, f.x}));
    return f;
  }

  /// Returns the formula for an input of extents `x`, with its gradient.
  constexpr formulas::differentiated_formula differentiated(shape const& x) const {
    return run_on_symbols(x, std::make_index_sequence<sizeof...(Rank)>());
  }
  template <std::size_t... K>
  constexpr formulas::differentiated_formula run_on_symbols(shape const& x,
                                                            std::index_sequence<K...>) const {
    formulas::differentiated_formula f;
    f.g.name = name_.text;
    formulas::node leaf;
    leaf.extents = x;
    f.x = f.g.add(leaf);
    leaf.what = formulas::operation::weight;
    for (int k = 0; k < count; ++k) {
      leaf.weight = k;
      leaf.extents = weights_[static_cast<std::size_t>(k)].extents;
      f.weights.push_back(f.g.add(leaf));
      f.weight_names.push_back(weights_[static_cast<std::size_t>(k)].name.text);
    }
    using any = formulas::symbol<formulas::any_rank>;
    static_assert(std::is_invocable_v<F const&, any, symbol_of<K>...>,
                  "nn::formula: the function takes a symbol for x and one for each weight, in the "
                  "order of the weights, each by value: [](auto x, auto weight) { .. }.");
    set_y(f, f_(any{&f.g, f.x}, any{&f.g, f.weights[static_cast<int>(K)]}...));
    formulas::differentiate(f);
    return f;
  }
  template <class Y>
  static constexpr void set_y(formulas::differentiated_formula& f, Y const& y) {
    static_assert(formulas::is_symbol<Y>, "nn::formula: the function must return the symbol of y.");
    f.y = y.node;
  }

  step::label name_;
  F f_;
  std::array<formula_weight, sizeof...(Rank)> weights_;
  inplace_vector<step::layer_constant, step::max_constants> constants_;
};

/// Returns the layer y = f(x, weights...). `f` is a function of symbols, and `name` names the layer
/// in plans and errors. Throws ashlar::error, when the layer is described, if the extents of its
/// operators do not fit.
template <class F, int... Rank>
constexpr formula_layer<F, Rank...> formula(char const* name, F const& f,
                                            weight_spec<Rank> const&... weights) {
  return {name, f, weights...};
}

}  // namespace ashlar::nn
