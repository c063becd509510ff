// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Computes lower bounds of the cost of redistributions. They are the lengths of shortest paths in a
// graph of all placements of one tensor, where shard order is ignored:
//
//   state    A role per axis: B, P, or a split of some dim (role_states.hpp). Two axes are
//            interchangeable if they have equal extent and the same network tier. If
//            `exchange_alike` is set, placements that differ only by an exchange of interchangeable
//            axes are one state. The distance of two states is then the least distance of their
//            placements.
//   edge     A set of axes changes from one role to another. If several axes split one dim, a real
//            redistribution step can change only the innermost of them, those last in shard order;
//            here any set can change. Slices and zero-pads change one axis at a time. Two axes may
//            also exchange their roles, if one permute can do that (exchange_roles in
//            plan/redistribution_step.hpp).
//   weight   The price of the step, which does not depend on shard order (plan/step_prices.hpp).
//
// Every redistribution plan is a path in this graph, so the plan takes at least as long as the
// shortest path between its two states. The class role_graph computes the lengths of the shortest
// paths between all pairs of states. role_distances.hpp computes only the lengths of the paths to
// one target.

#include <type_traits>
#include <vector>

#include <ashlar/config.hpp>
#include <ashlar/plan/role_distances.hpp>
#include <ashlar/search/role_states.hpp>

namespace ashlar::search {

class role_graph {
 public:
  /// Builds the graph for tensors with these extents and bytes per element.
  ///   dims             the dims that placements may split, as a set of bits (bit d is dim d)
  ///   tie              seconds added to the price of each collective
  ///   exchange_alike   whether placements that differ only by an exchange of interchangeable axes
  ///                    (equal extent and network tier) are one state
  constexpr role_graph(shape const& extents, unsigned dims, int element_size, topology const& t,
                       machine const& m, double tie, bool exchange_alike = false)
      : extents_(extents), numbered_(extents.rank(), dims, t, exchange_alike),
        first_(static_cast<std::size_t>(states())), end_(first_) {
    int const axes = t.axes(), roles = numbered_.roles();
    step_prices const price(extents, element_size, t, m);
    scratch<int> moved(std::size_t{1} << axes);  // per set of axes: the sum of their place values
    for (int a = 0; a < axes; ++a)
      for (int set = 0; set < 1 << a; ++set)
        moved.data()[set | 1 << a] = moved.data()[set] + numbered_.place(a);
    auto const add = [&](int to, double seconds) {
      edges_.push_back({numbered_.state_of(to), seconds > 0 ? seconds + tie : 0});
    };
    // Some states differ from another state only by an exchange of two interchangeable axes. Their
    // edges are copied from that other state (copy_exchanged). The other state has a larger number,
    // so the loop descends.
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
    drop_detours();
  }

  constexpr shape const& extents() const { return extents_; }
  constexpr int states() const { return numbered_.size(); }
  constexpr int state(placement const& p) const { return numbered_.state(p); }

  /// Returns the distances between all pairs of states, as [source][target]. The method is
  /// Bellman-Ford with sweeps in alternating directions, for 16 targets at a time. In a sweep,
  /// every state updates its distances from its successors. Sweeps are repeated until no distance
  /// changes. An edge is examined again only if the distance of its end has improved since the last
  /// time.
  ///
  /// A distance stays the same if two interchangeable axes (of equal extent and network tier) are
  /// exchanged in both source and target. So of the targets that differ only by such an exchange,
  /// one is searched, and the distances to the others are copied at the end.
  constexpr scratch<double> all_distances() const {
    constexpr int lanes = 16;
    int const n = states();
    auto const size = static_cast<std::size_t>(n);
    scratch<double> weight(size * size), some(size * lanes);
    // For each state, the times of its last improvement and of its last visit. The clock counts
    // visits.
    scratch<int> improved(size), looked(size);
    edge const* const edges = edges_.data();
    int const *const first = first_.data(), *const end = end_.data();
    double* const to = some.data();
    int target[lanes]{};
    for (int next = 0; next < n;) {
      int found = 0;
      for (; next < n && found < lanes; ++next)
        if (numbered_.exchange_of(next).first < 0) target[found++] = next;
      // At run time all 16 lanes are computed, so that the loop vectorizes. Constant evaluation
      // does not vectorize, so only the lanes in use are computed there.
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
    // Fills in the distances to the targets that were not searched. State `like` is target t with
    // the roles of two interchangeable axes exchanged. The number of `like` is larger, so the
    // distances to `like` are known already.
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

  /// Two states are equivalent if an exchange of two interchangeable axes maps one to the other. If
  /// `state` has an equivalent state with a larger number, copies the edges of that state to
  /// `list`, with the two axes exchanged in their targets. Returns whether there is such a state.
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

  /// Removes detours: every edge from u to v that weighs more than a path of at most two edges from
  /// u to v. All distances stay the same.
  constexpr void drop_detours() {
    // The least weight of a path of one or two edges from u (the state of the loop below) to each
    // state.
    scratch<double> direct(static_cast<std::size_t>(states()), unreachable);
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
  std::vector<edge> edges_;   ///< all edges, grouped by source state
  scratch<int> first_, end_;  ///< edges_[first_[s]] .. edges_[end_[s] - 1] are the edges of state s
};

}  // namespace ashlar::search
