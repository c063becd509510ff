// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the schedules and the cuts of pipeline plans:
// - For small chains, the search finds the fastest combination of cuts, schedule and warm-up
//   depths.
// - The memory of a part counts its micro-batches, also those that wait for their weight-gradient
//   pass.
// - Cuts can be written as text and read back. The names of schedules can be read.
// - For GPT-3 on 1,024 ranks, the found plan is faster than 1F1B with equal stages.

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/relative.hpp>

#include <ashlar/machine/presets.hpp>
#include <ashlar/nn/describe.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/search/cut_text.hpp>
#include <ashlar/search/explain_pipeline.hpp>
#include <ashlar/search/pipeline.hpp>

#include "search_enumerations.hpp"
#include "search_nets.hpp"

namespace ashlar_test {
namespace {

namespace pipelines = ashlar::pipelines;

/// Returns the seconds of the fastest pipeline over all cuts and schedules, or 0 if no pipeline
/// fits. A stage has at most `in_flight` micro-batches in flight. 0 means any number.
double fastest_schedule(search::problem const& net, int parts, ashlar::topology const& t,
                        ashlar::machine const& m, std::vector<std::string> const& schedules,
                        int in_flight) {
  auto const points = search::detail::cutting_points(net);
  int const batches = net.micro_batches;
  auto const mesh = search::stage_mesh(t, 0, parts);
  auto unlimited = m;
  unlimited.memory = 0;
  auto const chosen = search::optimal(net, mesh, unlimited);
  double best = 0;
  for (auto choice : search::schedule_choices(schedules, {2})) {
    choice.in_flight = in_flight;
    if (!choice.permits(parts, batches)) continue;
    int const stages = parts * choice.chunks;
    for_each_cut(points, stages, [&](auto const& limits) {
      auto const price = [&](pipelines::schedule const& order) {
        auto const p = search::price_pipeline(
            net, chosen, limits, std::vector<int>(std::size_t(stages)), 0, batches, m, order);
        if (m.memory > 0 && p.chosen.memory > m.memory) return p;
        if (in_flight > 0 && pipelines::in_flight_fault(
                                 order, std::vector<int>(std::size_t(stages), in_flight)) != "")
          return p;
        if (best == 0 || p.seconds() < best) best = p.seconds();
        return p;
      };
      if (choice.kind == search::schedule_kind::searched)
        return for_each_depths(parts, batches, {}, [&](auto const& depths) {
          price(pipelines::with_warm_ups(depths, batches));
        });
      auto const order = search::make_schedule(choice, parts, batches, {}, {});
      auto const first = price(order);
      if (choice.splits() && choice.fits_costs())
        price(search::make_schedule(choice, parts, batches, costs_of(first), {}));
    });
  }
  return best;
}

TEST_CASE("the search finds the fastest of all cuts, schedules and warm-ups") {
  std::vector<std::string> const lists[] = {
      {"1f1b"},  {"searched"},    {"eager", "gpipe"},     {"interleaved"},
      {"zb_h1"}, {"dual_pipe_v"}, search::all_schedules()};
  int limited = 0, uneven = 0, refused = 0;
  for (unsigned seed = 1; seed <= 30; ++seed) {
    random_cases draw(seed);
    int const blocks = 3 + draw.below(6), batches = 1 + draw.below(6);
    int const parts = std::min(2 + draw.below(2), blocks);
    shape const x{2 + draw.below(4), 2 + draw.below(4)};
    int const saves = draw.below(4);
    std::vector<double> work;
    for (int b = 0; b < blocks; ++b) work.push_back(draw.log_uniform(0.3, 3));
    auto const chain = [&](int m) {
      search::problem net;
      net.micro_batches = m;
      for (int b = 0; b < blocks; ++b) {
        auto spec = map_spec("map", x, ashlar::nonlinear_training_rows("md"), saves);
        spec.forward_values *= work[std::size_t(b)];
        spec.backward_values *= work[std::size_t(b)];
        net.add(spec);
      }
      net.add(cross_entropy_spec(x));
      return net;
    };
    ashlar::topology const t{{"node", parts, ashlar::link_tier::inter_node}};
    auto m = draw.machine();
    for (auto const& schedules : lists) {
      CAPTURE(seed);
      CAPTURE(schedules[0]);
      CAPTURE(batches);
      for (bool const tight : {false, true}) {
        CAPTURE(tight);
        double const least = fastest_schedule(chain(batches), parts, t, m, schedules, 0);
        search::pipeline_options const how{{parts}, {batches}, schedules, {2}, true};
        if (least == 0) {
          CHECK(has(message_of([&] { search::pipeline(chain, t, m, how); }),
                    m.memory == 0 ? "none of the schedules exists for these numbers" : "fits"));
          continue;
        }
        auto const found = search::pipeline(chain, t, m, how);
        CHECK(found.seconds() == relative(least));
        CHECK(found.lower_bound <= least * (1 + 1e-9));
        limited += tight;
        auto const& s = found.stages;
        uneven += s.front().last - s.front().first != s[1].last - s[1].first;
        m.memory = found.chosen.memory * 9 / 10;
      }
      m.memory = 0;
      if (seed > 10 || schedules.size() > 2) continue;
      for (int const in_flight : {1, 2, 3}) {
        CAPTURE(in_flight);
        double const least = fastest_schedule(chain(batches), parts, t, m, schedules, in_flight);
        auto const found = [&] {
          return search::pipeline(chain, t, m,
                                  {{parts}, {batches}, schedules, {2}, true, in_flight});
        };
        if (least == 0) {
          ++refused;
          CHECK(message_of(found) != "nothing was thrown");
        } else {
          CHECK(found().seconds() == relative(least));
        }
      }
    }
  }
  CHECK(limited > 20);
  CHECK(uneven > 50);
  CHECK(refused > 20);
}

TEST_CASE("a limit of micro-batches in flight that no schedule stays within is refused") {
  auto const chain = [](int m) {
    search::problem net;
    net.micro_batches = m;
    for (int b = 0; b < 4; ++b)
      net.add(map_spec("map", {4, 4}, ashlar::nonlinear_training_rows("md"), 1));
    net.add(cross_entropy_spec({4, 4}));
    return net;
  };
  ashlar::topology const t{{"node", 4, ashlar::link_tier::inter_node}};
  auto const with = [&](std::vector<std::string> const& schedules, int in_flight) {
    return search::pipeline(chain, t, ashlar::machines::workstation,
                            {{4}, {8}, schedules, {2}, true, in_flight});
  };
  CHECK(message_of([&] { with({"1f1b"}, 3); }) ==
        "search::pipeline: no schedule stays within the limit: stage 0 may have at most 3 "
        "micro-batches in flight, but the schedule needs 4. Raise the limit, or choose a schedule "
        "that runs fewer forward passes ahead.");
  CHECK(has(message_of([&] { with({"searched"}, -1); }), "stage 0 may have at most -1 "));
  CHECK(with({"1f1b"}, 4).in_flight(0) == 4);
  for (auto const* const name : {"searched", "zb_h1", "zb_h2", "delayed"})
    for (int const most : {1, 2, 3}) {
      auto const found = with({name}, most);
      for (int s = 0; s < 4; ++s) CHECK(found.in_flight(s) <= most);
    }
}

TEST_CASE("the memory of a part counts what waits for its weight pass") {
  for (int const m : {1, 3, 8})
    for (auto const& s : {pipelines::zb_h1(4, m), pipelines::zb_v(4, m), pipelines::eager(4, m),
                          pipelines::zb_h2(4, m)}) {
      // In `equal`, a micro-batch occupies 7 bytes before its backward pass, and also while it
      // waits for its weight-gradient pass (W). So a part must hold all micro-batches whose W has
      // not ended. Each chunk (stage) of the part has 10 more bytes during the whole step.
      std::vector<search::stage_bytes> const equal(std::size_t(s.stages()), {17, 10, 7, 7, 0});
      for (int p = 0; p < 4; ++p) {
        int held = 0, most = 0;
        for (auto const& a : s.order[std::size_t(p)]) {
          if (a.what == pipelines::pass::forward) most = std::max(most, ++held);
          held -= makes_weight_gradient(a.what);
        }
        CHECK(search::pipeline_memory(s, {}, {}).of_part(p, equal) == 10 * s.chunks + 7 * most);
        auto more = equal;
        for (auto& b : more) b.waiting = 9, b.fresh = 2;
        CHECK(search::pipeline_memory(s, {}, {}).of_part(p, more) >= 10 * s.chunks + 7 * most);
      }
    }
  // Only one micro-batch is in flight. It needs 17 bytes, of which 10 last for the whole step. The
  // peak occurs in its pass I, which computes the gradient of the input: I makes 2 more bytes,
  // which are kept until W. The forward pass F needs only the 17 bytes.
  auto const split = pipelines::zb_h1(1, 2);
  CHECK(search::pipeline_memory(split, {}, {}).of_part(0, {{17, 10, 7, 9, 2}}) == 19);
}

TEST_CASE("cuts as text, both ways") {
  auto const net = block_net(4, {4, 8}, 16);
  auto const points = search::detail::cutting_points(net);
  CHECK(cut_text(net, {0, 15, net.size()}) == "embedding block*2 | block*2 cross_entropy");
  CHECK(cut_text(net, {0, 1, 8, net.size()}) == "embedding | block | block*3 cross_entropy");
  for_each_cut(points, 3, [&](auto const& limits) {
    auto const text = search::cut_text(net, limits);
    CAPTURE(text);
    CHECK(search::parse_cut(net, text) == limits);
  });
  for (auto const& [text, says] : std::vector<std::pair<std::string, std::string>>{
           {"embedding block*5",
            "\"block*5\" does not fit: the net has cross_entropy at element 29"},
           {"embedding block*x", "no number after *"},
           {"embedding block*0", "no number after *"},
           {"block", "the net has embedding at element 0"},
           {"embedding | | block*4", "a stage has no elements"},
           {"| embedding", "a stage has no elements"},
           {"embedding block*2 |", "the text ends at element 15"},
           {"embedding block attention", "the net has block or residual at element 8"},
           {"embedding block*4 cross_entropy |", "no elements"},
           {"embedding block*4 cross_entropy linear", "the net has no more elements"}}) {
    auto const said = message_of([&, wrong = text] { search::parse_cut(net, wrong); });
    INFO(said);
    CHECK(has(said, says));
  }
}

TEST_CASE("cuts as text, of layers with any name") {
  for (auto const& [name, word] :
       std::vector<std::pair<char const*, std::string>>{{"my layer", "my_layer"},
                                                        {"a | b*2", "a___b_2"},
                                                        {"two\tlines\r\n", "two_lines__"},
                                                        {"", "layer"},
                                                        {"block", "layer"}}) {
    auto net = block_net(4, {4, 8}, 16);
    auto spec = net.spec(0);
    spec.name = name;
    net.replace(0, spec);
    for (std::vector<int> const& limits : {std::vector{0, 1, net.size()}, {0, 8, net.size()}}) {
      auto const text = search::cut_text(net, limits);
      CAPTURE(text);
      CHECK(text.starts_with(word + " "));
      CHECK(search::parse_cut(net, text) == limits);
    }
  }
}

TEST_CASE("schedules by name") {
  using search::schedule_kind;
  CHECK(search::schedule_choices("zb_v") ==
        std::vector<search::schedule_choice>{{schedule_kind::zb_v, 2}});
  CHECK(search::schedule_choices("interleaved:3") ==
        std::vector<search::schedule_choice>{{schedule_kind::interleaved, 3}});
  CHECK(search::schedule_choices("interleaved", {2, 4}).size() == 2);
  for (char const* wrong : {"1f2b", "zb_v:2", "interleaved:1", "interleaved:1001",
                            "interleaved:", "interleaved:2x", ""})
    CHECK(has(message_of([&] { search::schedule_choices(wrong); }),
              "Choose one of 1f1b, eager, gpipe, searched, interleaved"));
  for (auto const& wrong : {std::vector{1, 2}, std::vector{2, 1, 3}, std::vector{2, 1001}})
    CHECK(has(message_of([&] { search::schedule_choices("interleaved", wrong); }),
              "interleaved may name its chunks, 2 to 1000, as in interleaved:4."));
  CHECK(search::name_of(pipelines::eager(4, 8)) == "eager");
  CHECK(search::name_of(pipelines::interleaved(4, 8, 2)) == "interleaved:2");
  CHECK(search::name_of(pipelines::dual_pipe_v(4, 8)) == "dual_pipe_v");
  CHECK(!search::name_of(pipelines::zb_h1(4, 8)));
  CHECK(search::warm_ups_of(pipelines::with_warm_ups(std::vector{4, 3, 1}, 8)) ==
        std::vector{4, 3, 1});
  CHECK(!search::warm_ups_of(pipelines::zb_h1(4, 8)));
  CHECK(search::schedule_text(pipelines::with_warm_ups(std::vector{4, 3, 1}, 8)) ==
        "1F1B with warm-ups of 4, 3, 1");
  CHECK(search::schedule_text(pipelines::zb_v(4, 8)) ==
        "split backward passes, 2 stages a part in a vee");
}

TEST_CASE("GPT-3 on 1,024 ranks in 80 GB takes less than under 1F1B with equal stages") {
  auto m = ashlar::machines::h200_server;
  m.memory = 80'000'000'000;
  auto const net_of = [](int batches) {
    namespace nn = ashlar::nn;
    auto net = any_length(nn::describe<ashlar::bfloat16>(
        nn::gpt({96, 12288, 96, 50257}), nn::token_batch{1024 / batches, 2048, batches}));
    net.accumulation_size = 4;
    return net;
  };
  auto const t = ashlar::parse_topology("node=128,gpu=8");
  auto const found = [&](search::pipeline_options const& how) {
    auto const p = search::pipeline(net_of, t, m, how);
    CHECK(p.chosen.memory <= m.memory);
    CHECK(p.lower_bound > 0.92 * p.seconds());
    return p.seconds();
  };
  double const plain = found({{16}, {128}});
  CHECK(plain < 5.71);
  double const cut = found({{16}, {128}, {"searched"}, {}, true});
  CHECK(cut < 0.97 * plain);
  CHECK(found({{16}, {128}, {"interleaved:2", "dual_pipe_v"}}) < 0.96 * cut);
}

}  // namespace
}  // namespace ashlar_test
