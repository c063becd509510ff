// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4 6 8

// Tests the parts of a trainer's step other than the parameter update. Micro-batches must
// accumulate gradients. Equal runs must give equal bits. Copies of a parameter on several ranks
// must stay equal. Bad data must change nothing, and must be reported on every rank.

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/nets.hpp>
#include <support/placed.hpp>
#include <support/plans.hpp>

#include <ashlar/comm/communication_log.hpp>
#include <ashlar/comm/no_communication.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/nn/u_transformer.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;
namespace train = ashlar::train;

auto gpt(double dropout) {
  return nn::chain(nn::embedding(7, 6), nn::repeat(1, nn::gpt_block(6, 3, dropout)),
                   nn::linear(6, 7));
}
auto const perceptron = nn::chain(nn::linear(4, 6), nn::gelu(), nn::linear(6, 5));

/// Calls f(mesh, plans) for each mesh of all ranks.
template <class Net, class Batch, class F>
void on_meshes(Net const& net, Batch const& batch, F f) {
  auto const problem = any_length(nn::describe<double>(net, batch));
  for (auto const& m : all_meshes()) {
    f(m, plan_source(problem, m));
  }
}

template <class T, class Model>
std::vector<T> local_values(Model& model) {
  std::vector<T> all;
  model.for_each_parameter([&](auto const& p) {
    auto const shards = p.template shards<T>();
    all.insert(all.end(), shards.value, shards.value + shards.elements);
  });
  return all;
}

/// Returns the mean cross-entropy of logits [.., classes], computed by hand. A target below 0 has
/// loss 0.
double cross_entropy_of(std::vector<double> const& logits, std::span<std::int32_t const> targets,
                        std::size_t classes) {
  double sum = 0;
  for (std::size_t r = 0; r < targets.size(); ++r) {
    if (targets[r] < 0) continue;
    double exponentials = 0;
    for (std::size_t c = 0; c < classes; ++c) exponentials += std::exp(logits[classes * r + c]);
    sum += std::log(exponentials) - logits[classes * r + static_cast<std::size_t>(targets[r])];
  }
  return sum / static_cast<double>(targets.size());
}

/// Returns whether all ranks that hold the same part of a tensor hold the same bits.
bool copies_agree(ashlar::any_tensor<ashlar::device::host::processor> const& t) {
  bool agree = true;
  auto const p = t.placement();
  for (int a = 0; a < p.axes(); ++a) {
    if (!p[a].is_broadcast()) continue;
    auto const& topology = t.mesh().topology();
    int colour = 0;  // equal on the ranks that differ from this one only along axis a
    for (int b = 0; b < p.axes(); ++b)
      colour = colour * topology.extent(b) +
               (b == a ? 0 : t.mesh().coordinate()[static_cast<std::size_t>(b)]);
    MPI_Comm axis;
    MPI_Comm_split(MPI_COMM_WORLD, colour, world_rank(), &axis);
    auto const bytes = static_cast<int>(t.local_elements() * size_of(t.type()));
    std::vector<char> first(static_cast<std::size_t>(bytes));
    if (bytes > 0) std::memcpy(first.data(), t.data(), first.size());
    MPI_Bcast(first.data(), bytes, MPI_BYTE, 0, axis);
    agree = agree && (bytes == 0 || std::memcmp(first.data(), t.data(), first.size()) == 0);
    MPI_Comm_free(&axis);
  }
  return agree;
}

}  // namespace

TEST_CASE("four micro-batches are one batch of four times the rows") {
  nn::token_batch const small{3, 4, 4}, large{12, 4, 1};
  auto const net = gpt(0);
  auto const large_problem = any_length(nn::describe<double>(net, large));
  on_meshes(net, small, [&](ashlar::mesh const& m, plan_source const& plans) {
    plan_source const large_plans(large_problem, m);
    std::mt19937 random(4);
    for (int turn = 0; turn < 3; ++turn) {
      auto a = nn::place<double>(net, m, plans.random(random), 1);
      auto b = nn::place<double>(net, m, large_plans.random(random), 1);
      train::trainer in_parts(a, train::sgd{.lr = 0.3, .momentum = 0.9});
      train::trainer at_once(b, train::sgd{.lr = 0.3, .momentum = 0.9});
      for (unsigned step = 0; step < 3; ++step) {
        auto const data = random_batch<std::int32_t>(small, 7, 7, step, 4);
        auto const x = in_parts.step(data), y = at_once.step(data);
        CHECK(near(x.loss, y.loss, 1e-10));
        CHECK(near(x.gradient_norm, y.gradient_norm, 1e-10));
      }
      CHECK(difference(values_of(a), values_of(b)) < 1e-10);
    }
  });
}

