// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 4

// Tests the error messages for layers, batches, plans and data that do not fit. Every rank must get
// the message.

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/nets.hpp>
#include <support/placed.hpp>
#include <support/plans.hpp>

#include <ashlar/nn/flatten.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/nn/pooling.hpp>
#include <ashlar/nn/skip.hpp>
#include <ashlar/step/pipeline/interleaved.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;

/// A layer whose spec has a statistic that its type does not declare.
struct gelu_with_statistic : nn::gelu {
  search::layer_spec spec(ashlar::shape const& x) const {
    auto s = nn::gelu::spec(x);
    s.statistics.push_back({x[0]});
    for (auto& row : s.rows) row.stat.push_back({ashlar::broadcast(), ashlar::broadcast()});
    return s;
  }
};

template <class Net>
std::string described(Net const& net, ashlar::shape const& input, int micro_batches = 1) {
  return message_of([&] { nn::describe(net, input, micro_batches); });
}

}  // namespace

TEST_CASE("layers that do not fit their input") {
  CHECK(described(nn::chain(nn::linear(4, 6), nn::linear(5, 2)), {3, 4}) ==
        "nn::linear: the input is 3x6 but the layer takes 5 in its last dims.");
  CHECK(
      described(nn::chain(nn::linear<1, 2>({4}, {2, 3}), nn::linear<2, 1>({3, 2}, {4})), {3, 4}) ==
      "nn::linear: the input is 3x2x3 but the layer takes 3x2 in its last dims.");
  CHECK(described(nn::linear<2, 1>({3, 4}, {2}), {3, 4}) ==
        "nn::linear: the input is 3x4 but the layer takes 3x4 in its last dims.");
  CHECK(described(nn::chain(nn::linear(4, 6), nn::layer_norm(4)), {3, 4}) ==
        "nn::layer_norm: the input is 3x6 but the layer takes 4 in its last dim.");
  CHECK(described(nn::layer_norm(4), {4}) ==
        "nn::layer_norm: the input is 4 but the layer takes 4 in its last dim.");
  CHECK(described(nn::repeat(3, nn::linear(4, 6)), {3, 4}) ==
        "nn::repeat: the repeated net changes the extents 3x4 to 3x6.");
  CHECK(described(nn::residual(nn::chain(nn::linear(4, 6), nn::gelu())), {3, 4}) ==
        "nn::residual: the inner net changes the extents 3x4 to 3x6, so its output cannot be added "
        "to x.");
  CHECK(described(nn::skip<2>(nn::linear(5, 6)), {3, 4, 5}) == "nothing was thrown");
  CHECK(described(nn::skip(nn::linear(5, 6)), {3, 4, 5}) ==
        "nn::skip: the inner net changes the extents 3x4x5 to 3x4x6, so its output cannot be "
        "concatenated with x along dim 1. It may change the extent of this dim only.");
  CHECK(described(nn::skip<2>(nn::linear(4, 6)), {3, 4}) ==
        "nn::skip: the inner net changes the extents 3x4 to 3x6, so its output cannot be "
        "concatenated with x along dim 2. It may change the extent of this dim only.");
  CHECK(described(nn::chain(nn::embedding(7, 4), nn::embedding(7, 4)), {3, 4}) ==
        "nn::embedding: the input is 3x4x4 but must be [batch, seq].");
  CHECK(described(nn::embedding((std::int64_t{1} << 31) + 1, 1), {3, 4}) ==
        "nn::embedding: the vocabulary has 2147483649 tokens, but a token is a number from 0 to "
        "2^31 - 1.");
  CHECK(described(nn::attention_core(), {3, 4, 6}) ==
        "nn::attention_core: the input is 3x4x6 but must be [batch, seq, heads, 3 head_dim], or "
        "[batch, height, width, heads, 3 head_dim] for images.");
  CHECK(described(nn::attention_core(), {3, 4, 2, 5}) ==
        "nn::attention_core: the input is 3x4x2x5 but must be [batch, seq, heads, 3 head_dim], or "
        "[batch, height, width, heads, 3 head_dim] for images.");
}

