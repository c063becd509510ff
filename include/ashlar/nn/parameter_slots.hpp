// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The slots of parameters and of their gradient sums in an execution of a program. The tensors of
// these slots exist between runs, so the slots are filled only once, with two exceptions:
//
// - If a parameter is updated apart from its storage, a redistribution replaces its tensor in each
//   step (nn/parameter.hpp). Its slot is filled when a run begins and emptied when the run ends, so
//   that no execution keeps an old tensor.
// - A step that delays a gradient replaces the tensor of the gradient's sum
//   (nn/delayed_gradients.hpp). So the slots of sums are filled again when a run begins.

#include <memory>
#include <utility>
#include <vector>

#include <ashlar/nn/execution.hpp>

namespace ashlar::nn {

template <class Processor>
class parameter_slots {
  using nodes = std::vector<std::unique_ptr<element_node<Processor>>>;

 public:
  /// `elements` and `p` must outlive this object.
  parameter_slots(nodes const& elements, step::program const& p)
      : elements_(&elements), program_(&p) {
    for (std::size_t v = 0; v < p.values.size(); ++v) {
      auto const& value = p.values[v];
      if (value.kind == step::value_kind::stored && parameter_of(value).is_updated_apart())
        renewed_.push_back(static_cast<int>(v));
      if (value.kind == step::value_kind::sum) sums_.push_back(static_cast<int>(v));
    }
  }

  parameter<Processor>& parameter_of(step::value const& v) const {
    return nn::parameter_of(*elements_, v.element, v.index);
  }

  /// Fills the slots that stay filled between runs, except the slots of pending sums.
  void fill(execution<Processor>& on) const {
    for (std::size_t v = 0; v < program_->values.size(); ++v) {
      auto const& value = program_->values[v];
      if (!value.lasts() || value.kind == step::value_kind::pending) continue;
      auto const& own = parameter_of(value);
      bool const is_sum = value.kind == step::value_kind::sum;
      on.values[v].tensor = is_sum ? own.sum() : own.updated();
    }
    drop(on);
  }
  /// Fills the slots of gradient sums, and the slots of parameters that redistributions renew.
  void take(execution<Processor>& on) const {
    for (int const v : renewed_) on.set(v, parameter_of(program_->value_of(v)).source());
    for (int const v : sums_)
      if (auto const& sum = parameter_of(program_->value_of(v)).sum();
          on.tensor(v).data() != sum.data())
        on.set(v, sum);
  }
  /// Empties the slots of parameters that redistributions renew.
  void drop(execution<Processor>& on) const {
    for (int const v : renewed_) on.set(v, {});
  }

  /// Stores `made`, the result of a redistribution. If the redistribution renews a parameter,
  /// `made` becomes the parameter's stored value, which later actions of the run read. Otherwise
  /// the slot of `value` holds `made`.
  void put(execution<Processor>& on, int value, any_tensor<Processor> made) const {
    auto const& is = program_->value_of(value);
    if (is.kind != step::value_kind::renewed) return on.set(value, std::move(made));
    for (int const v : renewed_)
      if (auto const& of = program_->value_of(v); is_of(of, is)) on.set(v, {});
    parameter_of(is).set_stored(std::move(made));
    take(on, is);
  }

 private:
  /// Returns whether two values of a program belong to the same parameter, such as its stored value
  /// and its renewed value.
  static bool is_of(step::value const& a, step::value const& b) {
    return a.element == b.element && a.index == b.index;
  }
  /// Fills the slots of a parameter that was renewed.
  void take(execution<Processor>& on, step::value const& renewed) const {
    for (int const v : renewed_)
      if (is_of(program_->value_of(v), renewed)) on.set(v, parameter_of(renewed).source());
  }

  nodes const* elements_;
  step::program const* program_;
  // Both lists have indices into program::values.
  std::vector<int> renewed_;  // stored parameters that redistributions renew
  std::vector<int> sums_;     // gradient sums
};

}  // namespace ashlar::nn
