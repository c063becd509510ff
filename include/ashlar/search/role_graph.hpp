// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The ways between all placements of one tensor, the order of shards not counting (axis_roles):
//
//   state    a role per axis (role_states.hpp); with `exchange_alike`, states that are equal up to an
//            exchange of interchangeable axes are merged, and distances are the least of such a class
//   steps    any axes of one role to another one, not only the innermost of a dim; slices and pads
//            one axis at a time; two axes of one extent exchange their roles
//   price    that of the step, which does not depend on the order (plan/step_prices.hpp)
//
// Every plan of a redistribution is a path of these steps, so its weight is no less than the
// distance here. role_distances finds those to one target; this, all of them at once.

#include <type_traits>
#include <vector>

#include <ashlar/config.hpp>
#include <ashlar/plan/role_distances.hpp>
#include <ashlar/search/role_states.hpp>

namespace ashlar::search {

class role_graph {
 public:
  /// `dims`: the dims that count, bit d for dim d. `tie`: what a collective weighs beside its seconds.
  /// `exchange_alike`: placements that differ in which of alike axes has which role are one state.
  constexpr role_graph(shape const& extents, unsigned dims, int element_size, topology const& t,
                       machine const& m, double tie, bool exchange_alike = false)
      : extents_(extents), numbered_(extents.rank(), dims, t, exchange_alike),
        first_(static_cast<std::size_t>(states())), end_(first_) {
    int const axes = t.axes(), roles = numbered_.roles();
    step_prices const price(extents, element_size, t, m);
    scratch<int> moved(std::size_t{1} << axes);  // per set of axes: the sum of their places
    for (int a = 0; a < axes; ++a)
      for (int set = 0; set < 1 << a; ++set)
        moved.data()[set | 1 << a] = moved.data()[set] + numbered_.place(a);
    auto const add = [&](int to, double seconds) {
      edges_.push_back({numbered_.state_of(to), seconds > 0 ? seconds + tie : 0});
    };
    // What an exchange of alike axes makes of a state is a larger number: its edges are there.
    for (int state = states() - 1; state >= 0; --state) {
      int const number = numbered_.number(state);
      first_.data()[state] = static_cast<int>(edges_.size());
      if (copy_exchanged(state, edges_, first_, end_)) continue;
      axis_roles const from = numbered_.having(number);
      for (int x = 0; x < roles; ++x) {
        int const role_x = numbered_.role_of(x);
        axis_set const all = from.having[role_x];
        for (int y = 0; y < roles && all != 0; ++y) {
          if (x == y) continue;
          int const role_y = numbered_.role_of(y);
          collective const kind = role_distances::kind_between(role_x, role_y);
          for (axis_set moving = all; moving != 0; moving = (moving - 1) & all) {
            if (!communicates(kind) && (moving & (moving - 1)) != 0) continue;
            if (!numbered_.are_first(moving, all)) continue;
            axis_roles to = from;
            to.having[role_x] = all ^ moving;
            to.having[role_y] |= moving;
            add(number + (y - x) * moved.data()[moving], price(kind, moving, from, to));
          }
        }
      }
      for (int a = 0; a < axes; ++a)
        for (int b = a + 1; b < axes; ++b) {
          int const x = numbered_.digit(number, a), y = numbered_.digit(number, b);
          int const role_x = numbered_.role_of(x), role_y = numbered_.role_of(y);
          if (x == y ||
              !exchange_roles(
                  t, a, b, role_x >= axis_roles::first_split && role_y >= axis_roles::first_split))
            continue;
          axis_set const both = 1u << a | 1u << b;
          axis_roles to = from;
          to.having[role_x] ^= both;
          to.having[role_y] ^= both;
          int const exchanged = number + (y - x) * (numbered_.place(a) - numbered_.place(b));
          if (numbered_.state_of(exchanged) != state)
            add(exchanged, price(collective::permute, both, from, to, t.extent(a) == t.extent(b)));
        }
      end_.data()[state] = static_cast<int>(edges_.size());
    }
    leave_detours();
  }

  constexpr shape const& extents() const { return extents_; }
  constexpr int states() const { return numbered_.size(); }
  constexpr int state(placement const& p) const { return numbered_.state(p); }

  /// From every state to every state, some targets at a time: each state's distances improve by
  /// those of the states behind its edges, in sweeps, until none does. Exchanging alike axes in source
  /// and target changes no distance: only targets whose digits ascend along them are searched.
  constexpr scratch<double> all_distances() const {
    constexpr int lanes = 16;
    int const n = states();
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
        if (numbered_.exchange_of(next).first < 0) target[found++] = next;
      // The compiler makes no vectors of constant expressions: there no lane is in vain.
      int width = lanes;
      if (ASHLAR_IN_COMPILER) width = found;
      for (double& w : some) w = unreachable;
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
      auto const [a, b] = numbered_.exchange_of(t);
      if (a < 0) continue;
      int const like = numbered_.exchanged(t, a, b);
      for (int u = 0; u < n; ++u)
        weight.data()[u * n + t] = weight.data()[numbered_.exchanged(u, a, b) * n + like];
    }
    return weight;
  }

 private:
  struct edge {
    int to;
    double weight;
  };

  /// Adds the edges of a state that is another one but for an exchange, if it is, to `list`, where
  /// those of the other are.
  constexpr bool copy_exchanged(int state, std::vector<edge>& list, scratch<int> const& first,
                                scratch<int>& end) const {
    auto const [a, b] = numbered_.exchange_of(state);
    if (a < 0) return false;
    int const like = numbered_.exchanged(state, a, b);
    for (int e = first.data()[like]; e < end.data()[like]; ++e) {
      edge const its = list.data()[e];
      list.push_back({numbered_.exchanged(its.to, a, b), its.weight});
    }
    end.data()[state] = static_cast<int>(list.size());
    return true;
  }

  /// Leaves out the edges that two others replace for less.
  constexpr void leave_detours() {
    scratch<double> direct(static_cast<std::size_t>(states()),
                           unreachable);  // from one state, at two edges' end
    double* const d = direct.data();
    edge const* const edges = edges_.data();
    int const *const first = first_.data(), *const end = end_.data();
    std::vector<edge> kept;
    scratch<int> kept_first(first_.size()), kept_end(first_.size());
    for (int u = states() - 1; u >= 0; --u) {
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
        d[edges[e].to] = unreachable;
        for (int f = first[edges[e].to]; f < end[edges[e].to]; ++f) d[edges[f].to] = unreachable;
      }
    }
    edges_ = kept;
    first_ = kept_first;
    end_ = kept_end;
  }

  shape extents_;
  role_states numbered_;
  std::vector<edge> edges_;   ///< grouped by where they start
  scratch<int> first_, end_;  ///< per state: its edges
};

}  // namespace ashlar::search