TEST_CASE("impossible layers") {
  CHECK(message_of([] { nn::repeat(0, nn::gelu()); }) ==
        "nn::repeat: the number of repetitions must be 1 or more.");
  CHECK(message_of([] { nn::self_attention(10, 4); }) ==
        "nn::self_attention: 4 heads do not divide 10 features. Choose a number of heads that "
        "does.");
  CHECK(has(message_of([] { nn::gpt_block(10, 0); }), "0 heads do not divide 10 features."));
  CHECK(has(message_of([] { nn::gpt_block(10, 3, 0.1); }), "3 heads do not divide 10 features."));
  for (double p : {-0.1, 1.0, std::nan("")})
    CHECK(message_of([p] { nn::dropout{p}; }) == "nn::dropout: the probability must be in [0, 1).");
}

TEST_CASE("a layer whose type does not declare the statistics of its spec") {
  auto const net = nn::chain(nn::linear(4, 6), gelu_with_statistic());
  auto const problem = any_length(nn::describe<double>(net, nn::feature_batch{5, 4}));
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const plan = plan_source(problem, m).whole();
  CHECK(message_of([&] { nn::place<double>(net, m, plan); }) ==
        "gelu: the spec has 1 statistics, but the layer's type declares 0. Write template <int "
        "XRank> using statistics = nn::ranks<...>, with the number of dims of each.");
}

TEST_CASE("batches that are empty") {
  CHECK(described(nn::linear(4, 6), {0, 4}) == "nn::describe: the batch 0x4 has an empty dim.");
  CHECK(message_of([] {
          nn::describe(nn::embedding(7, 4), nn::token_batch{3, 0});
        }) == "nn::describe: the batch 3x0 has an empty dim.");
  CHECK(described(nn::linear(4, 6), {3, 4}, 0) ==
        "nn::describe: a step has 0 micro-batches; it needs 1 or more.");
}

TEST_CASE("plans for another mesh or another net, and empty plans") {
  auto const net = nn::chain(nn::linear(4, 6), nn::gelu(), nn::linear(6, 3));
  auto const problem = any_length(nn::describe<double>(net, nn::feature_batch{5, 4}));
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const plan = plan_source(problem, m).whole();
  CHECK(message_of([&] { nn::place<double>(net, m, plan); }) == "nothing was thrown");

  ashlar::mesh const other(MPI_COMM_WORLD, {{"node", 1}, {"gpu", world_size()}});
  CHECK(message_of([&] { nn::place<double>(net, other, plan); }) ==
        "nn::place: the plan is for mesh " + to_string(m.topology()) +
            " but the model is placed on " + to_string(other.topology()) + ".");

  auto const wider = nn::chain(nn::linear(4, 8), nn::gelu(), nn::linear(8, 3));
  auto const longer = nn::chain(nn::linear(4, 6), nn::gelu(), nn::linear(6, 3), nn::gelu());
  auto const relu = nn::chain(nn::linear(4, 6), nn::relu(), nn::linear(6, 3));
  CHECK(message_of([&] { nn::place<double>(wider, m, plan); }) ==
        "nn::place: the plan was made for another net: its extents, layers, element type or "
        "imbalance of experts are different. Search again for this net.");
  CHECK(has(message_of([&] { nn::place<float>(net, m, plan); }),
            "element type or imbalance of experts are different"));
  CHECK(has(message_of([&] { nn::place<double>(longer, m, plan); }),
            "it has 4 elements, this net has 5."));
  CHECK(has(message_of([&] { nn::place<double>(relu, m, plan); }), "made for another net"));
  auto const takes_five = nn::chain(nn::linear(5, 6), nn::gelu(), nn::linear(6, 3));
  CHECK_MESSAGE(has(message_of([&] { nn::place<double>(takes_five, m, plan); }),
                    "nn::place: the plan was made for another net: "),
                message_of([&] { nn::place<double>(takes_five, m, plan); }));
  CHECK(has(message_of([&] { nn::place<double>(nn::embedding(7, 4), m, plan); }),
            "made for another net"));
  CHECK(message_of([&] { nn::place<double>(net, m, search::plan{}); }) != "nothing was thrown");
}