TEST_CASE("equal runs give equal bits, and copies of a parameter stay equal") {
  nn::token_batch const batch{3, 4, 2};
  auto const net = gpt(0.2);
  on_meshes(net, batch, [&](ashlar::mesh const& m, plan_source const& plans) {
    std::mt19937 random(9);
    for (int turn = 0; turn < 3; ++turn) {
      // The plan was made for double, but is also legal for float.
      auto plan = plans.random(random);
      plan.problem_hash = ashlar::search::hash(nn::describe<float>(net, batch));
      std::vector<double> losses[2];
      std::vector<float> values[2];
      for (int run = 0; run < 2; ++run) {
        auto model = nn::place<float>(net, m, plan, 3);
        train::trainer trainer(model, train::adam_w{.lr = 0.01}, {.clip = 0.5});
        for (unsigned step = 0; step < 4; ++step)
          losses[run].push_back(trainer.step(random_batch<std::int32_t>(batch, 7, 7, step)).loss);
        values[run] = local_values<float>(model);
        model.for_each_parameter([&](auto const& p) { CHECK(copies_agree(p.value())); });
      }
      CHECK(losses[0] == losses[1]);
      CHECK(values[0] == values[1]);
    }
  });
}

TEST_CASE("a training goes on after its model and its trainer were moved, or the model destroyed") {
  nn::token_batch const batch{3, 4, 2};
  auto const net = gpt(0.2);
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const plan = plan_source(any_length(nn::describe<double>(net, batch)), m).whole();
  auto const place = [&] { return nn::place<double>(net, m, plan, 3); };
  struct training {
    decltype(place()) model;
    train::trainer<decltype(model), train::adam_w> trainer{model, train::adam_w{.lr = 0.01}};
  };
  training right{place()}, first{place()};
  auto const orphan = [&] {
    auto model = place();
    return train::trainer(model, train::adam_w{.lr = 0.01});
  };
  auto alone = orphan();
  auto const check_step = [&](unsigned step, auto& moved) {
    auto const data = random_batch<std::int32_t>(batch, 7, 7, step);
    auto const loss = right.trainer.step(data).loss;
    CHECK(moved.step(data).loss == loss);
    CHECK(alone.step(data).loss == loss);
  };
  check_step(0, first.trainer);
  training second{std::move(first)};
  check_step(1, second.trainer);
  training third{place()};
  std::swap(third.model, second.model);
  check_step(2, second.trainer);
  CHECK(values_of(third.model) == values_of(right.model));
  CHECK(&second.trainer.model().plan() == &third.model.plan());
}

TEST_CASE("another seed gives other parameters; dropout differs from pass to pass") {
  nn::token_batch const batch{3, 4};
  auto const net = gpt(0.5);
  on_meshes(net, batch, [&](ashlar::mesh const& m, plan_source const& plans) {
    auto const plan = plans.whole();
    auto a = nn::place<double>(net, m, plan, 1), b = nn::place<double>(net, m, plan, 2);
    CHECK(values_of(a) != values_of(b));
    train::trainer still(a, train::sgd{.lr = 0});
    auto const data = random_batch<std::int32_t>(batch, 7, 7, 1);
    CHECK(still.step(data).loss != still.step(data).loss);
  });
}

