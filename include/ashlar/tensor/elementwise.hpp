// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Element-wise operators. None of them communicates. If the placements of typed operands would need
// communication, the call does not compile. With dynamic operands, the call throws an error with
// the same message, which names the operator that the program wrote.
//
//   map(x, f)      f of each element      x is not partial. On a device, f is from
//                                         device/functor.hpp, or the program compiles a kernel for
//                                         f (device/cuda/launch/map_function.cuh)
//   gelu(x), relu(x)                      x is not partial
//   x + y, x - y   sum, difference        on each axis: the same S, B and B, or P and P
//   x * y          element-wise product   on each axis: the same S, B and B, P and B, or B and P
//   x / y          element-wise quotient  on each axis: the same S, B and B, or P and B
//   softmax(x)     over the last dim      x is neither partial nor split along that dim
//
// In x + y, x - y, x * y and x / y, each operand may be repeated along dims of the other
// (repeated.hpp). On axes that split one of these dims, the repeated operand is B.
//
// Operators of a tensor and a number are in scalar_operators.hpp, operators in place in
// in_place.hpp, and exp, log and other functions in functions.hpp.
//
// The functions compute in accumulation_t<T>. For bfloat16 tensors this is float, and each operator
// rounds its result once. gelu, softmax and / do not accept integer tensors.

#include <ashlar/support/buffer.hpp>
#include <ashlar/tensor/apply_rule.hpp>
#include <ashlar/tensor/scalar_operators.hpp>
#include <ashlar/tensor/softmax_rows.hpp>

