// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Gradients of functions of tensors:
//
//   auto const loss = [](auto x, auto w, auto t) { return mean(pow(matmul(x, w) - t, 2), 0); };
//   auto const [y, dx, dw, dt] = ashlar::gradient(loss)(x, w, t);
//
// The function is called with symbols (signature/formula/symbol.hpp lists the operators) and
// becomes a graph, to which its gradient is added. Both are then computed on the tensors' shards.
// The gradient is that of the sum of all elements of y. Nothing is communicated: the placements of
// the results follow from those of the operands, and a gradient that needs a reduction is P. Where
// x is split by rows and w is whole, dw is P, and dw | to<B> adds it up.
//
//   typed operands     typed results, if the function captures nothing; a compile error if an
//                      operator of the function or of its gradient is not local
//   dynamic operands   dynamic results; ashlar::error if an operator is not local
//
// Operands may have integer elements, such as the mask of where and the row numbers of take_rows.
// Integers are read as numbers of the type of the other operands. The gradients of masks and of row
// numbers are zeros.
//
// For typed operands, the compiler determines the placements as if no extent were 1, as in all
// typed operators. A call throws if an extent of 1 at run time leads to other placements.

#include <array>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <ashlar/signature/formula/placements.hpp>
#include <ashlar/signature/formula/symbol.hpp>
#include <ashlar/support/buffer.hpp>
#include <ashlar/tensor/evaluate.hpp>
#include <ashlar/tensor/gradient_sentences.hpp>
#include <ashlar/tensor/local_rule.hpp>

namespace ashlar {
namespace detail {

/// Builds the graph of f and its gradient for operands of the given ranks and extents.
template <int... Rank, class F>
constexpr formulas::differentiated_formula formula_of(F const& f, shape const* extents) {
  static_assert(sizeof...(Rank) >= 1 && sizeof...(Rank) <= max_parameters + 1,
                "gradient: a function has one to five operands.");
  formulas::differentiated_formula made;
  made.g.name = "gradient";
  made.noun = "operand";
  for (int i = 0; i < static_cast<int>(sizeof...(Rank)); ++i) {
    formulas::node leaf;
    leaf.what = i == 0 ? formulas::operation::input : formulas::operation::weight;
    leaf.weight = i;
    leaf.extents = extents[i];
    int const number = made.g.add(leaf);
    if (i == 0) continue;
    constexpr char const* names[] = {"2", "3", "4", "5"};
    made.weights.push_back(number);
    made.weight_names.push_back(names[i - 1]);
  }
  auto const y = [&]<int... Index>(std::integer_sequence<int, Index...>) {
    return f(formulas::symbol<Rank>{&made.g, Index}...);
  }(std::make_integer_sequence<int, static_cast<int>(sizeof...(Rank))>());
  static_assert(formulas::is_symbol<std::remove_cvref_t<decltype(y)>>,
                "gradient: the function must return a tensor that it computes from its operands.");
  made.y = y.node;
  formulas::differentiate(made);
  return made;
}

/// Returns the formula of typed operands. The compiler does not know their extents, so every extent
/// is given as -1, which stands for an extent other than 1.
template <class F, int... Rank>
constexpr formulas::differentiated_formula formula_of_unknown_extents() {
  int const ranks[] = {Rank...};
  shape extents[sizeof...(Rank)];
  for (std::size_t i = 0; i < sizeof...(Rank); ++i)
    for (int d = 0; d < ranks[i]; ++d) extents[i].extent.push_back(-1);
  return formula_of<Rank...>(F(), extents);
}

template <class First, class... Rest>
constexpr formulas::formula_placements
placements_of_operands(formulas::differentiated_formula const& f, First const& x,
                       Rest const&... weights) {
  inplace_vector<placement, max_parameters> at;
  (at.push_back(weights), ...);
  return formulas::placements_of(f, x, at);
}

/// The facts that the compiler knows about the gradient of F with typed operands.
template <class F, class... X>
struct typed_gradient {
  static constexpr auto formula = formula_of_unknown_extents<F, X::rank...>();
  static constexpr auto at = placements_of_operands(formula, static_value<X>...);
  static constexpr auto failing = at.failing_node < 0 ? formulas::node{}
                                                      : formula.g[at.failing_node];
  /// The placement of node `Node`, as a type.
  template <int Node>
  using tag = tag_of<at.of[Node]>;
};

template <class F, class... X>
inline constexpr bool has_typed_gradient = all_static<X...> && std::is_empty_v<F> &&
                                           std::is_default_constructible_v<F>;

/// The first of the element types that is not an integer type, or the first one if there is none.
template <class First, class... Rest>
struct first_not_integral {
  using type = First;
};
template <class First, class Second, class... Rest>
  requires std::is_integral_v<First>
struct first_not_integral<First, Second, Rest...> {
  using type = typename first_not_integral<Second, Rest...>::type;
};

/// The values of an operand as numbers of type T. Throws ashlar::error if T cannot represent one of
/// them exactly. The operand must outlive this object.
template <class T>
class operand_values {
 public:
  template <class X>
  explicit operand_values(X const& x) {
    if constexpr (std::is_same_v<typename X::value_type, T>) {
      data_ = x.data();
    } else {
      std::int64_t const n = x.local_elements();
      converted_ = std::make_unique<buffer<T>>(x.mesh().memory(), n);
      for (std::int64_t i = 0; i < n; ++i) {
        auto const value = x.data()[i];
        auto const made = static_cast<T>(value);
        if (static_cast<long double>(made) != static_cast<long double>(value))
          throw error("gradient", "the integer " + std::to_string(value) + " of " + describe(x) +
                                      " is no number of the type of the other operands. Use "
                                      "tensors of double.");
        converted_->data()[i] = made;
      }
      data_ = converted_->data();
    }
  }
  T const* data() const { return data_; }

