// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Element-wise operators of two tensors with different extents. Each tensor is repeated along the
// dims of the result that it lacks or has with extent 1. For example, a bias is repeated for each
// row of a matrix, and a row and a column are both repeated. NumPy calls this broadcasting.
// (In this library, broadcast is a placement.) signature/dim_letters.hpp has the rule that matches
// the dims, and examples.
//
// On a mesh axis that splits a dim of the result, an operand that is repeated along this dim is B,
// even if it has the dim with extent 1. An operand that is not repeated along this dim is split as
// the result is. Nothing is communicated.
//
// The type of a tensor contains its number of dims, but not its extents. So the compiler sees where
// an operand lacks a dim, but not where an operand has extent 1. Typed operands with the same
// number of dims therefore need placements that fit operands of equal extents. If an operand has a
// dim of extent 1 that is to be repeated, merge_axes can remove this dim.

#include <array>

#include <ashlar/device/functor.hpp>
#include <ashlar/signature/dim_letters.hpp>
#include <ashlar/support/buffer.hpp>
#include <ashlar/tensor/local_rule.hpp>

namespace ashlar::detail {

/// Returns `rank` letters, which name the dims of a tensor in the signature tables.
constexpr std::string_view letters(int rank) {
  return std::string_view("abcde").substr(0, static_cast<std::size_t>(rank));
}
/// Returns the letters of an operand of `rank` dims, which are matched with the last dims of a
/// result of `of` dims.
constexpr std::string_view last_letters(int rank, int of) {
  return letters(of).substr(static_cast<std::size_t>(of - rank));
}

/// Two tensors of one element type and one type of processor, of any numbers of dims.
template <class X, class Y>
concept combinable = distributed<X> && distributed<Y> &&
                     std::same_as<typename X::value_type, typename Y::value_type> &&
                     std::same_as<typename X::processor_type, typename Y::processor_type>;

/// Expects placements that match no row of a table. Returns true if the error message must be the
/// one about partial operands: if an operand is partial, or if the numbers of axes differ.
constexpr bool fails_as_partial(placement const& x, placement const& y) {
  for (int a = 0; a < x.axes() && a < y.axes(); ++a)
    if (x[a].is_partial() || y[a].is_partial()) return true;
  return x.axes() != y.axes();
}

/// The rule of an operator on operands with different numbers of dims. `Base` is the operator's
/// rule for operands with the same number of dims.
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
/// The rule of an operator on operands of types X and Y.
template <template <int> class Base, class X, class Y>
using rule_for = typename rule_of_ranks<Base, X, Y>::type;

/// Says whether the message about repeated operands is the right one for typed X and Y whose
/// placements match no row: they have different numbers of dims, and neither is partial.
template <class X, class Y>
inline constexpr bool fails_as_repeated = [] {
  if constexpr (!combinable<X, Y>) return false;
  else if constexpr (X::rank == Y::rank || !all_static<X, Y>) return false;
  else return !fails_as_partial(static_value<X>, static_value<Y>);
}();
/// Says whether the message about operands with different placements is the right one, and not that
/// about repeated operands.
template <class X, class Y>
inline constexpr bool fails_as_alike = combinable<X, Y> && !fails_as_repeated<X, Y>;

/// Matches the dims of x and y from the last one on. Throws ashlar::error if two extents differ and
/// neither is 1.
template <distributed X, distributed Y>
matched_dims match_operands(char const* name, X const& x, Y const& y) {
  auto const dims = match_dims(x.extents(), y.extents());
  if (dims.failing_dim >= 0)
    throw error(name, "the extents differ: " + describe(x) + " and " + describe(y) + ".");
  return dims;
}

/// Returns the stride in a shard for each of the `rank` dims of the result. The dims of the shard
/// have the letters `letters`, and its extent in dim d is size_of(d). The stride is 0 in dims along
/// which the shard is repeated: dims that it lacks, and dims with the letter '1'.
template <class SizeOf>
std::array<std::int64_t, max_rank + 1> repeated_strides(dim_letters const& letters, int rank,
                                                        SizeOf const& size_of) {
  std::array<std::int64_t, max_rank + 1> strides{};
  std::int64_t step = 1;
  for (int d = letters.length - 1; d >= 0; step *= size_of(d--))
    if (letters.text[d] != '1') strides[static_cast<std::size_t>(d + rank - letters.length)] = step;
  return strides;
}

/// Returns the strides of a row-major array of `rank` dims with these extents.
inline std::array<std::int64_t, max_rank + 1>
row_major_strides(int rank, std::array<std::int64_t, max_rank + 1> const& extents) {
  std::array<std::int64_t, max_rank + 1> strides{};
  std::int64_t step = 1;
  for (auto d = static_cast<std::size_t>(rank); d-- > 0; step *= extents[d]) strides[d] = step;
  return strides;
}

/// The loop over the shard of the result z: the shard's extents, and the strides of the operands x
/// and y in its dims.
struct repeated_loop {
  int rank = 0;
  std::array<std::int64_t, max_rank + 1> extents{}, x{}, y{};

