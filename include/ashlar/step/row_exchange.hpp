// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Gradients in rows (parameter_choice::in_rows): a rank keeps only the rows of a parameter that its
// passes have read, and their indices (ids). An exchange of rows adds up the rows of all ranks of a
// group. All ranks first get each other's ids. So they know all sizes, and all of them choose the
// same one of two ways:
//
//   gathered    every rank gets the rows of all others, and adds them up itself
//   by_owners   The union of all ids is divided among the ranks. Each rank gets the rows of its
//               part from all others and adds them up, and then every rank gets all sums.
//
//   u    rows of a rank before the exchange        U   rows in the union of p ranks
//   d    elements of a row, of e bytes each
//   received bytes, if ids are spread evenly:
//     both ways    8 (p-1) for the numbers of ids, and 4 (p-1) u for the ids
//     gathered     (p-1) u d e
//     by_owners    (p-1)/p u d e, and then (p-1)/p U d e
//
// A plan is priced as if all ids of a step were different rows: u is the number of ids of a rank
// and U = p u, but no more than the rows of the shard. Each step chooses the faster way anew, from
// the true numbers.

#include <ashlar/layout/layout.hpp>
#include <ashlar/machine/link.hpp>
#include <ashlar/step/plan.hpp>

namespace ashlar::search {
inline namespace step {

enum class rows_way : signed char { gathered, by_owners };

/// The numbers of ids and rows that a rank receives in an exchange. With rows_way::gathered, it
/// receives `gathered` rows. With rows_way::by_owners, it receives `to_owners` rows, and afterwards
/// `from_owners` rows.
struct rows_load {
  std::int64_t ids = 0, gathered = 0, to_owners = 0, from_owners = 0;
};

/// An exchange of the rows of one parameter. It says along which axes ranks add up their rows, how
/// many ranks these are, and how many rows are predicted before and after the exchange.
struct row_exchange {
  axis_list axes;
  int members = 1;
  std::int64_t columns = 0;  ///< elements of a row
  std::int64_t own = 0;      ///< rows of a rank before the exchange (u)
  std::int64_t all = 0;      ///< rows after the exchange (U)

  /// Returns the predicted load of the rank that receives most.
  constexpr rows_load load() const {
    std::int64_t const others = (members - 1) * own, part = (own + members - 1) / members;
    return {others, others, (members - 1) * part, all - all / members};
  }
  /// Returns the bytes of the array of rows before the exchange, which may have room for twice as
  /// many rows, and of the table that finds rows by id.
  constexpr std::int64_t own_bytes(int element_size) const {
    return own * (2 * columns * element_size + 40);
  }
  /// Returns the bytes of the rows after the exchange and of their ids.
  constexpr std::int64_t all_bytes(int element_size) const {
    return all * (columns * element_size + 4);
  }
  /// Returns the bytes that the exchange needs in addition: a copy of the rank's rows sorted by id,
  /// the rows of all ranks, and twice the ids of both. The way by owners needs no more than this,
  /// however the ids are spread, since it frees the sorted rows before the sums arrive.
  constexpr std::int64_t exchange_bytes(int element_size) const {
    return members > 1 ? (members + 1) * own * (columns * element_size + 8) : 0;
  }
  friend constexpr bool operator==(row_exchange const&, row_exchange const&) = default;
};

/// The seconds of an exchange of rows in each of the two ways.
struct rows_seconds {
  double gathered = 0, by_owners = 0;

  constexpr rows_way cheaper() const {
    return gathered <= by_owners ? rows_way::gathered : rows_way::by_owners;
  }
};

/// Returns the seconds in which a rank with the given load receives its ids and rows, in both ways.
/// `rows` gives the axes, the number of ranks and the number of columns.
constexpr rows_seconds seconds_of_rows(row_exchange const& rows, rows_load const& load,
                                       int element_size, topology const& t, machine const& m) {
  if (rows.members <= 1) return {};
  std::int64_t const messages = rows.members - 1, d = rows.columns;
  auto const time = [&](collective kind, std::int64_t elements, int size) {
    return seconds(m, t, rows.axes, kind, {messages, elements}, size);
  };
  double const ids = time(collective::all_gather, messages, 8) +
                     time(collective::all_gather, load.ids, 4);
  return {ids + time(collective::all_gather, load.gathered * d, element_size),
          ids + time(collective::all_to_all, load.to_owners * d, element_size) +
              time(collective::all_gather, load.from_owners * d, element_size)};
}

/// The predicted seconds of an exchange in its cheaper way, and the bytes that the busiest rank
/// receives.
struct rows_price {
  double seconds = 0;
  std::int64_t bytes = 0;
};

/// Returns the price of an exchange as a plan predicts it.
constexpr rows_price price_of_rows(row_exchange const& rows, int element_size, topology const& t,
                                   machine const& m) {
  if (rows.members <= 1) return {};
  auto const load = rows.load();
  auto const time = seconds_of_rows(rows, load, element_size, t, m);
  bool const gathers = time.cheaper() == rows_way::gathered;
  std::int64_t const moved = gathers ? load.gathered : load.to_owners + load.from_owners;
  return {gathers ? time.gathered : time.by_owners,
          8 * (rows.members - 1) + 4 * load.ids + moved * rows.columns * element_size};
}

/// Returns the axes along which the ranks add up a gradient in rows: the axes with more than one
/// rank along which the gradient is partial.
constexpr axis_list row_axes(placement const& grad, topology const& t) {
  axis_list axes;
  for (int a = 0; a < grad.axes(); ++a)
    if (grad[a].is_partial() && t.extent(a) > 1) axes.push_back(static_cast<signed char>(a));
  return axes;
}

/// Returns the exchange of the rows of parameter k of a layer with choice `c`. Expects that the
/// parameter's gradient is in rows.
constexpr row_exchange row_exchange_of(layer_spec const& spec, layer_choice const& c, int k,
                                       topology const& t, int micro_batches) {
  auto const& p = spec.parameters.items[k];
  auto const& at = c.parameters.items[k];
  box const shard = local_box(p.extents, t, at.store, fullest_rank(at.store));
  row_exchange made;
  made.axes = row_axes(at.grad, t);
  made.members = t.group_size(made.axes);
  made.columns = shard[shard.rank() - 1].size;
  std::int64_t const rows = made.columns == 0 ? 0 : shard.elements() / made.columns;
  std::int64_t const x = spec.x.elements();
  std::int64_t const read = x == 0 ? 0
                                   : (p.rows_read * max_local_elements(spec.x, t, c.x) + x - 1) / x;
  auto const at_most = [&](std::int64_t n) { return n < rows ? n : rows; };
  made.own = at_most(read * micro_batches);
  made.all = at_most(made.own * made.members);
  return made;
}

}  // namespace step
}  // namespace ashlar::search
