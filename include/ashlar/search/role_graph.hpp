// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The ways between all placements of one tensor, the order of shards not counting (axis_roles):
//
//   state    a number with a digit per axis, its role (B, P, and the dims that count)
//   steps    any axes of one role to another one, not only the innermost of a dim; slices and pads
//            one axis at a time; two axes of one extent exchange their roles
//   alike    axes of one extent and tier; where they are not told apart (`exchange_alike`), states
//            that exchanging them makes of one another are one, so distances are the least of them
//   price    that of the step, which does not depend on the order (plan/step_prices.hpp)
//
// Every plan of a redistribution is a path of these steps, so its weight is no less than the
// distance here. role_distances finds those to one target; this, all of them at once.

#include <type_traits>
#include <vector>

#include <ashlar/plan/role_distances.hpp>
#include <ashlar/search/alike_axes.hpp>

namespace ashlar::search {

class role_graph {
 public:
  /// `dims`: the dims that count, bit d for dim d. `tie`: what a collective weighs beside its seconds.
  /// `exchange_alike`: placements that differ in which of alike axes has which role are one state.
  constexpr role_graph(shape const& extents, unsigned dims, int element_size, topology const& t,
                       machine const& m, double tie, bool exchange_alike = false)
      : extents_(extents), axes_(t.axes()) {
    int const axes = axes_;
    int role_of[2 + max_rank]{};  // per digit
    for (int role = 0; role < 2 + extents.rank(); ++role)
      if (role < axis_roles::first_split || (dims >> (role - axis_roles::first_split) & 1u) != 0) {
        role_of[roles_] = role;
        digit_[role] = roles_++;
      }
    int const roles = roles_;
    step_prices const price(extents, element_size, t, m);
    int place[max_axes]{}, before[max_axes]{}, numbers = 1;
    scratch<int> moved(std::size_t{1} << axes);  // per set of axes: the sum of their places
    for (int a = 0; a < axes; ++a, numbers *= roles) {
      place[a] = numbers;
      before[a] = exchange_alike ? alike_before(t, a) : -1;
      alike_[a] = exchange_alike ? -1 : alike_before(t, a);
      place_[a] = numbers;
      for (int set = 0; set < 1 << a; ++set)
        moved.data()[set | 1 << a] = moved.data()[set] + numbers;
    }
    std::vector<int> const numbered = number_states(numbers, place, before);
    states_ = static_cast<int>(numbered.size());
    first_ = scratch<int>(numbered.size());
    end_ = first_;
    auto const add = [&](int to, double seconds) {
      edges_.push_back({state_.data()[to], seconds > 0 ? seconds + tie : 0});
    };
    // Of alike axes in one role the first ones move.
    auto const is_first = [&](axis_set moving, axis_set all) {
      for (int a = 0; a < axes; ++a)
        if ((moving >> a & 1u) != 0 && before[a] >= 0 && ((all & ~moving) >> before[a] & 1u) != 0)
          return false;
      return true;
    };
    // What an exchange of alike axes makes of a state is a larger number: its edges are there.
    for (int state = states_ - 1; state >= 0; --state) {
      int const number = numbered.data()[state];
      first_.data()[state] = static_cast<int>(edges_.size());
      if (copy_exchanged(state, edges_, first_, end_)) continue;
      axis_roles from;
      for (int a = 0; a < axes; ++a) from.having[role_of[number / place[a] % roles]] |= 1u << a;
      for (int x = 0; x < roles; ++x) {
        axis_set const all = from.having[role_of[x]];
        for (int y = 0; y < roles && all != 0; ++y) {
          if (x == y) continue;
          collective const kind = role_distances::kind_between(role_of[x], role_of[y]);
          for (axis_set moving = all; moving != 0; moving = (moving - 1) & all) {
            if (!communicates(kind) && (moving & (moving - 1)) != 0) continue;
            if (!is_first(moving, all)) continue;
            axis_roles to = from;
            to.having[role_of[x]] = all ^ moving;
            to.having[role_of[y]] |= moving;
            add(number + (y - x) * moved.data()[moving], price(kind, moving, from, to));
          }
        }
      }
      for (int a = 0; a < axes; ++a)
        for (int b = a + 1; b < axes; ++b) {
          int const x = number / place[a] % roles, y = number / place[b] % roles;
          if (x == y || !exchange_roles(t, a, b,
                                        role_of[x] >= axis_roles::first_split &&
                                            role_of[y] >= axis_roles::first_split))
            continue;
          axis_set const both = 1u << a | 1u << b;
          axis_roles to = from;
          to.having[role_of[x]] ^= both;
          to.having[role_of[y]] ^= both;
          int const exchanged = number + (y - x) * (place[a] - place[b]);
          if (state_.data()[exchanged] != state)
            add(exchanged, price(collective::permute, both, from, to, t.extent(a) == t.extent(b)));
        }
      end_.data()[state] = static_cast<int>(edges_.size());
    }
    leave_detours();
  }