TEST_CASE("pipelines whose stages do not fit, and plans that cannot be run yet") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const net = nn::linear(4, 6);
  auto const problem = any_length(nn::describe<double>(net, nn::feature_batch{5, 4}));
  search::pipeline_plan pipeline;
  pipeline.chosen = plan_source(problem, m).whole();
  pipeline.stages.resize(1);
  CHECK(message_of([&] { nn::place<double>(net, m, pipeline); }) == "nothing was thrown");
  pipeline.stages.resize(3);
  pipeline.order = ashlar::pipelines::interleaved(1, 1, 3);  // three stages on one part
  CHECK(
      has(message_of([&] { nn::place<double>(net, m, pipeline); }),
          "Stages follow one another, none is empty, and no residual, no branch and no mixture of "
          "experts is cut."));
}

TEST_CASE("ranks that disagree on the machine or on the plan all get an error") {
  if (world_size() == 1) return;
  auto const net = nn::chain(nn::linear(4, 6), nn::gelu(), nn::linear(6, 3));
  auto const problem = any_length(nn::describe<double>(net, nn::feature_batch{5, 4}));
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  void (*const changes[])(ashlar::machine&) = {
      [](ashlar::machine& x) { x.intra.alpha *= 2; },
      [](ashlar::machine& x) { x.inter.beta *= 2; },
      [](ashlar::machine& x) { x.flops *= 2; },
      [](ashlar::machine& x) { x.gemm_half = 1; },
      [](ashlar::machine& x) { x.memory = 1; },
      [](ashlar::machine& x) { x.intra_of.set(ashlar::collective::permute, {}); },
      [](ashlar::machine& x) {
        x.inter_of.set(ashlar::collective::all_gather, {1, 1});
      }};
  for (auto const change : changes) {
    auto machine = m.machine();
    if (world_rank() == 0) change(machine);
    CHECK(has(message_of([&] { m.set_machine(machine); }),
              "mesh: the ranks give different machines: rank "));
  }
  auto wrong = m.machine();
  wrong.memory_bandwidth = 0;
  CHECK(has(message_of([&] { m.set_machine(wrong); }),
            "mesh: the machine's memory_bandwidth is 0, but must be a number from 1 to 1e+30."));
  CHECK(m.machine() == ashlar::mesh(MPI_COMM_WORLD, {{"gpu", world_size()}}).machine());
  auto plan = plan_source(problem, m).whole();
  if (world_rank() == 0) plan.choices[0].parameters[0].store = ashlar::placement{ashlar::split(0)};
  CHECK(has(message_of([&] { nn::place<double>(net, m, plan); }),
            "nn::place: the ranks have different plans: rank "));
}

TEST_CASE("choices that no rule of the layer permits") {
  auto const net = nn::chain(nn::linear(4, 6), nn::residual(nn::gelu()), nn::linear(6, 3));
  auto const problem = any_length(nn::describe<double>(net, nn::feature_batch{5, 4}));
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const whole = plan_source(problem, m).whole();
  auto const placed = [&](auto change) {
    auto plan = whole;
    change(plan);
    return message_of([&] { nn::place<double>(net, m, plan); });
  };
  ashlar::placement const rows{ashlar::split(0)}, addends{ashlar::partial()};
  auto const sentence = [](char const* element) {
    return "nn::place: element " + std::string(element) +
           " of the plan has placements that no rule of that layer permits.";
  };
  CHECK(placed([&](auto& plan) { plan.choices[0].x = rows; }) == sentence("0 (linear)"));
  CHECK(placed([&](auto& plan) { plan.choices[2].y = addends; }) == sentence("2 (gelu)"));
  CHECK(placed([&](auto& plan) { plan.choices[4].parameters[1].use = rows; }) ==
        sentence("4 (linear)"));
  CHECK(placed([&](auto& plan) { plan.choices[4].parameters[0].grad = addends; }) ==
        sentence("4 (linear)"));
  CHECK(placed([&](auto& plan) { plan.choices[0].parameters[0].store = addends; }) ==
        "nn::place: element 0 (linear) of the plan, parameter weight: a parameter cannot be stored "
        "partial.");
  CHECK(placed([&](auto& plan) { plan.choices[0].parameters.pop_back(); }) ==
        sentence("0 (linear)"));
  CHECK(placed([&](auto& plan) { plan.choices[5].statistics.clear(); }) ==
        sentence("5 (cross_entropy)"));
  CHECK(placed([&](auto& plan) {
          plan.choices[0].dx = {ashlar::broadcast(), ashlar::broadcast()};
        }) == sentence("0 (linear)"));
  CHECK(placed([&](auto& plan) { plan.choices[1].x = plan.choices[1].y = rows; }) ==
        sentence("1 (residual)"));
  CHECK(has(placed([&](auto& plan) {
              auto& c = plan.choices[1];
              c.x = c.y = c.dy = c.dx = rows;
            }),
            "the two ends of the residual"));
}

