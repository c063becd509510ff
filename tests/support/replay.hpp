// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Executes a redistribution plan on simulated ranks, element by element. A rank is represented by a
// map from global index to value. The seven kinds of step are implemented from the definition of
// the collectives, without the library's layouts. In a step, a rank reads only elements that ranks
// of its group hold. The step throws if a rank needs an element that its group lacks, or if two
// ranks hold different copies of an element.
//
// Reductions add in the same order as the library, so results are bitwise equal also in floating
// point. Let s[k] be the shard of member k in a group of p ranks. Member j computes its block of
// the result as ((s[j + 1] + s[j + 2]) + ...) + s[j], with indices modulo p, or as
// (s[0] + s[1]) + ... if sums are by rank. In an all-reduce, member j computes block j of the
// balanced split of the flattened shard.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <support/naive_placement.hpp>

#include <ashlar/plan/redistribution.hpp>

namespace ashlar_test {

template <class Value>
class basic_replay {
 public:
  using value_map = std::map<int, Value>;  // from row-major global index to value

  struct moved {  // what one rank receives in one step, and its shard sizes, in elements
    std::int64_t elements = 0;
    std::int64_t held_before = 0, held_after = 0;
  };

  basic_replay(index extents, ashlar::topology const& t) : extents_(std::move(extents)), mesh_(t) {
    all_ = mesh_.all_coordinates();
    ranks_.resize(all_.size());
  }

  /// Gives each simulated rank its shard of x with placement p. The addends of a sum are different
  /// and of both signs. For max and min, one addend holds the value of x, and the other addends do
  /// not change the result.
  void start(dense const& x, placement const& p, std::mt19937& random) {
    auto const parts = addends(x, p, mesh_, random);
    for (std::size_t r = 0; r < all_.size(); ++r) {
      ranks_[r].clear();
      auto const& part = parts.at(addend_of(p, all_[r]));
      for (int i : owned(p, all_[r]))
        ranks_[r][i] = static_cast<Value>(part.values[static_cast<std::size_t>(i)]);
    }
  }

  /// Gives each simulated rank the elements that it holds under placement p. The value of an
  /// element is value(addend, index). `addend` holds the rank's coordinates along partial axes and
  /// 0 elsewhere. `index` is the row-major index in the full tensor.
  template <class ValueOf>
  void start_with(placement const& p, ValueOf value) {
    for (std::size_t r = 0; r < all_.size(); ++r) {
      ranks_[r].clear();
      for (int i : owned(p, all_[r])) ranks_[r][i] = value(addend_of(p, all_[r]), i);
    }
  }

  /// Returns the elements of a rank in row-major order.
  std::vector<Value> shard(int rank) const {
    std::vector<Value> values;
    for (auto const& [i, v] : at(ranks_, rank)) values.push_back(v);
    return values;
  }

  /// Returns the elements of a rank by their row-major indices in the full tensor.
  value_map const& held_by(int rank) const { return at(ranks_, rank); }
  /// Replaces the elements that a simulated rank holds.
  void give(int rank, value_map elements) {
    ranks_[static_cast<std::size_t>(rank)] = std::move(elements);
  }

  /// From now on, reductions add the shards of a group in the order of its members.
  void sum_by_rank() { by_rank_ = true; }

