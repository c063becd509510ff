// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Compares the results of two searches with the best of all possibilities, on random instances in
// which some sizes are equal or zero. One search divides renewed parameters into buckets
// (step/renewal_cuts.hpp), the other assigns parameters to owners (sync/deal_owners.hpp).

#include <random>

#include <doctest/doctest.h>

#include <ashlar/step/renewal_cuts.hpp>
#include <ashlar/sync/deal_owners.hpp>

namespace ashlar_test {
namespace {

namespace search = ashlar::search;
namespace sync = ashlar::sync;

/// Returns the time at which the forward pass ends if a bucket ends after each parameter i for
/// which bit i of `cuts` is set. Simulates the link and the pass, bucket by bucket.
double played(std::vector<search::renewed_parameter> const& list, double latency, unsigned cuts) {
  double link = 0, computed = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i + 1 < list.size() && (cuts >> i & 1u) == 0) continue;
    link += latency;
    for (std::size_t k = first; k <= i; ++k) link += list[k].seconds;
    computed = std::max(computed, link);
    for (; first <= i; ++first) computed += list[first].work;
  }
  return computed;
}

class draws {
 public:
  int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(generator_); }
  /// Returns a number that is often 0, 1, 2 or 3, so that ties and zeros are frequent.
  double small() { return below(2) ? below(4) : below(100) / 7.0; }

 private:
  std::mt19937 generator_{3};
};

/// Tries all assignments of items to owners. Returns the least sum that the busiest owner can have.
std::int64_t best_dealing(std::vector<std::int64_t> const& numbers, std::vector<std::int64_t>& load,
                          std::size_t next = 0) {
  if (next == numbers.size()) return *std::max_element(load.begin(), load.end());
  auto least = std::numeric_limits<std::int64_t>::max();
  for (auto& own : load) {
    own += numbers[next];
    least = std::min(least, best_dealing(numbers, load, next + 1));
    own -= numbers[next];
  }
  return least;
}

}  // namespace

TEST_CASE("the cuts of the way back are the best of all cuts") {
  draws draw;
  int several = 0;
  for (int round = 0; round < 10'000; ++round) {
    int const n = 1 + draw.below(round % 50 == 0 ? 12 : 8);
    double const latency = draw.small();
    std::vector<search::renewed_parameter> list;
    for (int i = 0; i < n; ++i) list.push_back({draw.small(), draw.small()});
    double least = std::numeric_limits<double>::infinity();
    for (unsigned cuts = 0; cuts < 1u << (n - 1); ++cuts)
      least = std::min(least, played(list, latency, cuts));
    auto const found = search::renewal_cuts(list, latency);
    unsigned cuts = 0;
    for (int const end : found.ends) cuts |= 1u << (end - 1);
    bool const right = std::abs(found.seconds - least) <= 1e-9 * (1 + least) &&
                       std::abs(played(list, latency, cuts) - least) <= 1e-9 * (1 + least) &&
                       found.ends.back() == n;
    if (!right) CHECK_MESSAGE(right, round);
    several += found.ends.size() > 1;
  }
  CHECK(several > 1000);
  CHECK(search::renewal_cuts({}, 1).ends.empty());
}

TEST_CASE("few numbers are dealt out exactly, many within the gap") {
  draws draw;
  for (int round = 0; round < 400; ++round) {
    int const owners = 1 + draw.below(4);
    std::vector<std::int64_t> numbers;
    for (int i = draw.below(8); i >= 0; --i) numbers.push_back(draw.below(3) ? draw.below(40) : 7);
    std::vector<std::int64_t> load(static_cast<std::size_t>(owners), 0);
    auto const best = best_dealing(numbers, load);
    auto const exact = sync::deal(numbers, owners), greedy = sync::deal(numbers, owners, 0);
    for (auto const& dealt : {exact, greedy}) {
      std::vector<std::int64_t> sums(static_cast<std::size_t>(owners), 0);
      for (std::size_t i = 0; i < numbers.size(); ++i)
        sums[static_cast<std::size_t>(dealt.owner[i])] += numbers[i];
      CHECK(*std::max_element(sums.begin(), sums.end()) == dealt.most);
      CHECK(dealt.bound <= best);
      CHECK(dealt.most >= best);
    }
    CHECK(exact.most == best);
    CHECK(exact.gap() == 0);
    CHECK(3 * greedy.most <= 4 * best);
  }
  std::vector<std::int64_t> const many(1000, 3);
  CHECK(sync::deal(many, 7).most == 3 * 143);
  CHECK(sync::deal(many, 7).gap() == 0);
}

TEST_CASE("owners along different axes are dealt out within the gap") {
  draws draw;
  ashlar::topology const t{{"node", 2}, {"gpu", 3}};
  ashlar::placement const whole{ashlar::broadcast(), ashlar::broadcast()};
  for (int round = 0; round < 60; ++round) {
    std::vector<sync::ownable> list;
    for (int i = draw.below(5); i >= 0; --i)
      list.push_back({{1 + draw.below(30)}, whole, 1u + static_cast<unsigned>(draw.below(3))});
    auto const busiest = [&](std::vector<ashlar::placement> const& at) {
      std::int64_t most = 0;
      for (int r = 0; r < t.ranks(); ++r) {
        std::int64_t own = 0;
        for (std::size_t i = 0; i < list.size(); ++i)
          own += local_box(list[i].extents, t, at[i], t.coordinates_of(r)).elements();
        most = std::max(most, own);
      }
      return most;
    };
    auto const dealt = sync::deal_owners(list, t);
    CHECK(busiest(dealt.at) == dealt.most);
    std::vector<int> now(list.size(), 0);
    auto best = std::numeric_limits<std::int64_t>::max();
    for (bool more = true; more;) {
      std::vector<ashlar::placement> at;
      for (std::size_t i = 0; i < list.size(); ++i)
        at.push_back(sync::detail::owned_by(list[i], t, now[i]));
      best = std::min(best, busiest(at));
      more = false;
      for (std::size_t i = 0; i < list.size() && !more; ++i) {
        more = ++now[i] < sync::detail::number_of_owners(list[i].axes, t);
        if (!more) now[i] = 0;
      }
    }
    CHECK(dealt.bound <= best);
    CHECK(dealt.most >= best);
  }
}

}  // namespace ashlar_test