  std::int64_t elements() const {
    std::int64_t n = 1;
    for (int d = 0; d < rank; ++d) n *= extents[static_cast<std::size_t>(d)];
    return n;
  }
};

/// Computes z = f(x, y) on the host, in runs of elements of z. A run covers the last dims in which
/// both operands are contiguous. If an operand is repeated along the last dim, a run is one row
/// along this dim, and f gets one number of this operand for the whole run.
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
      map(m.processor(), device::bound_back<F, A>{f, static_cast<A>(*b)}, a, run, z + at);
    else map(m.processor(), device::bound_front<F, A>{f, static_cast<A>(*a)}, b, run, z + at);
    for (int d = outer - 1; d >= 0; --d) {
      auto const k = static_cast<std::size_t>(d);
      if (++i[k] < loop.extents[k]) break;
      i[k] = 0;
    }
  }
}

/// An operand with the extents of the result's shard. If the operand is repeated along a dim, this
/// is a copy, otherwise it is the operand's own array.
template <class T>
class spread_operand {
 public:
  using index = std::array<std::int64_t, max_rank + 1>;

  /// `strides` are those of the operand `from` in the dims of the result, as repeated_strides
  /// returns them. The copy is in memory of `m`.
  template <class Mesh>
  spread_operand(Mesh const& m, int rank, index const& extents, T const* from, index const& strides)
      : copied_(elements_to_copy(rank, extents, strides)), copy_(m.memory(), copied_), from_(from) {
    if (copied_ == 0) return;
    index const to = row_major_strides(rank, extents);
    copy_strided(m.processor(), rank, extents.data(), from, strides.data(), copy_.data(),
                 to.data());
  }

  T const* data() const { return copied_ > 0 ? copy_.data() : from_; }

 private:
  /// Returns the number of elements of the result's shard, or 0 if the operand is not repeated.
  static std::int64_t elements_to_copy(int rank, index const& extents, index const& strides) {
    bool is_repeated = false;
    std::int64_t step = 1;
    for (auto d = static_cast<std::size_t>(rank); d-- > 0; step *= extents[d])
      is_repeated = is_repeated || (extents[d] != 1 && strides[d] != step);
    return is_repeated ? step : 0;
  }

  std::int64_t copied_;
  buffer<T> copy_;
  T const* from_;
};

/// Computes z = f(x, y) on a device. First copies each operand that is repeated to an array with
/// the extents of the result.
template <class Mesh, class F, class T>
void map_repeated(Mesh const& m, F const& f, repeated_loop const& loop, T const* x, T const* y,
                  T* z) {
  spread_operand<T> const a(m, loop.rank, loop.extents, x, loop.x),
      b(m, loop.rank, loop.extents, y, loop.y);
  map(m.processor(), f, a.data(), b.data(), loop.elements(), z);
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

/// The name and the messages of `Rule` for operands whose extents are known to differ.
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
