// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Sums a gradient in rows over several ranks. Each rank has some of the rows. step/row_exchange.hpp
// describes the two ways to do this, and their prices.
//
// First the ranks gather how many ids each of them has, then the ids. From then on all ranks know
// which rows each rank has. So all of them choose the same one of the two ways, and the messages
// contain rows without ids. In both ways, the rows with the same id are added in the order of the
// ranks. So both ways give the same bits.

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <ashlar/comm/abandon_on_exception.hpp>
#include <ashlar/comm/counted_transfer.hpp>
#include <ashlar/comm/element_type.hpp>
#include <ashlar/layout/split.hpp>
#include <ashlar/nn/row_sums.hpp>
#include <ashlar/step/row_exchange.hpp>
#include <ashlar/support/buffer.hpp>

namespace ashlar::nn {

/// The ids of all ranks of a group, and their union.
class ids_of_ranks {
 public:
  /// `ids` has the ids of rank 0 in ascending order, then those of rank 1, and so on. `counts` has
  /// the number of ids of each rank.
  ids_of_ranks(std::vector<std::int32_t> ids, std::vector<std::int64_t> const& counts)
      : ids_(std::move(ids)), all_(ids_) {
    std::sort(all_.begin(), all_.end());
    all_.erase(std::unique(all_.begin(), all_.end()), all_.end());
    for (auto const n : counts) begin_.push_back(begin_.back() + n);
  }

  int ranks() const { return static_cast<int>(begin_.size()) - 1; }
  std::vector<std::int32_t> const& all() const { return all_; }
  std::int64_t count(int rank) const { return end(rank) - begin(rank); }
  std::int32_t id(int rank, std::int64_t i) const {
    return ids_[static_cast<std::size_t>(begin(rank) + i)];
  }
  /// Returns the part of the union whose rows rank `owner` sums up.
  interval part(int owner) const {
    return balanced_part({0, static_cast<std::int64_t>(all_.size())}, ranks(), owner);
  }
  /// Returns which ids of rank `rank` are in part(owner), as a range of this rank's own ids.
  interval owned(int rank, int owner) const {
    auto const own = part(owner);
    auto const place = [&](std::int64_t at) {
      auto const first = ids_.begin() + static_cast<std::ptrdiff_t>(begin(rank));
      auto const last = ids_.begin() + static_cast<std::ptrdiff_t>(end(rank));
      if (at == static_cast<std::int64_t>(all_.size())) return count(rank);
      return static_cast<std::int64_t>(
          std::lower_bound(first, last, all_[static_cast<std::size_t>(at)]) - first);
    };
    std::int64_t const from = place(own.begin);
    return {from, place(own.begin + own.size) - from};
  }
  /// Returns how many ids and rows a rank receives in each of the two ways.
  search::rows_load load(int rank) const {
    std::int64_t const others = static_cast<std::int64_t>(ids_.size()) - count(rank);
    std::int64_t given = 0;
    for (int j = 0; j < ranks(); ++j)
      if (j != rank) given += owned(j, rank).size;
    return {others, others, given, static_cast<std::int64_t>(all_.size()) - part(rank).size};
  }

 private:
  std::int64_t begin(int rank) const { return begin_[static_cast<std::size_t>(rank)]; }
  std::int64_t end(int rank) const { return begin_[static_cast<std::size_t>(rank) + 1]; }