  /// Performs the step on all ranks. Returns the traffic of each rank.
  std::vector<moved> run(ashlar::redistribution_step const& s) {
    using ashlar::collective;
    auto const before = ranks_;
    std::vector<moved> report(all_.size());
    for (std::size_t r = 0; r < all_.size(); ++r) {
      auto const group = group_of(s.axes, r);
      value_map next;
      auto const want = owned(s.to, all_[r]);
      auto const& own = before[r];
      if (s.kind == collective::all_reduce || s.kind == collective::reduce_scatter)
        for (int member : group)
          if (at(before, member).size() != own.size())
            fail("ranks reduce shards of different sizes");
      report[r].held_before = static_cast<std::int64_t>(own.size());
      switch (s.kind) {
        case collective::all_gather:
          for (int member : group)
            for (auto const& [i, v] : at(before, member))
              if (!next.emplace(i, v).second) fail("two ranks gather one element");
          break;
        case collective::all_reduce: {
          int const n = static_cast<int>(want.size()), p = static_cast<int>(group.size());
          int block = 0, end = n / p + (n % p > 0);
          for (int k = 0; k < n; ++k) {
            if (k == end) ++block, end += n / p + (block < n % p);
            next[want[static_cast<std::size_t>(k)]] = reduced(before, group, s.from.op(), block,
                                                              want[static_cast<std::size_t>(k)]);
          }
          break;
        }
        case collective::reduce_scatter: {
          int me = 0;
          while (group[static_cast<std::size_t>(me)] != static_cast<int>(r)) ++me;
          for (int i : want) next[i] = reduced(before, group, s.from.op(), me, i);
          break;
        }
        case collective::all_to_all:
          for (int i : want) next[i] = only_copy(before, group, i);
          break;
        case collective::permute: {
          auto const a = static_cast<std::size_t>(s.axes[0]),
                     b = static_cast<std::size_t>(s.axes[1]);
          // Each rank gets the complete shard of the rank whose coordinates on the two axes are
          // swapped.
          if (mesh_.extents[a] == mesh_.extents[b]) {
            index mirror = all_[r];
            std::swap(mirror[a], mirror[b]);
            next = at(before, mesh_.rank_of(mirror));
            if (mirror != all_[r]) report[r].elements = static_cast<std::int64_t>(next.size());
          } else {
            for (int i : want) next[i] = only_copy(before, group, i);
          }
          break;
        }
        case collective::slice:
          for (int i : want) next[i] = get(own, i);
          break;
        case collective::broadcast:
        case collective::reduce: fail("no plan has such a step");
        case collective::zero_pad: {
          auto const a = static_cast<std::size_t>(s.axes[0]);
          bool const whole = s.from[s.axes[0]].is_broadcast();
          for (int i : want) next[i] = identity(s.to.op());
          if (!whole || all_[r][a] == 0)
            for (auto const& [i, v] : own) next.at(i) = v;
          break;
        }
      }
      if (s.kind == collective::all_gather || s.kind == collective::all_to_all ||
          (s.kind == collective::permute && !is_pairwise(s)))
        for (auto const& [i, v] : next) report[r].elements += !own.contains(i);
      report[r].held_after = static_cast<std::int64_t>(next.size());
      ranks_[r] = std::move(next);
    }
    return report;
  }

  /// Compares the values that the ranks hold with the shards of x under placement p. Returns a
  /// description of the difference, or an empty text.
  std::string difference(dense const& x, placement const& p) const {
    std::map<index, value_map> sums;  // reduced addends, by coordinates with 0 along partial axes
    for (std::size_t r = 0; r < all_.size(); ++r) {
      auto const want = owned(p, all_[r]);
      if (want.size() != ranks_[r].size()) return "a rank holds another number of elements";
      for (int i : want)
        if (!ranks_[r].contains(i)) return "a rank holds another element";
      index original = all_[r], group = all_[r];
      for (int a = 0; a < mesh_.axes(); ++a) {
        if (p[a].is_broadcast()) original[static_cast<std::size_t>(a)] = 0;
        if (p[a].is_partial()) group[static_cast<std::size_t>(a)] = 0;
      }
      if (at(ranks_, mesh_.rank_of(original)) != ranks_[r]) return "copies differ";
      auto const [it, fresh] = sums.emplace(group, ranks_[r]);
      for (auto& [i, v] : it->second)
        if (!fresh) v = reduce(p.op(), v, ranks_[r].at(i));
    }
    for (auto const& [c, values] : sums)
      for (auto const& [i, v] : values)
        if (v != static_cast<Value>(x.values[static_cast<std::size_t>(i)]))
          return "a value is wrong";
    return "";
  }

