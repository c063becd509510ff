// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4

// Tests the two options of the cross-entropy (label smoothing, and which rows are in the mean)
// against plain loops and finite differences. Steps with several micro-batches, under data, tensor
// and random plans and in pipelines, must divide by the number of rows of the whole step.

#include <doctest/doctest.h>
#include <support/local_part.hpp>
#include <support/message_of.hpp>
#include <support/nets.hpp>
#include <support/placed.hpp>
#include <support/plans.hpp>

#include <ashlar/nn/activation.hpp>
#include <ashlar/nn/chain.hpp>
#include <ashlar/nn/embedding.hpp>
#include <ashlar/nn/layer_norm.hpp>
#include <ashlar/nn/linear.hpp>
#include <ashlar/nn/verify.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/search/price_pipeline.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;
namespace train = ashlar::train;
using nn::ignored_rows;

std::vector<nn::cross_entropy_options> const all_options{
    {.label_smoothing = 0.1, .ignored = ignored_rows::counted},
    {.label_smoothing = 0, .ignored = ignored_rows::left_out},
    {.label_smoothing = 0.3, .ignored = ignored_rows::left_out}};
constexpr int loss_classes = 7;

auto net_with(nn::cross_entropy_options const& options) {
  return nn::chain(nn::embedding(7, 6), nn::layer_norm(6), nn::linear(6, loss_classes),
                   nn::softmax_cross_entropy(options));
}

/// Returns the mean loss of logits [.., classes], by plain loops over rows and classes.
double naive_loss(std::vector<double> const& logits, std::vector<std::int32_t> const& targets,
                  nn::cross_entropy_options const& options) {
  double sum = 0;
  int rows = 0;
  for (std::size_t r = 0; r < targets.size(); ++r) {
    if (targets[r] < 0 && options.ignored == ignored_rows::left_out) continue;
    ++rows;
    if (targets[r] < 0) continue;
    double exponentials = 0;
    for (std::size_t c = 0; c < loss_classes; ++c)
      exponentials += std::exp(logits[r * loss_classes + c]);
    for (std::size_t c = 0; c < loss_classes; ++c) {
      double q = options.label_smoothing / loss_classes;
      if (static_cast<std::int32_t>(c) == targets[r]) q += 1 - options.label_smoothing;
      sum -= q * std::log(std::exp(logits[r * loss_classes + c]) / exponentials);
    }
  }
  return sum / rows;
}

/// Draws a step of three micro-batches with 2, 12 and 7 targets that are not ignored.
train::batch_data<std::int32_t> uneven_step(nn::token_batch const& batch, unsigned seed) {
  auto data = random_batch<std::int32_t>(batch, 7, loss_classes, seed);
  for (std::size_t i = 0; i < 10; ++i) data.targets[i] = -1 - static_cast<std::int32_t>(i);
  for (std::size_t i = 0; i < 5; ++i) data.targets[24 + 2 * i] = -1;
  return data;
}
constexpr nn::token_batch uneven{3, 4, 3};

template <class Net>
auto problem_of(Net const& net) {
  return search::any_length(nn::describe<double>(net, uneven));
}

struct trained {
  std::vector<double> losses;
  whole_parameters first_gradients, values;
};

/// Trains for some steps. The first step has the learning rate 0, so its gradients are those of the
/// initial values.
template <class Net, class Plan>
trained train_on(Net const& net, ashlar::mesh const& m, Plan const& plan) {
  trained made;
  auto model = nn::place<double>(net, m, plan, 2);
  train::trainer first(model, train::sgd{.lr = 0});
  made.losses.push_back(first.step(uneven_step(uneven, 1)).loss);
  made.first_gradients = gradients_of(model);
  train::trainer trainer(model, train::sgd{.lr = 0.3});
  for (unsigned s = 2; s < 5; ++s) made.losses.push_back(trainer.step(uneven_step(uneven, s)).loss);
  made.values = values_of(model);
  return made;
}

template <class Problem>
std::vector<search::plan> plans_of(Problem const& problem, ashlar::mesh const& m) {
  std::vector<search::plan> all{search::data_parallel(problem, m.topology(), m.machine()),
                                search::tensor_parallel(problem, m.topology(), m.machine())};
  plan_source const plans(problem, m);
  std::mt19937 random(5);
  for (int i = 0; i < 2; ++i) all.push_back(plans.random(random));
  // In this plan, all layers are replicated. Only the loss is split, along the classes.
  auto const whole = plans.whole();
  all.push_back(plans.filled([&](int e) {
    if (e + 1 < whole.size()) return search::layer_choice(whole[e]);
    for (auto const& c : plans.choices(e)) {
      bool splits_classes = true;
      for (int a = 0; a < m.axes(); ++a) splits_classes = splits_classes && c.x[a].is_split_of(2);
      if (splits_classes) return c;
    }
    return search::layer_choice(whole[e]);
  }));
  return all;
}

}  // namespace

