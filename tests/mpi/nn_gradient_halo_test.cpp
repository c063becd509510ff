// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4

// Tests gradients of convolution and pooling under plans that split the rows of images. Ranks then
// exchange halos, the rows that windows of several ranks read. The gradients of one process are
// compared with finite differences. The loss and all gradients under each plan are compared with
// those of one process. The numbers of rows are not divisible by the extents of the mesh axes: some
// shards are thinner than a halo, and some are empty. Several mesh axes may split the rows.

#include <support/gradients.hpp>
#include <support/halo_plans.hpp>

#include <ashlar/nn/activation.hpp>
#include <ashlar/nn/chain.hpp>
#include <ashlar/nn/convolution.hpp>
#include <ashlar/nn/flatten.hpp>
#include <ashlar/nn/linear.hpp>
#include <ashlar/nn/pooling.hpp>
#include <ashlar/nn/residual.hpp>
#include <ashlar/nn/segment.hpp>

namespace ashlar_test {
namespace {
namespace nn = ashlar::nn;

/// Compares the gradients of one process with finite differences. Then compares the loss and the
/// gradients under random plans with halos, on each mesh, with those of one process.
template <class Net>
void check_with_halos(Net const& net, nn::image_batch const& batch, int classes) {
  CAPTURE(batch.height);
  gradient_check check(net, batch, 0, classes);
  CHECK(check.error_of_backward() < 1e-7);
  int exchanges = 0;
  unsigned seed = 0;
  for (auto const& m : all_meshes()) {
    plan_source const plans(check.problem(), m);
    std::mt19937 random(++seed);
    for (int i = 0; i < 8; ++i) {
      auto const plan = plan_with_halos(check.problem(), plans, m.topology(), random);
      exchanges += halo_exchanges(build(check.problem(), plan, m.machine()));
      auto const wrong = check.wrong_with(m, plan);
      CHECK_MESSAGE(wrong == "", wrong);
    }
  }
  if (world_size() > 1) CHECK(exchanges >= 8);
}

}  // namespace

TEST_CASE("rows split under convolution and maximum pooling") {
  for (std::int64_t const height : {4, 7, 8, 9})
    check_with_halos(nn::chain(nn::convolution(2, 3, 3, {.padding = 1, .halo = true}), nn::gelu(),
                               nn::max_pool(2, {.halo = true}),
                               nn::linear<3, 1>({3, height / 2, 2}, {5})),
                     nn::image_batch{2, 2, height, 5}, 5);
}

TEST_CASE("halos thicker than shards, strides and padding") {
  check_with_halos(
      nn::chain(nn::convolution(2, 3, 5, {.padding = 2, .halo = true}), nn::gelu(),
                nn::max_pool(3, {.stride = 2, .padding = 1, .halo = true}),
                nn::convolution(3, 2, 3, {.stride = 2, .padding = 2, .bias = false, .halo = true}),
                nn::flatten(), nn::linear(2 * 3 * 3, 3)),
      nn::image_batch{2, 2, 5, 7}, 3);
}

TEST_CASE("windows that leave gaps, and average pooling") {
  check_with_halos(nn::chain(nn::convolution(1, 4, 1, {.stride = 2, .halo = true}), nn::gelu(),
                             nn::average_pool(3, {.stride = 1, .padding = 1, .halo = true}),
                             nn::average_pool(1, {.stride = 3, .halo = true}), nn::flatten(),
                             nn::linear(8, 3)),
                   nn::image_batch{2, 1, 9, 5}, 3);
}

TEST_CASE("halos inside residuals and recomputed segments") {
  check_with_halos(
      nn::chain(nn::convolution(1, 2, 3, {.padding = 1, .halo = true}),
                nn::segment(nn::chain(
                    nn::residual(nn::chain(nn::convolution(2, 2, 3, {.padding = 1, .halo = true}),
                                           nn::gelu())),
                    nn::max_pool(2, {.stride = 1, .halo = true}))),
                nn::segment(nn::chain(nn::convolution(2, 3, 2, {.halo = true}), nn::gelu())),
                nn::flatten(), nn::linear(3 * 4 * 2, 3)),
      nn::image_batch{2, 1, 6, 4}, 3);
}

TEST_CASE("halos with Winograd's method") {
  check_with_halos(nn::chain(nn::convolution(1, 8, 1), nn::gelu(),
                             nn::convolution(8, 8, 3, {.padding = 1, .halo = true}), nn::gelu(),
                             nn::convolution(8, 2, 3, {.halo = true}),
                             nn::linear<3, 1>({2, 11, 9}, {2})),
                   nn::image_batch{1, 1, 13, 11}, 2);
}

}  // namespace ashlar_test
