// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the search if it may choose different placements for the update and for the storage of a
// parameter (problem::updates_apart). Its plans must be as fast as the best of all combinations of
// choices, with and without a memory limit, in float and in mixed precision.

#include <limits>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/relative.hpp>

#include <ashlar/mesh/text.hpp>
#include <ashlar/nn/chain.hpp>
#include <ashlar/nn/describe.hpp>
#include <ashlar/nn/linear.hpp>
#include <ashlar/nn/repeat.hpp>
#include <ashlar/search/algorithms.hpp>
#include <ashlar/search/optimal.hpp>
#include <ashlar/search/pinned.hpp>
#include <ashlar/search/pipeline.hpp>

#include "search_enumerations.hpp"

namespace ashlar_test {
namespace {

namespace search = ashlar::search;
using ashlar::parse_topology;

/// Returns the least seconds of all plans that need at most `limit` bytes. Adds the memory of every
/// plan, whatever the limit, to `memories`.
double least_seconds(search::problem const& net, ashlar::topology const& t,
                     ashlar::machine const& m, std::int64_t limit, bool may_update_apart,
                     std::vector<std::int64_t>* memories = nullptr) {
  std::vector<std::vector<search::layer_choice>> lists;
  for (int i = 0; i < net.size(); ++i)
    lists.push_back(search::layer_choices(
        net.spec(i), t, search::trivial_axes::one_row, search::shard_orders::all,
        may_update_apart ? search::update_places::also_apart : search::update_places::as_stored));
  double best = std::numeric_limits<double>::infinity();
  std::vector<std::size_t> at(lists.size(), 0);
  do {
    search::plan plan;
    plan.mesh = t;
    for (std::size_t i = 0; i < lists.size(); ++i) plan.choices.push_back(lists[i][at[i]]);
    predict(plan, net, m);
    if (memories != nullptr) memories->push_back(plan.memory);
    if (plan.memory <= limit) best = std::min(best, plan.seconds);
  } while (next_digits(at, [&](std::size_t i) { return lists[i].size(); }));
  return best;
}

search::problem two_layers(int batch, int in, int out) {
  namespace nn = ashlar::nn;
  auto net = any_length(nn::describe<float>(nn::chain(nn::linear(in, out), nn::linear(out, 5)),
                                            nn::feature_batch{batch, in}));
  net.updates_apart = true;
  return net;
}

}  // namespace

TEST_CASE("the search finds the best of all plans, at every memory limit") {
  int apart = 0, limits = 0;
  for (auto const& t : {parse_topology("gpu=3"), parse_topology("gpu=4")})
    for (bool const mixed : {false, true})
      for (int const batch : {3, 96}) {
        auto net = two_layers(batch, 24, 18);
        if (mixed) net.element_size = 2;
        auto m = ashlar::machines::workstation;
        if (batch > 3) m.intra = {1e-9, 1e-7};  // bytes take long, and messages hardly any time
        std::vector<std::int64_t> memories;
        auto const all = std::numeric_limits<std::int64_t>::max();
        double const best = least_seconds(net, t, m, all, true, &memories);
        m.memory = 0;
        CHECK(search::optimal(net, t, m).seconds == relative(best));
        std::sort(memories.begin(), memories.end());
        memories.erase(std::unique(memories.begin(), memories.end()), memories.end());
        for (std::size_t k = 0; k < memories.size(); k += 1 + memories.size() / 12) {
          auto limited = m;
          limited.memory = memories[k];
          auto const plan = search::optimal(net, t, limited);
          CHECK(plan.memory <= memories[k]);
          CHECK(plan.gap == 0);
          double const here = least_seconds(net, t, m, memories[k], true);
          CHECK(plan.seconds == relative(here));
          apart += updates_apart(plan);
          ++limits;
        }
      }
  MESSAGE(limits, " limits, ", apart, " plans that update parameters apart from their storage");
  CHECK(apart > 3);
}

TEST_CASE("in mixed precision, dividing the update moves fewer bytes than an all-reduce") {
  auto net = two_layers(512, 24, 18);
  net.element_size = 2;
  ashlar::machine m = ashlar::machines::workstation;
  m.memory = 0;
  m.flops = 1e8;                      // work is slow, so plans split the rows over all ranks
  m.intra = m.inter = {1e-12, 1e-6};  // bytes take long, and messages hardly any time
  auto const t = parse_topology("gpu=4");
  auto const with = search::optimal(net, t, m);
  auto without = net;
  without.updates_apart = false;
  auto const plain = search::optimal(without, t, m);
  CHECK(updates_apart(with));
  CHECK_FALSE(updates_apart(plain));
  CHECK(with.seconds < plain.seconds);
  CHECK(with.communication_seconds < plain.communication_seconds);
  CHECK(with.seconds ==
        relative(least_seconds(net, t, m, std::numeric_limits<std::int64_t>::max(), true)));
}

TEST_CASE("on three axes the search finds the best plan, which updates parameters apart") {
  auto net = two_layers(1536, 8, 16);
  net.element_size = 2;
  auto m = ashlar::machines::workstation;
  m.memory = 0;
  m.flops = 1e7;
  m.intra = {1e-9, 1e-7};
  m.inter = {2e-9, 4e-7};
  // The first mesh has no interchangeable axes, so it is searched by roles. The axes of the second
  // mesh are interchangeable, so it is searched by multisets (search_on_mesh.hpp).
  for (auto const* const t : {"node=2,a=2,b=3", "a=2,b=2,c=2"}) {
    CAPTURE(std::string(t));
    auto const plan = search::optimal(net, parse_topology(t), m);
    // With a filter, even one that permits everything, the search uses another method: dynamic
    // programming over all choices.
    auto const best = search::optimal(net, parse_topology(t), m,
                                      [](int, search::layer_choice const&) { return true; });
    CHECK(updates_apart(plan));
    CHECK(plan.gap == 0);
    CHECK(plan.seconds == relative(best.seconds));
  }
}

TEST_CASE("on five axes the search, which goes by multisets only, updates parameters apart") {
  auto net = two_layers(1536, 8, 16);
  net.element_size = 2;
  auto m = ashlar::machines::workstation;
  m.memory = 0;
  m.flops = 1e7;
  m.intra = {1e-9, 1e-7};
  auto const t = parse_topology("a=2,b=2,c=2,d=2,e=2");
  auto const plan = search::optimal(net, t, m);
  CHECK(updates_apart(plan));
  CHECK(plan.gap == 0);
  auto priced = plan;
  search::predict(priced, net, m);
  CHECK(plan.seconds == relative(priced.seconds));
  auto without = net;
  without.updates_apart = false;
  CHECK(plan.seconds < search::optimal(without, t, m).seconds);
}

TEST_CASE("other algorithms agree with the search, and pins name the placement of updates") {
  auto const net = two_layers(96, 24, 18);
  auto m = ashlar::machines::workstation;
  m.memory = 0;
  auto const t = parse_topology("node=2,gpu=2");
  double const best = search::optimal(net, t, m).seconds;
  CHECK(search::algorithm_named("exhaustive").run(net, t, m, {}).plan.seconds == relative(best));
  auto const pinned = search::pinned_choices(
      net, t,
      {search::parse_pin("0.weight.update=S(0),S(0)"), search::parse_pin("0.weight.store=B,B")});
  auto const plan = search::optimal(net, t, m, pinned);
  CHECK(plan[0].parameters[0].is_updated_apart());
  CHECK(plan.seconds >= best * (1 - 1e-9));
}

TEST_CASE("pipelines are searched with updates apart, and keep to their bound") {
  namespace nn = ashlar::nn;
  auto net = any_length(
      nn::describe<float>(nn::chain(nn::repeat(2, nn::linear(12, 12)), nn::linear(12, 5)),
                          nn::feature_batch{6, 12, 2}));
  net.element_size = 2;
  auto m = ashlar::machines::workstation;
  m.memory = 0;
  m.intra = m.inter = {1e-9, 1e-7};
  auto const t = parse_topology("node=2,gpu=2");
  auto const found = [&](bool may_update_apart) {
    auto chain = net;
    chain.updates_apart = may_update_apart;
    return search::pipeline([&](int) { return chain; }, t, m, {{2}, {2}},
                            [](auto const& part, auto const& mesh, auto const& machine) {
                              return search::optimal(part, mesh, machine);
                            });
  };
  auto const with = found(true), without = found(false);
  CHECK(with.seconds() <= without.seconds() * (1 + 1e-9));
  CHECK(with.lower_bound <= with.seconds() * (1 + 1e-9));
  CHECK(with.lower_bound <= without.lower_bound * (1 + 1e-9));
}

TEST_CASE("the least overlapped time is searched without updates apart") {
  auto net = two_layers(96, 24, 18);
  net.overlap = true;
  CHECK(
      has(message_of([&] {
            search::optimal(net, parse_topology("gpu=2"), ashlar::machines::workstation);
          }),
          "does not update parameters apart from their storage. Leave problem::updates_apart off"));
}

}  // namespace ashlar_test
