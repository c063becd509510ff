// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The kernels with which evaluate.hpp computes cumulative sums, concatenations, slices and rows of
// tables on shards, and the gradients of these operators. They communicate nothing. No axis splits
// the dim along which an operator sums, joins, cuts or takes rows. So the kernels treat a shard
// like a whole tensor.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <ashlar/device/host/operations.hpp>
#include <ashlar/signature/formula/selection.hpp>
#include <ashlar/support/buffer.hpp>

namespace ashlar::formulas::detail {

/// Returns the product of the extents `of`.
inline std::int64_t product_of(std::span<std::int64_t const> of) {
  std::int64_t n = 1;
  for (auto const extent : of) n *= extent;
  return n;
}

/// Copies `outer` blocks of elements. Consecutive blocks are `from` elements apart in x and `to`
/// elements apart in z.
template <class Mesh, class T>
void copy_blocks(Mesh const& m, std::int64_t outer, std::int64_t block, T const* x,
                 std::int64_t from, T* z, std::int64_t to) {
  std::int64_t const extents[] = {outer, block}, in_x[] = {from, 1}, in_z[] = {to, 1};
  if (outer * block > 0) copy_strided(m.processor(), 2, extents, x, in_x, z, in_z);
}

/// Returns the text of a number, without a point if it is an integer.
inline std::string number_text(double number) {
  bool const whole = number > -1e15 && number < 1e15 &&
                     static_cast<double>(static_cast<std::int64_t>(number)) == number;
  return whole ? std::to_string(static_cast<std::int64_t>(number)) : std::to_string(number);
}

/// Returns the row numbers in `ids` as integers; `ids` holds them as values of type T. Throws
/// ashlar::error if one of them is not an integer from 0 to rows - 1, or if `rows` is above 2^31.
template <class T>
std::vector<std::int32_t> row_numbers(graph const& g, T const* ids, std::int64_t count,
                                      std::int64_t rows) {
  constexpr std::int64_t most = std::int64_t(1) << 31;
  if (rows > most)
    throw error(g.name, "take_rows: the table has " + std::to_string(rows) +
                            " rows, but row numbers have 32 bits. Use at most " +
                            std::to_string(most) + " rows.");
  std::vector<std::int32_t> numbers(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    if (!(ids[i] >= T(0) && ids[i] < static_cast<T>(rows)) ||
        static_cast<T>(static_cast<std::int32_t>(ids[i])) != ids[i])
      throw error(g.name, "take_rows: id " + number_text(static_cast<double>(ids[i])) +
                              " is no row of the table of " + std::to_string(rows) +
                              " rows, which count from 0.");
    numbers[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(ids[i]);
  }
  return numbers;
}

[[noreturn]] inline void refuse_on_devices(char const* layer, operation what) {
  throw error(layer, std::string(to_string(what)) +
                         " runs on the host only, and this formula is placed on GPU ranks.");
}

/// Computes node i of the formula from u and v. The node is one of the operators that the comment
/// at the top of this file lists. sizes(k) returns the extents of the shard of node k.
template <class Mesh, class T, class Sizes>
void select(Mesh const& m, graph const& g, int i, Sizes const& sizes, T const* u, T const* v,
            T* z) {
  node const& n = g[i];
  auto const in_a = sizes(n.a), out = sizes(i);
  std::int64_t const count = product_of(out);
  if (n.what == operation::join) {
    auto const dim = n.out.view().find('C');
    auto const outer = product_of(out.first(dim)), made = product_of(out.subspan(dim));
    auto const first = product_of(in_a.subspan(dim)), second = product_of(sizes(n.b).subspan(dim));
    copy_blocks(m, outer, first, u, first, z, made);
    return copy_blocks(m, outer, second, v, second, z + first, made);
  }
  if (n.what == operation::part || n.what == operation::slice || n.what == operation::pad) {
    bool const pads = n.what == operation::pad;
    auto const dim = (pads ? n.out : n.in_a).view().find('C');
    auto const outer = product_of(out.first(dim));
    auto const from = product_of(in_a.subspan(dim)), to = product_of(out.subspan(dim));
    auto const begin = static_cast<std::int64_t>(n.number) * product_of(out.subspan(dim + 1));
    auto const skipped = n.what != operation::part ? begin : n.weight == 0 ? 0 : from - to;
    if (!pads) return copy_blocks(m, outer, to, u + skipped, from, z, to);
    fill(m.processor(), T(0), count, z);
    return copy_blocks(m, outer, from, u, from, z + skipped, to);
  }
  if (n.what == operation::cumulate) {
    if (count > 0)
      cumulative_sum(m.processor(), m.memory(), u, count / out.back(), out.back(), 1, n.number < 0,
                     z);
    return;
  }
  if constexpr (Mesh::processor_type::is_host) {
    auto const ids = product_of(sizes(n.b));
    auto const table = n.what == operation::take_rows ? in_a : out;
    auto const columns = product_of(table.subspan(1));
    auto const numbers = row_numbers(g, v, ids, table[0]);
    if (n.what == operation::take_rows) {
      if (count > 0)
        embedding_forward(m.processor(), u, 0, table[0], columns, numbers.data(), ids, z);
      return;
    }
    fill(m.processor(), T(0), count, z);
    if (count > 0 && ids > 0)
      embedding_backward(m.processor(), m.memory(), u, numbers.data(), ids, 0, table[0], columns,
                         z);
  } else {
    refuse_on_devices(g.name, n.what);
  }
}

}  // namespace ashlar::formulas::detail
