// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the lower bound of pipelines with any cuts. For small random chains, the test tries all
// placements, cuts, schedules and numbers of recomputed segments. No pipeline takes less than the
// bound, with and without a memory limit.

#include <doctest/doctest.h>

#include <ashlar/search/pipeline.hpp>

#include "search_enumerations.hpp"
#include "search_nets.hpp"

namespace ashlar_test {
namespace {

namespace pipelines = ashlar::pipelines;

/// A pipeline's seconds and memory.
struct tried_pipeline {
  double seconds;
  std::int64_t memory;
};

/// Advances the digits of a number, where digit k has base(k) values. Returns false when all
/// numbers have been visited.
template <class Base>
bool next_number(std::vector<int>& digits, Base const& base) {
  for (std::size_t k = 0; k < digits.size(); ++k) {
    if (++digits[k] < base(k)) return true;
    digits[k] = 0;
  }
  return false;
}

/// Returns all pipelines of a chain on `parts` parts of the mesh t with these schedules.
std::vector<tried_pipeline> all_pipelines(search::problem const& net, int parts,
                                          ashlar::topology const& t, ashlar::machine const& m,
                                          std::vector<std::string> const& schedules) {
  auto const mesh = search::stage_mesh(t, 0, parts);
  int const batches = net.micro_batches;
  std::vector<std::vector<search::layer_choice>> choices;
  for (int i = 0; i < net.size(); ++i) choices.push_back(search::layer_choices(net.spec(i), mesh));
  std::vector<tried_pipeline> all;
  search::plan chosen;
  chosen.mesh = mesh;
  search::crossing_prices crossings(mesh, 0, m);
  // Adds the pipelines with these placements, this schedule and this cut.
  auto const add = [&](search::schedule_choice const& choice, std::vector<int> const& limits) {
    std::vector<int> again(limits.size() - 1, 0);
    auto const segments = [&](std::size_t s) {
      return 1 + search::stage_of(net, limits[s], limits[s + 1], 1).segments;
    };
    do {
      auto const chain = search::in_stages(net, limits, again);
      chosen.recomputed = chain.recomputed;
      search::stage_model<-1> model(chain, chosen, m, crossings);
      auto const price = [&](pipelines::schedule const& order) {
        auto const stages = search::priced_stages(model, limits, order);
        std::int64_t memory = 0;
        for (auto const& s : stages) memory = std::max(memory, s.memory);
        all.push_back({search::seconds_of_step(order, costs_of(stages), stages, {}), memory});
        return costs_of(stages);
      };
      if (choice.kind == search::schedule_kind::searched) {
        for_each_depths(parts, batches, {}, [&](auto const& depths) {
          price(pipelines::with_warm_ups(depths, batches));
        });
        continue;
      }
      auto const costs = price(search::make_schedule(choice, parts, batches, {}, {}));
      if (choice.fits_costs()) price(search::make_schedule(choice, parts, batches, costs, {}));
    } while (next_number(again, segments));
  };
  std::vector<int> at(choices.size());
  do {
    chosen.choices.clear();
    for (std::size_t i = 0; i < at.size(); ++i)
      chosen.choices.push_back(choices[i][std::size_t(at[i])]);
    for (auto const& choice : search::schedule_choices(schedules, {2}))
      if (choice.permits(parts, batches))
        for_each_cut(search::detail::cutting_points(net), parts * choice.chunks,
                     [&](auto const& limits) { add(choice, limits); });
  } while (next_number(at, [&](std::size_t i) { return int(choices[i].size()); }));
  return all;
}

TEST_CASE("the bound holds for all placements, cuts, schedules and recomputed segments") {
  std::vector<std::string> const lists[] = {{"1f1b"},
                                            {"searched"},
                                            {"zb_h1"},
                                            {"interleaved", "gpipe"},
                                            {"zb_v", "dual_pipe_v"},
                                            {"1f1b", "delayed", "eager"}};
  int tried = 0, missed = 0, near = 0;
  for (unsigned seed = 1; seed <= 12; ++seed) {
    random_cases draw(seed);
    bool const linear = draw.below(2) == 0;
    int const maps = linear ? 2 : 3, batches = 2 * (1 + draw.below(2));
    auto const& schedules = lists[draw.below(6)];
    shape const x{(linear ? 8 : 2) * (1 + draw.below(3)), 2 * (1 + draw.below(3))};
    int const saves = draw.below(5), wide = 4 * (1 + draw.below(2));
    double const work = draw.log_uniform(0.1, 30);
    auto const chain = [&](int m) {
      search::problem net;
      net.micro_batches = m;
      // With linear layers, the states of the optimizer need most of the memory.
      net.optimizer_states = linear ? 60 : 1;
      for (int b = 0; b < maps; ++b) {
        int const first = net.size();
        if (linear) {
          net.add(b == 0 ? linear_spec(x, wide) : linear_spec({x[0], wide}, x[1]));
        } else {
          auto spec = map_spec("map", x, ashlar::nonlinear_training_rows("md"), saves);
          spec.forward_values *= work;
          spec.backward_values *= work;
          net.add(spec);
        }
        net.add_segment(first);
      }
      net.add(cross_entropy_spec(x));
      return net;
    };
    ashlar::topology const t{{"node", 4, ashlar::link_tier::inter_node}};
    auto m = draw.machine();
    m.memory = 0;
    CAPTURE(seed);
    CAPTURE(schedules[0]);
    auto const all = all_pipelines(chain(batches), 2, t, m, schedules);
    search::pipeline_options const how{{2}, {batches}, schedules, {2}, true};
    if (all.empty()) continue;  // too few layers for two stages a part
    auto const free = search::pipeline(chain, t, m, how);
    for (double const share : {1.0, 0.7, 0.5, 0.35}) {
      m.memory = share == 1 ? 0 : std::int64_t(share * double(free.chosen.memory));
      CAPTURE(share);
      double least = 0;
      for (auto const& p : all)
        if ((m.memory == 0 || p.memory <= m.memory) && (least == 0 || p.seconds < least))
          least = p.seconds;
      if (least == 0) continue;
      try {
        auto const found = search::pipeline(chain, t, m, how);
        ++tried;
        CHECK(found.lower_bound <= least * (1 + 1e-9));
        CHECK(found.lower_bound >= free.lower_bound * (1 - 1e-9));
        near += found.lower_bound > 0.8 * least;
      } catch (ashlar::error const&) {
        ++missed;  // the search need not find a plan below every limit
      }
    }
  }
  CHECK(tried > 10);
  CHECK(4 * missed < tried);
  CHECK(5 * near > tried);
}

}  // namespace
}  // namespace ashlar_test
