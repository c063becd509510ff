// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 4

// Runs image layers under a plan that is found at compile time, and under the same plan as a
// run-time value. The results must be bitwise equal. In the model of the compile-time plan, every
// tensor must have its placement in its type.

#include <doctest/doctest.h>
#include <support/nets.hpp>
#include <support/placed.hpp>
#include <support/plans.hpp>
#include <support/probed.hpp>

#include <ashlar/nn/chain.hpp>
#include <ashlar/nn/convolution.hpp>
#include <ashlar/nn/linear.hpp>
#include <ashlar/nn/pooling.hpp>
#include <ashlar/search/in_compiler.hpp>
#include <ashlar/search/optimal.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;
namespace train = ashlar::train;

constexpr auto images_net = nn::chain(
    probed<nn::convolution>(2, 3, 3, nn::convolution_options{.padding = 1}), nn::max_pool(2),
    nn::linear<3, 1>({3, 2, 3}, {5}));
constexpr nn::image_batch images{5, 2, 4, 6};
constexpr auto images_problem = nn::describe<double>(images_net, images);
constexpr ashlar::topology line{{"gpu", 4}};
constexpr ashlar::machine machine = bandwidth_bound;

constexpr auto searched_images = search::optimal(images_problem, line, machine);
static_assert(!is_whole(searched_images[0]));

template <auto const& Plan>
void compare_images() {
  ashlar::mesh const m(MPI_COMM_WORLD, line, machine);
  auto typed = nn::place<double>(images_net, m, nn::constant<Plan>, 3);
  auto run_time = nn::place<double>(images_net, m, Plan, 3);
  train::trainer a(typed, train::adam_w{.lr = 0.01});
  train::trainer b(run_time, train::adam_w{.lr = 0.01});
  for (unsigned step = 0; step < 3; ++step) {
    auto const data = random_batch<double>(images, 0, 5, step);
    probed_calls::reset();
    double const loss = a.step(data).loss;
    CHECK(probed_calls::typed > 0);
    CHECK(probed_calls::dynamic == 0);
    CHECK(b.step(data).loss == loss);
    CHECK(probed_calls::dynamic == probed_calls::typed);
  }
  CHECK(values_of(typed) == values_of(run_time));
}

}  // namespace

TEST_CASE("a plan found by the compiler") { compare_images<searched_images>(); }

}  // namespace ashlar_test
