// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Element-wise operators of two tensors of which one is repeated along some dims of the other, as a
// bias is along the rows of a matrix (NumPy's broadcasting, a word that here means a placement).
// The dims are matched from the last one on (signature/dim_letters.hpp has the rule): 512x8 + 8, 512x8 +
// 1x8, or 512x1 * 8, in which both are repeated.
//
// On a mesh axis that splits a dim of the result, an operand is split too or, where it is repeated
// along this dim, B. A dim of extent 1 that is repeated is never split. Nothing is communicated.
//
// The number of dims belongs to a tensor's type, the extents do not. So the compiler decides about
// lacking dims, and the program about extents of 1. Typed operands of one number of dims must lie
// alike, also where an extent is 1: such a dim can be given up by merge_axes.

#include <array>

#include <ashlar/signature/dim_letters.hpp>
#include <ashlar/support/buffer.hpp>
#include <ashlar/tensor/local_rule.hpp>

namespace ashlar::detail {

/// Returns `rank` letters, which name the dims of a tensor in the signature tables.
constexpr std::string_view letters(int rank) {
  return std::string_view("abcde").substr(0, static_cast<std::size_t>(rank));
}
/// Returns the letters of an operand of `rank` dims in a result of `of` dims.
constexpr std::string_view last_letters(int rank, int of) {
  return letters(of).substr(static_cast<std::size_t>(of - rank));
}

/// Two tensors of one element type and one type of processor, of any numbers of dims.
template <class X, class Y>
concept combinable = distributed<X> && distributed<Y> &&
                     std::same_as<typename X::value_type, typename Y::value_type> &&
                     std::same_as<typename X::processor_type, typename Y::processor_type>;

/// Whether a pair of placements fails since a partial operand is with one that does not fit it.
constexpr bool fails_as_partial(placement const& x, placement const& y) {
  for (int a = 0; a < x.axes() && a < y.axes(); ++a)
    if (x[a].is_partial() || y[a].is_partial()) return true;
  return x.axes() != y.axes();
}

/// The rule of two operands of different numbers of dims. `Base` is that of operands of one number.
template <template <int> class Base, int XRank, int YRank>
struct repeated_rule {
  static constexpr int rank = XRank > YRank ? XRank : YRank;
  using base = Base<rank>;
  static constexpr char const* name = base::name;
  static constexpr signature_table table_for(std::string_view x, std::string_view y,
                                             std::string_view out) {
    return base::table_for(x, y, out);
  }
  static constexpr signature_table table() {
    return table_for(last_letters(XRank, rank), last_letters(YRank, rank), letters(rank));
  }
  static constexpr char const* sentence_for(placement const& x, placement const& y) {
    return fails_as_partial(x, y) ? base::sentence : base::repeated_sentence;
  }
};

template <template <int> class Base, class X, class Y>
struct rule_of_ranks {
  using type = repeated_rule<Base, X::rank, Y::rank>;
};
template <template <int> class Base, class X, class Y>
  requires(X::rank == Y::rank)
struct rule_of_ranks<Base, X, Y> {
  using type = Base<X::rank>;
};
/// The rule of an operator on X and Y.
template <template <int> class Base, class X, class Y>
using rule_for = typename rule_of_ranks<Base, X, Y>::type;

/// Whether X and Y have different numbers of dims and do not fail because of a partial operand.
template <class X, class Y>
inline constexpr bool fails_as_repeated = [] {
  if constexpr (!combinable<X, Y>) return false;
  else if constexpr (X::rank == Y::rank || !all_static<X, Y>) return false;
  else return !fails_as_partial(static_value<X>, static_value<Y>);
}();

/// Matches the dims of x and y. Throws ashlar::error if two extents differ and neither is 1.
template <distributed X, distributed Y>
matched_dims match_operands(char const* name, X const& x, Y const& y) {
  auto const dims = match_dims(x.extents(), y.extents());
  if (dims.failing_dim >= 0)
    throw error(name, "the extents differ: " + describe(x) + " and " + describe(y) + ".");
  return dims;
}

/// Returns the strides of a shard with these letters in the dims of a result of `rank` dims: 0 where it
/// is repeated. size_of(d) is its extent in its dim d.
template <class SizeOf>
std::array<std::int64_t, max_rank + 1> repeated_strides(dim_letters const& letters, int rank,
                                                        SizeOf const& size_of) {
  std::array<std::int64_t, max_rank + 1> strides{};
  std::int64_t step = 1;
  for (int d = letters.length - 1; d >= 0; step *= size_of(d--))
    if (letters.text[d] != '1') strides[static_cast<std::size_t>(d + rank - letters.length)] = step;
  return strides;
}

/// The loop over the shard of the result z, of `extents`, and the strides of both operands.
struct repeated_loop {
  int rank = 0;
  std::array<std::int64_t, max_rank + 1> extents{}, x{}, y{};

