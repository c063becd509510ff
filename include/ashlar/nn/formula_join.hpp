// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A branch whose two outputs a formula joins:
//
//   constexpr auto gate = nn::formula("gate", [](auto u, auto v) { return silu(u) * v; });
//   nn::branch(f, g, gate)             silu(f(x)) * g(x)
//
// The function gets the symbols of f(x) and g(x), which have equal extents. It returns the symbol
// of the branch's output, which may have other extents. The function has no weights: weights belong
// to layers of f and g. Everything else follows from the operators, as for a layer that is a
// formula (formula.hpp): the signature rows, both gradients, the costs and what the forward pass
// keeps. In each row, f(x) and g(x) have equal placements, and so have their gradients. The passes
// communicate nothing and run on the host.

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include <ashlar/nn/branch.hpp>
#include <ashlar/nn/formula.hpp>
#include <ashlar/tensor/evaluate.hpp>

namespace ashlar::nn {

/// The end of a branch that a formula joins. In the plan, the x of this element is the output of
/// the second net.
template <class T, int XRank, int YRank, class At>
class formula_join_node final : public element_node<typename At::processor_type> {
  using processor = typename At::processor_type;
  static_assert(processor::is_host,
                "nn::branch: a formula joins two nets on the host only. Place the net on an "
                "ashlar::mesh, or join by nn::join::add, ::multiply or ::concat.");
  using input = tensor_for<T, XRank, decltype(std::declval<At>().x()), processor>;
  using output = tensor_for<T, YRank, decltype(std::declval<At>().y()), processor>;
  using output_gradient = tensor_for<T, YRank, decltype(std::declval<At>().dy()), processor>;
  using input_gradient = tensor_for<T, XRank, decltype(std::declval<At>().dx()), processor>;
  using pass_type = formulas::evaluation<T, processor>;
  using local_sizes = std::array<std::int64_t, max_rank>;

  /// The values that the forward pass keeps. A tensor that the backward pass does not read is
  /// empty.
  struct join_values final : kept_values {
    input first, second;
    std::vector<kept<T>> values;
    local_sizes sizes{};  ///< the extents of the shards `first` and `second`
  };

 public:
  /// `name` is the formula's name, which errors and profiles show.
  formula_join_node(step::label const& name, formulas::differentiated_formula f, At const& at)
      : name_(name), f_(std::move(f)), at_(at), forward_(formulas::forward_nodes(f_)),
        backward_(formulas::backward_nodes(f_, formulas::backward_part::both)),
        kept_(formulas::kept_nodes(f_, backward_)) {
    f_.g.name = name_.text;
  }

  void compute(step::action const& a, execution<processor>& on) override {
    if (a.kind == step::action_kind::forward || a.kind == step::action_kind::recompute)
      forward(a, on);
    else backward(a, on);
  }
  char const* name() const override { return name_.text; }

 private:
  void forward(step::action const& a, execution<processor>& on) const {
    auto const second = on.tensor(a.reads[0]).template as<input>();
    auto const first = on.tensor(a.reads[1]).template as<input>();
    output y(second.mesh(), f_.g[f_.y].extents, as_value(at_.y()));
    auto keep = std::make_unique<join_values>();
    keep->sizes = detail::local_sizes_of(second);
    pass_type pass(second.mesh(), f_);
    begin(pass, keep->sizes);
    pass.read(f_.x, second.data());
    pass.read(f_.first, first.data());
    pass.write_to(f_.y, y.data());
    bool const saves = on.saves && a.makes.size() > 1;
    if (saves) {
      if (backward_.reads[f_.x]) keep->second = second;
      if (backward_.reads[f_.first]) keep->first = first;
      for (int const i : kept_) {
        keep->values.emplace_back(second.mesh(), pass.elements(i));
        pass.write_to(i, keep->values.back().data());
      }
    }
    pass.run(forward_);
    on.set(a.makes[0], y);
    if (saves) on.values[static_cast<std::size_t>(a.makes[1])].kept = std::move(keep);
  }

  void backward(step::action const& a, execution<processor>& on) const {
    auto const dy = on.tensor(a.reads[0]).template as<output_gradient>();
    auto const& keep = static_cast<join_values const&>(
        *on.values[static_cast<std::size_t>(a.reads[1])].kept);
    shape const& x = f_.g[f_.x].extents;
    input_gradient of_second(dy.mesh(), x, as_value(at_.dx()));
    input_gradient of_first(dy.mesh(), x, as_value(at_.dx()));
    pass_type pass(dy.mesh(), f_);
    begin(pass, keep.sizes);
    if (backward_.reads[f_.x]) pass.read(f_.x, keep.second.data());
    if (backward_.reads[f_.first]) pass.read(f_.first, keep.first.data());
    for (int i = 0; i < kept_.size(); ++i)
      pass.read(kept_[i], keep.values[static_cast<std::size_t>(i)].data());
    pass.read(f_.dy, dy.data());
    pass.write_to(f_.dx, of_second.data());
    pass.write_to(f_.gradients[0], of_first.data());
    pass.run(backward_);
    on.set(a.makes[0], of_second);
    on.set(a.makes[1], of_first);
  }

  /// Tells `pass` the extents of the shards of f(x) and g(x).
  void begin(pass_type& pass, local_sizes const& sizes) const {
    pass.set_extents(f_.x, sizes);
    pass.set_extents(f_.first, sizes);
    pass.infer_extents();
  }

  step::label name_;
  formulas::differentiated_formula f_;
  At at_;
  formulas::pass_nodes forward_, backward_;
  inplace_vector<int, formulas::max_nodes> kept_;
};

namespace join {

/// Joins the outputs of a branch by a formula without weights.
template <class F>
class by_formula {
 public:
  static constexpr auto kind = search::element_kind::branch_formula;
  static constexpr char const* need = "A formula needs equal extents.";
  template <int Rank>
  static constexpr int y_rank = formula_layer<F>::template joined_rank<Rank>;

  constexpr explicit by_formula(formula_layer<F> const& formula) : formula_(formula) {}

  static constexpr bool fits(shape const& first, shape const& second) { return first == second; }
  constexpr shape joined(shape const& first, shape const&) const {
    return formula_.joined_extents(first);
  }
  constexpr void describe(search::layer_spec& end) const { end = formula_.join_spec(end.x); }
  template <class T, int Rank, class At>
  auto node(shape const& first, At const& at) const {
    return std::make_unique<formula_join_node<T, Rank, y_rank<Rank>, At>>(
        formula_.name(), formula_.joining(first), at);
  }

 private:
  formula_layer<F> formula_;
};

}  // namespace join

/// Returns a net that maps x to join(first(x), second(x)). `join` is a formula of two tensors
/// without weights. nn::describe throws ashlar::error if the extents of the two outputs differ or
/// do not fit the operators of the formula, or if one of the nets has no layers. Communicates
/// nothing.
template <class First, class Second, class F, int... Rank>
constexpr auto branch(First first, Second second, formula_layer<F, Rank...> const& join) {
  using symbol = formulas::symbol<formulas::any_rank>;
  static_assert(sizeof...(Rank) == 0 && std::is_invocable_v<F const&, symbol, symbol>,
                "nn::branch: a formula that joins is a function of the two outputs, each by value, "
                "and has no weights: nn::formula(\"gate\", [](auto u, auto v) { .. }). Give the "
                "weights to layers of the two nets.");
  return branching<First, Second, join::by_formula<F>>(std::move(first), std::move(second),
                                                       join::by_formula<F>(join));
}

}  // namespace ashlar::nn