TEST_CASE("a parameter that cannot be updated where the plan says") {
  auto const net = nn::linear(4, 6);
  auto const problem = any_length(nn::describe<double>(net, nn::feature_batch{2, 4}));
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const refused = [&](ashlar::axis_placement const& at) {
    auto plan = plan_source(problem, m).whole();
    plan.choices[0].parameters[0].update = ashlar::placement{at};
    return message_of([&] { nn::place<double>(net, m, plan); });
  };
  CHECK(
      refused(ashlar::partial()) ==
      "nn::place: element 0 (linear) of the plan, parameter weight: a parameter cannot be updated "
      "where its gradient is partial: write B, S(d) or O(k) for update on that axis.");
  CHECK(has(refused(ashlar::owned(world_size())), "an owner that the axis does not have"));
  CHECK(has(refused(ashlar::split(2)), "parameter weight: "));
  CHECK(has(refused(ashlar::broadcast()), "update is the same as store: leave it out."));
}

TEST_CASE("a tied parameter with two storages") {
  auto const net = nn::tied(nn::embedding(6, 4), nn::output_embedding(4, 6));
  auto const problem = any_length(nn::describe<double>(net, nn::token_batch{2, 3}));
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto plan = plan_source(problem, m).whole();
  plan.choices[1].parameters[0].store = ashlar::placement{ashlar::split(0)};
  CHECK(message_of([&] { nn::place<double>(net, m, plan); }) ==
        "nn::place: the plan stores or updates the parameter that elements 0 and 1 share at two "
        "placements. It is one parameter: give both uses the same store and update.");
  plan.choices[1].parameters[0].store = plan.choices[0].parameters[0].store;
  plan.choices[1].parameters[0].update = ashlar::placement{ashlar::split(0)};
  CHECK(has(message_of([&] { nn::place<double>(net, m, plan); }), "stores or updates"));
}

TEST_CASE("gradients of a tied net are synchronized once") {
  auto const net = nn::tied(nn::embedding(6, 4), nn::output_embedding(4, 6));
  nn::token_batch const batch{2, 3};
  auto const problem = any_length(nn::describe<double>(net, batch));
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto model = nn::place<double>(net, m, plan_source(problem, m).whole());
  auto const data = random_batch<std::int32_t>(batch, 6, 6, 1, 3);
  for (int turn = 0; turn < 2; ++turn) {
    model.clear_gradients();
    model.accumulate(data.inputs, data.targets, 0);
    model.synchronize();
    CHECK(message_of([&] { model.synchronize(); }) ==
          "model: the gradients of a net with tied parameters are synchronized already. Call "
          "clear_gradients() and accumulate() first.");
  }
}

TEST_CASE("a token outside the vocabulary is refused on every rank, whatever the plan") {
  auto const net = nn::chain(nn::embedding(7, 4), nn::linear(4, 5));
  nn::token_batch const batch{4, 3};
  auto const problem = any_length(nn::describe<float>(net, batch));
  for (auto const& m : all_meshes()) {
    plan_source const plans(problem, m);
    std::mt19937 random(1);
    for (int turn = 0; turn < 4; ++turn) {
      auto model = nn::place<float>(net, m, plans.random(random));
      ashlar::train::trainer trainer(model, ashlar::train::sgd{});
      auto data = random_batch<std::int32_t>(batch, 7, 5, 1);
      for (int token : {7, -1}) {
        data.inputs[11] = token;
        CHECK(has(message_of([&] { trainer.step(data); }),
                  ": token " + std::to_string(token) + " is outside the vocabulary of 7."));
      }
    }
  }
}

}  // namespace ashlar_test
