// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 2 3 4 6 8

// Tests that a net trains in pipeline stages exactly as it does on one stage: losses, gradient norms
// and parameters have the same bits as on a mesh of the ranks of one stage, with the same placements.
// The nets have dropout, and gradients are clipped.

#include <cstring>
#include <random>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/nets.hpp>
#include <support/placed.hpp>
#include <support/plans.hpp>

#include <ashlar/nn/gpt.hpp>
#include <ashlar/search/price_pipeline.hpp>
#include <ashlar/step/check.hpp>
#include <ashlar/step/pipeline/interleaved.hpp>
#include <ashlar/step/pipeline/split_backward.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;
namespace train = ashlar::train;
namespace pipelines = ashlar::pipelines;

auto const pipelined_gpt = nn::chain(nn::embedding(7, 6), nn::repeat(3, nn::gpt_block(6, 3, 0.2)),
                                     nn::layer_norm(6), nn::linear(6, 7));

/// Draws stages of at least one unit each: elements or whole residuals.
std::vector<int> random_limits(search::problem const& net, int stages, std::mt19937& random) {
  auto points = search::detail::cutting_points(net);
  std::vector<int> inner(points.begin() + 1, points.end() - 1), limits{0};
  std::shuffle(inner.begin(), inner.end(), random);
  inner.resize(static_cast<std::size_t>(stages) - 1);
  std::sort(inner.begin(), inner.end());
  limits.insert(limits.end(), inner.begin(), inner.end());
  limits.push_back(net.size());
  return limits;
}

std::vector<pipelines::schedule> schedules_of(int positions, int m) {
  std::vector<pipelines::schedule> list{
      pipelines::gpipe(positions, m), pipelines::one_f_one_b(positions, m),
      pipelines::eager(positions, m), pipelines::zb_h1(positions, m),
      pipelines::zb_h2(positions, m), pipelines::zb_v(positions, m)};
  if (m % positions == 0) list.push_back(pipelines::interleaved(positions, m, 2));
  return list;
}

/// Returns whether tensors arrive at all cuts as sums. If a reader wants addends, they are others than
/// on one stage, where the sum may stay divided: then the results agree within rounding.
bool arrive_whole(search::plan const& chosen, std::vector<int> const& limits) {
  bool whole = true;
  for (std::size_t s = 1; s + 1 < limits.size(); ++s)
    whole = whole && !chosen[limits[s]].x.has_partial() && !chosen[limits[s] - 1].dy.has_partial();
  return whole;
}

/// Trains three steps. Returns the losses and norms.
template <class Batch, class Model>
std::vector<double> trained(Batch const& batch, Model& model) {
  train::trainer trainer(model, train::adam_w{.lr = 0.01}, {.clip = 0.5});
  std::vector<double> all;
  for (unsigned step = 0; step < 3; ++step) {
    auto const report = trainer.step(random_batch<std::int32_t>(batch, 7, 7, step, 4));
    all.push_back(report.loss);
    all.push_back(report.gradient_norm);
  }
  return all;
}

}  // namespace

TEST_CASE("stages of a pipeline train as one stage does, bit for bit") {
  std::mt19937 random(11);
  for (int positions = 2; positions <= world_size(); ++positions) {
    if (world_size() % positions != 0) continue;
    int const q = world_size() / positions;
    ashlar::mesh const whole(MPI_COMM_WORLD, {{"stage", positions}, {"gpu", q}});
    ashlar::topology const one{{"stage", 1}, {"gpu", q}};
    MPI_Comm own = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, world_rank() / q, world_rank() % q, &own);
    {
      ashlar::mesh const alone(own, one);
      for (int const m : {positions, positions + 1}) {
        nn::token_batch const batch{3, 4, m};
        auto const problem = any_length(nn::describe<double>(pipelined_gpt, batch));
        plan_source const plans(problem, one, whole.machine());
        for (auto const& order : schedules_of(positions, m)) {
          CAPTURE(positions);
          CAPTURE(to_string(order));
          auto const units = search::detail::cutting_points(problem).size() - 1;
          if (static_cast<std::size_t>(order.stages()) > units) continue;
          auto const chosen = plans.random(random);
          auto const limits = random_limits(problem, order.stages(), random);
          std::vector<int> recomputed;
          for (int s = 0; s < order.stages(); ++s)
            recomputed.push_back(
                static_cast<int>(random() % 2) &
                static_cast<int>(search::stage_of(problem, limits[static_cast<std::size_t>(s)],
                                                  limits[static_cast<std::size_t>(s) + 1], 1)
                                     .segments > 0));
          auto plan = search::price_pipeline(problem, chosen, limits, recomputed, 0, m,
                                             whole.machine());
          plan.order = order;
          auto staged = nn::place<double>(pipelined_gpt, whole, plan, 5);
          auto serial = nn::place<double>(pipelined_gpt, alone, chosen, 5);
          auto const program = staged.program();
          auto const fault = ashlar::search::check(program);
          INFO(to_string(fault, program));
          REQUIRE(!fault.found());
          bool const same_bits = arrive_whole(chosen, limits);
          CAPTURE(same_bits);
          auto const a = trained(batch, staged), b = trained(batch, serial);
          for (std::size_t k = 0; k < a.size(); ++k) CHECK(near(a[k], b[k], 1e-12));
          if (same_bits) CHECK(a == b);
          std::vector<ashlar::nn::parameter<ashlar::device::host::processor> const*> expected;
          serial.for_each_parameter([&](auto const& p) { expected.push_back(&p); });
          std::size_t k = 0;
          staged.for_each_parameter([&](auto const& p) {
            auto const& other = *expected[k++];
            CHECK(p.path() == other.path());
            if (!p.value().mesh().is_here()) return;
            auto const *x = p.value().template data_as<double>(),
                       *y = other.value().template data_as<double>();
            double largest = 0;
            for (std::int64_t i = 0; i < p.value().local_elements(); ++i)
              largest = std::max(largest, std::abs(x[i] - y[i]));
            CHECK(largest <= (same_bits ? 0 : 1e-9));
          });
        }
      }
    }
    MPI_Comm_free(&own);
  }
}

}  // namespace ashlar_test