  std::int64_t elements() const {
    std::int64_t n = 1;
    for (int d = 0; d < rank; ++d) n *= extents[static_cast<std::size_t>(d)];
    return n;
  }
};

/// Computes z = f(x, y) on the host, run by run. A run is as long as both operands are contiguous
/// in it; if the last dim is repeated, a run is one row of it and one of the operands one number.
template <class Mesh, class F, class T>
  requires Mesh::processor_type::is_host
void map_repeated(Mesh const& m, F const& f, repeated_loop const& loop, T const* x, T const* y,
                  T* z) {
  using A = accumulation_t<T>;
  int outer = loop.rank;
  std::int64_t run = 1;
  while (outer > 0) {
    auto const d = static_cast<std::size_t>(outer - 1);
    if (loop.extents[d] != 1 && (loop.x[d] != run || loop.y[d] != run)) break;
    run *= loop.extents[d];
    --outer;
  }
  bool const repeats = run == 1 && outer > 0;
  if (repeats) run = loop.extents[static_cast<std::size_t>(--outer)];
  auto const last = static_cast<std::size_t>(outer);
  std::array<std::int64_t, max_rank + 1> i{};
  for (std::int64_t at = 0, n = loop.elements(); at < n; at += run) {
    std::int64_t from_x = 0, from_y = 0;
    for (std::size_t d = 0; d < last; ++d) from_x += i[d] * loop.x[d], from_y += i[d] * loop.y[d];
    T const *const a = x + from_x, *const b = y + from_y;
    if (!repeats) map(m.processor(), f, a, b, run, z + at);
    else if (loop.y[last] == 0)
      map(
          m.processor(), [&f, v = static_cast<A>(*b)](A u) { return f(u, v); }, a, run, z + at);
    else
      map(
          m.processor(), [&f, u = static_cast<A>(*a)](A v) { return f(u, v); }, b, run, z + at);
    for (int d = outer - 1; d >= 0; --d) {
      auto const k = static_cast<std::size_t>(d);
      if (++i[k] < loop.extents[k]) break;
      i[k] = 0;
    }
  }
}

/// Computes z = f(x, y) on a device. Both operands are first copied to the extents of the result.
template <class Mesh, class F, class T>
void map_repeated(Mesh const& m, F const& f, repeated_loop const& loop, T const* x, T const* y,
                  T* z) {
  std::int64_t const n = loop.elements();
  buffer<T> const a(m.memory(), n), b(m.memory(), n);
  std::array<std::int64_t, max_rank + 1> to{};
  std::int64_t step = 1;
  for (auto d = static_cast<std::size_t>(loop.rank); d-- > 0; step *= loop.extents[d]) to[d] = step;
  auto const spread = [&](T const* from, auto const& strides, T* target) {
    copy_strided(m.processor(), loop.rank, loop.extents.data(), from, strides.data(), target,
                 to.data());
  };
  spread(x, loop.x, a.data());
  spread(y, loop.y, b.data());
  map(m.processor(), f, static_cast<T const*>(a.data()), static_cast<T const*>(b.data()), n, z);
}

/// Writes f(x, y) to the shard of z, whose placement `Rule` has accepted.
template <distributed X, distributed Y, distributed Z, class F>
void write_repeated(matched_dims const& dims, X const& x, Y const& y, F const& f, Z const& z) {
  if (z.local_elements() == 0) return;
  repeated_loop loop{Z::rank,
                     {},
                     repeated_strides(dims.x, Z::rank, [&](int d) { return x.local_size(d); }),
                     repeated_strides(dims.y, Z::rank, [&](int d) { return y.local_size(d); })};
  for (int d = 0; d < Z::rank; ++d) loop.extents[static_cast<std::size_t>(d)] = z.local_size(d);
  using T = typename X::value_type;
  map_repeated(z.mesh(), f, loop, static_cast<T const*>(x.data()), static_cast<T const*>(y.data()),
               z.data());
}

/// The rule for operands whose extents are known to differ: `Rule` with the sentences for repeated
/// operands.
template <class Rule>
struct repeated_message {
  static constexpr char const* name = Rule::name;
  static constexpr char const* sentence_for(placement const& x, placement const& y) {
    if constexpr (requires { Rule::sentence; })
      return fails_as_partial(x, y) ? Rule::sentence : Rule::repeated_sentence;
    else return Rule::sentence_for(x, y);
  }
};

/// Returns the placement of the result of operands with matched dims. Throws ashlar::error if the
/// operands do not fit.
template <class Rule, distributed X, distributed Y>
placement repeated_result(matched_dims const& dims, X const& x, Y const& y) {
  return result_value<repeated_message<Rule>>(
      Rule::table_for(dims.x.view(), dims.y.view(), letters(dims.extents.rank())), x, y);
}

}  // namespace ashlar::detail
