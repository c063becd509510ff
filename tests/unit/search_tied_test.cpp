// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the search for nets with tied parameters. Both uses of the parameter must have the same
// storage. The plan must be as fast as the best of all plans with one storage. Searches that cannot
// choose the storage must say so.

#include <stop_token>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/relative.hpp>

#include <ashlar/nn/describe.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/search/algorithms.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/search/best_topology.hpp>
#include <ashlar/search/pinned.hpp>
#include <ashlar/search/pipeline.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;
namespace search = ashlar::search;

search::problem small_tied_net(int micro_batches = 2) {
  return any_length(nn::describe(nn::tied(nn::embedding(12, 8), nn::output_embedding(8, 12)),
                                 nn::token_batch{4, 6, micro_batches}));
}
search::problem small_tied_gpt() {
  return any_length(nn::describe(nn::tied_gpt({2, 16, 4, 24}), nn::token_batch{4, 6, 2}));
}

ashlar::placement const& store(search::plan const& p, int element) {
  return p[element].parameters[0].store;
}

template <int N>
bool has_one_storage(search::basic_problem<N> const& net, search::basic_plan<N> const& p) {
  for (auto const& t : net.ties)
    if (!(p[t.first].parameters[t.first_index].store == p[t.later].parameters[t.later_index].store))
      return false;
  return net.ties.size() > 0;
}

/// Returns a workstation and two variants of it: on one, bandwidth decides; on the other, latency.
std::vector<ashlar::machine> tied_machines() {
  auto slow = ashlar::machines::workstation;
  slow.intra.beta *= 1000;
  auto far = ashlar::machines::workstation;
  far.intra.alpha *= 1000;
  return {ashlar::machines::workstation, slow, far};
}

}  // namespace

TEST_CASE("the search gives both uses of a tied parameter one storage, and finds the best plan") {
  auto const net = small_tied_net();
  REQUIRE(net.ties.size() == 1);
  for (auto const& m : tied_machines())
    for (auto const& t : {ashlar::topology{{"gpu", 2}}, ashlar::topology{{"gpu", 3}},
                          ashlar::topology{{"node", 2}, {"gpu", 2}}}) {
      auto const best = search::optimal(net, t, m);
      CHECK(has_one_storage(net, best));
      CHECK(best.gap == 0);
      CHECK(best.problem_hash == search::hash(net));
      auto const all = search::exhaustive(net, t, m);
      CHECK(has_one_storage(net, all));
      CHECK(best.seconds == relative(all.seconds));
      CHECK(best.memory == search::memory_per_rank(net, best));
    }
}

TEST_CASE("two ties on interchangeable axes: every storage of the second one is tried") {
  auto const pair = [] { return nn::tied(nn::linear(16, 16), nn::gelu(), nn::linear(16, 16)); };
  ashlar::topology const t{{"a", 2}, {"b", 2}};
  int tried = 0;
  for (auto const& batch : {nn::feature_batch{4, 16, 1}, nn::feature_batch{8, 16, 2}}) {
    auto const net = any_length(nn::describe(nn::chain(pair(), pair()), batch));
    for (auto m : tied_machines()) {
      auto const free = search::optimal(net, t, m);
      for (double const room : {0.0, 0.75, 0.6}) {
        m.memory = static_cast<std::int64_t>(room * double(free.memory));
        auto const seconds = [&](auto const& search) {
          try {
            return search().seconds;
          } catch (ashlar::error const&) {
            return -1.0;
          }
        };
        double const all = seconds([&] {
          return search::detail::best_storage(
              net, t, true, [&](search::problem const& one) { return search::optimal(one, t, m); });
        });
        CHECK(seconds([&] { return search::optimal(net, t, m); }) == all);
        tried += all > 0;
      }
    }
  }
  CHECK(tried > 4);
}

TEST_CASE("a stage with one use of a tied parameter keeps the prescribed storage") {
  auto const net = small_tied_net(1);
  ashlar::topology const t{{"a", 2}, {"b", 2}, {"c", 2}};
  auto const& m = ashlar::machines::workstation;
  for (auto const& store : search::detail::storages(net, net.ties[0], t, true)) {
    auto const settled = search::with_storage(net, net.ties[0], store);
    int const cut = net.ties[0].later;
    auto const first = search::optimal(search::stage_of(settled, 0, cut, 1), t, m);
    auto const later = search::optimal(search::stage_of(settled, cut, net.size(), 1), t, m);
    CHECK(first[net.ties[0].first].parameters[net.ties[0].first_index].store == store);
    CHECK(later[0].parameters[net.ties[0].later_index].store == store);
  }
}