namespace ashlar {
namespace detail {

template <int Rank>
struct map_rule {
  static constexpr char const* name = "map";
  static constexpr char const* sentence = ASHLAR_SAYS_MAP_PARTIAL("map", "map(x | to<B, ...>, f)");
  static constexpr signature_table table() { return nonlinear_map_signatures(Rank); }
};
template <int Rank>
struct gelu_rule : map_rule<Rank> {
  static constexpr char const* name = "gelu";
  static constexpr char const* sentence = ASHLAR_SAYS_MAP_PARTIAL("gelu", "gelu(x | to<B, ...>)");
};
template <int Rank>
struct relu_rule : map_rule<Rank> {
  static constexpr char const* name = "relu";
  static constexpr char const* sentence = ASHLAR_SAYS_MAP_PARTIAL("relu", "relu(x | to<B, ...>)");
};
template <int Rank>
struct add_rule {
  static constexpr char const* name = "add";
  static constexpr char const* sentence = ASHLAR_SAYS_ADD("add", "+");
  static constexpr char const* repeated_sentence = ASHLAR_SAYS_REPEATED("add", "+");
  static constexpr signature_table table() {
    return table_for(letters(Rank), letters(Rank), letters(Rank));
  }
  static constexpr signature_table table_for(std::string_view x, std::string_view y,
                                             std::string_view out) {
    auto table = add_signatures(x, y, out);
    // P(max) and P(min) are left out. A rank that had no element to compare holds the identity of
    // the reduction: for a maximum, the lowest integer or -infinity. The lowest integer plus a
    // negative number overflows, and -infinity plus infinity is not a number.
    signature_table sums;
    for (auto const& row : table)
      if (!row.out.is_partial() || row.out.op == reduction::sum) sums.push_back(row);
    return sums;
  }
};
template <int Rank>
struct subtract_rule : add_rule<Rank> {
  static constexpr char const* name = "subtract";
  static constexpr char const* sentence = ASHLAR_SAYS_ADD("subtract", "-");
  static constexpr char const* repeated_sentence = ASHLAR_SAYS_REPEATED("subtract", "-");
};
template <int Rank>
struct multiply_rule {
  static constexpr char const* name = "multiply";
  static constexpr char const* sentence = ASHLAR_SAYS_MULTIPLY;
  static constexpr char const* repeated_sentence = ASHLAR_SAYS_REPEATED("multiply", "*");
  static constexpr signature_table table() {
    return table_for(letters(Rank), letters(Rank), letters(Rank));
  }
  static constexpr signature_table table_for(std::string_view x, std::string_view y,
                                             std::string_view out) {
    return multiply_signatures(x, y, out);
  }
};
template <int Rank>
struct divide_rule {
  static constexpr char const* name = "divide";
  static constexpr char const* sentence = ASHLAR_SAYS_DIVIDE;
  static constexpr char const* repeated_sentence = ASHLAR_SAYS_REPEATED("divide", "/");
  static constexpr signature_table table() {
    return table_for(letters(Rank), letters(Rank), letters(Rank));
  }
  static constexpr signature_table table_for(std::string_view x, std::string_view y,
                                             std::string_view out) {
    return divide_signatures(x, y, out);
  }
};
template <int Rank>
struct softmax_rule {
  static constexpr char const* name = "softmax";
  static constexpr char const* sentence = ASHLAR_SAYS_SOFTMAX;
  static constexpr signature_table table() { return softmax_signatures(Rank, Rank - 1); }
};

}  // namespace detail

/// Applies f to each element. Communicates nothing.
template <distributed X, class F>
  requires locally_applicable<detail::map_rule<X::rank>, X>
auto map(X const& x, F f) {
  return detail::apply<detail::map_rule<X::rank>>(x, f);
}
template <distributed X, class F>
ill_formed map(X const&, F) {
  static_assert(detail::matched<detail::map_rule<X::rank>, X>::fits,
                ASHLAR_SAYS_MAP_PARTIAL("map", "map(x | to<B, ...>, f)"));
  return {};
}

/// Applies gelu to each element. Requires floating-point elements. Communicates nothing.
template <distributed X>
  requires locally_applicable<detail::gelu_rule<X::rank>, X>
auto gelu(X const& x) {
  static_assert(!std::is_integral_v<typename X::value_type>, ASHLAR_SAYS_FUNCTION_INTEGERS("gelu"));
  return detail::apply<detail::gelu_rule<X::rank>>(x, device::value_of<device::gelu>{});
}
template <distributed X>
ill_formed gelu(X const&) {
  static_assert(detail::matched<detail::gelu_rule<X::rank>, X>::fits,
                ASHLAR_SAYS_MAP_PARTIAL("gelu", "gelu(x | to<B, ...>)"));
  return {};
}

/// Applies max(x, 0) to each element. Communicates nothing.
template <distributed X>
  requires locally_applicable<detail::relu_rule<X::rank>, X>
auto relu(X const& x) {
  return detail::apply<detail::relu_rule<X::rank>>(x, device::value_of<device::relu>{});
}
template <distributed X>
ill_formed relu(X const&) {
  static_assert(detail::matched<detail::relu_rule<X::rank>, X>::fits,
                ASHLAR_SAYS_MAP_PARTIAL("relu", "relu(x | to<B, ...>)"));
  return {};
}

/// Returns x + y. Communicates nothing.
template <distributed X, distributed Y>
  requires detail::combinable<X, Y> &&
           locally_applicable<detail::rule_for<detail::add_rule, X, Y>, X, Y>
auto operator+(X const& x, Y const& y) {
  return detail::apply<detail::rule_for<detail::add_rule, X, Y>>(x, y, device::sum_of{});
}
template <distributed X, distributed Y>
ill_formed operator+(X const&, Y const&) {
  static_assert(detail::combinable<X, Y>, ASHLAR_SAYS_COMBINABLE("add"));
  static_assert(detail::matched_if<detail::fails_as_repeated<X, Y>,
                                   detail::rule_for<detail::add_rule, X, Y>, X, Y>::fits,
                ASHLAR_SAYS_REPEATED("add", "+"));
  static_assert(detail::matched_if<detail::fails_as_alike<X, Y>,
                                   detail::rule_for<detail::add_rule, X, Y>, X, Y>::fits,
                ASHLAR_SAYS_ADD("add", "+"));
  return {};
}

/// Returns x - y. Communicates nothing.
template <distributed X, distributed Y>
  requires detail::combinable<X, Y> &&
           locally_applicable<detail::rule_for<detail::subtract_rule, X, Y>, X, Y>
auto operator-(X const& x, Y const& y) {
  return detail::apply<detail::rule_for<detail::subtract_rule, X, Y>>(x, y,
                                                                      device::difference_of{});
}
template <distributed X, distributed Y>
ill_formed operator-(X const&, Y const&) {
  static_assert(detail::combinable<X, Y>, ASHLAR_SAYS_COMBINABLE("subtract"));
  static_assert(detail::matched_if<detail::fails_as_repeated<X, Y>,
                                   detail::rule_for<detail::subtract_rule, X, Y>, X, Y>::fits,
                ASHLAR_SAYS_REPEATED("subtract", "-"));
  static_assert(detail::matched_if<detail::fails_as_alike<X, Y>,
                                   detail::rule_for<detail::subtract_rule, X, Y>, X, Y>::fits,
                ASHLAR_SAYS_ADD("subtract", "-"));
  return {};
}

/// Returns the element-wise product x · y. Communicates nothing.
template <distributed X, distributed Y>
  requires detail::combinable<X, Y> &&
           locally_applicable<detail::rule_for<detail::multiply_rule, X, Y>, X, Y>
auto operator*(X const& x, Y const& y) {
  return detail::apply<detail::rule_for<detail::multiply_rule, X, Y>>(x, y, device::product_of{});
}
template <distributed X, distributed Y>
ill_formed operator*(X const&, Y const&) {
  static_assert(detail::combinable<X, Y>, ASHLAR_SAYS_COMBINABLE("multiply"));
  static_assert(detail::matched_if<detail::fails_as_repeated<X, Y>,
                                   detail::rule_for<detail::multiply_rule, X, Y>, X, Y>::fits,
                ASHLAR_SAYS_REPEATED("multiply", "*"));
  static_assert(detail::matched_if<detail::fails_as_alike<X, Y>,
                                   detail::rule_for<detail::multiply_rule, X, Y>, X, Y>::fits,
                ASHLAR_SAYS_MULTIPLY);
  return {};
}

/// Returns the element-wise quotient x / y. Requires floating-point elements. Communicates nothing.
template <distributed X, distributed Y>
  requires detail::combinable<X, Y> &&
           locally_applicable<detail::rule_for<detail::divide_rule, X, Y>, X, Y>
auto operator/(X const& x, Y const& y) {
  static_assert(!std::is_integral_v<typename X::value_type>, ASHLAR_SAYS_DIVIDE_INTEGERS);
  return detail::apply<detail::rule_for<detail::divide_rule, X, Y>>(x, y, device::quotient_of{});
}
template <distributed X, distributed Y>
ill_formed operator/(X const&, Y const&) {
  static_assert(detail::combinable<X, Y>, ASHLAR_SAYS_COMBINABLE("divide"));
  static_assert(detail::matched_if<detail::fails_as_repeated<X, Y>,
                                   detail::rule_for<detail::divide_rule, X, Y>, X, Y>::fits,
                ASHLAR_SAYS_REPEATED("divide", "/"));
  static_assert(detail::matched_if<detail::fails_as_alike<X, Y>,
                                   detail::rule_for<detail::divide_rule, X, Y>, X, Y>::fits,
                ASHLAR_SAYS_DIVIDE);
  return {};
}

/// Returns the softmax over the last dim. Requires floating-point elements. Communicates nothing.
template <distributed X>
  requires locally_applicable<detail::softmax_rule<X::rank>, X>
auto softmax(X const& x) {
  auto const p = detail::result_of<detail::softmax_rule<X::rank>>(x);
  auto y = empty<typename X::value_type, X::rank>(x.mesh(), x.extents(), p);
  using T = typename X::value_type;
  static_assert(!std::is_integral_v<T>, ASHLAR_SAYS_SOFTMAX_INTEGERS);
  if (x.local_elements() == 0) return y;
  std::int64_t const columns = x.local_size(X::rank - 1), rows = x.local_elements() / columns;
  detail::softmax_rows(x.mesh(), static_cast<T const*>(x.data()), rows, columns, y.data());
  return y;
}
template <distributed X>
ill_formed softmax(X const&) {
  static_assert(detail::matched<detail::softmax_rule<X::rank>, X>::fits, ASHLAR_SAYS_SOFTMAX);
  return {};
}

}  // namespace ashlar
