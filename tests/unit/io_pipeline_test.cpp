// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the output of pipeline plans. Such plans can be saved and loaded. Their text has at most
// 100 columns. Their HTML page draws one box for each pass and one line for each transfer. Each
// mistake in a file gives an error message that names the file.

#include <fstream>
#include <functional>
#include <sstream>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/relative.hpp>
#include <support/temporary_folder.hpp>

#include <ashlar/io/json/pipeline_file.hpp>
#include <ashlar/io/pipeline_page.hpp>
#include <ashlar/search/diff_pipeline.hpp>
#include <ashlar/search/pipeline.hpp>
#include <ashlar/sync/zero.hpp>

#include "search_nets.hpp"

namespace ashlar_test {
namespace {

using ashlar::parse_topology;
using ashlar::io::load_pipeline, ashlar::io::save_pipeline;
using nlohmann::json;

ashlar::machine const cluster{{2e-6, 1e-11}, {5e-6, 2e-10}, 1e10, 1e12, 0};

struct saved_pipeline {
  ashlar::topology mesh = parse_topology("node=4,gpu=2");
  search::problem net;
  search::pipeline_plan found;
  temporary_folder files;
  std::string path = files.file("pipeline.json");

  explicit saved_pipeline(int stages = 4) {
    auto const net_of = [](int m) {
      auto chain = block_net(4, {16 / m, 8}, 64);
      chain.micro_batches = m;
      return chain;
    };
    net = net_of(8);
    found = search::pipeline(net_of, mesh, cluster, {{stages}, {8}});
  }
  json saved() const {
    save_pipeline(path, net, found);
    std::ifstream in(path);
    return json::parse(in);
  }
  search::pipeline_plan load() const { return load_pipeline(path, net, mesh, cluster); }
};

using mistake_list = std::vector<std::pair<char const*, std::function<void(json&)>>>;

/// Returns `net` with every block as a segment, so that every block can be recomputed.
search::problem segmented(search::problem net) {
  auto const blocks = search::find_blocks(net);
  for (int b = 0; b < blocks.count; ++b)
    for (int i = 0; i < blocks.size; ++i) net[blocks.first + b * blocks.size + i].segment = b;
  net.segments = blocks.count;
  return net;
}

TEST_CASE("a pipeline that was saved and loaded is the same, priced again") {
  for (int const stages : {1, 2, 4}) {
    saved_pipeline const s(stages);
    auto const j = s.saved();
    CHECK(j.at("mesh") == "node=4,gpu=2");
    CHECK(j.at("stages").size() == static_cast<std::size_t>(stages));
    CHECK(j.contains("axis") == (stages > 1));
    auto const loaded = s.load();
    CHECK(loaded.chosen.choices == s.found.chosen.choices);
    CHECK(loaded.chosen.mesh == s.found.chosen.mesh);
    CHECK(loaded.chosen.input == s.found.chosen.input);
    CHECK(loaded.chosen.problem_hash == s.found.chosen.problem_hash);
    CHECK(loaded.micro_batches() == 8);
    CHECK(loaded.axis == s.found.axis);
    CHECK(whole_mesh(loaded) == s.mesh);
    CHECK(loaded.seconds() == relative(s.found.seconds()));
    CHECK(loaded.bubble == relative(s.found.bubble));
    CHECK(loaded.chosen.memory == s.found.chosen.memory);
    REQUIRE(loaded.stages.size() == s.found.stages.size());
    for (std::size_t k = 0; k < loaded.stages.size(); ++k) {
      CHECK(loaded.stages[k].first == s.found.stages[k].first);
      CHECK(loaded.stages[k].last == s.found.stages[k].last);
      CHECK(loaded.stages[k].sent == s.found.stages[k].sent);
    }
  }
}

TEST_CASE("each mistake in a pipeline file is one error that names the file") {
  saved_pipeline const s;
  auto const good = s.saved();
  mistake_list const mistakes{
      {"the format is \"ashlar plan\", but \"ashlar pipeline\" is needed",
       [](json& j) { j["format"] = "ashlar plan"; }},
      {"this program reads versions 1 to 7", [](json& j) { j["version"] = 8; }},
      {"lacks", [](json& j) { j["version"] = 2; }},
      {"\"recomputed\" is not a known key",
       [](json& j) {
         j["recomputed"] = {0, 0, 0, 0};
       }},
      {"\"bubble\" is not a known key", [](json& j) { j["bubble"] = 1; }},
      {"the mesh is node=4,gpu=2", [](json& j) { j["mesh"] = "node=2,gpu=4"; }},
      {"has no axis \"rack\"", [](json& j) { j["axis"] = "rack"; }},
      {"lacks", [](json& j) { j.erase("axis"); }},
      {"4 stages do not divide the 2 positions along gpu", [](json& j) { j["axis"] = "gpu"; }},
      {"the list is empty", [](json& j) { j["stages"] = json::array(); }},
      {"must be a list", [](json& j) { j["stages"] = 4; }},
      {"must be a whole number", [](json& j) { j["stages"][1] = 8.5; }},
      {"must begin at element 0", [](json& j) { j["stages"][0] = 1; }},
      {"must begin at element 0 and increase", [](json& j) { j["stages"][2] = j["stages"][1]; }},
      {"must begin at element 0 and increase", [](json& j) { j["stages"][3] = 1000; }},
      {"inside a residual: cut", [](json& j) { j["stages"][1] = 2; }},
      {"must be omitted for a single stage", [](json& j) { j["stages"] = {0}; }},
      {"but a step has 8", [](json& j) { j["micro_batches"] = 4; }},
      {"batches of 3x8",
       [](json& j) {
         j["input"] = {3, 8};
       }},
      {"another net", [](json& j) { j["elements"].erase(3); }},
      {"wrong number of axes", [](json& j) { j["elements"][2]["x"] = "B"; }}};
  for (auto const& mistake : mistakes) {
    std::string const says = mistake.first;
    auto j = good;
    mistake.second(j);
    std::ofstream(s.path) << j.dump();
    auto const said = message_of([&] { s.load(); });
    CAPTURE(says);
    CAPTURE(said);
    CHECK(has(said, "load_pipeline: "));
    CHECK(has(said, s.path));
    CHECK(has(said, says));
  }
  // load_plan expects a plan without stages. For a file with stages, the error message of load_plan
  // must explain the difference.
  std::ofstream(s.path) << good.dump();
  CHECK(has(message_of([&] { ashlar::io::load_plan(s.path, s.net, s.mesh, cluster); }),
            "this is a plan in pipeline stages: io::load_pipeline reads it"));
}

TEST_CASE("a file says how many segments each stage recomputes") {
  saved_pipeline s;
  s.net = segmented(s.net);
  std::vector<int> const again{1, 0, 1, 0};
  s.found = search::price_pipeline(s.net, s.found.chosen, limits_of(s.found), again, s.found.axis,
                                   8, cluster);
  auto const good = s.saved();
  CHECK(good.at("version") == 2);
  CHECK(good.at("recomputed") == json(again));
  auto const loaded = s.load();
  for (std::size_t k = 0; k < again.size(); ++k) {
    CHECK(loaded.stages[k].recomputed == again[k]);
    CHECK(loaded.stages[k].memory == s.found.stages[k].memory);
    CHECK(loaded.stages[k].seconds == relative(s.found.stages[k].seconds));
  }
  CHECK(loaded.chosen.recomputed == 2);
  for (auto const& [says, recomputed] :
       {std::pair{"one number for each of the 4 stages", json{1, 0, 1}},
        std::pair{"one number for each of the 4 stages", json(1)},
        std::pair{"2 segments of stage 2, but only 1 can be recomputed", json{1, 0, 2, 0}},
        std::pair{"-1 segments of stage 0", json{-1, 0, 0, 0}},
        std::pair{"must be a whole number", json{1, 0, 0.5, 0}}}) {
    auto j = good;
    j["recomputed"] = recomputed;
    std::ofstream(s.path) << j.dump();
    auto const said = message_of([&] { s.load(); });
    CAPTURE(said);
    CHECK(has(said, says));
  }
  auto const page = ashlar::io::pipeline_page_text(s.net, s.found, cluster);
  CHECK(has(page, "recomputed segments: "));
  CHECK(has(page, "1 of 1 in stage 2"));
  auto const text = search::explain(s.net, s.found, cluster).text;
  CAPTURE(text);
  CHECK(has(text, "; 1 of 1 in stage 0\n    1 of 1 in stage 2\n"));
  CHECK(has(text, "\n  1         "));  // stages 1 and 2 have their own lines, as only 2 recomputes
}

TEST_CASE("a file has the schedule and the cuts of its plan") {
  saved_pipeline s(2);
  auto const& c = s.found.chosen;
  int const end = s.net.size();
  std::vector<int> const uneven{0, 8, end}, twice{0, 1, 8, 22, end};
  namespace pipelines = ashlar::pipelines;
  auto const priced = [&](std::vector<int> const& limits, pipelines::schedule const& order) {
    return search::price_pipeline(s.net, c, limits, std::vector<int>(limits.size() - 1),
                                  s.found.axis, 8, cluster, order);
  };
  using depths = std::vector<int>;
  for (auto const& [plan, key, value] :
       {std::tuple{priced(uneven, pipelines::with_warm_ups(depths{7, 2}, 8)), "warm_ups",
                   json{7, 2}},
        std::tuple{priced(uneven, pipelines::gpipe(2, 8)), "schedule", json("gpipe")},
        std::tuple{priced(twice, pipelines::interleaved(2, 8, 2)), "schedule",
                   json("interleaved:2")},
        std::tuple{priced(uneven, pipelines::zb_h1(2, 8)), "schedule", json()},
        std::tuple{priced(twice, pipelines::zb_v(2, 8)), "schedule", json()}}) {
    s.found = plan;
    auto const j = s.saved();
    CHECK(j.at("version") == 3);
    if (value.is_null()) CHECK(j.at(key).size() >= 2);
    else CHECK(j.at(key) == value);
    CHECK(!j.contains("stages"));
    auto const loaded = s.load();
    CHECK(loaded.order == plan.order);
    CHECK(limits_of(loaded) == limits_of(plan));
    CHECK(whole_mesh(loaded) == s.mesh);
    CHECK(loaded.seconds() == relative(plan.seconds()));
    CHECK(loaded.chosen.memory == plan.chosen.memory);
    // The page draws each pass, and each transfer to another part of the mesh.
    auto const page = ashlar::io::pipeline_page_text(s.net, plan, cluster);
    int const stages = static_cast<int>(plan.stages.size());
    CHECK(occurrences(page, "<rect class='fw") == stages * 8);
    bool const split = value.is_null();
    CHECK(occurrences(page, "<rect class='wt") == (split ? stages * 8 : 0));
    int crossings = 0;
    for (int k = 1; k < stages; ++k)
      crossings += plan.order.position_of(k) != plan.order.position_of(k - 1);
    CHECK(occurrences(page, "<line class='tr'") == 2 * 8 * crossings);
    auto const text = search::explain(s.net, plan, cluster).text;
    CAPTURE(text);
    CHECK(has(text, search::schedule_text(plan.order)));
    CHECK(has(text, "without transfers between stages it would wait"));
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 100);
  }
  s.found = priced(uneven, pipelines::zb_h1(2, 8));
  auto const good = s.saved();
  CHECK(good.at("cuts") == "embedding block | block*3 cross_entropy");
  mistake_list const mistakes{
      {"the net has no more elements",
       [](json& j) { j["cuts"] = "embedding block*4 cross_entropy block"; }},
      {"does not fit: the net has block", [](json& j) { j["cuts"] = "embedding | head"; }},
      {"either \"schedule\" or \"warm_ups\"",
       [](json& j) {
         j["warm_ups"] = {2, 1};
       }},
      {"either \"schedule\" or \"warm_ups\"", [](json& j) { j.erase("schedule"); }},
      {"wait for each other in a circle",
       [](json& j) {
         j.erase("schedule");
         j["warm_ups"] = {1, 2};
       }},
      {"0 is not a number of forward passes",
       [](json& j) {
         j.erase("schedule");
         j["warm_ups"] = {1, 0};
       }},
      {"it is of 3 stages and 8 micro-batches, not of 2 and 8",
       [](json& j) {
         j.erase("schedule");
         j["warm_ups"] = {1, 1, 1};
       }},
      {"there is no schedule \"fast\"", [](json& j) { j["schedule"] = "fast"; }},
      {"names no order of passes", [](json& j) { j["schedule"] = "zb_h1"; }},
      {"of 2 stages and 8 micro-batches", [](json& j) { j["schedule"] = "interleaved:3"; }},
      {"expected the passes of position 0", [](json& j) { j["schedule"] = {"F0 B0"}; }},
      {"\"stages\" is not a known key", [](json& j) {
         j["stages"] = {0, 8};
       }}};
  for (auto const& [says, change] : mistakes) {
    auto j = good;
    change(j);
    std::ofstream(s.path) << j.dump();
    auto const said = message_of([&] { s.load(); });
    std::string const wanted = says;
    CAPTURE(wanted);
    CAPTURE(said);
    CHECK(has(said, says));
    CHECK(has(said, s.path));
  }
}

TEST_CASE("a pipeline on one part of the mesh has no axis, and a schedule that can be read") {
  namespace pipelines = ashlar::pipelines;
  saved_pipeline s(1);
  auto const chosen = s.found.chosen;
  int const end = s.net.size();
  for (auto const& cut : {std::pair{std::vector{0, end}, pipelines::gpipe(1, 8)},
                          std::pair{std::vector{0, end}, pipelines::one_f_one_b(1, 8)},
                          std::pair{std::vector{0, 8, end}, pipelines::interleaved(1, 8, 2)},
                          std::pair{std::vector{0, 8, end}, pipelines::zb_v(1, 8)}})
    for (int const axis : {-1, 0}) {
      auto const& limits = cut.first;
      auto const& order = cut.second;
      CAPTURE(to_string(order));
      CAPTURE(axis);
      s.found = search::price_pipeline(s.net, chosen, limits, std::vector<int>(limits.size() - 1),
                                       axis, 8, cluster, order);
      auto const j = s.saved();
      CHECK(j.at("version") == 3);
      CHECK(!j.contains("axis"));
      auto const loaded = s.load();
      CHECK(loaded.order == order);
      CHECK(loaded.axis == -1);
      CHECK(limits_of(loaded) == limits);
      CHECK(whole_mesh(loaded) == s.mesh);
      CHECK(loaded.seconds() == relative(s.found.seconds()));
      auto const stages = limits.size() - 1;
      CHECK(search::detail::layout_of_stages(loaded) ==
            (stages == 1 ? "1 stage" : "2 stages on one part"));
      auto const layout = search::detail::layout_text(loaded);
      CHECK(has(layout, stages == 1 ? "one stage on node=4" : "2 stages on one part of node=4"));
    }
}

TEST_CASE("a file has the placements at which parameters are updated apart from their storage") {
  namespace pipelines = ashlar::pipelines;
  for (bool const own_order : {false, true})
    for (int const recomputed : {0, 1}) {
      CAPTURE(own_order);
      CAPTURE(recomputed);
      saved_pipeline s(2);
      s.net = segmented(s.net);
      auto chosen = s.found.chosen;
      chosen.problem_hash = search::hash(s.net);
      chosen = ashlar::sync::zero<1>{}(s.net, chosen, cluster);
      s.found = search::price_pipeline(s.net, chosen, limits_of(s.found), {recomputed, 0},
                                       s.found.axis, 8, cluster,
                                       own_order ? pipelines::gpipe(2, 8) : pipelines::schedule{});
      auto const good = s.saved();
      CHECK(good.at("version") == 4);
      CHECK(good.contains("stages") == !own_order);
      auto const loaded = s.load();
      CHECK(loaded.chosen.choices == chosen.choices);
      CHECK(schedule_of(loaded) == schedule_of(s.found));
      CHECK(loaded.seconds() == relative(s.found.seconds()));
      CHECK(loaded.chosen.memory == s.found.chosen.memory);
      if (own_order) continue;
      auto both = good;
      both["cuts"] = "embedding block | block*3 cross_entropy";
      std::ofstream(s.path) << both.dump();
      CHECK(has(message_of([&] { s.load(); }), "\"cuts\" is not a known key"));
    }
}

TEST_CASE("explain describes a pipeline") {
  saved_pipeline const s;
  auto const text = search::explain(s.net, s.found, cluster).text;
  CAPTURE(text);
  CHECK(has(text, "pipeline for node=4,gpu=2 (8 ranks): "));
  CHECK(has(text, "a step of 8 micro-batches, "));
  CHECK(has(text, "4 stages along node, each on node=1,gpu=2 (2 ranks), 1F1B"));
  CHECK(has(text, "\n  1 to 2  "));  // the inner stages are equal and share a line
  CHECK(has(text, "layer_norm"));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    CHECK(line.size() <= 100);
  }
}

