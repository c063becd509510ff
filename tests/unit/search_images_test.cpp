// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// The search on nets of images: the plan that AutoDDL's section 4.5 reports for VGG13, the baselines
// as the field knows them, and the optimum of a small net against enumeration.

#include <doctest/doctest.h>

#include <ashlar/machine/presets.hpp>
#include <ashlar/nn/describe.hpp>
#include <ashlar/nn/vgg.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/search/exhaustive.hpp>

namespace nn = ashlar::nn;
namespace search = ashlar::search;

namespace {

bool is_named(search::layer_spec const& spec, char const* name) {
  return spec.name == search::label(name);
}

/// Whether the role on every axis is a split of this dim.
bool all_split(ashlar::placement const& p, int dim) {
  for (int a = 0; a < p.axes(); ++a)
    if (!p[a].is_split_of(dim)) return false;
  return true;
}

}  // namespace

TEST_CASE(
    "VGG13 on 16 nodes of Piz Daint: convolutions by images, dense weights synchronize nothing") {
  ashlar::topology const t{{"a", 4}, {"b", 4}};
  auto const net = nn::describe(nn::vgg13(), nn::image_batch{8 * 16, 3, 224, 224});
  auto const plan = search::optimal(net, t, ashlar::machines::piz_daint);
  auto const data = search::data_parallel(net, t, ashlar::machines::piz_daint);
  auto const tensor = search::tensor_parallel(net, t, ashlar::machines::piz_daint);
  CHECK(plan.seconds <= data.seconds);
  CHECK(plan.seconds <= tensor.seconds);
  int convolutions = 0, dense = 0;
  for (int i = 0; i < plan.size(); ++i) {
    if (is_named(net.spec(i), "convolution")) {
      ++convolutions;
      CHECK(all_split(plan[i].x, 0));
      CHECK(all_split(data[i].x, 0));
    }
    if (is_named(net.spec(i), "linear")) {
      ++dense;
      auto const& grad = plan[i].parameters[0].grad;
      for (int a = 0; a < t.axes(); ++a) CHECK(!grad[a].is_partial());
      CHECK(data[i].parameters[0].grad[0].is_partial());
      CHECK(tensor[i].parameters[0].grad[1].is_split());
    }
  }
  CHECK(convolutions == 10);
  CHECK(dense == 3);
}

TEST_CASE("the optimum of a small net of images is that of enumeration") {
  auto const small = nn::chain(nn::convolution(3, 8, 3, {.padding = 1}), nn::max_pool(2),
                               nn::linear<3, 1>({8, 2, 2}, {10}));
  auto const net = nn::describe(small, nn::image_batch{6, 3, 4, 4});
  for (auto const& t : {ashlar::topology{{"gpu", 4}}, ashlar::topology{{"node", 2}, {"gpu", 2}}}) {
    auto const best = search::exhaustive(net, t, ashlar::machines::workstation);
    CHECK(search::optimal(net, t, ashlar::machines::workstation).seconds ==
          doctest::Approx(best.seconds).epsilon(1e-12));
  }
}
