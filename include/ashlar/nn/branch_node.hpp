// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// One end of a residual as an element of a placed net. In the forward pass the branches meet at its
// end, which adds their values. In the backward pass they meet at its begin, which adds their
// gradients. The other pass of each end just hands its value on and is no action of the program
// (step/build.hpp).

#include <ashlar/nn/execution.hpp>
#include <ashlar/tensor/elementwise.hpp>

namespace ashlar::nn {

/// One end of a residual. Computes y = skipped + x in the forward pass of the residual's end, and
/// dx = skipped + dy in the backward pass of its begin.
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