TEST_CASE("evaluate and predict: without dropout, without touching gradients, under any plan") {
  nn::token_batch const batch{3, 4};
  auto const net = gpt(0.5);
  auto const data = random_batch<std::int32_t>(batch, 7, 7, 1, 4);
  on_meshes(net, batch, [&](ashlar::mesh const& m, plan_source const& plans) {
    auto reference = nn::place<double>(net, m, plans.whole(), 1);
    auto const logits = reference.predict(data.inputs);
    double const loss = reference.evaluate(data.inputs, data.targets);
    std::mt19937 random(2);
    for (int turn = 0; turn < 4; ++turn) {
      auto model = nn::place<double>(net, m, plans.random(random), 1);
      accumulate_step(model, data);
      auto const before = gradients_of(model);
      CHECK(difference({model.predict(data.inputs)}, {logits}) < 1e-12);
      CHECK(near(model.evaluate(data.inputs, data.targets), loss, 1e-12));
      CHECK(gradients_of(model) == before);
      double const zero_rate_loss = [&] {
        train::trainer trainer(model, train::sgd{.lr = 0});
        return trainer.step(data).loss;
      }();
      CHECK(zero_rate_loss != doctest::Approx(loss));  // dropout is active in training
    }
    CHECK(near(loss, cross_entropy_of(logits, data.targets, 7), 1e-12));
  });
}

TEST_CASE("evaluate returns one number for any number of samples, in parts of the planned batch") {
  nn::token_batch const batch{3, 4};
  auto const net = gpt(0);
  train::batch_data<std::int32_t> all;
  for (unsigned s = 0; s < 3; ++s) {
    auto const drawn = random_batch<std::int32_t>(batch, 7, 7, s, 4);
    all.inputs.insert(all.inputs.end(), drawn.inputs.begin(), drawn.inputs.end());
    all.targets.insert(all.targets.end(), drawn.targets.begin(), drawn.targets.end());
  }
  std::span<std::int32_t const> const inputs = all.inputs, targets = all.targets;
  on_meshes(net, batch, [&](ashlar::mesh const& m, plan_source const& plans) {
    std::mt19937 random(2);
    auto model = nn::place<double>(net, m, plans.random(random), 1);
    auto const logits = model.predict(inputs);
    for (auto const samples : std::initializer_list<std::size_t>{1, 2, 3, 4, 5, 7, 9}) {
      CAPTURE(samples);
      auto const some = inputs.first(4 * samples), wanted = targets.first(4 * samples);
      double const loss = model.evaluate(some, wanted);
      CHECK(near(loss, cross_entropy_of(logits, wanted, 7), 1e-12));
      std::array<double, 2> bounds{loss, -loss};
      m.all_reduce(std::span<double>(bounds), ashlar::reduction::max);
      CHECK(bounds[0] == -bounds[1]);  // all ranks have the same bits
    }
    auto const moves = [&](std::size_t samples) {
      ashlar::communication_log const log(m);
      model.evaluate(inputs.first(4 * samples), targets.first(4 * samples));
      return log.records().size();
    };
    // There is one forward pass for 3 samples, and two for 6. There are three for 5: the second is
    // filled up with a copy of the last sample, and the third runs on copies of this sample only,
    // whose loss is subtracted (nn/mean_loss.hpp). There is always one all-reduce.
    CHECK(moves(6) - moves(3) == moves(5) - moves(6));
    CHECK(2 * moves(3) - moves(6) == 1);

    train::trainer trainer(model, train::sgd{.lr = 0});
    auto const first = random_batch<std::int32_t>(batch, 7, 7, 0, 4);
    CHECK(near(trainer.step(first).loss, model.evaluate(first.inputs, first.targets), 1e-12));

    ashlar::no_communication const nothing_moves(m);
    CHECK(message_of([&] { model.evaluate(inputs.first(10), targets.first(10)); }) ==
          "model: 10 inputs are no whole samples of 4.");
    CHECK(message_of([&] { model.evaluate(inputs.first(20), targets.first(12)); }) ==
          "model: evaluate got 12 targets for 5 samples. The loss has 4 for each sample, so pass "
          "20.");
    CHECK(message_of([&] { model.evaluate({}, {}); }) ==
          "model: evaluate got no samples, which have no mean loss. Pass at least one.");
    std::vector<std::int32_t> outside(targets.begin(), targets.end());
    outside.back() = 7;
    CHECK(message_of([&] { model.evaluate(inputs, outside); }) ==
          "nn::softmax_cross_entropy: target 7 is not one of the 7 classes.");
  });
}

