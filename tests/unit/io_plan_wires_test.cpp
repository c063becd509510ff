// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// A wire is the format in which ranks send each other a gradient (plan/wire.hpp). Tests that plan
// files, pipeline files and headers keep the wires of gradients, and that a file with a wrong wire
// gives an error message that says what is wrong. Also tests that files and headers keep the number
// of plain steps, the first steps of a training, in which gradients are not encoded.

#include <fstream>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/temporary_folder.hpp>

#include <ashlar/io/json/pipeline_file.hpp>
#include <ashlar/io/plan_header.hpp>
#include <ashlar/nn/chain.hpp>
#include <ashlar/nn/describe.hpp>
#include <ashlar/nn/embedding.hpp>
#include <ashlar/nn/linear.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/search/price_pipeline.hpp>
#include <ashlar/sync/encoded.hpp>
#include <ashlar/sync/rows.hpp>

#include "search_nets.hpp"

namespace ashlar_test {
namespace {

namespace io = ashlar::io;
namespace wires = ashlar::wires;
using nlohmann::json;

struct wired_plan {
  search::problem net = block_net(2, {4, 6}, 8);
  ashlar::topology mesh = ashlar::parse_topology("gpu=2");
  ashlar::machine machine = ashlar::machines::gpu_cluster;
  search::plan plain = search::data_parallel(net, mesh, machine);

