// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4

// Tests training steps under plans that split the rows of images. Ranks then exchange halos, which
// are rows that the windows of several ranks read. The training of a small VGG must have the
// results of a training without any split, within rounding. Reordered programs, and segments that
// are recomputed, must give the same bits. On both transports, the moved bytes must be those that
// the step's program predicts. Tensors must take the memory that the program predicts.

#include <doctest/doctest.h>
#include <support/halo_plans.hpp>
#include <support/nets.hpp>
#include <support/placed.hpp>
#include <support/traffic_check.hpp>

#include <ashlar/nn/segment.hpp>
#include <ashlar/nn/vgg.hpp>
#include <ashlar/search/optimal.hpp>
#include <ashlar/search/price_pipeline.hpp>
#include <ashlar/step/check.hpp>
#include <ashlar/step/pass_trial.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;
namespace step = ashlar::step;
namespace train = ashlar::train;

// The net has stages of a VGG for images of 9 x 7, followed by linear layers.
auto const small_vgg = nn::chain(nn::segment(nn::vgg_stage<2>(2, 3, true)),
                                 nn::segment(nn::vgg_stage<2>(3, 4, true)),
                                 nn::linear<3, 1>({4, 2, 1}, {6}), nn::relu(), nn::linear(6, 5));
nn::image_batch const small_images{2, 2, 9, 7, 2};

/// Returns plans with halos on a mesh. Every rank gets the same plans.
std::vector<search::plan> halo_plans(search::problem const& problem, ashlar::mesh const& m,
                                     unsigned seed, int count) {
  plan_source const plans(problem, m);
  std::mt19937 random(seed);
  std::vector<search::plan> all;
  for (int i = 0; i < count; ++i)
    all.push_back(plan_with_halos(problem, plans, m.topology(), random));
  return all;
}

/// Returns the losses of a few steps, and the parameters after them.
template <class T>
std::pair<std::vector<double>, whole_parameters>
trained(ashlar::mesh const& m, search::plan const& plan, train::overlap how) {
  auto model = nn::place<T>(small_vgg, m, plan, 7);
  train::trainer trainer(model, train::sgd{.lr = 0.1, .momentum = 0.5},
                         {.clip = 0.8, .overlap = how});
  std::vector<double> losses;
  for (unsigned s = 0; s < 4; ++s)
    losses.push_back(trainer.step(random_batch<T>(small_images, 0, 5, s, 6)).loss);
  return {losses, values_of(model)};
}

template <class T>
void check_training(double tolerance) {
  auto const problem = search::any_length(nn::describe<T>(small_vgg, small_images));
  for (auto const& m : all_meshes()) {
    auto const right = trained<T>(m, plan_source(problem, m).whole(), train::overlap::none);
    for (auto const& plan : halo_plans(problem, m, 3, 3)) {
      CAPTURE(describe(problem, plan));
      auto const serial = trained<T>(m, plan, train::overlap::none);
      for (std::size_t s = 0; s < right.first.size(); ++s)
        CHECK(near(serial.first[s], right.first[s], tolerance));
      CHECK(difference(serial.second, right.second) < tolerance);
      CHECK(trained<T>(m, plan, train::overlap::as_planned) == serial);
      auto again = plan;
      again.recomputed = 2 - plan.recomputed;
      CHECK(trained<T>(m, again, train::overlap::none) == serial);
    }
  }
}

/// Returns `p` and programs that the optimization passes make from it.
std::vector<step::program> reordered(step::program const& p) {
  auto const early = step::early_moves(p).made;
  step::overlap_options const options;
  return {p, early, step::early_synchronization(early, 300).made,
          step::prefetch(p, options.gathers[0]).made,
          step::prefetch(step::early_synchronization(early, 0).made, options.gathers[1]).made};
}

}  // namespace

TEST_CASE("a VGG with split rows trains as without splits") {
  check_training<double>(1e-9);
  check_training<float>(2e-4);
}

TEST_CASE("the search splits the rows of a single image, and the plan trains") {
  nn::image_batch const one{1, 2, 9, 7, 2};
  constexpr ashlar::machine slow{{1e-12, 1e-9}, {1e-12, 4e-9}, 1e7, 1e7, 0};
  auto const problem = search::any_length(nn::describe<double>(small_vgg, one));
  for (auto const& m : all_meshes(slow)) {
    auto const plan = search::optimal(problem, m.topology(), slow);
    CAPTURE(describe(problem, plan));
    auto model = nn::place<double>(small_vgg, m, plan, 7);
    // A single rank has no halos. On three ranks, the search may split the three channels instead
    // of the rows, which is equally fast.
    if (world_size() % 2 == 0) CHECK(halo_exchanges(model.program()) > 0);
    auto whole = nn::place<double>(small_vgg, m, plan_source(problem, m).whole(), 7);
    train::trainer split(model, train::adam_w{.lr = 0.01}), right(whole, train::adam_w{.lr = 0.01});
    for (unsigned s = 0; s < 3; ++s) {
      auto const data = random_batch<double>(one, 0, 5, s);
      CHECK(near(split.step(data).loss, right.step(data).loss, 1e-9));
    }
  }
}

