// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A choice is the part of a plan for one layer: the placements of its tensors. A plan, and so each
// of its choices, is either a run-time value or known at compile time. The two kinds of choices
// have the same functions. They return a placement value for a run-time plan, and an sbp<…> for a
// compile-time plan. So a layer is written once, and its tensors have dynamic or typed placements
// accordingly.
//
//   x() y() dy() dx()                        activations and their gradients
//   use<K>() grad<K>()                       parameter K
//   parameter_at(k)                          all placements of parameter k, as values
//   statistic_from<K>() statistic_to<K>()    statistic K
//
// A cursor is a position in a plan. It is used while a net is placed layer by layer. choice()
// returns the choice at this position, and advance() returns a cursor at a later one.
//
// Choices and cursors also define processor_type, the processor that the net computes on. The types
// of a layer's tensors depend on it.

#include <tuple>
#include <type_traits>
#include <utility>

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
  search::parameter_choice const& parameter_at(int k) const { return choice_.parameters[k]; }
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

/// The placements of one parameter, as types: where the layer reads it (Use), where backward passes
/// make its gradient (Grad), where it is stored (Store) and where it is updated (Update). An Update
/// without axes means that the parameter is updated where it is stored. InRows says whether the
/// gradient is in rows (gradient_rows.hpp).
template <class Use, class Grad, class Store, class Update = sbp<>, bool InRows = false>
struct typed_parameter {
  using use = Use;
  using grad = Grad;
  using store = Store;
  using update = Update;
  static constexpr bool in_rows = InRows;
};
/// The placements of one statistic, as types. A statistic is a tensor that the plan redistributes
/// between two parts of a layer's forward pass, from placement From to placement To.
template <class From, class To>
struct typed_statistic {
  using from = From;
  using to = To;
};

namespace detail {
template <int K, class Tuple, class Otherwise,
          bool Has = (std::size_t(K) < std::tuple_size_v<Tuple>)>
struct element_or {
  using type = std::tuple_element_t<std::size_t(K), Tuple>;
};
template <int K, class Tuple, class Otherwise>
struct element_or<K, Tuple, Otherwise, false> {
  using type = Otherwise;
};
}  // namespace detail

/// The placements of a layer's tensors, as a type. It is used if the plan is known at compile time.
/// Equal placements give the same type.
template <class X, class Y, class DY, class DX, class Parameters, class Statistics,
          class Processor = device::host::processor>
struct compile_time_choice {
  using processor_type = Processor;
  /// The placements of parameter or statistic K. If the plan has no such parameter or statistic,
  /// they are placements without axes.
  template <int K>
  using parameter =
      typename detail::element_or<K, Parameters, typed_parameter<sbp<>, sbp<>, sbp<>>>::type;
  template <int K>
  using statistic = typename detail::element_or<K, Statistics, typed_statistic<sbp<>, sbp<>>>::type;

  static constexpr auto x() { return X{}; }
  static constexpr auto y() { return Y{}; }
  static constexpr auto dy() { return DY{}; }
  static constexpr auto dx() { return DX{}; }
  template <int K>
  static constexpr auto use() {
    return typename parameter<K>::use{};
  }
  template <int K>
  static constexpr auto grad() {
    return typename parameter<K>::grad{};
  }
  static constexpr search::parameter_choice parameter_at(int k) {
    return []<class... P>(std::type_identity<std::tuple<P...>>, int i) {
      search::parameter_choice const all[] = {
          {value_of<typename P::use>, value_of<typename P::grad>, value_of<typename P::store>,
           value_of<typename P::update>, P::in_rows}...,
          {}};
      return all[i];
    }(std::type_identity<Parameters>(), k);
  }
  template <int K>
  static constexpr auto statistic_from() {
    return typename statistic<K>::from{};
  }
  template <int K>
  static constexpr auto statistic_to() {
    return typename statistic<K>::to{};
  }
};

namespace detail {

/// Returns the placements in element Index of a constexpr plan, as a compile_time_choice.
template <auto const& Plan, int Index, class Processor>
constexpr auto choice_of() {
  constexpr auto const& c = Plan[Index];
  auto const parameters = []<std::size_t... K>(std::index_sequence<K...>) {
    return std::tuple<typed_parameter<
        tag_of<Plan[Index].parameters[int(K)].use>, tag_of<Plan[Index].parameters[int(K)].grad>,
        tag_of<Plan[Index].parameters[int(K)].store>, tag_of<Plan[Index].parameters[int(K)].update>,
        Plan[Index].parameters[int(K)].in_rows>...>{};
  }(std::make_index_sequence<std::size_t(c.parameters.size())>{});
  auto const statistics = []<std::size_t... K>(std::index_sequence<K...>) {
    return std::tuple<typed_statistic<tag_of<Plan[Index].statistics[int(K)].from>,
                                      tag_of<Plan[Index].statistics[int(K)].to>>...>{};
  }(std::make_index_sequence<std::size_t(c.statistics.size())>{});
  return compile_time_choice<tag_of<Plan[Index].x>, tag_of<Plan[Index].y>, tag_of<Plan[Index].dy>,
                             tag_of<Plan[Index].dx>, std::remove_const_t<decltype(parameters)>,
                             std::remove_const_t<decltype(statistics)>, Processor>{};
}

}  // namespace detail

/// A cursor for a plan that is a run-time value.
template <class Processor = device::host::processor>
struct run_time_cursor {
  using processor_type = Processor;
  static constexpr bool is_static = false;

  search::plan const* plan;
  int index = 0;

  run_time_choice<Processor> choice() const { return run_time_choice<Processor>((*plan)[index]); }
  template <int Count>
  run_time_cursor advance() const {
    return {plan, index + Count};
  }
  run_time_cursor advance(int count) const { return {plan, index + count}; }
};

/// A cursor for a plan that is known at compile time.
template <auto const& Plan, int Index = 0, class Processor = device::host::processor>
struct compile_time_cursor {
  using processor_type = Processor;
  static constexpr bool is_static = true;
  static constexpr int index = Index;

  static constexpr auto choice() { return detail::choice_of<Plan, Index, Processor>(); }
  template <int Count>
  static constexpr compile_time_cursor<Plan, Index + Count, Processor> advance() {
    return {};
  }
};

/// Names a constexpr plan for nn::place, as in nn::place<float>(net, mesh, nn::constant<plan>).
template <auto const& Plan>
struct constant_plan {};
template <auto const& Plan>
inline constexpr constant_plan<Plan> constant{};

}  // namespace ashlar::nn
