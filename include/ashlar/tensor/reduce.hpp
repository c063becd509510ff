// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Reductions over dims, and transposition. Reducing over a split dim communicates nothing and gives
// a partial result. A program that needs the complete result writes `| to<B, ...>` after it.
//
//   sum<d, ..>(x)   the sums over the dims d, .., which the result does not have    S(d) -> P
//   max<d, ..>(x)   the maxima                                                      S(d) -> P(max)
//   min<d, ..>(x)   the minima                                                      S(d) -> P(min)
//   sum(x)  max(x)  min(x)   reduce over all dims; the result is a tensor without dims
//   transpose(x)             transposes a matrix; permute.hpp reorders any dims
//
// An operand may be partial with the same reduction (reduce_signatures). Sums are accumulated in
// accumulation_t<T> and rounded once, also over several dims. Integer sums wrap around. A maximum
// or minimum of values that include a NaN is NaN (device/host/combine.hpp). A reduction of no
// elements is its identity. The order in which a sum adds its elements depends on the processor.

#include <bit>

#include <ashlar/device/host/operations.hpp>
#include <ashlar/signature/elementwise.hpp>
#include <ashlar/support/buffer.hpp>
#include <ashlar/tensor/lines.hpp>
#include <ashlar/tensor/local_rule.hpp>

