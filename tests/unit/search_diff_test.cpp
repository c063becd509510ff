// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// What diff finds between two plans: differences that add up, and the one element that was changed.

#include <sstream>

#include <doctest/doctest.h>
#include <support/message_of.hpp>

#include <ashlar/search/baselines.hpp>
#include <ashlar/search/diff.hpp>

#include "search_nets.hpp"

namespace ashlar_test {
namespace {

using ashlar::parse_placement, ashlar::parse_topology;

std::string printed(search::plan_difference const& d) {
  std::ostringstream out;
  out << d;
  return out.str();
}

TEST_CASE("differences add up to that of the plans and change sign with their order") {
  random_cases draw(5);
  for (int k = 0; k < 60; ++k) {
    auto const net = draw.net();
    auto const t = draw.mesh();
    auto const m = draw.machine();
    auto const a = optimal(net, t, m), b = data_parallel(net, t, m);
    auto const forth = diff(net, a, b, m), back = diff(net, b, a, m);
    CHECK(forth.total.seconds() == doctest::Approx(b.seconds - a.seconds).epsilon(1e-9));
    CHECK(forth.total.seconds() >= -1e-9 * a.seconds);
    CHECK(forth.memory == b.memory - a.memory);
    double seconds = 0, work = 0;
    std::int64_t kept = 0;
    for (auto const& e : forth.elements) {
      seconds += e.cost.seconds();
      work += e.cost.work;
      kept += e.cost.memory.kept;
      CHECK(e.cost.seconds() ==
            doctest::Approx(-back.elements[std::size_t(e.element)].cost.seconds()));
      CHECK(e.same_placements == (a[e.element] == b[e.element]));
      CHECK(e.from == back.elements[std::size_t(e.element)].to);
    }
    CHECK(seconds == doctest::Approx(forth.total.seconds()).epsilon(1e-9));
    CHECK(work == doctest::Approx(forth.total.work).epsilon(1e-9));
    CHECK(kept == forth.total.memory.kept);
  }
}

TEST_CASE("a plan does not differ from itself") {
  auto const m = ashlar::machines::gpu_cluster;
  auto const net = block_net(2, {4, 6}, 8);
  auto const plan = optimal(net, parse_topology("node=2,gpu=2"), m);
  auto const text = printed(diff(net, plan, plan, m));
  CHECK(text.find("b takes as long as a\n") == 0);
  CHECK(text.find("element") == std::string::npos);
}

TEST_CASE("one changed parameter is found, by its name and the kinds that it changes") {
  auto const m = ashlar::machines::gpu_cluster;
  auto const net = block_net(4, {8, 6}, 16);
  auto const a = data_parallel(net, parse_topology("node=2,gpu=2"), m);
  auto b = a;
  auto& weight = b.choices[3].parameters[0];  // of the first block's first linear layer
  weight.store = parse_placement("S(0),S(0)");
  predict(b, net, m);
  auto const d = diff(net, a, b, m);
  for (auto const& e : d.elements) {
    CHECK(e.same_placements == (e.element != 3));
    CHECK(e.cost.work == 0);
    CHECK(e.cost.activations == 0);
    CHECK(e.cost.gradients == 0);
    CHECK((e.cost.parameters == 0) == (e.element != 3));
  }
  CHECK(d.elements[3].from == std::vector<std::string>{"weight stored [B,B]"});
  CHECK(d.elements[3].to == std::vector<std::string>{"weight stored [S(0),S(0)]"});
  // 16 x 64 floats: of value, gradient and two states a quarter remains. The gradient is summed
  // elsewhere before and after.
  CHECK(d.elements[3].cost.memory.kept == -3 * 1024 * 4);
  auto const text = printed(d);
  CHECK(text.find("linear (element 3)") != std::string::npos);
  CHECK(text.find("a: weight stored [B,B]") != std::string::npos);
  CHECK(text.find("parameters ") != std::string::npos);
}

TEST_CASE("copies that differ alike are one line, the dearest first") {
  auto const m = ashlar::machines::gpu_cluster;
  auto const net = block_net(6, {8, 64}, 64);
  auto const t = parse_topology("node=2,gpu=2");
  auto const a = optimal(net, t, m), b = tensor_parallel(net, t, m);
  auto const text = printed(diff(net, a, b, m));
  CHECK(text.find("6 x linear (elements 3, 10, ..., 38)") != std::string::npos);
  std::istringstream lines(text);
  std::size_t widest = 0;
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, line.size());
  CHECK(widest <= 100);
}

TEST_CASE("plans of other nets are refused") {
  auto const m = ashlar::machines::gpu_cluster;
  auto const t = parse_topology("gpu=2");
  auto const one = block_net(1, {4, 6}, 8), two = block_net(2, {4, 6}, 8);
  auto const a = optimal(one, t, m), b = optimal(two, t, m);
  CHECK(message_of([&] { diff(two, a, b, m); }).find("Compare plans of one net") !=
        std::string::npos);
}

TEST_CASE("plans of another net with as many elements are refused, too") {
  auto const m = ashlar::machines::gpu_cluster;
  auto const t = parse_topology("gpu=2");
  ashlar::shape const x{4, 6, 8};
  search::problem with_linear, with_gelu;
  for (auto* net : {&with_linear, &with_gelu}) net->add(embedding_spec({4, 6}, 11, 8));
  with_linear.add(linear_spec(x, 8));
  with_gelu.add(gelu_spec(x));
  for (auto* net : {&with_linear, &with_gelu}) net->add(cross_entropy_spec(x));
  auto const a = optimal(with_linear, t, m), b = optimal(with_gelu, t, m);
  for (auto const& [net, name] :
       {std::pair{&with_linear, "linear"}, std::pair{&with_gelu, "gelu"}}) {
    auto const said = "search::diff: element 1 (" + std::string(name) +
                      ") cannot be placed so: its layer has no such row. Compare plans of one net.";
    CHECK(message_of([&, net = net] { diff(*net, a, b, m); }) == said);
    CHECK(message_of([&, net = net] { diff(*net, b, a, m); }) == said);
  }
}

}  // namespace
}  // namespace ashlar_test
