// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs a plan on simulated ranks, index by index. A rank is a map from global index to integer
// value. The seven moves are written from their meaning as collectives, with no help of the
// library's layouts: a rank reads only what ranks of its group hold, and a move that asks for more
// or meets two different copies of one element is an error (throws).

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <support/naive_placement.hpp>

#include <ashlar/plan/redistribution.hpp>

namespace ashlar_test {

using value_map = std::map<int, std::int64_t>;  // row-major global index -> value

class replay {
 public:
  struct moved {  // what one rank of one step received
    std::int64_t elements = 0;
    std::int64_t held_before = 0, held_after = 0;
  };

  replay(index extents, ashlar::topology const& t) : extents_(std::move(extents)), mesh_(t) {
    all_ = mesh_.all_coordinates();
    ranks_.resize(all_.size());
  }

  /// Places x by p: uneven signed addends, or bounds with the true value somewhere.
  void start(dense const& x, placement const& p, std::mt19937& random) {
    auto const parts = addends(x, p, mesh_, random);
    for (std::size_t r = 0; r < all_.size(); ++r) {
      ranks_[r].clear();
      auto const& part = parts.at(addend_of(p, all_[r]));
      for (int i : owned(p, all_[r]))
        ranks_[r][i] = static_cast<std::int64_t>(part.values[static_cast<std::size_t>(i)]);
    }
  }

  /// Performs the step; what each rank received.
  std::vector<moved> run(ashlar::step const& s) {
    using ashlar::collective;
    auto const before = ranks_;
    std::vector<moved> report(all_.size());
    for (std::size_t r = 0; r < all_.size(); ++r) {
      auto const group = group_of(s.axes, r);
      value_map next;
      auto const want = owned(s.to, all_[r]);
      auto const& own = before[r];
      report[r].held_before = static_cast<std::int64_t>(own.size());
      switch (s.kind) {
        case collective::all_gather:
          for (int member : group)
            for (auto const& [i, v] : at(before, member))
              if (!next.emplace(i, v).second) fail("two ranks gather one element");
          break;
        case collective::all_reduce: next = reduced(before, group, s.from.op()); break;
        case collective::reduce_scatter: {
          auto const sum = reduced(before, group, s.from.op());
          for (int i : want) next[i] = get(sum, i);
          break;
        }
        case collective::all_to_all:
          for (int i : want) next[i] = only_copy(before, group, i);
          break;
        case collective::permute: {
          auto const a = static_cast<std::size_t>(s.axes[0]),
                     b = static_cast<std::size_t>(s.axes[1]);
          if (mesh_.extents[a] == mesh_.extents[b]) {  // the whole shard of the mirrored rank
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

  /// Empty, or what is wrong with the claim that the ranks hold x placed by p.
  std::string difference(dense const& x, placement const& p) const {
    std::map<index, value_map> sums;  // addends reduced, by coordinates without the partial axes
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
        if (v != static_cast<std::int64_t>(x.values[static_cast<std::size_t>(i)]))
          return "a value is wrong";
    return "";
  }

  std::vector<index> const& coordinates() const { return all_; }

 private:
  static void fail(char const* what) { throw std::logic_error(what); }
  static value_map const& at(std::vector<value_map> const& maps, int rank) {
    return maps[static_cast<std::size_t>(rank)];
  }
  static std::int64_t get(value_map const& from, int i) {
    auto const it = from.find(i);
    if (it == from.end()) fail("a rank lacks an element that it needs");
    return it->second;
  }
  static std::int64_t reduce(reduction op, std::int64_t a, std::int64_t b) {
    return op == reduction::sum ? a + b : op == reduction::max ? std::max(a, b) : std::min(a, b);
  }
  static std::int64_t identity(reduction op) {
    return op == reduction::sum ? 0 : op == reduction::max ? INT64_MIN : INT64_MAX;
  }
  bool is_pairwise(ashlar::step const& s) const {
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

  /// The ranks whose coordinates differ from those of r along `axes` only.
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
    return group;
  }

  static value_map reduced(std::vector<value_map> const& maps, std::vector<int> const& group,
                           reduction op) {
    value_map sum = at(maps, group.front());
    for (std::size_t k = 1; k < group.size(); ++k) {
      auto const& other = at(maps, group[k]);
      if (other.size() != sum.size()) fail("ranks reduce shards of different sizes");
      for (auto& [i, v] : sum) v = reduce(op, v, get(other, i));
    }
    return sum;
  }

  static std::int64_t only_copy(std::vector<value_map> const& maps, std::vector<int> const& group,
                                int i) {
    std::optional<std::int64_t> found;
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
};

}  // namespace ashlar_test