namespace ashlar {
namespace detail {

/// The rule of a reduction over the dims d for which bit d of `Dims` is set.
template <int Rank, unsigned Dims, reduction Op>
struct reduce_rule {
  static constexpr char const* name = Op == reduction::sum   ? "sum"
                                      : Op == reduction::max ? "max"
                                                             : "min";
  static constexpr char const* sentence = Op == reduction::sum
                                              ? ASHLAR_SAYS_REDUCE("sum", "sum<0>(x | to<B, ...>)")
                                          : Op == reduction::max
                                              ? ASHLAR_SAYS_REDUCE("max", "max<0>(x | to<B, ...>)")
                                              : ASHLAR_SAYS_REDUCE("min", "min<0>(x | to<B, ...>)");
  static constexpr signature_table table() {
    inplace_vector<int, max_rank> dims;
    for (int d = 0; d < Rank; ++d)
      if ((Dims >> d & 1u) != 0) dims.push_back(d);
    return reduce_signatures(Rank, dims, Op);
  }
};
struct transpose_rule {
  static constexpr char const* name = "transpose";
  // A rule must have a message. But every placement that is not owned matches a row of this table,
  // so the message never appears.
  static constexpr char const* sentence = "no rule for this placement.";
  static constexpr signature_table table() { return transpose_signatures({1, 0}); }
};

/// Returns the values of x as elements of type To, each rounded to nearest, at the same placement.
template <class To, distributed X>
auto converted(X const& x) {
  tensor<To, X::rank, typename X::placement_type, typename X::processor_type> y(
      x.mesh(), x.extents(), x.placement());
  convert(x.mesh().processor(), static_cast<typename X::value_type const*>(x.data()),
          x.local_elements(), y.data());
  return y;
}

/// The dims First and Rest as bits, and all dims of X.
template <int First, int... Rest>
inline constexpr unsigned dim_bits = ((1u << (First & 31)) | ... | (1u << (Rest & 31)));
template <class X>
inline constexpr unsigned all_dim_bits = (1u << X::rank) - 1;

/// Reduces an array over the dims d for which bit d of `dims` is set, one after another, from the
/// last one on. At least one bit is set.
template <class Mesh, class T>
void reduce_array(Mesh const& m, reduction op, T const* x, shape extents, unsigned dims, T* y) {
  int const d = static_cast<int>(std::bit_width(dims)) - 1;
  lines const of(extents, d);
  auto const reduce_to = [&](T* target) {
    reduce_dim(m.processor(), m.memory(), op, x, of.outer, of.extent, of.inner, target);
  };
  unsigned const rest = dims & ~(1u << d);
  if (rest == 0) return reduce_to(y);
  buffer<T> const between(m.memory(), of.outer * of.inner);
  reduce_to(between.data());
  extents.extent[d] = 1;
  reduce_array(m, op, static_cast<T const*>(between.data()), extents, rest, y);
}

/// Returns the reduction of x over the dims d for which bit d of `Dims` is set.
template <unsigned Dims, reduction Op, distributed X>
auto reduced(X const& x) {
  using T = typename X::value_type;
  using A = accumulation_t<T>;
  constexpr int count = std::popcount(Dims);
  auto const p = result_of<reduce_rule<X::rank, Dims, Op>>(x);
  if constexpr (count == 0) {
    return x.clone();  // so the result never shares the shard of x
  } else if constexpr (count > 1 && Op == reduction::sum && !std::same_as<T, A>) {
    return converted<T>(reduced<Dims, Op>(converted<A>(x)));  // rounds only the sum over all dims
  } else {
    auto y = empty<T, X::rank - count>(x.mesh(), without_dims(x.extents(), Dims), p);
    reduce_array(x.mesh(), Op, static_cast<T const*>(x.data()), x.local_extents(), Dims, y.data());
    return y;
  }
}

}  // namespace detail

// Each use of this macro defines the reductions `function<d, ..>(x)` and `function(x)`, and their
// fallbacks.
#define ASHLAR_REDUCTION(function)                                                                 \
  template <int First, int... Rest, distributed X>                                                 \
    requires(                                                                                      \
        detail::are_dims_of<X, First, Rest...> &&                                                  \
        locally_applicable<                                                                        \
            detail::reduce_rule<X::rank, detail::dim_bits<First, Rest...>, reduction::function>,   \
            X>)                                                                                    \
  auto function(X const& x) {                                                                      \
    return detail::reduced<detail::dim_bits<First, Rest...>, reduction::function>(x);              \
  }                                                                                                \
  template <int First, int... Rest, distributed X>                                                 \
  ill_formed function(X const&) {                                                                  \
    static_assert(detail::are_dims_of<X, First, Rest...>, ASHLAR_SAYS_DIMENSIONS(#function));      \
    static_assert(                                                                                 \
        detail::matched_if<                                                                        \
            detail::are_dims_of<X, First, Rest...>,                                                \
            detail::reduce_rule<X::rank, detail::dim_bits<First, Rest...>, reduction::function>,   \
            X>::fits,                                                                              \
        ASHLAR_SAYS_REDUCE(#function, #function "<0>(x | to<B, ...>)"));                           \
    return {};                                                                                     \
  }                                                                                                \
  template <distributed X>                                                                         \
    requires locally_applicable<                                                                   \
        detail::reduce_rule<X::rank, detail::all_dim_bits<X>, reduction::function>, X>             \
  auto function(X const& x) {                                                                      \
    return detail::reduced<detail::all_dim_bits<X>, reduction::function>(x);                       \
  }                                                                                                \
  template <distributed X>                                                                         \
  ill_formed function(X const&) {                                                                  \
    static_assert(                                                                                 \
        detail::matched<                                                                           \
            detail::reduce_rule<X::rank, detail::all_dim_bits<X>, reduction::function>, X>::fits,  \
        ASHLAR_SAYS_REDUCE(#function, #function "<0>(x | to<B, ...>)"));                           \
    return {};                                                                                     \
  }

ASHLAR_REDUCTION(sum)
ASHLAR_REDUCTION(max)
ASHLAR_REDUCTION(min)

#undef ASHLAR_REDUCTION

/// Returns the transposed matrix. Communicates nothing.
template <distributed X>
  requires(X::rank == 2)
auto transpose(X const& x) {
  auto const p = detail::result_of<detail::transpose_rule>(x);
  using T = typename X::value_type;
  auto y = empty<T, 2>(x.mesh(), shape{x.extents()[1], x.extents()[0]}, p);
  std::int64_t const extents[] = {x.local_size(0), x.local_size(1)};
  std::int64_t const from[] = {x.local_size(1), 1}, to_strides[] = {1, x.local_size(0)};
  copy_strided(x.mesh().processor(), 2, extents, static_cast<T const*>(x.data()), from, y.data(),
               to_strides);
  return y;
}
template <distributed X>
ill_formed transpose(X const&) {
  static_assert(detail::always_false<X>, ASHLAR_SAYS_TRANSPOSE);
  return {};
}

}  // namespace ashlar
