// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 4 6

// Tests that a fault in one stage of a pipeline is found and reported on every rank of the mesh.
// The messages must number ranks as in the whole mesh, not as in a stage.

#include <limits>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/nets.hpp>
#include <support/placed.hpp>
#include <support/plans.hpp>

#include <ashlar/nn/activation.hpp>
#include <ashlar/nn/chain.hpp>
#include <ashlar/nn/linear.hpp>
#include <ashlar/search/price_pipeline.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;
namespace train = ashlar::train;

auto const two_stages = nn::chain(nn::linear(4, 6), nn::gelu(), nn::linear(6, 5));

/// Calls f(mesh, trainer, change) with a trainer of two stages. On the last rank, change(value)
/// adds `value` to one element of the bias in stage 1. This bias is replicated on all ranks of the
/// stage, so change() makes its copies differ. On other ranks, change() does nothing.
template <class F>
void with_pipeline(F f) {
  int const q = world_size() / 2;
  nn::feature_batch const batch{6, 4, 2};
  ashlar::mesh const m(MPI_COMM_WORLD, {{"stage", 2}, {"gpu", q}});
  m.set_checked(true);
  auto const problem = any_length(nn::describe<double>(two_stages, batch));
  auto const whole = plan_source(problem, {{"stage", 1}, {"gpu", q}}, m.machine()).whole();
  auto const plan = search::price_pipeline(problem, whole, {0, 2, problem.size()}, {0, 0}, 0, 2,
                                           m.machine());
  auto model = nn::place<double>(two_stages, m, plan, 1);
  // The learning rate is 0, so no gradient changes a parameter after change() was called.
  train::trainer t(model, train::adam_w{}, {.schedule = [](std::int64_t) { return 0.0; }});
  f(m, t, [&](double value) {
    model.for_each_parameter([&](auto const& p) {
      if (p.path() == "2.bias" && m.rank() == m.ranks() - 1)
        p.template shards<double>().value[1] += value;
    });
  });
}

}  // namespace

TEST_CASE("the checked mode finds values of one stage that differ, and names ranks of the mesh") {
  auto const data = random_batch<double>(nn::feature_batch{6, 4, 2}, 0, 5, 1);
  with_pipeline([&](ashlar::mesh const& m, auto& trainer, auto const& change) {
    trainer.step(data);
    change(0.25);
    CHECK(message_of([&] { trainer.step(data); }) ==
          "trainer: after step 1 ranks " + std::to_string(m.ranks() / 2) + " and " +
              std::to_string(m.ranks() - 1) +
              " have different values of 2.bias, although both hold the same part of it. Test the "
              "rules of its layer with nn::verify.");
  });
}

TEST_CASE("values of one stage that are not finite are named with a rank of the mesh") {
  auto const data = random_batch<double>(nn::feature_batch{6, 4, 2}, 0, 5, 1);
  with_pipeline([&](ashlar::mesh const& m, auto& trainer, auto const& change) {
    trainer.step(data);
    change(std::numeric_limits<double>::quiet_NaN());
    CHECK(has(message_of([&] { trainer.step(data); }),
              ": 2.bias on rank " + std::to_string(m.ranks() - 1) + " was not finite before it."));
  });
}

}  // namespace ashlar_test
