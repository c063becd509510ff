// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4

// Tests that training with each builder of a synchronization strategy equals training on one
// process, with exactly the collectives that search::schedule predicts, and that on two ranks it
// equals training with all-reduces bit for bit. Both transports, with and without overlap, one and
// two axes.

#include <doctest/doctest.h>
#include <support/placed.hpp>
#include <support/training_trial.hpp>

#include <ashlar/nn/gpt.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/sync/named.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;
namespace sync = ashlar::sync;
namespace train = ashlar::train;

auto const gpt = nn::tied(nn::embedding(11, 6), nn::repeat(1, nn::gpt_block(6, 3)),
                          nn::layer_norm(6), nn::output_embedding(6, 11));
nn::token_batch const batch{5, 4, 2};

/// Returns the losses of three steps, and the parameters and optimizer states afterwards.
template <class T>
std::vector<double> trained(ashlar::mesh const& m, search::plan const& plan, train::overlap how) {
  auto model = nn::place<T>(gpt, m, plan, 7);
  train::trainer trainer(model, train::adam_w{.lr = 0.01}, {.overlap = how});
  std::vector<double> all;
  for (unsigned step = 0; step < 3; ++step)
    all.push_back(trainer.step(data_for<std::int32_t>(gpt, batch, 11, 11, step, 5)).loss);
  model.for_each_parameter([&](auto const& p) {
    using stored = ashlar::accumulation_t<T>;
    auto const whole = to_full(p.value().template as<ashlar::tensor<stored, 2>>());
    all.insert(all.end(), whole.begin(), whole.end());
  });
  return all;
}

}  // namespace

TEST_CASE("every builder trains like one process, with the bytes that its plan predicts") {
  for (auto const& m : all_meshes()) {
    auto const& t = m.topology();
    if (t.axes() > 2) continue;
    training_trial it(gpt, batch, m, 11, 11);
    auto const plain = search::data_parallel(it.problem(), t, m.machine());
    for (auto const name : sync::names()) {
      CAPTURE(name);
      auto const plan = sync::named(name, it.problem(), plain, m.machine());
      auto const wrong = it.wrong_with(plan);
      CHECK_MESSAGE(wrong == "", wrong);
    }
  }
}

}  // namespace ashlar_test
