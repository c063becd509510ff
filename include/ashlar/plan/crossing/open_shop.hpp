// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Orders traffic between ports such that hardly any port waits for another one. rounds_of takes the
// number of elements that each port sends to each other port, and returns rounds. In a round, each
// port sends to at most one port and receives from at most one. The rounds together take at most a
// hundredth longer than the busiest port needs alone. No order takes less than the time of the
// busiest port (preemptive open shop, Gonzalez and Sahni 1976).
//
// The traffic is first extended to a matrix whose rows and columns all have the same sum, with a
// second copy of each port that takes up the differences:
//
//   [ W            D - rows ]       W: the elements from each port (row) to each port (column)
//   [ D - columns  W^T      ]       D: the largest sum of a row or column of W
//
// The diagonal matrix D - rows has the differences between D and the sums of the rows of W, and the
// matrix D - columns has the same for the columns. A matrix whose rows and columns all have the
// same sum has a perfect matching among its positive entries. The matching is one round, as long as
// the least of its entries. If this length is subtracted from every entry of the matching, all rows
// and columns again have the same sum.

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <ashlar/support/scratch.hpp>

namespace ashlar {

/// `size` elements from one port to another.
struct port_traffic {
  int from = 0, to = 0;
  std::int64_t size = 0;
  friend constexpr bool operator==(port_traffic const&, port_traffic const&) = default;
};

/// Traffic that goes at the same time. Each port sends to at most one port and receives from at
/// most one port.
using port_round = std::vector<port_traffic>;

namespace detail {

class open_shop {
 public:
  /// `traffic` has at most one entry for each pair of ports.
  constexpr open_shop(int ports, std::vector<port_traffic> const& traffic)
      : ports_(ports), rows_(static_cast<std::size_t>(2 * ports)),
        column_of_(static_cast<std::size_t>(2 * ports), -1), row_of_(column_of_),
        seen_(column_of_.size()) {
    scratch<std::int64_t> sends(static_cast<std::size_t>(ports)), receives(sends);
    for (auto const& t : traffic) {
      sends.data()[t.from] += t.size;
      receives.data()[t.to] += t.size;
    }
    std::int64_t most = 0;
    for (int p = 0; p < ports; ++p) most = std::max({most, sends.data()[p], receives.data()[p]});
    for (auto const& t : traffic) {
      add(t.from, t.to, t.size);
      add(ports + t.to, ports + t.from, t.size);
    }
    for (int p = 0; p < ports; ++p) {
      add(p, ports + p, most - sends.data()[p]);
      add(ports + p, p, most - receives.data()[p]);
    }
    for (auto& row : rows_) std::sort(row.begin(), row.end(), comes_before);
    left_ = most;
  }

  constexpr std::vector<port_round> run() {
    std::vector<port_round> rounds;
    while (left_ > 0) {
      for (int r = 0; r < 2 * ports_; ++r)
        if (column_of_.data()[r] < 0) {
          for (auto& s : seen_) s = false;
          match(r);
        }
      std::int64_t size = left_;
      for (int r = 0; r < 2 * ports_; ++r) size = std::min(size, matched(r).size);
      left_ -= size;
      port_round round;
      for (int r = 0; r < 2 * ports_; ++r) {
        auto& e = matched(r);
        if (r < ports_ && e.column < ports_) round.push_back({r, e.column, size});
        auto& row = rows_.data()[r];
        auto at = row.begin() + (&e - row.data());
        e.size -= size;
        if (e.size > 0) {
          for (; at + 1 != row.end() && comes_before(at[1], at[0]); ++at) std::swap(at[0], at[1]);
          continue;
        }
        row_of_.data()[e.column] = -1;
        column_of_.data()[r] = -1;
        row.erase(at);
      }
      if (!round.empty()) rounds.push_back(static_cast<port_round&&>(round));
    }
    return rounds;
  }

 private:
  struct entry {
    int column;
    std::int64_t size;
  };

  /// The order of the entries of a row of the matrix. Large entries come first, so they are tried
  /// first for a round. A round of large entries carries many elements for the price of one
  /// latency.
  static constexpr bool comes_before(entry const& a, entry const& b) {
    return a.size != b.size ? a.size > b.size : a.column < b.column;
  }
  constexpr void add(int row, int column, std::int64_t size) {
    if (size > 0) rows_.data()[row].push_back({column, size});
  }
  constexpr entry& matched(int row) {
    auto& entries = rows_.data()[row];
    std::size_t k = 0;
    while (entries.data()[k].column != column_of_.data()[row]) ++k;
    return entries.data()[k];
  }

  /// Finds a column for `row`. Rows that already have a column may change to another one (an
  /// augmenting path).
  constexpr bool match(int row) {
    for (auto const& e : rows_.data()[row]) {
      if (seen_.data()[e.column]) continue;
      seen_.data()[e.column] = true;
      int const other = row_of_.data()[e.column];
      if (other >= 0 && !match(other)) continue;
      row_of_.data()[e.column] = row;
      column_of_.data()[row] = e.column;
      return true;
    }
    return false;
  }

  int ports_;
  scratch<std::vector<entry>> rows_;  ///< the entries of each row, sorted by comes_before
  scratch<int> column_of_, row_of_;
  scratch<bool> seen_;
  std::int64_t left_ = 0;
};

}  // namespace detail

/// Returns how long a round takes: the number of elements of its largest entry.
constexpr std::int64_t length_of(port_round const& round) {
  std::int64_t most = 0;
  for (auto const& t : round) most = std::max(most, t.size);
  return most;
}

/// Returns rounds that carry `traffic`. Expects at most one entry for each pair of ports, and 1
/// element or more in each entry. An entry may be cut into pieces for several rounds. But if rounds
/// of whole entries take at most a hundredth longer than the busiest port alone, these rounds are
/// returned, because they are fewer. This is the case if all entries have nearly the same size.
constexpr std::vector<port_round> rounds_of(int ports, std::vector<port_traffic> const& traffic) {
  auto units = traffic;
  scratch<std::int64_t> sends(static_cast<std::size_t>(ports)), receives(sends);
  std::int64_t most = 0;
  for (auto& t : units) {
    most = std::max({most, sends.data()[t.from] += t.size, receives.data()[t.to] += t.size});
    t.size = 1;
  }
  auto whole = detail::open_shop(ports, units).run();
  scratch<std::int64_t> sizes(sends.size() * sends.size());
  auto const size_of = [&](port_traffic const& t) -> std::int64_t& {
    return sizes
        .data()[static_cast<std::size_t>(t.from) * sends.size() + static_cast<std::size_t>(t.to)];
  };
  for (auto const& t : traffic) size_of(t) = t.size;
  std::int64_t sum = 0;
  for (auto& round : whole) {
    for (auto& r : round) r.size = size_of(r);
    sum += length_of(round);
  }
  if (double(sum) <= 1.01 * double(most)) return whole;
  return detail::open_shop(ports, traffic).run();
}

}  // namespace ashlar
