// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// An end of a residual as an element of a placed net. Where the branches meet forward, at the end, it adds
// their values; where they meet backward, at the begin, it adds their gradients. The other pass of each end
// hands its value on and is no action of the program (step/build.hpp).

#include <ashlar/nn/execution.hpp>
#include <ashlar/tensor/elementwise.hpp>

namespace ashlar::nn {

/// An end of a residual: y = skipped + x forward at its end, dx = skipped + dy backward at its begin.
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