TEST_CASE(
    "the options of the cross-entropy have the rows, values and gradients that verify tests") {
  for (auto const& options : all_options) {
    ashlar::mesh const m(MPI_COMM_WORLD, {{"rank", world_size()}});
    nn::verify(nn::softmax_cross_entropy(options), {5, 7}, m);
    nn::verify(nn::softmax_cross_entropy(options), {2, 3, 4}, m);
    nn::verify<float>(nn::softmax_cross_entropy(options), {5, 7}, m);
  }
}

TEST_CASE("losses are those of plain loops, and gradients their finite differences") {
  for (auto const& options : all_options) {
    auto const net = net_with(options);
    ashlar::mesh const alone(MPI_COMM_SELF, {{"gpu", 1}});
    auto const problem = problem_of(net);
    auto model = nn::place<double>(net, alone, plan_source(problem, alone).whole(), 2);
    auto const data = uneven_step(uneven, 1);
    train::trainer trainer(model, train::sgd{.lr = 0});
    double const loss = trainer.step(data).loss;
    CHECK(near(loss, naive_loss(model.predict(data.inputs), data.targets, options), 1e-13));
    CHECK(near(loss, model.evaluate(data.inputs, data.targets), 1e-13));
    auto const gradients = gradients_of(model);
    auto const initial = values_of(model);
    whole_parameters numeric = gradients;
    for (std::size_t k = 0; k < initial.size(); ++k)
      for (std::size_t i = 0; i < initial[k].size(); i += 3) {
        double const h = 1e-5;
        auto moved = initial;
        auto const loss_at = [&](double value) {
          moved[k][i] = value;
          set_values(model, moved);
          return naive_loss(model.predict(data.inputs), data.targets, options);
        };
        numeric[k][i] = (loss_at(initial[k][i] + h) - loss_at(initial[k][i] - h)) / (2 * h);
      }
    CHECK(difference(gradients, numeric) < 1e-7);
  }
}

TEST_CASE("evaluate divides by the rows in the mean, for any number of samples") {
  for (auto const& options : all_options) {
    auto const net = net_with(options);
    ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
    auto const problem = problem_of(net);
    auto model = nn::place<double>(net, m, plans_of(problem, m).back(), 2);
    auto const data = uneven_step(uneven, 1);
    auto const logits = model.predict(data.inputs);
    for (std::size_t const samples : {3u, 4u, 7u, 9u}) {
      std::span<std::int32_t const> const inputs = data.inputs, targets = data.targets;
      auto const some = targets.first(4 * samples);
      CHECK(near(model.evaluate(inputs.first(4 * samples), some),
                 naive_loss(logits, {some.begin(), some.end()}, options), 1e-12));
    }
  }
}

TEST_CASE("nets with these options train on any plan as on one process, with the planned bytes") {
  for (auto const& options : all_options) {
    auto const net = net_with(options);
    auto const problem = problem_of(net);
    ashlar::mesh const alone(MPI_COMM_SELF, {{"gpu", 1}});
    auto const expected = train_on(net, alone, plan_source(problem, alone).whole());
    for (auto const& m : all_meshes())
      for (auto const& plan : plans_of(problem, m)) {
        CAPTURE(describe(problem, plan));
        auto const here = train_on(net, m, plan);
        for (std::size_t s = 0; s < here.losses.size(); ++s)
          CHECK(near(here.losses[s], expected.losses[s], 1e-11));
        CHECK(difference(here.first_gradients, expected.first_gradients) < 1e-11);
        CHECK(difference(here.values, expected.values) < 1e-10);

        auto model = nn::place<double>(net, m, plan, 2);
        train::trainer trainer(model, train::sgd{.lr = 0.3}, {.overlap = train::overlap::none});
        ashlar::communication_log const log(m);
        trainer.step(uneven_step(uneven, 2));
        CHECK(describe(log.records(), m.topology()) ==
              describe(expected_records(problem, plan, m), m.topology()));
      }
  }
}

