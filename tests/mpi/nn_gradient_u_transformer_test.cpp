// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 4

// Tests a small U-Transformer. Its gradients are compared with finite differences and, under random
// plans, with those of one process. Training under common plans must equal training on one process.

#include <support/gradients.hpp>
#include <support/training_trial.hpp>

#include <ashlar/nn/u_transformer.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/search/optimal.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;

auto const u_net = nn::u_transformer(nn::u_transformer_options<2>{
    .channels = {4, 4}, .heads = 2, .groups = 2, .context = {2, 3}, .image_channels = 1});
nn::image_batch const u_batch{3, 1, 4, 2, 2};

}  // namespace

TEST_CASE("gradients of a small U-Transformer") {
  gradient_check(u_net, nn::image_batch{3, 1, 4, 2}, 0, 1).run(4);
}

TEST_CASE("a small U-Transformer trains alike under searched and common plans") {
  for (auto const& m : all_meshes_of_two_machines()) {
    auto const& t = m.topology();
    training_trial<std::remove_const_t<decltype(u_net)>, nn::image_batch> it(u_net, u_batch, m, 0,
                                                                             1);
    std::mt19937 random(3);
    for (auto const& plan :
         {search::optimal(it.problem(), t, m.machine()),
          search::data_parallel(it.problem(), t, m.machine()),
          search::tensor_parallel(it.problem(), t, m.machine()), it.plans().random(random)}) {
      auto const wrong = it.wrong_with(plan);
      CHECK_MESSAGE(wrong == "", wrong);
    }
  }
}

}  // namespace ashlar_test
