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
#include <ashlar/nn/group_norm.hpp>
#include <ashlar/nn/image_attention.hpp>
#include <ashlar/nn/linear.hpp>
#include <ashlar/nn/mean_squared_error.hpp>
#include <ashlar/nn/pooling.hpp>
#include <ashlar/nn/upsample.hpp>
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

// The batch is a single image, so the best plan splits the rows of the image. Ranks then exchange
// halos.
constexpr auto rows_net = nn::chain(
    probed<nn::convolution>(2, 3, 3, nn::convolution_options{.padding = 1, .halo = true}),
    nn::max_pool(2, {.halo = true}), nn::linear<3, 1>({3, 4, 16}, {5}));
constexpr nn::image_batch one_image{1, 2, 8, 32};
constexpr ashlar::machine slow{{1e-12, 1e-9}, {1e-12, 4e-9}, 1e8, 1e8, 0};
constexpr auto rows_problem = nn::describe<double>(rows_net, one_image);
constexpr auto searched_rows = search::optimal(rows_problem, line, slow);
static_assert(!halo_axes(rows_problem.spec(0), searched_rows[0].x, line).empty());

template <auto const& Plan, class Net>
void compare_images(Net const& net, nn::image_batch const& batch) {
  ashlar::mesh const m(MPI_COMM_WORLD, line, machine);
  auto typed = nn::place<double>(net, m, nn::constant<Plan>, 3);
  auto run_time = nn::place<double>(net, m, Plan, 3);
  train::trainer a(typed, train::adam_w{.lr = 0.01});
  train::trainer b(run_time, train::adam_w{.lr = 0.01});
  for (unsigned step = 0; step < 3; ++step) {
    auto const data = random_batch<double>(batch, 0, 5, step);
    probed_calls::reset();
    double const loss = a.step(data).loss;
    CHECK(probed_calls::typed > 0);
    CHECK(probed_calls::dynamic == 0);
    CHECK(b.step(data).loss == loss);
    CHECK(probed_calls::dynamic == probed_calls::typed);
  }
  CHECK(values_of(typed) == values_of(run_time));
}

constexpr auto attention_net = nn::chain(nn::group_norm(4, 4), nn::cross_attention(4, 2, {2, 3}),
                                         nn::image_attention(4, 2), nn::upsample(2),
                                         nn::mean_squared_error());
constexpr nn::image_batch attention_images{5, 4, 2, 2};
constexpr auto attention_problem = nn::describe<double>(attention_net, attention_images);
constexpr auto searched_attention = search::optimal(attention_problem, line, machine);

}  // namespace

TEST_CASE("attention to a context in a typed model") {
  ashlar::mesh const m(MPI_COMM_WORLD, line, machine);
  auto typed = nn::place<double>(attention_net, m, nn::constant<searched_attention>, 3);
  auto run_time = nn::place<double>(attention_net, m, searched_attention, 3);
  train::trainer a(typed, train::adam_w{.lr = 0.01});
  train::trainer b(run_time, train::adam_w{.lr = 0.01});
  for (unsigned step = 0; step < 3; ++step) {
    auto const data = data_for<double>(attention_net, attention_images, 0, 1, step);
    CHECK(a.step(data).loss == b.step(data).loss);
  }
  CHECK(values_of(typed) == values_of(run_time));
}

TEST_CASE("a plan found by the compiler") { compare_images<searched_images>(images_net, images); }

TEST_CASE("a plan found by the compiler with split rows") {
  compare_images<searched_rows>(rows_net, one_image);
}

}  // namespace ashlar_test
