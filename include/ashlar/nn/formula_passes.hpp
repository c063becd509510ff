// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The passes of a layer that is written as its formula (formula.hpp), for an input of given
// extents. A placed layer has one such object. It holds the operators of the formula and of its
// gradient, so that no pass calls the function of the formula again:
//
//   forward pass     computes y, and keeps x, products and sums if the backward pass reads them
//   backward passes  compute dx, the gradients of the weights, or both
//
// The passes communicate nothing. On GPU ranks, each operator is a kernel of its own.

#include <array>
#include <utility>
#include <vector>

#include <ashlar/nn/call.hpp>
#include <ashlar/nn/kept.hpp>
#include <ashlar/tensor/evaluate.hpp>

namespace ashlar::nn {

namespace detail {

/// The values that the forward pass of a formula keeps.
template <class X, class T>
struct formula_values {
  X x;  ///< empty if the backward pass does not read it
  std::vector<kept<T>> values;
};

}  // namespace detail

/// `Weights` is the number of weights of the formula.
template <int Weights>
class formula_passes {
  using part = formulas::backward_part;

 public:
  explicit formula_passes(formulas::differentiated_formula f)
      : f_(std::move(f)), forward_(formulas::forward_nodes(f_)),
        backward_{formulas::backward_nodes(f_, part::input),
                  formulas::backward_nodes(f_, part::weights),
                  formulas::backward_nodes(f_, part::both)},
        kept_(formulas::kept_nodes(f_, nodes_of(part::both))) {
    // The names are removed here: they belong to the layer, which this object may outlive, and the
    // passes do not need them.
    f_.g.name = "formula";
    f_.weight_names = {};
  }

  /// Throws an ashlar::error that names the layer if an operator has no kernel for GPUs.
  void require_kernels(char const* layer) const {
    for (int i = 0; i < f_.g.size(); ++i)
      if (!f_.g[i].runs_on_devices()) formulas::detail::refuse_on_devices(layer, f_.g[i].what);
  }

  template <class Call>
  auto forward(Call const& c) const {
    using T = typename Call::value_type;
    using X = std::remove_cvref_t<decltype(c.x())>;
    formulas::evaluation<T, typename Call::processor_type> pass(c.mesh(), f_);
    pass.set_extents(f_.x, detail::local_sizes_of(c.x()));
    for_each_weight([&]<int K>(std::integral_constant<int, K>) {
      pass.set_extents(f_.weights[K], detail::local_sizes_of(c.template parameter<K>()));
    });
    pass.infer_extents();
    pass.read(f_.x, c.x().data());
    read_weights(c, forward_, pass);
    auto y = c.make_y();
    pass.write_to(f_.y, y.data());
    detail::formula_values<X, T> keep;
    if (nodes_of(part::both).reads[f_.x]) keep.x = c.x();
    for (int const i : kept_) {
      keep.values.emplace_back(c.mesh(), pass.elements(i));
      pass.write_to(i, keep.values.back().data());
    }
    pass.run(forward_);
    return made(y, std::move(keep), detail::local_sizes_of(c.x()));
  }
  template <class Call>
  auto backward(Call const& c) const {
    auto dx = c.make_dx();
    run_backward(c, part::both, dx.data());
    return dx;
  }
  template <class Call>
  void weight_gradient(Call const& c) const {
    run_backward(c, part::weights, static_cast<typename Call::value_type*>(nullptr));
  }
  template <class Call>
  auto input_gradient(Call const& c) const {
    auto dx = c.make_dx();
    run_backward(c, part::input, dx.data());
    return dx;
  }

 private:
  formulas::pass_nodes const& nodes_of(part which) const {
    return backward_[static_cast<std::size_t>(which)];
  }
  /// Calls use(k) for each weight, where k is the number of the weight as an integral_constant.
  template <class Use>
  static void for_each_weight(Use const& use) {
    [&]<int... K>(std::integer_sequence<int, K...>) {
      (use(std::integral_constant<int, K>()), ...);
    }(std::make_integer_sequence<int, Weights>());
  }
  /// Gives a pass the weights that it reads.
  template <class Call, class Pass>
  void read_weights(Call const& c, formulas::pass_nodes const& nodes, Pass& pass) const {
    for_each_weight([&]<int K>(std::integral_constant<int, K>) {
      if (nodes.reads[f_.weights[K]]) pass.read(f_.weights[K], c.template parameter<K>().data());
    });
  }

  template <class Call>
  void run_backward(Call const& c, part which, typename Call::value_type* dx) const {
    auto const& nodes = nodes_of(which);
    auto const& keep = c.template kept<0>();
    formulas::evaluation<typename Call::value_type, typename Call::processor_type> pass(c.mesh(),
                                                                                        f_);
    pass.set_extents(f_.x, c.template kept<1>());
    // The extents of the shard of a weight are taken from the gradient sum of the weight, which has
    // the same extents. The backward pass always has this gradient sum.
    for_each_weight([&]<int K>(std::integral_constant<int, K>) {
      auto const sum = c.template gradient<K>();
      pass.set_extents(f_.weights[K], detail::local_sizes_of(sum));
      if (which != part::input) pass.add_to(f_.gradients[K], sum.data());
    });
    pass.infer_extents();
    if (nodes_of(part::both).reads[f_.x]) pass.read(f_.x, keep.x.data());
    pass.read(f_.dy, c.dy().data());
    for (int i = 0; i < kept_.size(); ++i)
      pass.read(kept_[i], keep.values[static_cast<std::size_t>(i)].data());
    read_weights(c, nodes, pass);
    if (which != part::weights) pass.write_to(f_.dx, dx);
    pass.run(nodes);
  }

  formulas::differentiated_formula f_;
  formulas::pass_nodes forward_;
  std::array<formulas::pass_nodes, 3> backward_;   // in the order of backward_part
  inplace_vector<int, formulas::max_nodes> kept_;  // the nodes that the forward pass keeps
};

}  // namespace ashlar::nn
