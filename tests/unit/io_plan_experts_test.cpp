// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Plan files and pipeline files contain the imbalance of experts for which their plans were made.
// Tests that files keep this number, that loading a file for a net with another imbalance is
// refused, and that files of older versions, which do not contain the number, are accepted for
// every net.

#include <fstream>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/temporary_folder.hpp>

#include <ashlar/io/json/pipeline_file.hpp>
#include <ashlar/machine/presets.hpp>
#include <ashlar/mesh/text.hpp>
#include <ashlar/nn/describe.hpp>
#include <ashlar/nn/moe.hpp>
#include <ashlar/search/baselines.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;
namespace search = ashlar::search;
namespace io = ashlar::io;
using nlohmann::json;

auto const experts_mesh = ashlar::parse_topology("gpu=2");
constexpr auto const& experts_cluster = ashlar::machines::gpu_cluster;

search::problem net_with_imbalance(double imbalance) {
  return search::any_length(
      nn::describe(nn::moe_gpt({2, 8, 2, 16}, {.experts = 4, .hidden = 12, .imbalance = imbalance}),
                   nn::token_batch{4, 6, 2}));
}

json content_of(std::string const& path) { return json::parse(std::ifstream(path)); }

json& router_of(json& file) {
  for (auto& element : file["elements"])
    if (element["name"] == "dispatch") return element;
  return file;
}

}  // namespace

TEST_CASE("the imbalance of experts is kept in plan files, in version 9") {
  temporary_folder const f;
  auto const path = f.file("plan.json");
  auto const net = net_with_imbalance(1.2), even = net_with_imbalance(1);
  auto const plan = search::expert_parallel(net, experts_mesh, experts_cluster);
  auto const load = [&](search::problem const& for_net) {
    return io::load_plan(path, for_net, experts_mesh, experts_cluster);
  };
  io::save_plan(path, net, plan);
  auto const good = content_of(path);
  auto const text_of = [&](auto const& change) {
    auto j = good;
    change(j);
    std::ofstream(path) << j;
    return message_of([&] { load(net); });
  };
  CHECK(good["version"] == 9);
  CHECK(good["elements"].dump().find("\"imbalance\":1.2") != std::string::npos);
  auto const loaded = load(net);
  CHECK(loaded.choices == plan.choices);
  CHECK(loaded.seconds == plan.seconds);
  CHECK(loaded.memory == plan.memory);
  CHECK(fingerprint(loaded) == fingerprint(plan));
  CHECK(has(message_of([&] { load(even); }),
            "(dispatch): imbalance: the plan is for 1.2, but the net has 1.0. Set "
            "moe_options::imbalance, which plan and train_gpt take as --imbalance, to 1.2, or "
            "search again for this net."));
  for (double const wrong : {0.5, -1.0, 0.0, 1000.5})
    CHECK(has(text_of([&](json& j) { router_of(j)["imbalance"] = wrong; }),
              "imbalance: " + json(wrong).dump() +
                  " is not the number of tokens of the fullest rank over the mean. Write a number "
                  "from 1 to 1000."));
  CHECK(has(text_of([](json& j) { router_of(j)["imbalance"] = "much"; }), "wrong type"));
  CHECK(has(text_of([](json& j) { router_of(j).erase("imbalance"); }), "lacks an entry"));
  CHECK(has(text_of([](json& j) { j["elements"][0]["imbalance"] = 1.2; }),
            "\"imbalance\" is not a known key"));
  CHECK(has(text_of([](json& j) { j["version"] = 8; }), "\"imbalance\" is not a known key"));

  io::save_plan(path, even, search::expert_parallel(even, experts_mesh, experts_cluster));
  CHECK(content_of(path)["version"] == 9);
  CHECK(has(message_of([&] { load(net); }), "the plan is for 1.0, but the net has 1.2."));
}

TEST_CASE("plan files of earlier versions are for any imbalance of experts") {
  temporary_folder const f;
  auto const path = f.file("plan.json");
  auto const net = net_with_imbalance(1.2);
  auto const plan = search::expert_parallel(net, experts_mesh, experts_cluster);
  io::save_plan(path, net, plan);
  auto j = content_of(path);
  for (auto& element : j["elements"]) element.erase("imbalance");
  j["version"] = 4;
  std::ofstream(path) << j;
  auto const loaded = io::load_plan(path, net, experts_mesh, experts_cluster);
  CHECK(loaded.choices == plan.choices);
  CHECK(loaded.seconds == plan.seconds);
}

TEST_CASE("nets without experts have the versions of before") {
  temporary_folder const f;
  auto const path = f.file("plan.json");
  auto const net = search::any_length(nn::describe(nn::linear(6, 8), ashlar::shape{4, 6}, 1));
  auto const plan = search::data_parallel(net, experts_mesh, experts_cluster);
  io::save_plan(path, net, plan);
  CHECK(content_of(path)["version"] == 1);
}

TEST_CASE("the imbalance of experts is kept in pipeline files, in version 7") {
  temporary_folder const f;
  auto const path = f.file("pipeline.json");
  auto const net = net_with_imbalance(1.2);
  auto const whole = ashlar::parse_topology("stage=2,gpu=2");
  auto const plan = search::price_pipeline(
      net, search::expert_parallel(net, ashlar::parse_topology("stage=1,gpu=2"), experts_cluster),
      {0, 1, net.size()}, {0, 0}, 0, net.micro_batches, experts_cluster);
  io::save_pipeline(path, net, plan);
  CHECK(content_of(path)["version"] == 7);
  CHECK(io::load_pipeline(path, net, whole, experts_cluster).chosen.choices == plan.chosen.choices);
  CHECK(has(
      message_of([&] { io::load_pipeline(path, net_with_imbalance(2), whole, experts_cluster); }),
      "imbalance: the plan is for 1.2, but the net has 2.0."));
  auto j = content_of(path);
  j["version"] = 6;
  std::ofstream(path) << j;
  CHECK(has(message_of([&] { io::load_pipeline(path, net, whole, experts_cluster); }),
            "\"imbalance\" is not a known key"));
}

TEST_CASE("plans for experts of different imbalances have different fingerprints") {
  auto const of = [](double imbalance) {
    auto const net = net_with_imbalance(imbalance);
    return fingerprint(search::data_parallel(net, experts_mesh, experts_cluster));
  };
  CHECK(of(1.2) == of(1.2));
  CHECK(of(1.2) != of(1));
  CHECK(of(1.2) != of(1.3));
}

}  // namespace ashlar_test