TEST_CASE("with local parts, ranks count the rows in the mean once, with 8 bytes a step") {
  for (auto const& options : all_options) {
    auto const net = net_with(options);
    auto const problem = problem_of(net);
    for (auto const& m : all_meshes())
      for (auto const& plan : plans_of(problem, m)) {
        CAPTURE(describe(problem, plan));
        auto a = nn::place<double>(net, m, plan, 2), b = nn::place<double>(net, m, plan, 2);
        train::trainer whole(a, train::sgd{.lr = 0.3}), parts(b, train::sgd{.lr = 0.3});
        for (unsigned s = 1; s < 3; ++s) {
          auto const data = uneven_step(uneven, s);
          auto const part = local_part(parts, data);
          ashlar::communication_log const log(m);
          auto const expected = whole.step(data);
          auto const before = log.records().size();
          auto const made = parts.step(part);
          CHECK(made.loss == expected.loss);
          CHECK(made.gradient_norm == expected.gradient_norm);
          bool const counts = options.ignored == ignored_rows::left_out;
          auto const& records = log.records();
          CHECK(records.size() == 2 * before + counts);
          if (counts) CHECK(records[before].received_bytes == record_of_sums(1, m).received_bytes);
        }
        CHECK(values_of(a) == values_of(b));
      }
  }
}

TEST_CASE("a pipeline divides by the rows of all its micro-batches, also with local parts") {
  if (world_size() % 2 != 0) return;
  int const q = world_size() / 2;
  ashlar::mesh const m(MPI_COMM_WORLD, {{"stage", 2}, {"gpu", q}});
  for (auto const& options : all_options) {
    auto const net = net_with(options);
    auto const problem = problem_of(net);
    ashlar::topology const one{{"stage", 1}, {"gpu", q}};
    auto const chosen = search::tensor_parallel(problem, one, m.machine());
    auto plan = search::price_pipeline(problem, chosen, {0, 2, problem.size()}, {0, 0}, 0,
                                       uneven.micro_batches, m.machine());
    ashlar::mesh const alone(MPI_COMM_SELF, {{"gpu", 1}});
    auto const expected = train_on(net, alone, plan_source(problem, alone).whole());
    auto model = nn::place<double>(net, m, plan, 2), other = nn::place<double>(net, m, plan, 2);
    train::trainer whole(model, train::sgd{.lr = 0.3}), parts(other, train::sgd{.lr = 0.3});
    CHECK(near(model.evaluate(uneven_step(uneven, 1).inputs, uneven_step(uneven, 1).targets),
               expected.losses[0], 1e-11));
    for (unsigned s = 2; s < 5; ++s) {
      auto const data = uneven_step(uneven, s);
      double const loss = whole.step(data).loss;
      CHECK(near(loss, expected.losses[s - 1], 1e-11));
      CHECK(parts.step(local_part(parts, data)).loss == loss);
    }
  }
}

TEST_CASE("options and data that have no mean are refused on every rank") {
  for (double const wrong : {-0.1, 1.5, std::nan("")})
    CHECK(message_of([&] { nn::softmax_cross_entropy({.label_smoothing = wrong}); }) ==
          "nn::softmax_cross_entropy: label_smoothing is " + std::to_string(wrong) +
              ", but must be from 0 to 1.");
  auto const net = net_with(all_options[1]);
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const problem = problem_of(net);
  auto const plan = search::data_parallel(problem, m.topology(), m.machine());
  auto model = nn::place<double>(net, m, plan, 2);
  train::trainer trainer(model, train::sgd{.lr = 0.3});
  auto data = uneven_step(uneven, 1);
  std::fill(data.targets.begin(), data.targets.end(), -1);
  std::string const none = "trainer: at step 0 all targets are left out of the mean of the loss, "
                           "which has no value then. Pass a batch with a target that is not "
                           "negative, or pass over this batch.";
  CHECK(message_of([&] { trainer.step(data); }) == none);
  CHECK(message_of([&] { trainer.step(local_part(trainer, data)); }) == none);
  CHECK(message_of([&] { model.evaluate(data.inputs, data.targets); }) ==
        "model: evaluate got targets that are all left out of the mean of the loss, which "
        "has no value then. Pass at least one that is not negative.");
  CHECK(message_of([&] {
          model.accumulate(std::span(data.inputs).first(12), std::span(data.targets).first(12), 0);
        }) == "model: accumulate gets one of 3 micro-batches, but the mean of the loss is over "
              "those targets of all of them that are not left out. Call trainer::step, or place "
              "the net with one micro-batch.");
  CHECK(trainer.step(uneven_step(uneven, 1)).loss > 0);
}

}  // namespace ashlar_test