TEST_CASE("a tied net within a memory limit") {
  auto const net = small_tied_net(1);
  ashlar::topology const t{{"gpu", 4}};
  auto m = ashlar::machines::workstation;
  auto const fastest = search::optimal(net, t, m);
  m.memory = fastest.memory - 1;
  auto const smaller = search::optimal(net, t, m);
  CHECK(has_one_storage(net, smaller));
  CHECK(smaller.memory < fastest.memory);
  CHECK(smaller.seconds == relative(search::exhaustive(net, t, m).seconds));
  m.memory = 100;
  CHECK(has(message_of([&] { (void)search::optimal(net, t, m); }), "search::optimal: "));
}

TEST_CASE("a search of a tied net whose budget ends keeps its plan and claims no bound") {
  auto const net = small_tied_net();
  ashlar::topology const t{{"node", 2}, {"gpu", 2}};
  auto const& m = ashlar::machines::workstation;
  auto const found = search::exact(net, t, m, {.seconds = 1e-9});
  CHECK(has_one_storage(net, found.plan));
  CHECK(found.how == search::ending::out_of_budget);
  CHECK(found.gap == 1);
  CHECK(found.lower_bound == 0);
}

TEST_CASE("storages without a plan count in the bound, unless it is proved that no plan fits") {
  auto const net = small_tied_net();
  ashlar::topology const t{{"gpu", 2}};
  auto const& m = ashlar::machines::workstation;
  double const least = search::optimal(net, t, m).seconds;
  namespace detail = search::detail;
  ashlar::error const refused("search", "found no plan");
  int number = 0;
  bool is_proved = true, are_all = false;
  auto const some = [&](search::problem const& one) {
    if (number++ == 0 || are_all) {
      if (is_proved) throw refused;
      throw detail::unproven_refusal(refused, least / 2);
    }
    return search::optimal(one, t, m);
  };
  CHECK(detail::best_storage(net, t, true, some).gap == 0);
  number = 0, is_proved = false;
  auto const open = detail::best_storage(net, t, true, some);
  CHECK(open.seconds * (1 - open.gap) == relative(least / 2));
  are_all = true;
  CHECK_THROWS_AS(detail::best_storage(net, t, true, some), detail::unproven_refusal);
}

TEST_CASE("the effort of a search holds for every storage of a tied parameter") {
  auto const net = small_tied_net(1);
  ashlar::topology const t{{"gpu", 4}};
  auto m = ashlar::machines::workstation;
  m.memory = search::optimal(net, t, m).memory - 1;
  auto const best = search::optimal(net, t, m);
  auto const optimal_below = [&](double known) {
    return search::optimal(net, t, m, search::any_choice{}, {.known = known});
  };
  CHECK(optimal_below(best.seconds * 1.01).seconds == best.seconds);
  // Here a plan faster than `best` is already known. So the search need not find `best`, and proves
  // only a lower bound for plans with the storage of `best`.
  double const known = best.seconds * 0.99;
  auto const other = optimal_below(known);
  CHECK((other.size() == 0 || other.seconds > best.seconds));
  CHECK(other.seconds * (1 - other.gap) <= known * (1 + 1e-9));
}

TEST_CASE("baselines, pins and meshes of three axes keep one storage") {
  auto const net = small_tied_gpt();
  auto const m = ashlar::machines::workstation;
  ashlar::topology const t{{"node", 2, ashlar::link_tier::inter_node}, {"gpu", 2}};
  for (auto const& b : search::baselines()) CHECK(has_one_storage(net, b.make(net, t, m)));
  auto const sharded = search::zero_3(net, t, m);
  for (auto const& axis : store(sharded, 0).axis) CHECK(axis.is_split());
  auto const pinned = search::optimal_with_pins(
      net, t, m, {search::parse_pin("embedding.table.store=S(1),B")});
  CHECK(has_one_storage(net, pinned.plan));
  CHECK(to_string(store(pinned.plan, 0)) == "[S(1),B]");
  ashlar::topology const three{{"node", 2, ashlar::link_tier::inter_node}, {"a", 2}, {"b", 2}};
  CHECK(has_one_storage(net, search::optimal(net, three, m)));
}

