// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests plans that recompute segments of the network in the backward pass:
// - The predicted seconds must equal those without recomputation plus those of the additional
//   forward passes, which the test computes from the schedule without recomputation.
// - The predicted memory must equal the memory computed from the program of the step.
// - Under a memory limit, the search must recompute the best number of segments.

#include <doctest/doctest.h>
#include <support/relative.hpp>

#include <ashlar/machine/presets.hpp>
#include <ashlar/search/breakdown.hpp>
#include <ashlar/search/exhaustive.hpp>
#include <ashlar/search/explain.hpp>
#include <ashlar/search/optimal.hpp>
#include <ashlar/search/stages.hpp>
#include <ashlar/step/build.hpp>
#include <ashlar/step/high_water.hpp>
#include <ashlar/step/schedule.hpp>

#include "search_nets.hpp"

namespace ashlar_test {
namespace {

using search::moved, search::phase;

/// Returns a chain of elementwise layers. The amounts that they save for the backward pass, and
/// their work, are random.
search::problem chain_of_maps(random_cases& draw) {
  search::problem net;
  shape const x{2 + draw.below(5), 2 + draw.below(5)};
  if (draw.below(2)) net.add(linear_spec(x, x[1]));
  for (int n = 3 + draw.below(4); n > 0; --n) {
    auto spec = map_spec("map", x, ashlar::nonlinear_training_rows("md"), draw.below(5));
    spec.forward_values *= draw.log_uniform(0.1, 10);
    if (draw.below(3) > 0) net.add(spec);
    else add_residual(net, x, [&](search::problem& p) { p.add(spec); });
  }
  net.add(cross_entropy_spec(x));
  return net;
}

/// Adds elementwise layers, and residuals, which may be nested. The layers need random amounts of
/// memory while they run and for the backward pass.
void add_nested_maps(search::problem& net, shape const& x, random_cases& draw, int depth) {
  for (int n = 1 + draw.below(3); n > 0; --n) {
    if (depth > 0 && draw.below(2)) {
      add_residual(net, x, [&](search::problem& p) { add_nested_maps(p, x, draw, depth - 1); });
      continue;
    }
    auto spec = map_spec("map", x, ashlar::nonlinear_training_rows("md"), draw.below(3));
    spec.workspace_values = draw.below(3) * double(count(x));
    net.add(spec);
  }
}

bool is_recomputed(search::problem const& net, int i, int again) {
  return net[i].segment >= 0 && net[i].segment < again;
}

/// Computes the cost that the plan's recomputed segments add to a training step. Derives this cost
/// from the schedule of the same plan without recomputation.
search::step_cost added(search::problem const& net, search::plan plan, ashlar::machine const& m) {
  int const again = plan.recomputed;
  plan.recomputed = 0;
  search::step_cost cost;
  for (auto const& move : schedule(net, plan, m)) {
    if (move.phase != phase::forward || !is_recomputed(net, move.element, again)) continue;
    bool const first = move.element == 0 ||
                       net[move.element - 1].segment != net[move.element].segment;
    if (first && move.what == moved::activation) continue;
    cost.communication += net.micro_batches * move.plan.seconds;
  }
  for (int i = 0; i < net.size(); ++i) {
    if (!is_recomputed(net, i, again)) continue;
    auto forward = net.spec(i);
    forward.backward_flops = forward.backward_values = 0;
    cost.work += net.micro_batches *
                 search::work_seconds(forward, plan[i], plan.mesh, m, net.element_size);
  }
  return cost;
}

}  // namespace

TEST_CASE("segments are numbered along the chain, and only the outermost ones count") {
  search::problem net;
  shape const x{4, 6};
  net.add(gelu_spec(x));
  net.add_segment(0);
  int const first = net.size();
  for (int k = 0; k < 2; ++k) {
    int const inner = net.size();
    net.add(linear_spec(x, 6));
    net.add(gelu_spec(x));
    net.add_segment(inner);
  }
  CHECK(net.segments == 3);
  net.add(linear_spec(x, 6));
  net.add_segment(first);
  CHECK(net.segments == 2);
  net.add(gelu_spec(x));
  for (int i = 0; i < net.size(); ++i) CHECK(net[i].segment == (i == 0 ? 0 : i < 6 ? 1 : -1));
  CHECK(net.runs(0, 1) == search::forward_runs::twice_from_here);
  CHECK(net.runs(1, 1) == search::forward_runs::once);
  CHECK(net.runs(1, 2) == search::forward_runs::twice_from_here);
  CHECK(net.runs(2, 2) == search::forward_runs::twice);
  CHECK(net.runs(6, 2) == search::forward_runs::once);
}

TEST_CASE("a recomputed segment runs forward twice and keeps its input") {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    random_cases draw(seed);
    auto net = draw.net();
    add_segments(net, draw);
    auto const t = draw.mesh();
    auto const m = draw.machine();
    for (int again = 0; again <= net.segments; ++again) {
      CAPTURE(seed);
      CAPTURE(again);
      net.recomputed = again;
      auto const plan = optimal(net, t, m);
      CHECK(plan.recomputed == again);
      auto none = plan;
      none.recomputed = 0;
      auto const before = total_cost(net, none, m), more = added(net, plan, m);
      CHECK(plan.seconds == relative(before.seconds() + more.seconds()));
      CHECK(plan.communication_seconds == relative(before.communication + more.communication));
      auto told = plan;
      predict(told, net, m);
      CHECK(told.seconds == relative(plan.seconds));
      CHECK(told.memory == plan.memory);
      CHECK(plan.memory == high_water(build(net, plan, m)).peak);
      auto const parts = breakdown(net, plan, m);
      CHECK(parts.memory() == plan.memory);
      CHECK(parts.total.seconds() == relative(plan.seconds));
      // With a filter, even one that permits everything, the search takes another code path. This
      // code path must find the same cost.
      auto const other = optimal(net, t, m, [](int, auto const&) { return true; });
      CHECK(other.seconds == relative(plan.seconds));
    }
  }
}