TEST_CASE("predict takes any number of samples, in parts of the planned batch") {
  nn::token_batch const batch{3, 4};
  auto const net = gpt(0.5);
  std::vector<std::int32_t> ids;
  for (unsigned s = 0; s < 3; ++s)
    for (auto const id : random_batch<std::int32_t>(batch, 7, 7, s).inputs) ids.push_back(id);
  on_meshes(net, batch, [&](ashlar::mesh const& m, plan_source const& plans) {
    std::mt19937 random(2);
    auto model = nn::place<double>(net, m, plans.random(random), 1);
    std::vector<double> all;  // predictions for 9 samples, three at a time
    for (std::size_t first = 0; first < ids.size(); first += 12)
      for (auto const y : model.predict(std::span(std::as_const(ids)).subspan(first, 12)))
        all.push_back(y);
    for (auto const samples : std::initializer_list<std::size_t>{1, 2, 3, 4, 7, 9}) {
      CAPTURE(samples);
      auto const some = model.predict(std::span(std::as_const(ids)).first(4 * samples));
      CHECK(some.size() == 28 * samples);
      CHECK(std::equal(some.begin(), some.end(), all.begin()));
    }
    CHECK(model.predict({}).empty());
    CHECK(message_of([&] { model.predict(std::span(std::as_const(ids)).first(10)); }) ==
          "model: 10 inputs are no whole samples of 4.");
  });
  auto coupled = nn::describe<double>(net, batch);
  coupled.layers[0].couples_rows = true;
  CHECK(message_of([&] {
          nn::detail::in_parts(std::span(std::as_const(ids)).first(16), coupled, {3, 4}, {},
                               [](auto) { return std::vector<double>(); });
        }) == "model: 4 samples are no multiple of the planned batch of 3, but in this net samples "
              "depend on each other. Fill the batch up, or place the net for another one.");
}

TEST_CASE("predict and evaluate take the contexts of all samples behind their inputs") {
  auto const net = nn::chain(nn::group_norm(4, 2), nn::cross_attention(4, 2, {3, 5}),
                             nn::mean_squared_error());
  nn::image_batch const batch{3, 4, 2, 2};
  // There are 3 inputs of 16 values and 3 contexts of 15 values.
  auto const drawn = data_for<double>(net, batch, 0, 1, 1);
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const problem = any_length(nn::describe<double>(net, batch));
  auto model = nn::place<double>(net, m, plan_source(problem, m).whole(), 1);
  auto const y = model.predict(drawn.inputs);
  REQUIRE(y.size() == 48);
  std::vector<double> again, expected;  // inputs of samples 2, 0, 1, 2, 1, and their predictions
  std::vector<double> targets;
  double squares = 0;
  for (auto const size : std::initializer_list<std::size_t>{16, 15})
    for (auto const s : std::initializer_list<std::size_t>{2, 0, 1, 2, 1}) {
      auto const* const from = drawn.inputs.data() + (size == 15 ? 48 : 0) + s * size;
      again.insert(again.end(), from, from + size);
      for (std::size_t i = 16 * s; size == 16 && i < 16 * s + 16; ++i) {
        expected.push_back(y[i]);
        targets.push_back(drawn.targets[i]);
        squares += (y[i] - drawn.targets[i]) * (y[i] - drawn.targets[i]);
      }
    }
  CHECK(model.predict(again) == expected);
  CHECK(near(model.evaluate(again, targets), squares / 80, 1e-12));
  CHECK(message_of([&] { model.predict(std::span(std::as_const(again)).first(30)); }) ==
        "model: 30 inputs are no whole samples of 4x2x2 with a context of 3x5.");
}

