// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Executes the two ends of residuals, skips and branches. A residual computes y = x + f(x), and a
// skip concatenates x and f(x). A branch adds, multiplies or concatenates f(x) and g(x).
// (formula_join.hpp has the end of a branch that a formula joins.) In a plan, each of the two ends
// is an element, besides the elements of f and g:
//
// - The begin gives x to both paths: to f and the direct path, or to f and g. In the backward pass,
//   it adds the gradients of both paths.
// - The end adds, multiplies or concatenates the values of both paths in the forward pass. In the
//   backward pass, an end that concatenates cuts dy into the gradients of both paths. An end that
//   multiplies computes these gradients from dy and the values that it has kept.
//
// The turn of a branch, between the elements of f and those of g, has a node that never runs.
// The begin computes nothing in the forward pass, and an end that adds computes nothing in the
// backward pass. Programs have no actions for these two cases (step/program_builder.hpp).

#include <ashlar/nn/node.hpp>
#include <ashlar/tensor/concat.hpp>
#include <ashlar/tensor/elementwise.hpp>
#include <ashlar/tensor/slice.hpp>

namespace ashlar::nn {

/// The begin of a residual, a skip or a branch, or an end that adds. In the forward pass, an end
/// adds the values of both paths, such as x and f(x). In the backward pass, a begin adds the
/// gradients of x from both paths.
template <class T, int Rank, class At>
class branch_node final : public element_node<typename At::processor_type> {
  using processor = typename At::processor_type;
  using activation = tensor_for<T, Rank, decltype(std::declval<At>().x()), processor>;
  using gradient = tensor_for<T, Rank, decltype(std::declval<At>().dy()), processor>;

 public:
  explicit branch_node(char const* name) : name_(name) {}

  void compute(step::action const& a, execution<processor>& on) override {
    if (a.kind == step::action_kind::forward || a.kind == step::action_kind::recompute)
      add<activation>(a, on);
    else add<gradient>(a, on);
  }
  char const* name() const override { return name_; }

 private:
  template <class Tensor>
  static void add(step::action const& a, execution<processor>& on) {
    auto const inner = on.tensor(a.reads[0]).template as<Tensor>();
    auto const skipped = on.tensor(a.reads[1]).template as<Tensor>();
    on.set(a.makes[0], skipped + inner);
  }

  char const* name_;
};

/// The end of a skip or a branch that concatenates two tensors along dim Dim.
template <class T, int Rank, int Dim, class At>
class concatenation_node final : public element_node<typename At::processor_type> {
  using processor = typename At::processor_type;
  using activation = tensor_for<T, Rank, decltype(std::declval<At>().x()), processor>;
  using gradient = tensor_for<T, Rank, decltype(std::declval<At>().dy()), processor>;

 public:
  /// `skipped` is the extent in dim Dim of the first tensor: x in a skip, f(x) in a branch.
  concatenation_node(char const* name, std::int64_t skipped) : name_(name), skipped_(skipped) {}

  void compute(step::action const& a, execution<processor>& on) override {
    if (a.kind == step::action_kind::forward || a.kind == step::action_kind::recompute) {
      auto const inner = on.tensor(a.reads[0]).template as<activation>();
      auto const skipped = on.tensor(a.reads[1]).template as<activation>();
      return on.set(a.makes[0], concat<Dim>(skipped, inner));
    }
    auto const dy = on.tensor(a.reads[0]).template as<gradient>();
    on.set(a.makes[0], slice<Dim>(dy, skipped_, dy.extents()[Dim] - skipped_));
    on.set(a.makes[1], slice<Dim>(dy, 0, skipped_));
  }
  char const* name() const override { return name_; }

 private:
  char const* name_;
  std::int64_t skipped_;
};

/// The end of a branch that multiplies its two tensors element by element.
template <class T, int Rank, class At>
class product_node final : public element_node<typename At::processor_type> {
  using processor = typename At::processor_type;
  using activation = tensor_for<T, Rank, decltype(std::declval<At>().x()), processor>;
  using gradient = tensor_for<T, Rank, decltype(std::declval<At>().dy()), processor>;
  using factors = detail::kept_tuple<activation, activation>;

 public:
  void compute(step::action const& a, execution<processor>& on) override {
    if (a.kind == step::action_kind::forward || a.kind == step::action_kind::recompute) {
      auto const inner = on.tensor(a.reads[0]).template as<activation>();
      auto const skipped = on.tensor(a.reads[1]).template as<activation>();
      on.set(a.makes[0], skipped * inner);
      if (on.saves && a.makes.size() > 1)
        on.values[static_cast<std::size_t>(a.makes[1])].kept = std::make_unique<factors>(
            std::tuple(inner, skipped));
      return;
    }
    auto const dy = on.tensor(a.reads[0]).template as<gradient>();
    auto const& kept = static_cast<factors&>(*on.values[static_cast<std::size_t>(a.reads[1])].kept);
    on.set(a.makes[0], dy * std::get<1>(kept.values));
    on.set(a.makes[1], dy * std::get<0>(kept.values));
  }
  char const* name() const override { return "branch"; }
};

}  // namespace ashlar::nn
