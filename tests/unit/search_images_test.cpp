// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the search on image networks. It must find the plan that AutoDDL's section 4.5 reports for
// VGG13. This plan must not be slower than the usual baselines. For a small network, the test also
// finds the optimum by enumeration. Removing redundant signature rows must not change the optimum.

#include <doctest/doctest.h>
#include <support/relative.hpp>

#include <ashlar/machine/presets.hpp>
#include <ashlar/mesh/text.hpp>
#include <ashlar/nn/describe.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/nn/vgg.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/search/exhaustive.hpp>
#include <ashlar/search/needed_rows.hpp>
#include <ashlar/search/role_moves.hpp>
#include <ashlar/search/search_on_mesh.hpp>

#include "search_nets.hpp"

namespace nn = ashlar::nn;
namespace search = ashlar::search;

namespace {

bool is_named(search::layer_spec const& spec, char const* name) {
  return spec.name == search::label(name);
}

/// Returns whether every axis splits this dimension.
bool all_split(ashlar::placement const& p, int dim) {
  for (int a = 0; a < p.axes(); ++a)
    if (!p[a].is_split_of(dim)) return false;
  return true;
}

}  // namespace

TEST_CASE("VGG13 on 16 nodes of Piz Daint: convolutions split images, dense weights synchronize "
          "nothing") {
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
          ashlar_test::relative(best.seconds));
  }
}

namespace {

int rows_of(search::problem const& net, char const* name) {
  int rows = 0;
  for (auto const& spec : net.layers)
    if (is_named(spec, name)) rows += spec.rows.size();
  return rows;
}

/// Returns a lower bound: the optimal cost over all rows if the order of shards is ignored, found
/// by dynamic programming.
double bound_on_rows(search::problem const& net, ashlar::topology const& t,
                     ashlar::machine const& m) {
  search::chain_model<-1, search::role_moves> rows(net, t, m, search::any_choice{},
                                                   search::pruning::by_time);
  return search::chain_solver<-1, search::role_moves>(rows).solve();
}

}  // namespace

TEST_CASE("redundant rows change neither the lower bound nor the optimum") {
  auto const images = [](std::int64_t batch, int channels) {
    auto const net = nn::chain(nn::convolution(3, channels, 3, {.padding = 1}), nn::relu(),
                               nn::convolution(channels, channels, 3, {.padding = 1}), nn::relu(),
                               nn::max_pool(2), nn::linear<3, 1>({channels, 4, 2}, {8}), nn::relu(),
                               nn::linear(8, 5));
    return any_length(nn::describe(net, nn::image_batch{batch, 3, 8, 4}));
  };
  auto const text = any_length(nn::describe(
      nn::gpt({.layers = 2, .features = 16, .heads = 8, .vocabulary = 11}), nn::token_batch{8, 6}));
  ashlar_test::random_cases draw(41);
  int fewer = 0;
  for (char const* mesh : {"node=2,gpu=4", "gpu=8", "node=2,gpu=3"}) {
    auto const t = ashlar::parse_topology(mesh);
    for (auto const& net : {images(8, 6), images(7, 8), images(6, 5), text})
      for (int machines = 0; machines < 4; ++machines) {
        CAPTURE(mesh);
        auto const m = draw.machine();
        auto const less = search::with_needed_rows(net, t);
        for (std::size_t l = 0; l < net.layers.size(); ++l)
          fewer += less.layers[l].rows.size() < net.layers[l].rows.size();
        double const bound = bound_on_rows(net, t, m);
        CHECK(bound_on_rows(less, t, m) == ashlar_test::relative(bound));
        search::search_on_mesh<-1> search(net, t, m);
        CHECK(search.bound() == ashlar_test::relative(bound));
        CHECK(search.plan().seconds == ashlar_test::relative(search::optimal(net, t, m).seconds));
      }
  }
  CHECK(fewer > 20);
  ashlar::topology const eight{{"gpu", 8}};
  // A row is redundant if another row can replace it in every plan without higher cost. relu has
  // rows that split the batch, the channels, the height (here 8) and the width (here 4).
  // - If the batch or the channels are divisible by the 8 ranks, the rows of height and width are
  //   redundant.
  // - Otherwise only the row of the width is redundant, because the height is divisible by 8.
  auto const rows = rows_of(images(8, 6), "relu");
  CHECK(rows_of(search::with_needed_rows(images(8, 6), eight), "relu") == rows - 2);
  CHECK(rows_of(search::with_needed_rows(images(7, 8), eight), "relu") == rows - 2);
  CHECK(rows_of(search::with_needed_rows(images(6, 5), eight), "relu") == rows - 1);
}