TEST_CASE("a segment whose input is held by a residual or the caller is counted once") {
  shape const x{64, 8};
  ashlar::topology const one{{"a", 1}};
  auto const m = ashlar::machines::workstation;
  auto const add_segment = [&](search::problem& p, auto const& add) {
    int const first = p.size();
    add();
    p.add_segment(first);
  };
  for (bool const batch : {true, false})
    for (bool const nested : {true, false}) {
      search::problem net;
      net.optimizer_states = 0;
      if (!batch) net.add(gelu_spec(x));
      add_residual(net, x, [&](search::problem& p) {
        add_segment(p, [&] {
          if (nested) add_residual(p, x, [&](search::problem& q) { q.add(gelu_spec(x)); });
          for (int k = 0; k < 3; ++k) p.add(gelu_spec(x));
        });
        auto large = dropout_spec(x);
        large.workspace_values = nested ? 5'000 : 0;
        p.add(large);
      });
      net.add(linear_spec(x, 1));
      auto loss = cross_entropy_spec({64, 1});
      loss.workspace_values = 4'096;
      net.add(loss);
      CAPTURE(batch);
      CAPTURE(nested);
      for (net.recomputed = 0; net.recomputed <= 1; ++net.recomputed) {
        auto limited = m;
        auto const free = optimal(net, one, limited);
        CHECK(free.memory == high_water(build(net, free, m)).peak);
        limited.memory = free.memory;
        CHECK(optimal(net, one, limited).memory <= free.memory);
      }
    }
}

