// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the predicted seconds of matrix products on a machine on which small GEMMs are slow
// (gemm_half > 0). The seconds of a layer depend on the extents on its busiest rank. The seconds of
// a matmul plan depend on the extents of its local product, or of one panel if the product is
// streamed. The search must still find the best plan of a network.

#include <doctest/doctest.h>
#include <support/relative.hpp>

#include <ashlar/mesh/text.hpp>
#include <ashlar/nn/convolution.hpp>
#include <ashlar/nn/describe.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/nn/linear.hpp>
#include <ashlar/plan/matmul_layouts.hpp>
#include <ashlar/search/exhaustive.hpp>
#include <ashlar/search/optimal.hpp>

namespace ashlar_test {
namespace {

namespace search = ashlar::search;

ashlar::machine slow_small_products(double half) {
  ashlar::machine m = ashlar::machines::workstation;
  m.gemm_half = half;
  return m;
}

double seconds_of(std::int64_t m, std::int64_t n, std::int64_t k, ashlar::machine const& on) {
  double const h = on.gemm_half;
  return 2 * (double(m) + h) * (double(n) + h) * (double(k) + h) / on.flops;
}

}  // namespace

TEST_CASE("a linear layer's products are those of its busiest rank") {
  ashlar::topology const t{{"node", 2}, {"gpu", 3}};
  auto const on = slow_small_products(50);
  auto const spec = ashlar::nn::linear(96, 60).spec({7, 12, 96});
  int rows = 0;
  for (auto const& c : search::layer_choices(spec, t)) {
    auto const x = local_box(spec.x, t, c.x, {}), y = local_box(spec.y, t, c.y, {});
    double const values = (spec.forward_values + spec.backward_values) * 4 / on.memory_bandwidth *
                          search::work_fraction(spec, c, t);
    double const products = 3 * seconds_of(x[0].size * x[1].size, y[2].size, x[2].size, on);
    // The formula holds only if one rank has the largest part of every dimension. A split batch of
    // 7 is uneven, so there may be no such rank, and the choice is skipped.
    if (x[0].size != 7) continue;
    CHECK(search::work_seconds(spec, c, t, on, 4) == relative(products + values));
    ++rows;
  }
  CHECK(rows > 10);
}

TEST_CASE("without a curve, or without dims, a layer is priced at the peak") {
  ashlar::topology const t{{"gpu", 2}};
  auto spec = ashlar::nn::linear(96, 60).spec({8, 96});
  auto const c = search::layer_choices(spec, t).front();
  double const peak = search::whole_work_seconds(spec, {}, 4) * search::work_fraction(spec, c, t);
  CHECK(search::work_seconds(spec, c, t, {}, 4) == peak);
  spec.gemm = {};
  ashlar::machine on;
  on.gemm_half = 50;
  CHECK(search::work_seconds(spec, c, t, on, 4) == peak);
}

TEST_CASE("an attention's products are one for each sequence and head, whatever is split") {
  ashlar::topology const t{{"gpu", 2}};
  auto on = slow_small_products(50);
  on.memory_bandwidth = 1e30;
  auto const spec = ashlar::nn::attention_core{}.spec({4, 32, 6, 24});
  double const stretch = ashlar::gemm_stretch(on, 32, 32, 8);
  int whole = 0;
  for (auto const& c : search::layer_choices(spec, t)) {
    if (local_box(spec.x, t, c.x, {})[1].size != 32) continue;
    ++whole;
    CHECK(search::work_seconds(spec, c, t, on, 4) ==
          relative((spec.forward_flops + spec.backward_flops) / on.flops * stretch *
                   search::work_fraction(spec, c, t)));
  }
  CHECK(whole > 0);
}

TEST_CASE("a convolution's products are one for each image, by the channels of its busiest rank") {
  ashlar::topology const t{{"node", 2}, {"gpu", 2}};
  auto on = slow_small_products(50);
  on.memory_bandwidth = 1e30;
  auto const spec = ashlar::nn::convolution(8, 12, 3, {.padding = 1}).spec({4, 8, 10, 10});
  for (auto const& c : search::layer_choices(spec, t)) {
    auto const x = local_box(spec.x, t, c.x, {}), y = local_box(spec.y, t, c.y, {});
    double const stretch = ashlar::gemm_stretch(on, 100, y[1].size, 9 * x[1].size);
    CHECK(search::work_seconds(spec, c, t, on, 4) ==
          relative((spec.forward_flops + spec.backward_flops) / on.flops * stretch *
                   search::work_fraction(spec, c, t)));
  }
}

TEST_CASE("a matmul's plan is priced by its local product, complete and in panels") {
  ashlar::topology const t{{"row", 2}, {"column", 2}};
  ashlar::placement const blocks{ashlar::split(0), ashlar::split(1)};
  auto const on = slow_small_products(64);
  ashlar::shape const square{256, 256};
  auto const plan = plan_matmul(square, blocks, square, blocks, false, false, blocks, 4, t, on, {});
  CHECK(plan.gemm_seconds == relative(seconds_of(plan.gemm.m, plan.gemm.n, plan.gemm.k, on)));
  auto const best = plan_matmul_layouts(256, 256, 256, t, 4, on, 0);
  CHECK(best.plan.gemm_seconds ==
        relative(seconds_of(best.plan.gemm.m, best.plan.gemm.n, best.plan.gemm.k, on)));
  for (char const letter : {'m', 'n', 'k'}) {
    auto const streamed = plan_matmul(square, blocks, square, blocks, false, false, blocks, 4, t,
                                      on, {0, letter, 4});
    auto panel = streamed.gemm;
    (letter == 'm' ? panel.m : letter == 'n' ? panel.n : panel.k) /= 4;
    CHECK(ashlar::detail::panel_gemm_seconds(streamed, on) ==
          relative(seconds_of(panel.m, panel.n, panel.k, on)));
  }
}

TEST_CASE("the search is exact on machines with curves and links of their own") {
  namespace nn = ashlar::nn;
  auto const net = nn::chain(nn::linear(24, 64), nn::gelu(), nn::linear(64, 10));
  auto const problem = nn::describe(net, nn::feature_batch{12, 24});
  for (char const* mesh : {"gpu=2", "node=2,gpu=2"})
    for (double const half : {0.0, 10.0, 1000.0}) {
      auto on = slow_small_products(half);
      on.flops = 1e9;
      on.intra_of.set(ashlar::collective::all_reduce, {1e-7, 1e-10});
      on.inter_of.set(ashlar::collective::all_gather, {1e-7, 1e-9});
      auto const t = ashlar::parse_topology(mesh);
      auto const best = search::optimal(problem, t, on);
      auto const least = search::exhaustive(problem, t, on);
      CHECK(best.seconds == relative(least.seconds));
      CHECK(search::total_cost(problem, best, on).seconds() == relative(best.seconds));
    }
}

}  // namespace ashlar_test
