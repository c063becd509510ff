// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Draws parallel strategies (plans) of one network whose predicted costs are spread over a wide
// range, and measures how well predicted costs rank the strategies (AutoDDL figure 4).
//
// - The first strategy is the cheapest. The predicted seconds of the other strategies are nearly
//   evenly spaced on a logarithmic scale.
// - Every layer divides its work among as many ranks as it can. Without this rule, the cheapest
//   plans of small networks would replicate all work and communicate nothing.
// - Draws depend only on the seed, so all ranks get the same plans.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <ashlar/search/assignment.hpp>
#include <ashlar/search/chain_model.hpp>
#include <ashlar/search/chain_solver.hpp>
#include <ashlar/search/explorer.hpp>

namespace ashlar_test {

/// Returns the machine without a memory limit, and with computations that take no time. Plans then
/// differ only in their communication.
inline ashlar::machine communication_only(ashlar::machine m) {
  m.flops = m.memory_bandwidth = 1e30;
  m.memory = 0;
  return m;
}

/// Returns `count` plans, sorted by predicted cost on `m`. The first one is the optimum.
inline std::vector<ashlar::search::plan> spread_strategies(ashlar::search::problem const& net,
                                                           ashlar::topology const& t,
                                                           ashlar::machine const& m, int count,
                                                           std::uint64_t seed) {
  namespace search = ashlar::search;
  std::vector<double> least;  // by layer: least possible share of its work on the busiest rank
  for (auto const& spec : net.layers) {
    least.push_back(1);
    for (auto const& c : search::layer_choices(spec, t))
      least.back() = std::min(least.back(), search::work_fraction(spec, c, t));
  }
  auto const divides_work = [&](int i, search::layer_choice const& c) {
    return search::work_fraction(net.spec(i), c, t) <=
           least[static_cast<std::size_t>(net[i].layer)] * (1 + 1e-9);
  };
  search::chain_model<search::dynamic_size> model(net, t, m, divides_work,
                                                  search::pruning::keep_all);
  auto const best = search::chain_solver<search::dynamic_size>(model).path();
  search::assignment<search::dynamic_size> now(model, 0);
  search::detail::draws draw(seed);
  std::vector<std::pair<double, ashlar::scratch<int>>> drawn;
  for (int sample = 0; sample < 40 * count; ++sample) {
    double const share = std::pow(2.0, -draw.below(8));  // probability of a random choice
    for (int i = 0, v = 0; i < model.size(); ++i) {
      if (model.kind(i) == search::element_kind::residual_end) continue;
      bool const leaves = draw.uniform() < share;
      now.set(v, leaves ? draw.below(now.choices(v)) : best.data()[i]);
      ++v;
    }
    now.settle();
    drawn.emplace_back(now.weight(), now.path());
  }
  std::sort(drawn.begin(), drawn.end(),
            [](auto const& a, auto const& b) { return a.first < b.first; });
  std::vector<search::plan> plans{make_plan(model, best)};
  double const first = std::log(drawn.front().first), last = std::log(drawn.back().first);
  std::size_t next = 0;
  for (int i = 1; i < count; ++i) {
    double const wanted = first + (last - first) * i / (count - 1);
    // Takes the first unused plan that costs at least the wanted cost. `left` plans are still to be
    // chosen after this one, so at least `left` drawn plans must remain.
    std::size_t const left = static_cast<std::size_t>(count - 1 - i);
    while (next + left + 1 < drawn.size() && std::log(drawn[next].first) < wanted) ++next;
    plans.push_back(make_plan(model, drawn[next++].second));
  }
  return plans;
}

/// Returns the position of each value in ascending order, beginning with 1. Equal values share the
/// mean of their positions.
inline std::vector<double> ranks_of(std::vector<double> const& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t i = 0, end = 0; i < order.size(); i = end) {
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    for (std::size_t k = i; k < end; ++k) ranks[order[k]] = 0.5 * static_cast<double>(i + 1 + end);
  }
  return ranks;
}

/// Returns Spearman's rank correlation, or 0 if one of the lists is constant.
inline double spearman(std::vector<double> const& a, std::vector<double> const& b) {
  auto const x = ranks_of(a), y = ranks_of(b);
  double const mean = 0.5 * static_cast<double>(x.size() + 1);
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

}  // namespace ashlar_test
