// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Draws random candidates of a strategy space from a seed. `draw` follows the guidance rules of
// AutoDist's sampler (its reference code; the paper's section 2.4). AutoDist synchronizes a
// variable by a parameter server (PS) or by an all-reduce (AR), and may partition it. These choices
// map to strategies here:
//
//   the variable is partitioned  never up to 100,000 bytes, always from 64 MiB on, else with the
//                                probability (bytes - low) / (high - low)
//   partitioned, PS              updated in parts along some axes: one of these strategies, all
//                                with the same probability
//   partitioned, AR; AR          all-reduce: a ring divides the gradient anyway
//   PS                           an owner, with local copies or read at use
//   owners                       the largest parameter first; probabilities are a softmax of the
//                                bytes that each rank lacks until all have the same number
//   groups                       1 to 20 buckets of about equal bytes
//
// `mutated` is ours. It changes a few things of a given candidate:
//
//   one to four times  a group of equal parameters, or half of the time one parameter, gets a
//                      strategy that is drawn from all its strategies
//   one time in four   gradients are divided into other buckets
//
// The distributions of the standard library differ between implementations. To give equal results
// everywhere, the numbers of std::mt19937_64 are used directly.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include <ashlar/sync/tuning/strategy_space.hpp>

namespace ashlar::sync {

struct sampler_options {
  double low = 1e5;        ///< variables up to this many bytes are not partitioned
  double high = 64 << 20;  ///< variables from this many bytes on are always partitioned
  int most_groups = 20;    ///< the largest number of buckets of a candidate
  /// Whether candidates have buckets of their own. If not, the library divides the gradients.
  bool divides = true;
};

class guided_sampler {
 public:
  /// The space must outlive this object.
  guided_sampler(strategy_space const& space, std::uint64_t seed, sampler_options const& o = {})
      : space_(space), options_(o), random_(seed) {}

  /// Returns the next random candidate.
  candidate draw() {
    candidate made;
    double reduced = 0;
    for (auto const& p : space_.parameters()) {
      bool const by_server = uniform() < 0.5, in_parts = is_split(p.bytes);
      std::vector<int> permitted;
      for (std::size_t s = 0; s < p.strategies.size(); ++s) {
        auto const& it = p.strategies[s];
        if (by_server && it.updated_at().has_owned() != in_parts &&
            !(it.updated_at() == stored_as_used(it)))
          permitted.push_back(static_cast<int>(s));
      }
      made.picks.push_back(permitted.empty() ? 0 : permitted[below(permitted.size())]);
      reduced += permitted.empty() ? p.bytes : 0;
    }
    made.owners.assign(space_.size(), -1);
    deal(made);
    if (!options_.divides) return made;
    auto const groups = static_cast<double>(1 + below(std::size_t(options_.most_groups)));
    made.division = {search::bucketing::by_bytes, static_cast<std::int64_t>(reduced / groups) + 1};
    return made;
  }

  /// Returns the candidate `c` with a few strategies, and perhaps its buckets, drawn anew.
  candidate mutated(candidate c) {
    if (space_.size() == 0) return c;
    for (auto changes = 1 + below(4); changes > 0; --changes) {
      auto const& group = space_.groups()[below(space_.groups().size())];
      auto const first = static_cast<std::size_t>(group[0]);
      auto const pick = static_cast<int>(below(space_.parameters()[first].strategies.size()));
      if (uniform() < 0.5) {
        for (int const k : group) c.picks[static_cast<std::size_t>(k)] = pick;
      } else {
        c.picks[static_cast<std::size_t>(group[below(group.size())])] = pick;
      }
    }
    if (!options_.divides) c.division = {};
    else if (uniform() < 0.25) c.division = other_division();
    deal(c);
    return c;
  }

 private:
  double uniform() { return std::min(double(random_()) * 0x1p-64, 1 - 0x1p-53); }

  /// Returns an integer in 0 .. n - 1, each with the same probability: the high half of a product
  /// (Lemire, "Fast random integer generation in an interval", 2019).
  std::size_t below(std::size_t n) {
    auto const range = static_cast<std::uint64_t>(n);
    std::uint64_t low = 0;
    std::uint64_t high = product(random_(), range, low);
    if (low < range)
      for (std::uint64_t const least = (0 - range) % range; low < least;)
        high = product(random_(), range, low);
    return static_cast<std::size_t>(high);
  }

  /// Returns the high half of a * b, and its low half in `low`.
  static std::uint64_t product(std::uint64_t a, std::uint64_t b, std::uint64_t& low) {
    std::uint64_t const a0 = a & 0xffffffffu, a1 = a >> 32, b0 = b & 0xffffffffu, b1 = b >> 32;
    std::uint64_t const middle = a1 * b0 + (a0 * b0 >> 32);
    std::uint64_t const other = a0 * b1 + (middle & 0xffffffffu);
    low = a * b;
    return a1 * b1 + (middle >> 32) + (other >> 32);
  }

  bool is_split(double bytes) {
    return bytes > options_.low &&
           uniform() < (bytes - options_.low) / (options_.high - options_.low);
  }

  /// Draws an owner for each parameter whose strategy needs one and that has none yet. Removes the
  /// owners of the parameters whose strategies need none.
  void deal(candidate& c) {
    auto const ranks = static_cast<std::size_t>(space_.mesh().ranks());
    std::vector<double> load(ranks, 0);
    std::vector<std::size_t> order;
    double total = 0;
    for (std::size_t k = 0; k < space_.size(); ++k) {
      auto const& p = space_.parameters()[k];
      auto const& s = p.strategies[static_cast<std::size_t>(c.picks[k])];
      if (!s.updated_at().has_owned()) {
        c.owners[k] = -1;
        continue;
      }
      total += p.bytes;
      c.owners[k] = space_.first_owner(s, c.owners[k]);
      if (c.owners[k] < 0) order.push_back(k);
      else load[static_cast<std::size_t>(c.owners[k])] += p.bytes;
    }
    auto const bytes = [&](std::size_t k) { return space_.parameters()[k].bytes; };
    // Parameters with equal bytes keep their order, so that every standard library gives the same
    // owners.
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return bytes(a) > bytes(b); });
    for (auto const k : order) {
      auto const& s = space_.parameters()[k].strategies[static_cast<std::size_t>(c.picks[k])];
      int const owner = owner_by(load, total, space_.owners(s));
      load[static_cast<std::size_t>(owner)] += bytes(k);
      c.owners[k] = owner;
    }
  }

  /// Draws an owner from `ranks`. `load` has the bytes of each rank so far. `total` is the sum of
  /// the loads when all owners have been drawn.
  int owner_by(std::vector<double> const& load, double total, std::vector<int> const& ranks) {
    double const equal = total / double(ranks.size());
    if (ranks.size() < 2 || !(equal > 0)) return ranks[0];
    auto const lack = [&](int r) {
      return std::exp((equal - load[static_cast<std::size_t>(r)]) / equal);
    };
    std::vector<double> sums;
    double sum = 0;
    for (int const r : ranks) {
      sums.push_back(lack(r));
      sum += sums.back();
    }
    double below_here = 0;
    for (auto& it : sums) it = below_here += it / sum;
    sums.back() = 1;
    return ranks[static_cast<std::size_t>(std::lower_bound(sums.begin(), sums.end(), uniform()) -
                                          sums.begin())];
  }

  search::bucket_rule other_division() {
    if (uniform() < 0.3) return {};
    return {search::bucketing::by_bytes, std::int64_t{1} << (20 + below(9))};
  }

  strategy_space const& space_;
  sampler_options options_;
  std::mt19937_64 random_;
};

}  // namespace ashlar::sync
