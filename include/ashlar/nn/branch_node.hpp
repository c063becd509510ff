// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Executes the two ends of a residual y = x + f(x). A plan has an element for each of them, besides
// the elements of f:
//
// - The begin passes x to f and to the skip branch. In the backward pass, it adds the gradients of
//   both branches.
// - The end adds the values of both branches in the forward pass.
//
// The begin computes nothing in the forward pass, and the end computes nothing in the backward
// pass. Programs have no actions for these two cases (step/program_builder.hpp).

#include <ashlar/nn/execution.hpp>
#include <ashlar/tensor/elementwise.hpp>

namespace ashlar::nn {

/// The begin or the end of a residual y = x + f(x). In the forward pass, the end computes x + f(x).
/// In the backward pass, the begin adds the gradients of x from both branches.
template <class T, int Rank, class At>
class branch_node final : public element_node<typename At::processor_type> {
  using processor = typename At::processor_type;
  using activation = tensor_for<T, Rank, decltype(std::declval<At>().x()), processor>;
  using gradient = tensor_for<T, Rank, decltype(std::declval<At>().dy()), processor>;

 public:
  void compute(step::action const& a, execution<processor>& on) override {
    if (a.kind == step::action_kind::forward || a.kind == step::action_kind::recompute)
      add<activation>(a, on);
    else add<gradient>(a, on);
  }
  char const* name() const override { return "residual"; }

 private:
  template <class Tensor>
  static void add(step::action const& a, execution<processor>& on) {
    auto const inner = on.tensor(a.reads[0]).template as<Tensor>();
    auto const skipped = on.tensor(a.reads[1]).template as<Tensor>();
    on.set(a.makes[0], skipped + inner);
  }
};

}  // namespace ashlar::nn
