// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests that plans and machines can be saved and loaded, and that each error in a file gives a
// message that names the file.

#include <fstream>
#include <functional>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/relative.hpp>
#include <support/temporary_folder.hpp>

#include <ashlar/io/json/machine_file.hpp>
#include <ashlar/io/json/plan_file.hpp>
#include <ashlar/io/plan_header.hpp>
#include <ashlar/search/optimal.hpp>

#include "search_nets.hpp"

namespace ashlar_test {
namespace {

using ashlar::parse_topology;
using ashlar::io::load_machine, ashlar::io::load_plan, ashlar::io::save_machine,
    ashlar::io::save_plan;
using nlohmann::json;

void write(std::string const& path, std::string const& text) { std::ofstream(path) << text; }

struct saved_plan {
  search::problem net = block_net(2, {4, 6}, 8);
  ashlar::topology mesh = parse_topology("node=2,gpu=3");
  ashlar::machine machine = ashlar::machines::gpu_cluster;
  search::plan plan = optimal(net, mesh, machine);
};

TEST_CASE("a plan that was saved and loaded is the same plan, priced again") {
  temporary_folder const f;
  saved_plan const s;
  auto const path = f.file("plan.json");
  save_plan(path, s.net, s.plan);
  auto const loaded = load_plan(path, s.net, s.mesh, s.machine);
  CHECK(loaded.choices == s.plan.choices);
  CHECK(loaded.mesh == s.mesh);
  CHECK(loaded.input == s.plan.input);
  CHECK(loaded.memory == s.plan.memory);
  CHECK(loaded.micro_batches == s.plan.micro_batches);
  CHECK(loaded.problem_hash == s.plan.problem_hash);
  CHECK(loaded.gap == 1);
  CHECK(loaded.seconds == relative(s.plan.seconds));
  CHECK(loaded.communication_seconds == relative(s.plan.communication_seconds));
  auto slow = s.machine;
  slow.flops /= 1000;
  CHECK(load_plan(path, s.net, s.mesh, slow).seconds > loaded.seconds);
}

TEST_CASE("orders of shards survive, and every choice of every layer does") {
  temporary_folder const f;
  auto const mesh = parse_topology("a=2,b=3");
  auto const path = f.file("plan.json");
  for (auto const& spec : {linear_spec({4, 6}, 5), dropout_spec({4, 6}), cross_entropy_spec({4, 6}),
                           embedding_spec({4, 6}, 5, 3)}) {
    search::problem net;
    net.add(spec);
    for (auto const& c : search::layer_choices(spec, mesh)) {
      search::plan plan;
      plan.mesh = mesh;
      plan.choices.push_back(c);
      predict(plan, net, {});
      save_plan(path, net, plan);
      CHECK(load_plan(path, net, mesh, {}).choices == plan.choices);
    }
  }
}

TEST_CASE("the number of recomputed segments is kept, in version 2") {
  temporary_folder const f;
  saved_plan s;
  auto const path = f.file("plan.json");
  save_plan(path, s.net, s.plan);
  CHECK(json::parse(text_of_file(path)).at("version") == 1);
  for (int i = 1; i < s.net.size(); ++i) {
    s.net[i].segment = s.net.segments++;
    if (s.net[i].kind == search::element_kind::residual_begin)
      for (int const end = s.net[i].partner; i < end; ++i)
        s.net[i + 1].segment = s.net.segments - 1;
  }
  s.plan.recomputed = 2;
  predict(s.plan, s.net, s.machine);
  save_plan(path, s.net, s.plan);
  auto j = json::parse(text_of_file(path));
  CHECK(j.at("version") == 2);
  auto const loaded = load_plan(path, s.net, s.mesh, s.machine);
  CHECK(loaded.recomputed == 2);
  CHECK(loaded.memory == s.plan.memory);
  CHECK(loaded.seconds == s.plan.seconds);
  CHECK(fingerprint(loaded) == fingerprint(s.plan));
  auto other = s.plan;
  ++other.micro_batches;
  CHECK(fingerprint(other) != fingerprint(s.plan));
  j["recomputed"] = s.net.segments + 1;
  write(path, j.dump());
  CHECK(has(message_of([&] { load_plan(path, s.net, s.mesh, s.machine); }), "recomputed: "));
}

TEST_CASE("where parameters are updated is kept, in version 4") {
  temporary_folder const f;
  saved_plan s;
  auto const path = f.file("plan.json");
  auto const there = fingerprint(s.plan);
  std::size_t e = 0;  // the first element with parameters
  while (s.plan.choices[e].parameters.empty()) ++e;
  auto& weight = s.plan.choices[e].parameters[0];
  auto const whole = ashlar::placement::all_broadcast(s.mesh.axes());
  weight.store = whole;
  weight.set_update(whole.with_split(0, 0));
  predict(s.plan, s.net, s.machine);
  CHECK(fingerprint(s.plan) != there);
  save_plan(path, s.net, s.plan);
  auto const good = json::parse(text_of_file(path));
  CHECK(good.at("version") == 4);
  auto const load = [&](json const& j) {
    write(path, j.dump());
    return load_plan(path, s.net, s.mesh, s.machine);
  };
  auto const loaded = load(good);
  CHECK(loaded.choices == s.plan.choices);
  CHECK(loaded.memory == s.plan.memory);
  CHECK(loaded.seconds == s.plan.seconds);
  CHECK(fingerprint(loaded) == fingerprint(s.plan));
  auto const with_update = [&](char const* at) {
    auto j = good;
    j["elements"][e]["parameters"][0]["update"] = at;
    return j;
  };
  CHECK(fingerprint(load(with_update("[O(0),B]"))) != fingerprint(load(with_update("[O(1),B]"))));
  auto const store = good["elements"][e]["parameters"][0]["store"].get<std::string>();
  CHECK_FALSE(load(with_update(store.c_str())).choices[e].parameters[0].is_updated_apart());
  for (auto const& [where, says] :
       {std::pair{"[P,B]", "update: a parameter cannot be updated where its gradient is partial"},
        std::pair{"[O(7),B]", "an owner that the axis does not have"},
        std::pair{"[S(4),B]", "update: "}, std::pair{"[B]", "update: "}}) {
    auto const said = message_of([&, at = where] { load(with_update(at)); });
    CHECK_MESSAGE(has(said, says), said);
  }
  auto old = good;
  old["version"] = 3;
  CHECK(has(message_of([&] { load(old); }), "update"));
  old["elements"][e]["parameters"][0].erase("update");
  CHECK_FALSE(load(old).choices[e].parameters[0].is_updated_apart());
  CHECK(has(ashlar::io::plan_header_text(s.net, s.plan, "plan"), "{use, grad, store[, update]}"));
}

TEST_CASE("the number of micro-batches that take turns is kept, in version 3") {
  temporary_folder const f;
  saved_plan s;
  auto const path = f.file("plan.json");
  s.net.micro_batches = 4;
  predict(s.plan, s.net, s.machine);
  auto const one = s.plan;
  save_plan(path, s.net, s.plan);
  CHECK(json::parse(text_of_file(path)).at("version") == 1);
  CHECK(ashlar::io::load_plan_head(path).interleaved == 1);
  s.net.interleaved = 3;
  predict(s.plan, s.net, s.machine);
  CHECK(s.plan.interleaved == 3);
  CHECK(fingerprint(s.plan) != fingerprint(one));
  CHECK(message_of([&] { load_plan(path, s.net, s.mesh, s.machine); })
            .find("interleaved: 1 micro-batches take turns in the plan, but 3 in the problem. Set "
                  "problem::interleaved to 1.") != std::string::npos);
  save_plan(path, s.net, s.plan);
  auto j = json::parse(text_of_file(path));
  CHECK(j.at("version") == 3);
  CHECK(ashlar::io::load_plan_head(path).interleaved == 3);
  auto const loaded = load_plan(path, s.net, s.mesh, s.machine);
  CHECK(loaded.interleaved == 3);
  CHECK(loaded.memory == s.plan.memory);
  CHECK(fingerprint(loaded) == fingerprint(s.plan));
  CHECK(search::with_capacity<search::dynamic_size>(loaded).interleaved == 3);
  CHECK(has(ashlar::io::plan_header_text(s.net, s.plan, "plan"), "plan.interleaved = 3;"));
  for (int const wrong : {0, 5, -1}) {
    j["interleaved"] = wrong;
    write(path, j.dump());
    CHECK(has(message_of([&] { load_plan(path, s.net, s.mesh, s.machine); }),
              "micro-batches cannot take turns. Write a number from 1 to that of the step's "
              "micro-batches."));
  }
}

TEST_CASE("saving leaves no temporary file and replaces an existing file") {
  temporary_folder const f;
  saved_plan const s;
  auto const path = f.file("plan.json");
  write(path, "something else");
  save_plan(path, s.net, s.plan);
  CHECK(json::parse(text_of_file(path)).at("format") == "ashlar plan");
  CHECK(f.size() == 1);
}

TEST_CASE("a file that cannot be written or read is named") {
  temporary_folder const f;
  saved_plan const s;
  auto const nowhere = f.file("no/such/folder/plan.json");
  auto const written = message_of([&] { save_plan(nowhere, s.net, s.plan); });
  CHECK(has(written, "save_plan: "));
  CHECK(has(written, nowhere));
  auto const found = message_of([&] { load_plan(nowhere, s.net, s.mesh, s.machine); });
  CHECK(has(found, "load_plan: " + nowhere + " cannot be read"));
  CHECK(has(message_of([&] { load_plan(f.path().string(), s.net, s.mesh, s.machine); }),
            f.path().string()));
}

TEST_CASE("a plan of another net is not saved") {
  temporary_folder const f;
  saved_plan const s;
  auto longer = s.plan, other = s.plan;
  longer.choices.push_back(longer.choices[0]);
  CHECK(has(message_of([&] { save_plan(f.file("plan.json"), s.net, longer); }),
            "elements, but the net has " + std::to_string(s.net.size()) + "."));
  other.choices[0].parameters.push_back({});
  CHECK(has(message_of([&] { save_plan(f.file("plan.json"), s.net, other); }),
            "save_plan: element 0 has "));
  CHECK(f.size() == 0);
}

TEST_CASE("each mistake in a plan file is one error that names the file") {
  temporary_folder const f;
  saved_plan const s;
  auto const path = f.file("plan.json");
  save_plan(path, s.net, s.plan);
  auto const good = json::parse(text_of_file(path));
  int linear = 0;
  while (std::string(s.net.spec(linear).name.text) != "linear") ++linear;
  int const end = s.net[1].partner;

  struct mistake {
    char const* says;
    std::function<void(json&)> make;
  };
  auto const element = [](json& j, int i) -> json& {
    return j["elements"][static_cast<std::size_t>(i)];
  };
  std::vector<mistake> const mistakes{
      {"format", [](json& j) { j["format"] = "a shopping list"; }},
      {"lacks", [](json& j) { j.erase("format"); }},
      {"version", [](json& j) { j["version"] = 99; }},
      {"version: must be a whole number",
       [](json& j) { j["version"] = j["version"].get<int>() + 0.7; }},
      {"input: must be a whole number",
       [](json& j) { j["input"][0] = j["input"][0].get<int>() + 0.5; }},
      {"micro_batches: must be a whole number",
       [](json& j) { j["micro_batches"] = j["micro_batches"].get<int>() + 0.5; }},
      {"micro_batches: must be a whole number", [](json& j) { j["micro_batches"] = "2"; }},
      {"the mesh is node=2,gpu=3", [](json& j) { j["mesh"] = "node=3,gpu=2"; }},
      {"name=extent", [](json& j) { j["mesh"] = "two by three"; }},
      {"lacks", [](json& j) { j["mesh"] = 7; }},
      {"batches of 9x9",
       [](json& j) {
         j["input"] = {9, 9};
       }},
      {"capacity", [](json& j) { j["input"] = {1, 1, 1, 1, 1, 1, 1, 1}; }},
      {"another net", [](json& j) { j["elements"].erase(0); }},
      {"another net", [](json& j) { j["elements"].push_back(j["elements"][0]); }},
      {"another net", [&](json& j) { element(j, linear)["name"] = "gelu"; }},
      {"another net", [](json& j) { j["elements"] = "none"; }},
      {"lacks", [&](json& j) { element(j, linear).erase("dy"); }},
      {"S, B, P or O was expected", [&](json& j) { element(j, linear)["x"] = "Q,B"; }},
      {"wrong number of axes", [&](json& j) { element(j, linear)["x"] = "B"; }},
      {"split of a dimension", [&](json& j) { element(j, linear)["x"] = "S(7),B"; }},
      {"shard depth", [&](json& j) { element(j, linear)["x"] = "S(0,0),S(0,0)"; }},
      {"no row", [&](json& j) { element(j, linear)["x"] = "P(max),B"; }},
      {"no row",
       [&](json& j) {
         element(j, linear)["y"] = "P,P";
         element(j, linear)["x"] = "B,B";
       }},
      {"parameters", [&](json& j) { element(j, linear)["parameters"].erase(0); }},
      {"partial", [&](json& j) { element(j, linear)["parameters"][0]["store"] = "P,B"; }},
      {"residual", [&](json& j) {
         auto& e = element(j, end);
         bool const whole = e["x"] == "[B,B]";
         e["x"] = e["y"] = e["dy"] = e["dx"] = whole ? "S(0),B" : "B,B";
       }}};
  for (auto const& wrong : mistakes) {
    auto j = good;
    wrong.make(j);
    write(path, j.dump());
    auto const said = message_of([&] { load_plan(path, s.net, s.mesh, s.machine); });
    CAPTURE(std::string(wrong.says));
    CAPTURE(said);
    CHECK(has(said, "load_plan: "));
    CHECK(has(said, path));
    CHECK(has(said, wrong.says));
  }
  for (char const* text : {"", "{", "not JSON", "[1, 2", "\xff\xfe"}) {
    write(path, text);
    auto const said = message_of([&] { load_plan(path, s.net, s.mesh, s.machine); });
    CHECK(has(said, "load_plan: " + path + " is not JSON"));
  }
  for (char const* text : {"[]", "7", "null", "\"text\""}) {
    write(path, text);
    CHECK(has(message_of([&] { load_plan(path, s.net, s.mesh, s.machine); }), path));
  }
}

TEST_CASE("machines survive a file, to the last bit") {
  temporary_folder const f;
  auto const path = f.file("machine.json");
  ashlar::machine m{{1.0 / 3e6, 1e-300}, {0, 2e-11}, 1.1e14, 7.7e11, 123456789012345};
  save_machine(path, m);
  CHECK(load_machine(path) == m);
  m.gemm_half = 1.0 / 3;
  m.intra_of.set(ashlar::collective::all_reduce, {1.0 / 7e6, 1.0 / 3e11});
  for (int k = 0; k < ashlar::collective_links::kinds; ++k)
    m.inter_of.set(static_cast<ashlar::collective>(k), {1e-6 / (k + 3), 1e-10 / (k + 7)});
  m.flow = 8e-10;
  save_machine(path, m, "a note");
  CHECK(load_machine(path) == m);
  CHECK(json::parse(text_of_file(path)).at("note") == "a note");
  for (auto const& named : ashlar::named_machines) {
    save_machine(path, *named.is);
    CHECK(load_machine(path) == *named.is);
  }
}

TEST_CASE("a machine file of version 1 is read with its meaning at that time") {
  temporary_folder const f;
  auto const path = f.file("machine.json");
  json old = {{"format", "ashlar machine"},
              {"version", 1},
              {"intra", {{"alpha", 2e-6}, {"beta", 2e-10}}},
              {"inter", {{"alpha", 3e-6}, {"beta", 3e-10}}},
              {"flops", 1e11},
              {"memory_bandwidth", 1e10},
              {"memory", 7}};
  write(path, old.dump());
  CHECK(load_machine(path) == ashlar::machine{{2e-6, 2e-10}, {3e-6, 3e-10}, 1e11, 1e10, 7});
  // A file that states an old version must not contain fields that later versions have added.
  old["gemm_half"] = 1;
  write(path, old.dump());
  CHECK(has(message_of([&] { load_machine(path); }), "\"gemm_half\" is not a known key"));
  old.erase("gemm_half");
  old["intra"]["all-reduce"] = old["inter"];
  write(path, old.dump());
  CHECK(has(message_of([&] { load_machine(path); }), "\"all-reduce\" is not a known key"));
}

TEST_CASE("a command line names a machine or a file of one") {
  temporary_folder const f;
  auto const path = f.file("machine.json");
  CHECK(ashlar::io::machine_from("h200_server") == ashlar::machines::h200_server);
  save_machine(path, ashlar::machines::piz_daint);
  CHECK(ashlar::io::machine_from(path) == ashlar::machines::piz_daint);
  auto const said = message_of([&] { ashlar::io::machine_from("h100_server"); });
  CHECK(has(said, "\"h100_server\" is neither a file nor one of workstation, gpu_cluster"));
}

TEST_CASE("each mistake in a machine file is one error that names the file") {
  temporary_folder const f;
  auto const path = f.file("machine.json");
  save_machine(path, {});
  auto const good = json::parse(text_of_file(path));
  std::vector<std::pair<char const*, std::function<void(json&)>>> const mistakes{
      {"format", [](json& j) { j["format"] = "ashlar plan"; }},
      {"version", [](json& j) { j["version"] = 0; }},
      {"3 is unknown; this program reads versions 1 to 2", [](json& j) { j["version"] = 3; }},
      {"version: must be a whole number", [](json& j) { j["version"] = 2.5; }},
      {"version", [](json& j) { j["version"] = 1.0; }},
      {"lacks", [](json& j) { j.erase("version"); }},
      {"lacks", [](json& j) { j.erase("intra"); }},
      {"lacks", [](json& j) { j.erase("gemm_half"); }},
      {"lacks", [](json& j) { j["intra"]["alpha"] = "fast"; }},
      {"\"flop\" is not a known key", [](json& j) { j["flop"] = 1; }},
      {"intra: \"gamma\" is not a known key", [](json& j) { j["intra"]["gamma"] = 1; }},
      {"\"allreduce\" is not a known key",
       [](json& j) { j["inter"]["allreduce"] = {{"alpha", 1}, {"beta", 1}}; }},
      {"inter, permute: \"gamma\" is not a known key",
       [](json& j) { j["inter"]["permute"] = {{"alpha", 1}, {"beta", 1}, {"gamma", 1}}; }},
      {"lacks", [](json& j) { j["inter"]["permute"] = {{"alpha", 1}}; }},
      {"must be an object", [](json& j) { j["inter"]["permute"] = 7; }},
      {"must be an object", [](json& j) { j["intra"] = json::array({1, 2}); }},
      {"beta", [](json& j) { j["inter"]["permute"] = {{"alpha", 1}, {"beta", -1}}; }},
      {"gemm_half", [](json& j) { j["gemm_half"] = -1; }},
      {"lacks", [](json& j) { j["flops"] = true; }},
      {"memory_bandwidth", [](json& j) { j["memory_bandwidth"] = 0; }},
      {"memory", [](json& j) { j["memory"] = 1.5; }},
      {"memory", [](json& j) { j["memory"] = 1e30; }},
      {"memory", [](json& j) { j["memory"] = 9223372036854775808ull; }},
      {"alpha", [](json& j) { j["inter"]["alpha"] = -1; }},
      {"alpha: is 1e+306, but must be a number from 0 to 1e+06.",
       [](json& j) { j["intra"]["alpha"] = 1e306; }},
      {"flops: is 1e-300, but must be", [](json& j) { j["flops"] = 1e-300; }},
      {"flops", [](json& j) { j["flops"] = 0; }},
      {"memory", [](json& j) { j["memory"] = -5; }}};
  for (auto const& [says, make] : mistakes) {
    auto j = good;
    make(j);
    write(path, j.dump());
    auto const said = message_of([&] { load_machine(path); });
    CAPTURE(said);
    CHECK(has(said, "load_machine: "));
    CHECK(has(said, path));
    CHECK(has(said, says));
  }
}

}  // namespace
}  // namespace ashlar_test
