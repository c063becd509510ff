// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// How a layer sees its part of a plan: one interface whether the plan is a run-time value or known to
// the compiler. Each function gives a placement argument, a value or an sbp<…>, so a layer's code
// is written once and its tensors are `dynamic` or typed accordingly.
//
//   x() y() dy() dx()            activations and their gradients
//   use<K>() grad<K>() store<K>()   parameter K
//   statistic_from<K>() …_to<K>()   statistic K
//
// A cursor walks the plan while a net is placed: choice() of the current element, then advance.
// recomputed() is that of the plan.
//
// Both say what the net computes on, processor_type, and so which tensors a layer takes: input_of<T,
// Rank, At> is x, output_of<T, Rank, At> is y.

#include <ashlar/placement/tags.hpp>
#include <ashlar/step/plan.hpp>
#include <ashlar/tensor/tensor.hpp>

namespace ashlar::nn {

template <class Processor = device::host::processor>
class run_time_choice {
 public:
  using processor_type = Processor;

  explicit run_time_choice(search::layer_choice const& choice) : choice_(choice) {}
  placement x() const { return choice_.x; }
  placement y() const { return choice_.y; }
  placement dy() const { return choice_.dy; }
  placement dx() const { return choice_.dx; }
  template <int K>
  placement use() const {
    return choice_.parameters[K].use;
  }
  template <int K>
  placement grad() const {
    return choice_.parameters[K].grad;
  }
  template <int K>
  placement store() const {
    return choice_.parameters[K].store;
  }
  template <int K>
  placement statistic_from() const {
    return choice_.statistics[K].from;
  }
  template <int K>
  placement statistic_to() const {
    return choice_.statistics[K].to;
  }

 private:
  search::layer_choice choice_;
};

template <auto const& Plan, int Index, class Processor = device::host::processor>
struct compile_time_choice {
  using processor_type = Processor;

  static constexpr auto x() { return tag_of<Plan[Index].x>{}; }
  static constexpr auto y() { return tag_of<Plan[Index].y>{}; }
  static constexpr auto dy() { return tag_of<Plan[Index].dy>{}; }
  static constexpr auto dx() { return tag_of<Plan[Index].dx>{}; }
  template <int K>
  static constexpr auto use() {
    return tag_of<Plan[Index].parameters[K].use>{};
  }
  template <int K>
  static constexpr auto grad() {
    return tag_of<Plan[Index].parameters[K].grad>{};
  }
  template <int K>
  static constexpr auto store() {
    return tag_of<Plan[Index].parameters[K].store>{};
  }
  template <int K>
  static constexpr auto statistic_from() {
    return tag_of<Plan[Index].statistics[K].from>{};
  }
  template <int K>
  static constexpr auto statistic_to() {
    return tag_of<Plan[Index].statistics[K].to>{};
  }
};

/// Walks a plan that is a value.
template <class Processor = device::host::processor>
struct run_time_cursor {
  using processor_type = Processor;
  static constexpr bool is_static = false;

  search::plan const* plan;
  int index = 0;

  run_time_choice<Processor> choice() const { return run_time_choice<Processor>((*plan)[index]); }
  int recomputed() const { return plan->recomputed; }
  template <int Count>
  run_time_cursor advance() const {
    return {plan, index + Count};
  }
  run_time_cursor advance(int count) const { return {plan, index + count}; }
};

/// Walks a plan that the compiler knows.
template <auto const& Plan, int Index = 0, class Processor = device::host::processor>
struct compile_time_cursor {
  using processor_type = Processor;
  static constexpr bool is_static = true;
  static constexpr int index = Index;

  static constexpr compile_time_choice<Plan, Index, Processor> choice() { return {}; }
  static constexpr int recomputed() { return Plan.recomputed; }
  template <int Count>
  static constexpr compile_time_cursor<Plan, Index + Count, Processor> advance() {
    return {};
  }
};

/// What a layer takes and what it makes, at a choice.
template <class T, int Rank, class At>
using input_of = tensor_for<T, Rank, decltype(std::declval<At>().x()), typename At::processor_type>;
template <class T, int Rank, class At>
using output_of =
    tensor_for<T, Rank, decltype(std::declval<At>().y()), typename At::processor_type>;

/// Names a constexpr plan for nn::place: nn::place<float>(net, mesh, nn::constant<plan>).
template <auto const& Plan>
struct constant_plan {};
template <auto const& Plan>
inline constexpr constant_plan<Plan> constant{};

}  // namespace ashlar::nn