 private:
  T const* data_ = nullptr;
  std::unique_ptr<buffer<T>> converted_;
};

/// Throws an ashlar::error that names the operator that is not local.
[[noreturn]] inline void refuse_gradient(formulas::differentiated_formula const& f,
                                         formulas::formula_placements const& at,
                                         topology const& mesh) {
  auto const& n = f.g[at.failing_node];
  auto const operand = [&](int i) { return to_string(f.g[i].extents) + " " + to_string(at.of[i]); };
  throw error(
      "gradient",
      std::string(n.what == formulas::operation::apply ? to_string(n.f) : to_string(n.what)) +
          (at.failing_node < f.forward ? "" : " of the backward pass") + " of " + operand(n.a) +
          (n.b < 0 ? "" : " and " + operand(n.b)) + " needs communication along axis " +
          std::string(mesh.axis[at.failing_axis].name.view()) +
          ". Redistribute the operands of the function so that each operator is local.");
}

}  // namespace detail

/// A function whose call returns its value and the gradients of all its operands, as a tuple.
template <class F>
class gradient_of_function {
 public:
  explicit gradient_of_function(F f) : f_(std::move(f)) {}

  /// Returns y = f(x...) and the gradients of the sum of all elements of y, one for each operand.
  /// Communicates nothing. Throws ashlar::error if an operator is not local, if extents do not fit,
  /// or if the function does not use an operand. Also throws if the operands are on different
  /// meshes, if one of them is routed, or if an operand of integers has a value that the type of
  /// the other operands cannot represent exactly.
  template <distributed... X>
  auto operator()(X const&... x) const {
    using first = std::tuple_element_t<0, std::tuple<X...>>;
    using T = typename detail::first_not_integral<typename X::value_type...>::type;
    using processor = typename first::processor_type;
    static_assert(((std::is_same_v<typename X::value_type, T> ||
                    std::is_integral_v<typename X::value_type>)&&...) &&
                      (std::is_same_v<typename X::processor_type, processor> && ...),
                  "gradient: the operands must have one element type and one kind of processor.");
    static_assert(std::is_floating_point_v<T>,
                  "gradient: the operands must be tensors of float or double.");
    static_assert(processor::is_host,
                  "gradient: functions run on the host so far, and the operands are on a device.");
    detail::same_mesh("gradient", x...);
    (detail::refuse_routed("gradient", x.extents()), ...);
    shape const extents[] = {x.extents()...};
    auto const f = detail::formula_of<X::rank...>(f_, extents);
    auto const at = detail::placements_of_operands(f, x.placement()...);
    auto const& m = std::get<0>(std::tie(x...)).mesh();
    if (at.failing_node >= 0) detail::refuse_gradient(f, at, m.topology());

    constexpr int y_rank = decltype(std::declval<F const&>()(formulas::symbol<X::rank>()...))::rank;
    tensor<T, y_rank, dynamic, processor> y(m, f.g[f.y].extents, at.of[f.y]);
    auto const gradient_node = [&](int i) { return i == 0 ? f.dx : f.gradients[i - 1]; };
    auto gradients = [&]<int... Index>(std::integer_sequence<int, Index...>) {
      return std::tuple<tensor<T, X::rank, dynamic, processor>...>(
          tensor<T, X::rank, dynamic, processor>(m, x.extents(), at.of[gradient_node(Index)])...);
    }(std::make_integer_sequence<int, static_cast<int>(sizeof...(X))>());
    auto const results = [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      return std::tuple{typed<-1, X...>(y), typed<int(Index), X...>(std::get<Index>(gradients))...};
    };
    constexpr std::index_sequence_for<X...> all{};
    // On ranks outside of the mesh, the shards of all results are empty. Nothing may be computed
    // there, because some nodes, such as sums over all dims, have elements even if their operands
    // have none.
    if (!m.is_here()) return results(all);

    formulas::evaluation<T, processor> pass(m, f);
    int node = 0;
    (pass.set_extents(node++, local_sizes(x)), ...);
    pass.infer_extents();
    std::array<detail::operand_values<T>, sizeof...(X)> const values{
        detail::operand_values<T>(x)...};
    for (node = 0; node < static_cast<int>(sizeof...(X)); ++node)
      pass.read(node, values[static_cast<std::size_t>(node)].data());
    auto ones = tensor<T, y_rank, dynamic, processor>(m, y.extents(), at.of[f.dy]);
    fill(m.processor(), T(1), ones.local_elements(), ones.data());
    pass.read(f.dy, ones.data());
    pass.write_to(f.y, y.data());
    auto nodes = formulas::forward_nodes(f);
    formulas::detail::need(f.g, f.dx, 0, nodes);
    for (int const gradient : f.gradients) formulas::detail::need(f.g, gradient, 0, nodes);
    std::apply(
        [&](auto&... g) {
          int i = 0;
          (pass.write_to(gradient_node(i++), g.data()), ...);
        },
        gradients);
    pass.run(nodes);
    return results(all);
  }

