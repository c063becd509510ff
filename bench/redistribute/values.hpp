// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The data that is redistributed: integers stored as double, so that sums are exact in every order
// and results can be compared with ==. If Q ranks hold the addends of a partial tensor, element i
// of the whole array is:
//
//   addend(i, q)  =  base(i) + q * (i mod 8 + 1)          on rank q of the Q ranks
//   total(i, Q)   =  addend(i, 0) + ... + addend(i, Q-1)  in every placement that is not partial
//
// The addends of one element differ from rank to rank, so that a missing or doubled addend is
// noticed.

#include <cstddef>
#include <cstdint>
#include <vector>

#include <ashlar/tensor.hpp>

namespace ashlar_bench {

inline double base_value(std::int64_t i) {
  auto const mixed = static_cast<std::uint64_t>(i) * 2654435761u;
  return static_cast<double>((mixed >> 9) & 1023u) - 511.0;
}
inline double addend(std::int64_t i, int q) {
  return base_value(i) + static_cast<double>(q * ((i & 7) + 1));
}
inline double total(std::int64_t i, int addends) {
  return base_value(i) * addends + static_cast<double>(addends * (addends - 1) / 2 * ((i & 7) + 1));
}

/// Calls visit(i, count, offset) for each row of the shard with the index range `b`, in row-major
/// order. A row runs along the last dimension and has `count` elements. `i` is the index of its
/// first element in the whole array. `offset` is the index of the same element in the shard.
template <class Visit>
void for_each_row(ashlar::shape const& extents, ashlar::box const& b, Visit visit) {
  int const last = b.rank() - 1;
  std::int64_t const length = b[last].size;
  if (b.elements() == 0) return;
  std::int64_t const rows = b.elements() / length;
  for (std::int64_t r = 0; r < rows; ++r) {
    std::int64_t rest = r, index = b[last].begin, stride = extents[last];
    for (int d = last - 1; d >= 0; --d) {
      index += (b[d].begin + rest % b[d].size) * stride;
      stride *= extents[d];
      rest /= b[d].size;
    }
    visit(index, length, r * length);
  }
}

inline ashlar::axis_list partial_axes(ashlar::placement const& p) {
  ashlar::axis_list list;
  for (int a = 0; a < p.axes(); ++a)
    if (p[a].is_partial()) list.push_back(static_cast<signed char>(a));
  return list;
}

/// Fills this rank's shard of a tensor with the placement `p`. If `p` is partial, the values are
/// this rank's addends. Otherwise each value is the total of `addends` addends.
inline void fill(ashlar::mesh const& m, ashlar::shape const& extents, ashlar::placement const& p,
                 int addends, double* shard) {
  auto const axes = partial_axes(p);
  int const mine = m.topology().index_in_group(m.coordinate(), axes);
  bool const partial = !axes.empty();
  for_each_row(extents, local_box(extents, m.topology(), p, m.coordinate()),
               [&](std::int64_t first, std::int64_t count, std::int64_t at) {
                 for (std::int64_t i = 0; i < count; ++i)
                   shard[at + i] = partial ? addend(first + i, mine) : total(first + i, addends);
               });
}

/// Returns whether each element of this rank's shard is the total of `addends` addends. The
/// placement `p` of the tensor must not be partial.
inline bool holds_totals(ashlar::mesh const& m, ashlar::shape const& extents,
                         ashlar::placement const& p, int addends, double const* shard) {
  bool right = true;
  for_each_row(extents, local_box(extents, m.topology(), p, m.coordinate()),
               [&](std::int64_t first, std::int64_t count, std::int64_t at) {
                 for (std::int64_t i = 0; i < count; ++i)
                   right = right && shard[at + i] == total(first + i, addends);
               });
  return right;
}

}  // namespace ashlar_bench