TEST_CASE("the least memory may be that of any number of recomputed segments") {
  shape const x{64, 8};
  search::problem net;
  net.optimizer_states = 0;
  net.add(dropout_spec(x));
  for (int const length : {6, 2, 2}) {
    int const first = net.size();
    for (int k = 0; k < length; ++k) net.add(length > 2 ? gelu_spec(x) : dropout_spec(x));
    net.add_segment(first);
  }
  auto loss = cross_entropy_spec(x);
  loss.workspace_values = 5'000;
  net.add(loss);
  ashlar::topology const one{{"a", 1}};
  auto m = ashlar::machines::workstation;
  std::int64_t least = optimal(net, one, m).memory;
  auto fixed = net;
  for (fixed.recomputed = 0; fixed.recomputed <= 3; ++fixed.recomputed)
    least = std::min(least, optimal(fixed, one, m).memory);
  m.memory = least;
  CHECK(optimal(net, one, m).memory == least);
  m.memory = least - 1;
  CHECK_THROWS_WITH_AS(
      optimal(net, one, m),
      doctest::Contains(("possible is " + ashlar::bytes_text(double(least))).c_str()),
      ashlar::error);
}

TEST_CASE("no plan needs less than the least memory, wherever segments begin inside residuals") {
  int inside = 0;
  for (unsigned seed = 1; seed <= 400; ++seed) {
    random_cases draw(seed);
    search::problem net;
    net.optimizer_states = 0;
    shape const x{2 + draw.below(5), 2 + draw.below(5)};
    if (draw.below(2)) net.add(linear_spec(x, x[1]));
    add_residual(net, x, [&](search::problem& p) { add_nested_maps(p, x, draw, 2); });
    net.add(cross_entropy_spec(x));
    if (net.size() > 12) continue;
    add_segments(net, draw);
    for (int i = 1; i < net.size(); ++i)
      inside += net[i - 1].kind == search::element_kind::residual_begin && net[i].segment >= 0 &&
                net[i - 1].segment < 0;
    ashlar::topology const t{{"a", 2}};
    auto m = draw.machine();
    CAPTURE(seed);
    for (net.recomputed = 0; net.recomputed <= net.segments; ++net.recomputed) {
      search::chain_model<search::dynamic_size> const model(net, t, m, search::any_choice{},
                                                            search::pruning::keep_all);
      ashlar::scratch<int> path(static_cast<std::size_t>(net.size()));
      auto const least = search::detail::least_memory(model, path);
      CHECK(least.complete);
      // With a limit of exactly these bytes, the plan fits. With one byte less, no plan fits.
      CHECK(search::detail::least_memory_path(model, least.bytes, false, path).bytes ==
            least.bytes);
      m.memory = least.bytes - 1;
      CHECK_THROWS_AS(exhaustive(net, t, m), ashlar::error);
    }
  }
  CHECK(inside > 50);
}

TEST_CASE("below a memory limit the best number of segments is recomputed") {
  int recomputed = 0, limits = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    random_cases draw(seed);
    auto net = chain_of_maps(draw);
    add_segments(net, draw);
    net.optimizer_states = 0;
    ashlar::topology const t{{"a", 1 + draw.below(3)}};
    auto m = draw.machine();
    auto const fast = optimal(net, t, m);
    for (double const share : {0.9, 0.75, 0.6}) {
      m.memory = static_cast<std::int64_t>(share * double(fast.memory));
      double best = 0;
      auto fixed = net;
      for (fixed.recomputed = 0; fixed.recomputed <= net.segments; ++fixed.recomputed) {
        try {
          auto const plan = exhaustive(fixed, t, m);
          CHECK(plan.memory <= m.memory);
          if (best == 0 || plan.seconds < best) best = plan.seconds;
        } catch (ashlar::error const&) {
        }
      }
      CAPTURE(seed);
      CAPTURE(share);
      if (best == 0) {
        CHECK_THROWS_AS(optimal(net, t, m), ashlar::error);
        continue;
      }
      ++limits;
      auto const plan = optimal(net, t, m);
      CHECK(plan.memory <= m.memory);
      CHECK(plan.seconds == relative(best));
      CHECK(plan.gap <= 1e-9);
      recomputed += plan.recomputed > 0;
    }
  }
  CHECK(limits > 40);
  CHECK(recomputed > 10);
}

}  // namespace ashlar_test