  constexpr shape const& extents() const { return extents_; }
  constexpr int states() const { return states_; }

  constexpr int state(placement const& p) const {
    int number = 0;
    for (int a = axes_ - 1; a >= 0; --a)
      number = number * roles_ + digit_[axis_roles::role(p.axis.items[a])];
    return state_.data()[number];
  }

  /// From every state to every state, some targets at a time: each state's distances improve by
  /// those of the states behind its edges, in sweeps, until none does. Exchanging alike axes in source
  /// and target changes no distance: only targets whose digits ascend along them are searched.
  constexpr scratch<double> all_distances() const {
    constexpr int lanes = 16;
    int const n = states_;
    auto const size = static_cast<std::size_t>(n);
    scratch<double> weight(size * size), some(size * lanes);
    scratch<int> improved(size), looked(size);  // when
    edge const* const edges = edges_.data();
    int const *const first = first_.data(), *const end = end_.data();
    double* const to = some.data();
    int target[lanes]{};
    for (int next = 0; next < n;) {
      int found = 0;
      for (; next < n && found < lanes; ++next)
        if (exchange_of(next).first < 0) target[found++] = next;
      // The compiler makes no vectors of constant expressions: there no lane is in vain.
      int width = lanes;
      if (std::is_constant_evaluated()) width = found;
      for (double& w : some) w = 1e300;
      for (int l = 0; l < found; ++l) to[target[l] * lanes + l] = 0;
      for (int u = 0; u < n; ++u) improved.data()[u] = 1, looked.data()[u] = 0;
      int now = 1;
      bool any = found > 0;
      for (int sweep = 0; any; ++sweep) {
        any = false;
        for (int k = 0; k < n; ++k) {
          int const u = sweep % 2 == 0 ? k : n - 1 - k;
          double row[lanes];
          for (int l = 0; l < width; ++l) row[l] = to[u * lanes + l];
          int const before = looked.data()[u];
          looked.data()[u] = ++now;
          for (int e = first[u]; e < end[u]; ++e) {
            if (improved.data()[edges[e].to] < before) continue;
            double const* const other = to + edges[e].to * lanes;
            double const w = edges[e].weight;
            for (int l = 0; l < width; ++l) row[l] = w + other[l] < row[l] ? w + other[l] : row[l];
          }
          bool better = false;
          for (int l = 0; l < width; ++l) better |= row[l] < to[u * lanes + l];
          if (!better) continue;
          for (int l = 0; l < width; ++l) to[u * lanes + l] = row[l];
          improved.data()[u] = now;
          any = true;
        }
      }
      for (int u = 0; u < n; ++u)
        for (int l = 0; l < found; ++l) weight.data()[u * n + target[l]] = to[u * lanes + l];
    }
    // What an exchange makes of a target is a larger number, or was searched.
    for (int t = n - 1; t >= 0; --t) {
      auto const [a, b] = exchange_of(t);
      if (a < 0) continue;
      int const like = exchanged(t, a, b);
      for (int u = 0; u < n; ++u)
        weight.data()[u * n + t] = weight.data()[exchanged(u, a, b) * n + like];
    }
    return weight;
  }

 private:
  struct edge {
    int to;
    double weight;
  };
  struct axis_pair {
    int first = -1, second = -1;
  };

  /// Two alike axes along which the digits of a state descend; -1 if there are none. Where alike axes
  /// are not told apart there never are.
  constexpr axis_pair exchange_of(int state) const {
    for (int b = 0; b < axes_; ++b)
      if (int const a = alike_[b]; a >= 0 && digit_at(state, a) > digit_at(state, b)) return {a, b};
    return {};
  }
  constexpr int digit_at(int state, int axis) const { return state / place_[axis] % roles_; }

