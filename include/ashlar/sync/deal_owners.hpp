// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Deals parameters out to owners so that the busiest rank owns as few elements as possible. An
// owner is the rank that updates a parameter.
//
//   up to 24 parameters, all owned along the same axes    branch and bound that starts with the
//                                                         greedy dealing; optimal unless its limit
//                                                         of steps leaves a gap
//   otherwise                                             greedy: the largest parameter first, each
//                                                         to the owner with the fewest elements
//                                                         (Graham 1969; at most 4/3 of the optimum
//                                                         if all have the same axes)
//
// No dealing has fewer elements on the busiest rank than
//
//   the largest parameter
//   the mean over the owners
//   for k owners: the sum of the two smallest of the k + 1 largest parameters, since two of these
//   k + 1 parameters have the same owner

#include <algorithm>
#include <cstdint>
#include <vector>

#include <ashlar/layout/layout.hpp>

namespace ashlar::sync {

/// How evenly numbers, such as the numbers of elements of parameters, are dealt out to owners.
struct owner_balance {
  std::int64_t most = 0;   ///< what the busiest owner has
  std::int64_t bound = 0;  ///< a lower bound of `most` over all dealings
  /// Returns the fraction by which `bound` is below `most`. 0 means that the dealing is optimal.
  constexpr double gap() const { return most > 0 ? 1 - double(bound) / double(most) : 0; }
};

/// The result of `deal`: how numbers are dealt out to owners.
struct dealt_numbers : owner_balance {
  std::vector<int> owner;  ///< the owner of each number
};

namespace detail {

/// Implements `deal`: a greedy dealing first, then branch and bound.
class number_dealer {
 public:
  constexpr number_dealer(std::vector<std::int64_t> const& numbers, int owners)
      : numbers_(numbers), load_(static_cast<std::size_t>(owners), 0), now_(numbers.size(), 0) {
    for (std::size_t i = 0; i < numbers.size(); ++i) order_.push_back(static_cast<int>(i));
    std::sort(order_.begin(), order_.end(), [&](int a, int b) {
      auto const x = number(a), y = number(b);
      return x != y ? x > y : a < b;
    });
    std::int64_t sum = 0;
    for (auto const it : numbers) sum += it;
    auto const k = load_.size();
    auto& bound = best_.bound;
    bound = (sum + owners - 1) / owners;
    if (!numbers.empty()) bound = std::max(bound, number(order_[0]));
    if (numbers.size() > k) bound = std::max(bound, number(order_[k - 1]) + number(order_[k]));
  }

  constexpr dealt_numbers run(int exact_up_to) {
    for (int const i : order_) put(i, least_loaded(), 1);
    best_.owner = now_;
    best_.most = *std::max_element(load_.begin(), load_.end());
    if (static_cast<int>(numbers_.size()) > exact_up_to || best_.most == best_.bound) return best_;
    std::fill(load_.begin(), load_.end(), 0);
    search(0, 0);
    if (steps_ < most_steps) best_.bound = best_.most;
    return best_;
  }

 private:
  static constexpr int most_steps = 50'000;

  constexpr std::int64_t number(int i) const { return numbers_[static_cast<std::size_t>(i)]; }
  constexpr int least_loaded() const {
    return static_cast<int>(std::min_element(load_.begin(), load_.end()) - load_.begin());
  }
  constexpr void put(int i, int owner, int sign) {
    load_[static_cast<std::size_t>(owner)] += sign * number(i);
    now_[static_cast<std::size_t>(i)] = owner;
  }

  /// Tries all owners for the numbers at positions `at` and later in order_. `most` is the load of
  /// the busiest owner so far.
  constexpr void search(std::size_t at, std::int64_t most) {
    if (at == order_.size()) {
      best_.most = most;
      best_.owner = now_;
      return;
    }
    int const i = order_[at];
    for (std::size_t k = 0; k < load_.size(); ++k) {
      if (best_.most == best_.bound || ++steps_ >= most_steps) return;
      bool tried = false;  // whether an owner with this load was tried
      for (std::size_t other = 0; other < k; ++other) tried = tried || load_[other] == load_[k];
      if (tried || load_[k] + number(i) >= best_.most) continue;
      put(i, static_cast<int>(k), 1);
      search(at + 1, std::max(most, load_[k]));
      put(i, static_cast<int>(k), -1);
    }
  }