TEST_CASE("with halos, every pass gives the same bits and the predicted bytes") {
  auto const problem = search::any_length(nn::describe<double>(small_vgg, small_images));
  auto const data = random_batch<double>(small_images, 0, 5, 1);
  int halos = 0;
  for (auto const& t : topologies(world_size()))
    for (auto const on : {transport::messages, transport::shared_memory}) {
      auto const m = mesh_on(on, t, bandwidth_bound);
      m.set_checked(false);  // the checked mode would move bytes too
      for (auto const& plan : halo_plans(problem, m, 5, 2)) {
        CAPTURE(describe(problem, plan));
        auto model = nn::place<double>(small_vgg, m, plan, 3);
        double loss = 0;
        whole_parameters gradients;
        for (auto const& p : reordered(model.program())) {
          CHECK(!step::check(p).found());
          halos += halo_exchanges(p);
          auto walker = model.make_executor(p);
          model.clear_gradients();
          double found = 0;
          {
            traffic_check const check(m, on);
            walker.run(0, walker.first_update(),
                       model.input_of(data.inputs, data.targets, 0, &found));
            bool const in_order = p == model.program();
            auto const buckets = std::any_of(p.moves.begin(), p.moves.end(),
                                             [](auto const& move) { return move.bucket >= 0; });
            if (!buckets) CHECK(check.difference(records_of(p, m), in_order) == "");
            double bytes = 0;
            for (auto const& r : check.log().records()) bytes += double(r.received_bytes);
            CHECK(bytes == step::received_at(p, m.coordinate()).bytes());
          }
          walker.hand_out_gradients();
          auto const made = gradients_of(model);
          if (gradients.empty()) loss = found, gradients = made;
          CHECK(found == loss);
          CHECK(made == gradients);
        }
      }
    }
  if (world_size() > 1) CHECK(halos > 0);
}

TEST_CASE("rows split in the stages of a pipeline train as without splits") {
  if (world_size() != 4) return;
  nn::image_batch batch = small_images;
  batch.micro_batches = 3;
  auto const problem = search::any_length(nn::describe<double>(small_vgg, batch));
  ashlar::mesh const all(MPI_COMM_WORLD, {{"stage", 2}, {"gpu", 2}});
  ashlar::topology const one{{"stage", 1}, {"gpu", 2}};
  plan_source const whole(problem, all), stages(problem, one, all.machine());
  std::mt19937 random(4);
  auto const losses = [&](auto const& plan) {
    auto model = nn::place<double>(small_vgg, all, plan, 7);
    train::trainer trainer(model, train::sgd{.lr = 0.1}, {.clip = 0.8});
    std::vector<double> found;
    for (unsigned s = 0; s < 3; ++s)
      found.push_back(trainer.step(random_batch<double>(batch, 0, 5, s, 6)).loss);
    return found;
  };
  auto const right = losses(whole.whole());
  int halos = 0;
  for (int const cut : {3, 5, 8}) {
    auto const chosen = plan_with_halos(problem, stages, one, random);
    for (int i = 0; i < problem.size(); ++i)
      halos += !halo_axes(problem.spec(i), chosen[i].x, one).empty();
    auto plan = search::price_pipeline(problem, chosen, {0, cut, problem.size()},
                                       std::vector<int>{0, 0}, 0, 3, all.machine());
    CAPTURE(cut);
    auto const found = losses(plan);
    for (std::size_t s = 0; s < right.size(); ++s) CHECK(near(found[s], right[s], 1e-9));
  }
  CHECK(halos > 0);
}

TEST_CASE("with halos, tensors take the memory that the program predicts") {
  auto const net = nn::chain(nn::vgg_stage<2>(3, 8, true), nn::vgg_stage<2>(8, 8, true),
                             nn::linear<3, 1>({8, 8, 8}, {5}));
  nn::image_batch const images{4, 3, 32, 32};
  auto const problem = search::any_length(nn::describe<double>(net, images, 0));
  auto const data = random_batch<double>(images, 0, 5, 1);
  for (auto const& m : all_meshes()) {
    if (m.axes() > 1) continue;
    for (auto const& plan : halo_plans(problem, m, 9, 2)) {
      CAPTURE(describe(problem, plan));
      auto const before = static_cast<std::int64_t>(m.memory().bytes_in_use());
      auto model = nn::place<double>(net, m, plan, 3);
      accumulate_step(model, data);
      m.memory().reset_peak();
      accumulate_step(model, data);
      auto peak = static_cast<std::int64_t>(m.memory().peak_bytes()) - before;
      MPI_Allreduce(MPI_IN_PLACE, &peak, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
      CAPTURE(peak);
      CAPTURE(plan.memory);
      CHECK(peak <= plan.memory);
      CHECK(double(peak) >= 0.7 * double(plan.memory));
    }
  }
}

}  // namespace ashlar_test
