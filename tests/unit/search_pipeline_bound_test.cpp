// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the lower bound of all pipelines of a candidate (candidate_bounds.hpp) on small chains. All
// placements, cuts and schedules are tried. No pipeline of a random chain takes less than the
// bound, and the fastest pipelines of some other chains take exactly as long as the bound. The
// tests call the bound itself: search::pipeline returns at most the seconds of its own plan as the
// bound, which would hide a bound that is too high.

#include <doctest/doctest.h>

#include <ashlar/search/pipeline.hpp>

#include "search_enumerations.hpp"
#include "search_nets.hpp"

namespace ashlar_test {
namespace {

namespace pipelines = ashlar::pipelines;

/// Describes the pipelines with which the bound is compared.
struct compared_pipelines {
  int parts;
  bool any_cuts;
  int recomputed;  ///< number of segments that the chain recomputes
  std::vector<std::string> schedules;

  std::vector<search::schedule_choice> choices() const {
    return search::schedule_choices(schedules, {2});
  }
};

/// Returns the bound for a chain if the parts of the mesh divide its first axis.
double bound_of(search::problem const& net, compared_pipelines const& how,
                ashlar::topology const& t, ashlar::machine const& m) {
  search::detail::pipeline_candidate<-1> c;
  c.parts = how.parts;
  c.axis = 0;
  c.mesh = search::stage_mesh(t, 0, how.parts);
  search::shared_moves moves;
  return search::detail::least_of_candidate(c, net, search::find_blocks(net), how.choices(),
                                            how.any_cuts, m, search::optimal_layout(), moves);
}

/// Tries all placements, cuts and schedules. Returns the seconds of the fastest pipeline, or
/// `unreachable` if the chain has too few layers for these stages.
double fastest_pipeline(search::problem const& net, compared_pipelines const& how,
                        ashlar::topology const& t, ashlar::machine const& m) {
  int const parts = how.parts, batches = net.micro_batches;
  search::plan chosen;
  chosen.mesh = search::stage_mesh(t, 0, parts);
  chosen.recomputed = net.recomputed;
  std::vector<std::vector<search::layer_choice>> choices;
  for (int i = 0; i < net.size(); ++i)
    choices.push_back(search::layer_choices(net.spec(i), chosen.mesh));
  search::crossing_prices crossings(chosen.mesh, 0, m);
  double least = ashlar::unreachable;
  std::vector<std::size_t> at(choices.size());
  do {
    chosen.choices.clear();
    for (std::size_t i = 0; i < at.size(); ++i) chosen.choices.push_back(choices[i][at[i]]);
    search::stage_model<-1> model(net, chosen, m, crossings);
    for (auto const& choice : how.choices()) {
      if (!choice.permits(parts, batches)) continue;
      auto const try_cut = [&](std::vector<int> const& limits) {
        auto const price = [&](pipelines::schedule const& order) {
          auto const stages = search::priced_stages(model, limits, order);
          auto const costs = costs_of(stages);
          least = std::min(least, search::seconds_of_step(order, costs, stages, {}));
          return costs;
        };
        if (choice.kind == search::schedule_kind::searched) {
          for_each_depths(parts, batches, {}, [&](auto const& depths) {
            price(pipelines::with_warm_ups(depths, batches));
          });
        } else {
          auto const costs = price(search::make_schedule(choice, parts, batches, {}, {}));
          if (choice.fits_costs()) price(search::make_schedule(choice, parts, batches, costs, {}));
        }
      };
      int const stages = parts * choice.chunks;
      if (how.any_cuts) {
        for_each_cut(search::detail::cutting_points(net), stages, try_cut);
      } else {
        auto const equal = search::detail::equal_limits(net, search::find_blocks(net), stages);
        if (!equal.empty()) try_cut(equal);
      }
    }
  } while (next_digits(at, [&](std::size_t i) { return choices[i].size(); }));
  return least;
}

TEST_CASE("no pipeline takes less than the bound: all placements, cuts and schedules") {
  std::vector<std::string> const lists[] = {{"1f1b"},
                                            {"searched"},
                                            {"zb_h1"},
                                            {"interleaved", "gpipe"},
                                            {"zb_v", "dual_pipe_v"},
                                            {"1f1b", "delayed", "eager"}};
  struct {
    int parts;
    bool any_cuts;
    int recomputed, tried = 0, near = 0;
  } groups[] = {{2, true, 0}, {2, false, 0}, {2, true, 1}, {4, true, 0}, {4, false, 1}};
  for (unsigned seed = 0; seed < 120; ++seed) {
    random_cases draw(seed);
    auto& group = groups[seed % 5];
    compared_pipelines const how{group.parts, group.any_cuts, group.recomputed,
                                 lists[seed / 5 % 6]};
    bool const linear = draw.below(2) == 0, halves = draw.below(2) == 0;
    int const layers = how.parts == 4 ? 7 + !how.any_cuts : linear ? 2 : 3 + !how.any_cuts;
    shape const x{(linear ? 8 : 2) * (1 + draw.below(3)), 2 * (1 + draw.below(3))};
    int const wide = how.any_cuts ? 4 * (1 + draw.below(2)) : int(x[1]);
    search::problem net;
    net.micro_batches = how.parts * (1 + draw.below(2));
    net.recomputed = how.recomputed;
    for (int b = 0; b < layers; ++b) {
      auto spec = !linear      ? map_spec("map", x, ashlar::nonlinear_training_rows("md"), 1)
                  : b % 2 == 0 ? linear_spec(x, wide)
                               : linear_spec({x[0], wide}, x[1]);
      double const work = draw.log_uniform(0.1, linear ? 4 : 30);
      for (auto* part :
           {&spec.forward_values, &spec.backward_values, &spec.forward_flops, &spec.backward_flops})
        *part *= work;
      if (halves) {
        spec.backward = search::backward_form::halves;
        spec.gradient_flops = spec.backward_flops / 2;
        spec.gradient_values = spec.backward_values / 3;
      }
      int const first = net.size();
      net.add(spec);
      net.add_segment(first);
    }
    if (how.any_cuts) net.add(cross_entropy_spec(linear && layers % 2 ? shape{x[0], wide} : x));
    ashlar::topology const t{{"node", 4, ashlar::link_tier::inter_node}};
    auto m = draw.machine();
    // The bound leaves out crossings, so it is near the fastest pipeline only if links are fast.
    if (draw.below(3) > 0) m.inter = {m.inter.alpha / 100, m.inter.beta / 100};
    CAPTURE(how.parts);
    CAPTURE(how.any_cuts);
    CAPTURE(how.recomputed);
    CAPTURE(seed);
    CAPTURE(how.schedules[0]);
    double const least = fastest_pipeline(net, how, t, m);
    if (least == ashlar::unreachable) continue;
    double const bound = bound_of(net, how, t, m);
    CHECK(bound <= least * (1 + 1e-9));
    ++group.tried;
    group.near += bound > 0.8 * least;
  }
  for (auto const& group : groups) {
    CAPTURE(group.parts);
    CAPTURE(group.any_cuts);
    CAPTURE(group.recomputed);
    CHECK(group.tried > 15);
    CHECK(3 * group.near > group.tried);
  }
}

/// Holds the work of a layer, in any unit: for its forward pass, for the gradient of its input, and
/// for the gradients of its parameters.
struct layer_work {
  double forward, input, weights;
};

/// Checks that the bound for a chain of these layers is attained: on four parts of one rank each,
/// with moves that cost nothing, the fastest pipeline takes as many seconds as the bound says.
void check_attained(std::vector<layer_work> const& layers, int micro_batches,
                    compared_pipelines const& how) {
  search::problem net;
  net.micro_batches = micro_batches;
  net.recomputed = how.recomputed;
  shape const x{4, 4};
  for (auto const& work : layers) {
    auto spec = map_spec("map", x, ashlar::nonlinear_training_rows("md"), 1);
    spec.forward_values = work.forward * count(x);
    spec.backward_values = (work.input + work.weights) * count(x);
    spec.gradient_values = work.weights * count(x);
    spec.backward = search::backward_form::halves;
    int const first = net.size();
    net.add(spec);
    net.add_segment(first);
  }
  ashlar::topology const t{{"node", 4, ashlar::link_tier::inter_node}};
  ashlar::machine m;
  m.intra = m.inter = {0, 0};
  CAPTURE(how.schedules[0]);
  CAPTURE(how.recomputed);
  CAPTURE(how.any_cuts);
  double const fastest = fastest_pipeline(net, how, t, m);
  REQUIRE(fastest < ashlar::unreachable);
  CHECK(bound_of(net, how, t, m) / fastest == doctest::Approx(1).epsilon(1e-8));
}

TEST_CASE("the bound is attained if moves are free and one part never waits for another") {
  // One layer has ten times the work of each other layer. Its part waits only until the first
  // micro-batch has passed the parts before it. From then on, this part always has something to
  // compute. After its last pass, the other parts only end the backward passes of the last
  // micro-batch.
  std::vector<layer_work> const last_slow{{1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {10, 10, 10}};
  std::vector<layer_work> inner_slow(8, {1, 1, 1});
  inner_slow[3] = {10, 10, 10};
  for (int const recomputed : {0, 1}) {
    for (bool const any_cuts : {false, true}) {
      check_attained(last_slow, 4, {4, any_cuts, recomputed, {"1f1b"}});
      check_attained(last_slow, 4, {4, any_cuts, recomputed, {"zb_h1"}});
    }
    check_attained(inner_slow, 8, {4, false, recomputed, {"dual_pipe_v"}});
  }
}

TEST_CASE("the bound is attained if moves are free and no part waits for another") {
  // Part p holds layer p and begins p units of time after part 0. Over the 8 micro-batches, it has
  // 3 - p units of work more than part 3, so that all parts end at the same time.
  std::vector<layer_work> layers(4, {1, 1, 1});
  for (int p = 0; p < 4; ++p) layers[std::size_t(p)].weights += (3 - p) / 8.0;
  for (bool const any_cuts : {false, true}) check_attained(layers, 8, {4, any_cuts, 0, {"zb_h2"}});
}

}  // namespace
}  // namespace ashlar_test