TEST_CASE("pipelines of a tied net keep one storage, and pay for two crossings a step") {
  auto const described = [](int micro_batches) {
    return any_length(nn::describe(nn::tied_gpt({4, 16, 4, 24}),
                                   nn::token_batch{8 / micro_batches, 6, micro_batches}));
  };
  ashlar::topology const t{{"node", 2, ashlar::link_tier::inter_node}, {"gpu", 2}};
  auto m = ashlar::machines::workstation;
  search::pipeline_options const two{.stages = {2}, .micro_batches = {4}};
  auto const free = search::pipeline(described, t, m, two);
  CHECK(has_one_storage(described(4), free.chosen));
  m.memory = free.chosen.memory - 1;
  auto const tight = search::pipeline(described, t, m, two);
  CHECK(has_one_storage(described(4), tight.chosen));
  CHECK(tight.chosen.memory < free.chosen.memory);
  // Without the tie, neither the parameter nor the gradient of its later use crosses between the
  // stages. So the end of a step is shorter by two crossings.
  auto net = described(4);
  auto const limits = std::vector{free.stages[0].first, free.stages[1].first, free.stages[1].last};
  auto const priced = search::price_pipeline(net, free.chosen, limits, {0, 0}, free.axis, 4, m);
  search::crossing_prices crossings(free.chosen.mesh, free.axis, m);
  auto const one = crossings({24, 16}, 4, store(free.chosen, 0), store(free.chosen, 0)).seconds;
  net.ties = {};
  auto const apart = search::price_pipeline(net, free.chosen, limits, {0, 0}, free.axis, 4, m);
  CHECK(one > 0);
  CHECK(priced.stages[1].synchronize == relative(apart.stages[1].synchronize + 2 * one));
  CHECK(priced.stages[0].synchronize == apart.stages[0].synchronize);
}

TEST_CASE("a plan of a tied net is a constant too") {
  constexpr auto net = nn::describe(
      nn::tied(nn::embedding(8, 4, nn::no_positions), nn::output_embedding(4, 8)),
      nn::token_batch{4, 2, 1});
  constexpr ashlar::topology t{{"gpu", 2}};
  constexpr auto plan = search::optimal_in_compiler(net, t, ashlar::machines::workstation);
  CHECK(has_one_storage(net, plan));
  CHECK(fingerprint(plan) == fingerprint(search::optimal(net, t, ashlar::machines::workstation)));
}

TEST_CASE("searches that cannot choose the storage of a tied parameter say so") {
  auto const net = small_tied_net();
  ashlar::topology const t{{"gpu", 2}};
  auto const m = ashlar::machines::workstation;
  for (auto const* name : {"random_search", "metropolis_hastings", "coordinate_descent"}) {
    search::options o;
    o.evaluations = 10;
    CHECK(has(message_of([&] { (void)search::algorithm_named(name).run(net, t, m, o); }),
              "elements 0 and 1 share a parameter, and this search cannot choose where it is "
              "stored. Use search::optimal"));
  }
  // If the storage of the first tie is prescribed, the message names the elements of the second.
  auto const pair = [] { return nn::tied(nn::linear(16, 16), nn::gelu(), nn::linear(16, 16)); };
  auto two = any_length(nn::describe(nn::chain(pair(), pair()), nn::feature_batch{4, 16, 1}));
  REQUIRE(two.ties.size() == 2);
  two = search::with_storage(two, two.ties[0],
                             search::detail::storages(two, two.ties[0], t, true).front());
  CHECK(has(message_of([&] { search::coordinate_descent(two, t, m, {.evaluations = 10}); }),
            "elements " + std::to_string(two.ties[1].first) + " and " +
                std::to_string(two.ties[1].later) + " share a parameter"));
  for (auto const* name : {"exact", "exhaustive"}) {
    auto const found = search::algorithm_named(name).run(net, t, m, {});
    CHECK(has_one_storage(net, found.plan));
    CHECK(found.gap == 0);
    std::stop_source stop;
    stop.request_stop();
    search::options cancelled;
    cancelled.cancel = stop.get_token();
    CHECK(has(message_of([&] { (void)search::algorithm_named(name).run(net, t, m, cancelled); }),
              "cancelled after 0 evaluations"));
  }
  ashlar::topology const five{{"a", 2}, {"b", 2}, {"c", 2}, {"d", 2}, {"e", 2}};
  CHECK(has(message_of([&] { (void)search::optimal(net, five, m); }),
            "a search of a net with tied parameters supports at most 4 axes"));
}

TEST_CASE("layers that cannot share a parameter are refused") {
  CHECK(has(message_of([] {
              (void)nn::describe(nn::tied(nn::embedding(8, 4), nn::output_embedding(4, 9)),
                                 nn::token_batch{2, 3, 1});
            }),
            "nn::tied: embedding's table 8x4 and output_embedding's table 9x4 cannot be one "
            "parameter: their extents differ. Tie an embedding(vocabulary, features) to an "
            "output_embedding(features, vocabulary)."));
  CHECK(
      has(message_of([] {
            (void)nn::describe(nn::tied(nn::embedding(8, 4), nn::gelu()), nn::token_batch{2, 3, 1});
          }),
          "gelu, which has no parameters, cannot be one parameter: the first and the last part "
          "must be layers with parameters."));
  CHECK(nn::parameter_count(small_tied_net()) == 12 * 8 + 6 * 8);
}

}  // namespace ashlar_test