  search::plan encoded(ashlar::wire_format const& wire) const {
    return ashlar::sync::encoded{wire}(net, plain, machine);
  }
};

/// Returns the first parameter with a wire in a plan file. Returns the whole file if no parameter
/// has one.
json& wired_parameter(json& file) {
  for (auto& element : file["elements"])
    if (element.contains("parameters"))
      for (auto& p : element["parameters"])
        if (p.contains("wire")) return p;
  return file;
}

}  // namespace

TEST_CASE("the wires of gradients are kept in plan files, in version 6") {
  temporary_folder const f;
  wired_plan const s;
  auto const path = f.file("plan.json");
  auto const load = [&](json const& j) {
    std::ofstream(path) << j;
    return io::load_plan(path, s.net, s.mesh, s.machine);
  };
  auto const read = [&] { return json::parse(std::ifstream(path)); };
  for (auto const& wire : {wires::bf16, wires::with_feedback(wires::int8), wires::top_k(100),
                           wires::with_feedback(wires::power_sgd(2))}) {
    auto const plan = s.encoded(wire);
    io::save_plan(path, s.net, plan);
    auto j = read();
    CHECK(j["version"] == 6);
    CHECK(wired_parameter(j)["wire"] == to_string(wire));
    auto const loaded = load(j);
    CHECK(loaded.choices == plan.choices);
    CHECK(loaded.memory == plan.memory);
    CHECK(loaded.seconds == plan.seconds);
    CHECK(fingerprint(loaded) == fingerprint(plan));
    j["version"] = 5;
    CHECK(has(message_of([&] { load(j); }), "\"wire\" is not a known key"));
  }
  auto j = read();
  j["version"] = 6;
  for (auto const* bad : {"int9", "top-k/0", "power-sgd/", "exact+feedback", ""}) {
    wired_parameter(j)["wire"] = bad;
    CHECK(has(message_of([&] { load(j); }),
              "wire: there is no wire \"" + std::string(bad) + "\". Wires are exact, bf16"));
  }
  wired_parameter(j)["wire"] = 8;
  CHECK(has(message_of([&] { load(j); }), "plan.json"));
  wired_parameter(j)["wire"] = "power-sgd/20";
  CHECK(has(message_of([&] { load(j); }), "wire: the rank of power-sgd is above"));
  wired_parameter(j)["wire"] = "int8";
  auto doubles = s.net;
  doubles.element_size = doubles.accumulation_size = 8;
  CHECK(has(message_of([&] {
              std::ofstream(path) << j;
              io::load_plan(path, doubles, s.mesh, s.machine);
            }),
            "wire: a wire carries gradients of float only"));
  io::save_plan(path, s.net, s.plain);
  CHECK(read()["version"] == 1);
}

TEST_CASE("a plan with gradients in rows and others with wires is kept in files and headers") {
  temporary_folder const f;
  namespace nn = ashlar::nn;
  auto const path = f.file("plan.json");
  auto const net = any_length(nn::describe<float>(
      nn::chain(nn::embedding(64, 16), nn::linear(16, 64)), nn::token_batch{8, 4}));
  ashlar::topology const mesh{{"gpu", 2}};
  auto const& machine = ashlar::machines::workstation;
  auto const plain = search::data_parallel(net, mesh, machine);
  CHECK(!has(io::plan_header_text(net, plain, "p"), "[, "));
  auto const rows = ashlar::sync::rows{}(net, plain, machine);
  CHECK(has(io::plan_header_text(net, rows, "p"), "store[, update, in rows]}"));
  auto const plan = ashlar::sync::encoded{wires::bf16}(net, rows, machine);
  REQUIRE(has_rows(plan));
  REQUIRE(has_wires(plan));
  CHECK(has(io::plan_header_text(net, plan, "p"), "store[, update, in rows, wire]}"));
  io::save_plan(path, net, plan);
  auto j = json::parse(std::ifstream(path));
  CHECK(j["version"] == 6);
  auto const load = [&] { return io::load_plan(path, net, mesh, machine); };
  auto const loaded = load();
  CHECK(loaded.choices == plan.choices);
  CHECK(loaded.memory == plan.memory);
  CHECK(loaded.seconds == plan.seconds);
  auto const staged = [&](search::plan const& chosen) {
    auto const p = search::price_pipeline(net, chosen, {0, net.size()}, {0}, -1, net.micro_batches,
                                          machine);
    return message_of([&] { io::save_pipeline(path, net, p); });
  };
  CHECK(has(staged(plan), "save_pipeline: gradients in rows are not for pipeline stages."));
  auto stale = plain;
  stale.staleness = 1;
  CHECK(has(staged(stale), "save_pipeline: stale parameters are not for pipeline stages."));
  j["elements"][0]["parameters"][0]["wire"] = "bf16";
  std::ofstream(path) << j;
  CHECK(has(message_of(load), "rows: a gradient in rows is not encoded"));
}

TEST_CASE("the wires of gradients are kept in pipeline files, in version 5") {
  temporary_folder const f;
  wired_plan const s;
  auto const path = f.file("pipeline.json");
  auto const whole = ashlar::parse_topology("gpu=4");
  auto const plan = search::price_pipeline(s.net, s.encoded(wires::half), {0, 8, s.net.size()},
                                           {0, 0}, 0, s.net.micro_batches, s.machine);
  io::save_pipeline(path, s.net, plan);
  CHECK(json::parse(std::ifstream(path))["version"] == 5);
  auto const loaded = io::load_pipeline(path, s.net, whole, s.machine);
  CHECK(loaded.chosen.choices == plan.chosen.choices);
  CHECK(has_wires(loaded.chosen));
}

TEST_CASE("plain steps are kept in plan files, pipeline files and headers") {
  temporary_folder const f;
  wired_plan const s;
  ashlar::sync::encoded const by{.wire = wires::with_momentum(wires::one_bit), .plain_steps = 30};
  auto const plan = by(s.net, s.plain, s.machine),
             never = s.encoded(wires::with_feedback(wires::one_bit));
  REQUIRE(has_wires(plan));
  CHECK(plan.seconds > never.seconds);  // with momentum, a step also averages gradients
  CHECK(plan.memory > never.memory);    // with momentum, ranks also keep these averages
  CHECK(fingerprint(plan) != fingerprint(never));
  auto const path = f.file("plan.json");
  io::save_plan(path, s.net, plan);
  auto j = json::parse(std::ifstream(path));
  CHECK(j["version"] == 8);
  CHECK(j["plain_steps"] == 30);
  auto const loaded = io::load_plan(path, s.net, s.mesh, s.machine);
  CHECK(loaded.plain_steps == 30);
  CHECK(loaded.choices == plan.choices);
  CHECK(loaded.memory == plan.memory);
  CHECK(fingerprint(loaded) == fingerprint(plan));
  auto const text_of = [&](auto const& change) {
    auto changed = j;
    change(changed);
    std::ofstream(path) << changed;
    return message_of([&] { io::load_plan(path, s.net, s.mesh, s.machine); });
  };
  CHECK(has(text_of([](json& it) { it["plain_steps"] = -1; }),
            "plain_steps: -1: write the number of steps, 0 or more."));
  CHECK(has(text_of([](json& it) { it["plain_steps"] = "30"; }), "plain_steps"));
  CHECK(has(text_of([](json& it) { it["version"] = 7; }), "\"plain_steps\" is not a known key"));
  CHECK(has(io::plan_header_text(s.net, plan, "p"), "plan.plain_steps = 30;"));
  CHECK(has(io::plan_header_text(s.net, plan, "p"), "wires::with_momentum(wires::one_bit)"));
  CHECK(!has(io::plan_header_text(s.net, never, "p"), "plain_steps"));
  CHECK(has(message_of([&] {
              ashlar::sync::encoded{.wire = by.wire, .plain_steps = -1}(s.net, s.plain, s.machine);
            }),
            "sync::encoded: plain_steps is below 0. Write 0 or more."));

  auto const whole = ashlar::parse_topology("gpu=4");
  auto const staged = search::price_pipeline(s.net, plan, {0, 8, s.net.size()}, {0, 0}, 0,
                                             s.net.micro_batches, s.machine);
  CHECK(staged.chosen.plain_steps == 30);
  io::save_pipeline(path, s.net, staged);
  auto stages = json::parse(std::ifstream(path));
  CHECK(stages["version"] == 6);
  CHECK(io::load_pipeline(path, s.net, whole, s.machine).chosen.plain_steps == 30);
  stages["version"] = 5;
  std::ofstream(path) << stages;
  CHECK(has(message_of([&] { io::load_pipeline(path, s.net, whole, s.machine); }),
            "\"plain_steps\" is not a known key"));
}

TEST_CASE("headers of plans have the wires of gradients as expressions") {
  wired_plan const s;
  auto const text = [&](ashlar::wire_format const& wire) {
    return io::plan_header_text(s.net, s.encoded(wire), "p");
  };
  CHECK(has(text(wires::one_bit), ", {}, false, wires::one_bit}"));
  CHECK(has(text(wires::with_feedback(wires::top_k(8))),
            ", {}, false, wires::with_feedback(wires::top_k(8))}"));
  CHECK(has(text(wires::power_sgd(2)), ", {}, false, wires::power_sgd(2)}"));
  CHECK(!has(io::plan_header_text(s.net, s.plain, "p"), "wires::"));
}

}  // namespace ashlar_test