  std::vector<std::int32_t> ids_, all_;
  std::vector<std::int64_t> begin_{0};
};

namespace detail {

/// Runs a transfer of which every member knows the sizes: size(i, j) elements go from member i to
/// member j. Calls take(data, count) with what this rank received. Transfers nothing if no rank has
/// elements.
template <class T, class Mesh, class Size, class Take>
void transfer_counted(Mesh const& m, collective kind, axis_list const& axes,
                      std::vector<T> const& from, Size const& size, Take const& take) {
  auto const what = counted_transfer(kind, axes, m.topology(), m.coordinate(), size);
  // Other ranks may read these arrays directly, so they are in the memory of the mesh.
  buffer<T> const target(m.memory(), what.to.elements());
  if (what.largest_source > 0) {
    buffer<T> const source(m.memory(), static_cast<std::int64_t>(from.size()));
    std::copy(from.begin(), from.end(), source.data());
    m.run(what, element_type_of<T>, source.data(), target.data());
  }
  take(static_cast<T const*>(target.data()), what.to.elements());
}

/// Runs an all-gather in which member i of a group contributes size(i) elements. Returns the
/// elements of all members, in the order of the members.
template <class T, class Mesh, class Size>
std::vector<T> gathered(Mesh const& m, axis_list const& axes, std::vector<T> const& from,
                        Size const& size) {
  std::vector<T> all;
  transfer_counted(
      m, collective::all_gather, axes, from, [&](int i, int) { return size(i); },
      [&](T const* data, std::int64_t count) { all.assign(data, data + count); });
  return all;
}

template <class T>
void add_row(T const* row, std::int64_t columns, T* sum) {
  for (std::int64_t k = 0; k < columns; ++k) sum[k] += row[k];
}

/// Returns one sum for each id in the interval `part` of `ids.all()`. `row` points to the addends:
/// first the rows of rank 0, in the order of their ids, then those of rank 1, and so on. of_rank[r]
/// is an interval of the list of the ids of rank r: the ids to which its addends belong.
template <class T>
std::vector<T> summed_rows(ids_of_ranks const& ids, interval const& part, std::int64_t columns,
                           T const* row, std::vector<interval> const& of_rank) {
  std::vector<T> sums(static_cast<std::size_t>(part.size * columns), T(0));
  for (int r = 0; r < ids.ranks(); ++r) {
    auto const& own = of_rank[static_cast<std::size_t>(r)];
    std::int64_t at = part.begin;
    for (std::int64_t i = own.begin; i < own.begin + own.size; ++i, ++at, row += columns) {
      while (ids.all()[static_cast<std::size_t>(at)] != ids.id(r, i)) ++at;
      add_row(row, columns, sums.data() + (at - part.begin) * columns);
    }
  }
  return sums;
}

}  // namespace detail

/// Returns the sums of the rows `own` of all ranks along `axes`, on each of these ranks. `way` says
/// which of the two ways is used; null: the one that is cheaper on the mesh's machine. All ranks
/// along `axes` must call this function. Communicates: an all-gather of the numbers of ids and one
/// of the ids, then either an all-gather of rows, or an all-to-all and an all-gather of rows.
template <class T, class Mesh>
sorted_rows<T> sum_over_ranks(Mesh const& m, axis_list const& axes, sorted_rows<T> own,
                              search::rows_way const* way = nullptr) {
  auto const& t = m.topology();
  int const members = t.group_size(axes), me = t.index_in_group(m.coordinate(), axes);
  if (members == 1 || !m.is_here()) return own;
  // The numbers of rows differ between ranks, so memory may be exhausted on one rank alone. The
  // other ranks must then not wait for it, so an exception abandons the mesh.
  abandon_on_exception const guard(m.operations());
  std::int64_t const d = own.columns;
  auto const counts = detail::gathered<std::int64_t>(m, axes, {own.size()},
                                                     [](int) { return std::int64_t(1); });
  auto const count = [&](int r) { return counts[static_cast<std::size_t>(r)]; };
  ids_of_ranks const ids(detail::gathered(m, axes, own.ids, count), counts);

  search::row_exchange rows;
  rows.axes = axes;
  rows.members = members;
  rows.columns = d;
  search::rows_seconds busiest;
  for (int r = 0; r < members; ++r) {
    auto const time = search::seconds_of_rows(rows, ids.load(r), int(sizeof(T)), t, m.machine());
    busiest.gathered = std::max(busiest.gathered, time.gathered);
    busiest.by_owners = std::max(busiest.by_owners, time.by_owners);
  }
  sorted_rows<T> made;
  made.ids = ids.all();
  made.columns = d;
  std::vector<interval> of_rank;
  if ((way == nullptr ? busiest.cheaper() : *way) == search::rows_way::gathered) {
    for (int r = 0; r < members; ++r) of_rank.push_back({0, count(r)});
    detail::transfer_counted(
        m, collective::all_gather, axes, own.values, [&](int from, int) { return count(from) * d; },
        [&](T const* rows_of_all, std::int64_t) {
          made.values = detail::summed_rows(ids, {0, static_cast<std::int64_t>(made.ids.size())}, d,
                                            rows_of_all, of_rank);
        });
    return made;
  }
  for (int r = 0; r < members; ++r) of_rank.push_back(ids.owned(r, me));
  std::vector<T> sums;
  detail::transfer_counted(
      m, collective::all_to_all, axes, own.values,
      [&](int from, int to) { return ids.owned(from, to).size * d; },
      [&](T const* mine, std::int64_t) {
        sums = detail::summed_rows(ids, ids.part(me), d, mine, of_rank);
      });
  own.values = std::vector<T>();  // frees their memory, which an assignment of {} would keep
  made.values = detail::gathered(m, axes, sums, [&](int r) { return ids.part(r).size * d; });
  return made;
}

}  // namespace ashlar::nn