TEST_CASE("a loss or gradient that is not finite is an error on all ranks and changes nothing") {
  nn::feature_batch const batch{5, 4, 2};
  auto const good = random_batch<double>(batch, 0, 5, 1);
  auto bad = good;
  // This is a value in the last row of the second micro-batch. Later it gets other bad values.
  bad.inputs[4 * 9 + 1] = std::numeric_limits<double>::quiet_NaN();
  on_meshes(perceptron, batch, [&](ashlar::mesh const& m, plan_source const& plans) {
    std::mt19937 random(5);
    for (int turn = 0; turn < 4; ++turn) {
      auto const plan = plans.random(random);
      auto model = nn::place<double>(perceptron, m, plan, 1);
      auto other = nn::place<double>(perceptron, m, plan, 1);
      train::trainer trainer(model, train::adam_w{}), undisturbed(other, train::adam_w{});
      CHECK(trainer.step(good).loss == undisturbed.step(good).loss);
      auto const before = local_values<double>(model);
      for (double worst : {std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity(), 1e300}) {
        bad.inputs[4 * 9 + 1] = worst;
        auto const message = message_of([&] { trainer.step(bad); });
        CHECK_MESSAGE(has(message, "trainer: at step 1 the loss is "), message);
        CHECK_MESSAGE(has(message, "Parameters are as before this step"), message);
        CHECK(local_values<double>(model) == before);
        CHECK(trainer.steps_done() == 1);
      }
      CHECK(trainer.step(good).loss == undisturbed.step(good).loss);
      CHECK(local_values<double>(model) == local_values<double>(other));
    }
  });
}

TEST_CASE("data that do not fit are refused on every rank, also if one rank alone has them") {
  nn::feature_batch const batch{5, 4, 2};
  auto const good = random_batch<double>(batch, 0, 5, 1);
  auto one_row_less = good, one_target_more = good, other_class = good;
  one_row_less.inputs.resize(36);
  one_target_more.targets.push_back(0);
  other_class.targets[3] = 5;
  on_meshes(perceptron, batch, [&](ashlar::mesh const& m, plan_source const& plans) {
    std::mt19937 random(6);
    auto const plan = plans.random(random);
    auto model = nn::place<double>(perceptron, m, plan, 1);
    auto other = nn::place<double>(perceptron, m, plan, 1);
    train::trainer trainer(model, train::adam_w{}), undisturbed(other, train::adam_w{});
    for (int const from : {0, m.ranks() - 1}) {  // the first rank whose data do not fit
      auto const said = [&](auto const& wrong) {
        return message_of([&] { trainer.step(m.rank() < from ? good : wrong); });
      };
      auto const on_rank = "trainer: " +
                           (m.ranks() == 1 ? "" : "on rank " + std::to_string(from) + ": ");
      CHECK(said(one_row_less) ==
            on_rank + "a step takes 40 inputs and 10 targets, but was given 36 and 10.");
      CHECK(said(one_target_more) ==
            on_rank + "a step takes 40 inputs and 10 targets, but was given 40 and 11.");
      CHECK(said(decltype(good){}) ==
            on_rank + "a step takes 40 inputs and 10 targets, but was given 0 and 0.");
      CHECK(said(other_class) == on_rank + "target 5 is not one of the 5 classes.");
    }
    CHECK(trainer.steps_done() == 0);
    CHECK(trainer.step(good).loss == undisturbed.step(good).loss);
    CHECK(local_values<double>(model) == local_values<double>(other));
  });
}

TEST_CASE("ranks with different batches are told so on every rank, and nothing changes") {
  if (world_size() == 1) return;
  nn::feature_batch const batch{5, 4, 2};
  auto const good = random_batch<double>(batch, 0, 5, 1);
  on_meshes(perceptron, batch, [&](ashlar::mesh const& m, plan_source const& plans) {
    int const other = m.ranks() - 1;
    std::string const said = "trainer: at step 1 rank " + std::to_string(other) +
                             " has another batch than rank 0.";
    std::mt19937 random(8);
    auto model = nn::place<double>(perceptron, m, plans.random(random), 1);
    train::trainer trainer(model, train::adam_w{});
    trainer.step(good);
    auto const before = local_values<double>(model);
    auto other_input = good, other_target = good;
    if (m.rank() == other) {
      other_input.inputs[7] = std::nextafter(other_input.inputs[7], 2.0);
      other_target.targets[9] = (other_target.targets[9] + 1) % 5;
    }
    for (auto const& mine : {other_input, other_target})
      CHECK(has(message_of([&] { trainer.step(mine); }), said));
    CHECK(local_values<double>(model) == before);
    trainer.step(good);
    CHECK(trainer.steps_done() == 2);
  });
}