  std::vector<std::int64_t> const& numbers_;
  std::vector<int> order_;  // the largest number first
  std::vector<std::int64_t> load_;
  std::vector<int> now_;
  dealt_numbers best_;
  int steps_ = 0;
};

}  // namespace detail

/// Deals numbers out to `owners` >= 1 owners so that the largest sum of an owner is least. Requires
/// numbers of 0 or more. Up to `exact_up_to` numbers are dealt out by branch and bound, more of
/// them greedily. Communicates nothing.
constexpr dealt_numbers deal(std::vector<std::int64_t> const& numbers, int owners,
                             int exact_up_to = 24) {
  return detail::number_dealer(numbers, owners).run(exact_up_to);
}

/// A parameter that is to have an owner along some axes of a mesh.
struct ownable {
  shape extents;
  placement whole;    ///< the placement that the parameter would have without an owner
  unsigned axes = 0;  ///< the axes with an owner: bit a is set for axis a
};

/// Parameters dealt out to owners, and how good the dealing is.
struct dealt_owners : owner_balance {
  std::vector<placement> at;  ///< the placement of each parameter
};

namespace detail {

/// Returns the number of ranks along axis a that can be owners.
constexpr int owners_along(topology const& t, int a) { return std::min(t.extent(a), max_owners); }

/// Returns the placement of a parameter whose owner has number k among the owners along its axes.
constexpr placement owned_by(ownable const& p, topology const& t, int k) {
  placement at = p.whole;
  for (int a = t.axes() - 1; a >= 0; --a) {
    if ((p.axes >> a & 1u) == 0) continue;
    at = at.with(a, owned(k % owners_along(t, a)));
    k /= owners_along(t, a);
  }
  return at;
}

/// Returns the number of the owner that has the coordinates `c` along the axes in `axes`. Returns
/// -1 if no placement can name this owner.
constexpr int owner_number(coordinates const& c, unsigned axes, topology const& t) {
  int k = 0;
  for (int a = 0; a < t.axes(); ++a) {
    if ((axes >> a & 1u) == 0) continue;
    int const own = c[static_cast<std::size_t>(a)];
    if (own >= owners_along(t, a)) return -1;
    k = k * owners_along(t, a) + own;
  }
  return k;
}

constexpr int number_of_owners(unsigned axes, topology const& t) {
  int n = 1;
  for (int a = 0; a < t.axes(); ++a)
    if ((axes >> a & 1u) != 0) n *= owners_along(t, a);
  return n;
}

/// Deals out parameters that are owned along different axes, greedily.
constexpr dealt_owners deal_mixed(std::vector<ownable> const& list, topology const& t) {
  struct entry {
    int index;
    std::int64_t elements;
  };
  std::vector<entry> order;
  double sum = 0;  // elements that all ranks together own; the same for every dealing
  dealt_owners made;
  for (std::size_t i = 0; i < list.size(); ++i) {
    auto const& p = list[i];
    auto const elements = max_local_elements(p.extents, t, p.whole);
    order.push_back({static_cast<int>(i), elements});
    made.bound = std::max(made.bound, elements);
    for (int r = 0; r < t.ranks(); ++r)
      if (owner_number(t.coordinates_of(r), p.axes, t) == 0)
        sum += double(local_box(p.extents, t, p.whole, t.coordinates_of(r)).elements());
  }
  made.bound = std::max(made.bound, static_cast<std::int64_t>(sum / t.ranks()));
  std::sort(order.begin(), order.end(), [](entry const& a, entry const& b) {
    return a.elements != b.elements ? a.elements > b.elements : a.index < b.index;
  });
  made.at.resize(list.size());
  std::vector<std::int64_t> load(static_cast<std::size_t>(t.ranks()), 0);
  for (auto const& it : order) {
    auto const& p = list[static_cast<std::size_t>(it.index)];
    std::vector<std::int64_t> most(static_cast<std::size_t>(number_of_owners(p.axes, t)), 0);
    for (int r = 0; r < t.ranks(); ++r)
      if (int const k = owner_number(t.coordinates_of(r), p.axes, t); k >= 0)
        most[static_cast<std::size_t>(k)] = std::max(most[static_cast<std::size_t>(k)],
                                                     load[static_cast<std::size_t>(r)]);
    auto const best = static_cast<int>(std::min_element(most.begin(), most.end()) - most.begin());
    auto const at = owned_by(p, t, best);
    made.at[static_cast<std::size_t>(it.index)] = at;
    for (int r = 0; r < t.ranks(); ++r)
      if (owner_number(t.coordinates_of(r), p.axes, t) == best)
        load[static_cast<std::size_t>(r)] +=
            local_box(p.extents, t, at, t.coordinates_of(r)).elements();
  }
  made.most = *std::max_element(load.begin(), load.end());
  return made;
}

}  // namespace detail

/// Deals parameters out to owners along their axes of mesh `t`. An axis has at most max_owners
/// owners. Communicates nothing.
constexpr dealt_owners deal_owners(std::vector<ownable> const& list, topology const& t) {
  std::vector<std::int64_t> elements;
  for (auto const& p : list) {
    if (p.axes != list[0].axes) return detail::deal_mixed(list, t);
    elements.push_back(max_local_elements(p.extents, t, p.whole));
  }
  dealt_owners made;
  if (list.empty()) return made;
  auto const dealt = deal(elements, detail::number_of_owners(list[0].axes, t));
  for (std::size_t i = 0; i < list.size(); ++i)
    made.at.push_back(detail::owned_by(list[i], t, dealt.owner[i]));
  made.most = dealt.most;
  made.bound = dealt.bound;
  return made;
}

}  // namespace ashlar::sync