  std::vector<index> const& coordinates() const { return all_; }

 private:
  [[noreturn]] static void fail(char const* what) { throw std::logic_error(what); }
  static value_map const& at(std::vector<value_map> const& maps, int rank) {
    return maps[static_cast<std::size_t>(rank)];
  }
  static Value get(value_map const& from, int i) {
    auto const it = from.find(i);
    if (it == from.end()) fail("a rank lacks an element that it needs");
    return it->second;
  }
  static Value reduce(reduction op, Value a, Value b) {
    return op == reduction::sum ? a + b : op == reduction::max ? std::max(a, b) : std::min(a, b);
  }
  static Value identity(reduction op) {
    using limits = std::numeric_limits<Value>;
    if (op == reduction::sum) return Value{};
    if constexpr (limits::has_infinity)
      return op == reduction::max ? -limits::infinity() : limits::infinity();
    else return op == reduction::max ? limits::lowest() : limits::max();
  }
  bool is_pairwise(ashlar::redistribution_step const& s) const {
    return mesh_.extents[static_cast<std::size_t>(s.axes[0])] ==
           mesh_.extents[static_cast<std::size_t>(s.axes[1])];
  }

  std::vector<int> owned(placement const& p, index const& c) const {
    auto const items = held(extents_, p, mesh_, c);
    index counts;
    for (auto const& list : items) counts.push_back(static_cast<int>(list.size()));
    std::vector<int> all;
    for_each_index(counts, [&](index const& i) {
      int flat = 0;
      for (std::size_t d = 0; d < i.size(); ++d)
        flat = flat * extents_[d] + items[d][static_cast<std::size_t>(i[d])];
      all.push_back(flat);
    });
    return all;
  }

  /// Returns the group of rank r along `axes`: the ranks whose coordinates equal those of r on all
  /// other axes. These ranks are listed in group order, in which the first axis in `axes` varies
  /// slowest.
  std::vector<int> group_of(ashlar::axis_list const& axes, std::size_t r) const {
    std::vector<int> group;
    for (std::size_t other = 0; other < all_.size(); ++other) {
      bool member = true;
      for (int a = 0; a < mesh_.axes(); ++a)
        member = member &&
                 (axes.contains(static_cast<signed char>(a)) ||
                  all_[other][static_cast<std::size_t>(a)] == all_[r][static_cast<std::size_t>(a)]);
      if (member) group.push_back(static_cast<int>(other));
    }
    auto const along = [&](int member) {
      index c;
      for (auto const a : axes)
        c.push_back(all_[static_cast<std::size_t>(member)][static_cast<std::size_t>(a)]);
      return c;
    };
    std::sort(group.begin(), group.end(), [&](int x, int y) { return along(x) < along(y); });
    return group;
  }

  /// Returns element i of the result that member j of the group computes by a reduction.
  Value reduced(std::vector<value_map> const& maps, std::vector<int> const& group, reduction op,
                int j, int i) const {
    int const p = static_cast<int>(group.size());
    auto const addend = [&](int k) {
      return get(at(maps, group[static_cast<std::size_t>(k % p)]), i);
    };
    int const first = by_rank_ ? 0 : j + 1;
    Value sum = addend(first);
    for (int k = first + 1; k < first + p; ++k) sum = reduce(op, sum, addend(k));
    return sum;
  }

  static Value only_copy(std::vector<value_map> const& maps, std::vector<int> const& group, int i) {
    std::optional<Value> found;
    for (int member : group)
      if (auto const it = at(maps, member).find(i); it != at(maps, member).end()) {
        if (found) fail("two ranks of the group hold one element of a split");
        found = it->second;
      }
    if (!found) fail("no rank of the group holds an element that is needed");
    return *found;
  }

  index extents_;
  naive_mesh mesh_;
  std::vector<index> all_;
  std::vector<value_map> ranks_;
  bool by_rank_ = false;
};

using replay = basic_replay<std::int64_t>;

}  // namespace ashlar_test