 private:
  template <class X>
  static auto local_sizes(X const& x) {
    std::array<std::int64_t, max_rank> sizes{};
    for (int d = 0; d < X::rank; ++d) sizes[static_cast<std::size_t>(d)] = x.local_size(d);
    return sizes;
  }

  /// Returns `result` with its placement in its type, if the compiler knows the placement. `Which`
  /// is -1 for y, and i for the gradient of operand i.
  template <int Which, class... X, class Result>
  static auto typed(Result const& result) {
    if constexpr (!detail::has_typed_gradient<F, X...>) {
      return result;
    } else {
      using known = detail::typed_gradient<F, X...>;
      detail::say_gradient_fault<known>();
      constexpr int node = Which < 0    ? known::formula.y
                           : Which == 0 ? known::formula.dx
                                        : known::formula.gradients[Which > 0 ? Which - 1 : 0];
      return result.template as_static<typename known::template tag<node>>();
    }
  }

  F f_;
};

/// Returns a function that computes f and its gradients: gradient(f)(x, w) is the tuple of f(x, w),
/// dx and dw. `f` is a function of symbols such as [](auto x, auto w) { return matmul(x, w); }.
template <class F>
gradient_of_function<F> gradient(F f) {
  return gradient_of_function<F>(std::move(f));
}

}  // namespace ashlar