TEST_CASE("the page of a pipeline draws every pass once") {
  saved_pipeline const s;
  auto const text = ashlar::io::pipeline_page_text(s.net, s.found, cluster);
  CHECK(occurrences(text, "<rect class='fw'") == 4 * 8);
  CHECK(occurrences(text, "<rect class='bw'") == 4 * 8);
  CHECK(occurrences(text, "<svg") == occurrences(text, "</svg>"));
  CHECK(has(text, "</html>"));
  CHECK(!has(text, "nan"));
  // If a step has many micro-batches or stages, the chart shows only as many boxes as a reader can
  // distinguish.
  auto many = s.found;
  many.chosen.micro_batches = 1000;
  auto const chart = ashlar::io::page::pipeline_svg(many);
  CHECK(occurrences(chart, "<rect class='fw'") == 4 * 20);
  many.stages.resize(200, many.stages[1]);
  CHECK(occurrences(ashlar::io::page::pipeline_svg(many), "<rect") < 2000);
}

TEST_CASE("the page and the text of a pipeline show skips between stages") {
  search::problem net;
  net.micro_batches = 4;
  shape const x{4, 8};
  net.add(linear_spec(x, 8));
  auto const joined = add_skip(net, x, [&](search::problem& p) {
    for (int k = 0; k < 3; ++k) p.add(linear_spec(x, 8));
    return x;
  });
  net.add(linear_spec(joined, 8));
  net.add(cross_entropy_spec(x));
  auto const whole = parse_topology("node=3");
  auto const chosen = search::optimal(net, search::stage_mesh(whole, 0, 3), cluster);
  auto const p = search::price_pipeline(net, chosen, {0, 2, 4, net.size()}, {0, 0, 0}, 0, 4,
                                        cluster);
  REQUIRE(p.skips.size() == 1);
  auto const text = search::explain(net, p, cluster).text;
  CAPTURE(text);
  CHECK(has(text, "\n  skip           stages      sends  sends back\n  1 to 5         0 to 2"));
  auto const page = ashlar::io::pipeline_page_text(net, p, cluster);
  // There are two cuts, two directions and four micro-batches.
  CHECK(occurrences(page, "<line class='tr'") == 2 * 2 * 4);
  CHECK(occurrences(page, "<line class='tr sp'") == 2 * 4);
  CHECK(has(page, "input of the skip from stage 0 to 2 of 3 sent"));
  CHECK(has(page, "gradient of the skip from stage 0 to 2 of 3 sent"));
  CHECK(has(page, "<tr><td>1 to 5<td>0 to 2<td>"));
  CHECK(has(page, "in a second line that of skips"));
  auto const plain = price_pipeline(net, chosen, {0, 1, 6, net.size()}, {0, 0, 0}, 0, 4, cluster);
  CHECK(!has(ashlar::io::pipeline_page_text(net, plain, cluster), "skips"));
  CHECK(!has(search::explain(net, plain, cluster).text, "sends back"));
}

}  // namespace
}  // namespace ashlar_test