  /// The state with the roles of two axes exchanged; states are all numbers.
  constexpr int exchanged(int state, int a, int b) const {
    return state + (digit_at(state, a) - digit_at(state, b)) * (place_[b] - place_[a]);
  }

  /// Adds the edges of a state that is another one but for an exchange, if it is, to `list`, where
  /// those of the other are.
  constexpr bool copy_exchanged(int state, std::vector<edge>& list, scratch<int> const& first,
                                scratch<int>& end) const {
    auto const [a, b] = exchange_of(state);
    if (a < 0) return false;
    int const like = exchanged(state, a, b);
    for (int e = first.data()[like]; e < end.data()[like]; ++e) {
      edge const its = list.data()[e];
      list.push_back({exchanged(its.to, a, b), its.weight});
    }
    end.data()[state] = static_cast<int>(list.size());
    return true;
  }

  /// Numbers the states in the order of their digits; the digits of each. Of alike axes (before[a]:
  /// the last one before a, or -1) the digits of a state ascend.
  constexpr std::vector<int> number_states(int numbers, int const* place, int const* before) {
    std::vector<int> numbered;
    scratch<int> sorted(static_cast<std::size_t>(numbers));
    state_ = scratch<int>(sorted.size());
    for (int number = 0; number < numbers; ++number) {
      int ascending = number;
      for (int a = 0; a < axes_; ++a)
        for (int b = a; before[b] >= 0; b = before[b]) {
          int const x = ascending / place[before[b]] % roles_, y = ascending / place[b] % roles_;
          if (x > y) ascending += (x - y) * (place[b] - place[before[b]]);
        }
      sorted.data()[number] = ascending;
      if (ascending != number) continue;
      state_.data()[number] = static_cast<int>(numbered.size());
      numbered.push_back(number);
    }
    for (int number = 0; number < numbers; ++number)
      state_.data()[number] = state_.data()[sorted.data()[number]];
    return numbered;
  }

  /// Leaves out the edges that two others replace for less.
  constexpr void leave_detours() {
    scratch<double> direct(static_cast<std::size_t>(states_),
                           1e300);  // from one state, at two edges' end
    double* const d = direct.data();
    edge const* const edges = edges_.data();
    int const *const first = first_.data(), *const end = end_.data();
    std::vector<edge> kept;
    scratch<int> kept_first(first_.size()), kept_end(first_.size());
    for (int u = states_ - 1; u >= 0; --u) {
      kept_first.data()[u] = static_cast<int>(kept.size());
      if (copy_exchanged(u, kept, kept_first, kept_end)) continue;
      double longest = 0;
      for (int e = first[u]; e < end[u]; ++e) {
        if (edges[e].weight > longest) longest = edges[e].weight;
        if (edges[e].weight < d[edges[e].to]) d[edges[e].to] = edges[e].weight;
      }
      for (int e = first[u]; e < end[u]; ++e)
        for (int f = first[edges[e].to]; f < end[edges[e].to]; ++f) {
          double const both = edges[e].weight + edges[f].weight;
          if (both < d[edges[f].to] && both < longest) d[edges[f].to] = both;
        }
      for (int e = first[u]; e < end[u]; ++e)
        if (edges[e].weight <= d[edges[e].to]) kept.push_back(edges[e]);
      kept_end.data()[u] = static_cast<int>(kept.size());
      for (int e = first[u]; e < end[u]; ++e) {
        d[edges[e].to] = 1e300;
        for (int f = first[edges[e].to]; f < end[edges[e].to]; ++f) d[edges[f].to] = 1e300;
      }
    }
    edges_ = kept;
    first_ = kept_first;
    end_ = kept_end;
  }

  shape extents_;
  int axes_;
  int roles_ = 0;              ///< B, P and the dims that count
  int digit_[2 + max_rank]{};  ///< per role
  int place_[max_axes]{};      ///< of an axis' digit in a number
  int alike_[max_axes]{};      ///< the last axis before that is alike, to be exchanged; -1: none
  int states_ = 0;
  scratch<int> state_;        ///< per number with a digit per axis
  std::vector<edge> edges_;   ///< grouped by where they start
  scratch<int> first_, end_;  ///< per state: its edges
};

}  // namespace ashlar::search