TEST_CASE("the checked mode finds replicated values that differ after a step") {
  if (world_size() == 1) return;
  nn::feature_batch const batch{5, 4};
  auto const data = random_batch<double>(batch, 0, 5, 1);
  on_meshes(perceptron, batch, [&](ashlar::mesh const& m, plan_source const& plans) {
    auto model = nn::place<double>(perceptron, m, plans.whole(), 1);
    train::trainer trainer(model, train::adam_w{});
    m.set_checked(true);
    trainer.step(data);
    model.for_each_parameter([&](auto const& p) {
      if (p.path() == "2.bias" && m.rank() == m.ranks() - 1)
        p.template shards<double>().value[1] += 0.25;
    });
    // One rank has another value of the bias than the other ranks. So all its gradients differ from
    // those of the other ranks, and the error names the first parameter.
    CHECK(message_of([&] { trainer.step(data); }) ==
          "trainer: after step 1 ranks 0 and " + std::to_string(m.ranks() - 1) +
              " have different values of 0.weight, although both hold the same part of it. Test "
              "the rules of its layer with nn::verify.");
  });
}

TEST_CASE("ranks with different seeds are told so on every rank") {
  if (world_size() == 1) return;
  on_meshes(perceptron, nn::feature_batch{5, 4}, [&](ashlar::mesh const& m, plan_source const& s) {
    std::uint64_t const seed = m.rank() == m.ranks() - 1 ? 2 : 1;
    CHECK(has(message_of([&] { nn::place<double>(perceptron, m, s.whole(), seed); }),
              "nn::place: the ranks have different seeds: rank "));
  });
}

TEST_CASE("options of the optimizer and the trainer that have no meaning are refused") {
  double const nan = std::numeric_limits<double>::quiet_NaN();
  auto const said = [](auto const& optimizer) { return message_of([&] { optimizer.check(); }); };
  CHECK(said(train::adam_w{}) == "nothing was thrown");
  CHECK(said(train::sgd{.lr = 0}) == "nothing was thrown");
  CHECK(said(train::adam_w{.lr = nan}) ==
        "adam_w: lr is nan, but must be a finite number of at least 0.");
  CHECK(said(train::adam_w{.beta1 = 1}) ==
        "adam_w: beta1 is 1, but must be at least 0 and below 1.");
  CHECK(has(said(train::adam_w{.beta2 = -0.1}), "adam_w: beta2 is -0.1"));
  CHECK(has(said(train::adam_w{.epsilon = nan}), "adam_w: epsilon is nan"));
  CHECK(has(said(train::adam_w{.epsilon = 0}), "adam_w: epsilon is 0, but must be a finite"));
  CHECK(has(said(train::adam_w{.weight_decay = -1}), "adam_w: weight_decay is -1"));
  CHECK(has(said(train::sgd{.lr = std::numeric_limits<double>::infinity()}), "sgd: lr is inf"));
  CHECK(has(said(train::sgd{.momentum = nan}), "sgd: momentum is nan"));
  CHECK(has(said(train::sgd{.weight_decay = nan}), "sgd: weight_decay is nan"));

  nn::feature_batch const batch{5, 4};
  auto const data = random_batch<double>(batch, 0, 5, 1);
  on_meshes(perceptron, batch, [&](ashlar::mesh const& m, plan_source const& plans) {
    auto model = nn::place<double>(perceptron, m, plans.whole(), 1);
    CHECK(has(message_of([&] { train::trainer(model, train::sgd{.lr = nan}); }), "sgd: lr is nan"));
    CHECK(has(message_of([&] { train::trainer(model, train::sgd{}, {.clip = nan}); }),
              "trainer: clip is nan, but must be above 0."));
    CHECK(
        message_of([&] { train::trainer(model, train::sgd{}, {.schedule = nullptr}); }) ==
        "trainer: the schedule is empty. Give a function of the step, or train::constant_rate{}.");
    auto const before = local_values<double>(model);
    train::trainer trainer(model, train::sgd{}, {.schedule = [&](std::int64_t) { return nan; }});
    CHECK(has(message_of([&] { trainer.step(data); }), "at step 0 the schedule returns nan"));
    CHECK(local_values<double>(model) == before);
  });
}

}  // namespace ashlar_test
