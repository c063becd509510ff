// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 4

// Tests that training a small VGG equals training on one process. The plans are the usual ones
// (support/usual_plans.hpp), random ones, those of each strategy of synchronization, and plans that
// are written by hand and split images or channels. Each step must perform exactly the collectives
// of the plan's schedule.

#include <doctest/doctest.h>
#include <support/placed.hpp>
#include <support/usual_plans.hpp>

#include <ashlar/nn/vgg.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;

// The structure of a VGG for images of 8 x 9: one stage, then linear layers on 3 channels of 4 x 4.
auto const net = nn::chain(nn::vgg_stage<2>(2, 3), nn::linear<3, 1>({3, 4, 4}, {6}), nn::relu(),
                           nn::linear(6, 5));
nn::image_batch const image_micro_batches{3, 2, 8, 9, 2};

using trial = training_trial<std::remove_const_t<decltype(net)>, nn::image_batch>;

/// Returns a plan in which the x of each layer has the same placement along all mesh axes, and so
/// has its y. `roles` gives these two placements for each layer. The placements of the other
/// tensors are those of the first legal choice with this x and y.
search::plan on_all_axes(plan_source const& plans, ashlar::topology const& t,
                         std::vector<std::pair<char const*, char const*>> const& roles) {
  auto const everywhere = [&](ashlar::placement const& p, char const* role) {
    auto const wanted = ashlar::parse_placement(role)[0];
    for (int a = 0; a < t.axes(); ++a)
      if (t.extent(a) > 1 && !same_role(p[a], wanted)) return false;
    return true;
  };
  return plans.filled([&](int i) {
    auto const& [x, y] = roles[static_cast<std::size_t>(i)];
    for (auto const& c : plans.choices(i))
      if (everywhere(c.x, x) && everywhere(c.y, y)) return c;
    throw std::logic_error("element " + std::to_string(i) + ": no choice from " + x + " to " + y);
  });
}

}  // namespace

TEST_CASE("usual plans, random ones, and each strategy of synchronization") {
  for (auto const& m : all_meshes_of_two_machines()) {
    trial it(net, image_micro_batches, m, 0, 5);
    check_usual_plans(it, m, 2);
    if (m.axes() <= 2) check_strategies(it, m);
  }
}

TEST_CASE("images, output and input channels split by hand") {
  // The layers are convolution, relu, convolution, relu, max pooling, linear, relu, linear, loss.
  std::vector<std::pair<char const*, char const*>> const images(9, {"S(0)", "S(0)"});
  auto by_images = images;
  by_images.back() = {"S(0)", "P"};
  for (auto const& m : all_meshes()) {
    trial it(net, image_micro_batches, m, 0, 5);
    for (auto const& roles : {by_images,
                              {{"B", "S(1)"},
                               {"S(1)", "S(1)"},
                               {"S(1)", "P"},
                               {"S(1)", "S(1)"},
                               {"S(1)", "S(1)"},
                               {"S(1)", "P"},
                               {"S(1)", "S(1)"},
                               {"S(1)", "P"},
                               {"S(1)", "B"}},
                              {{"S(1)", "P"},
                               {"S(0)", "S(0)"},
                               {"B", "S(1)"},
                               {"S(1)", "S(1)"},
                               {"S(1)", "S(1)"},
                               {"S(2)", "P"},
                               {"B", "B"},
                               {"P", "P"},
                               {"B", "B"}}}) {
      auto const wrong = it.wrong_with(on_all_axes(it.plans(), m.topology(), roles));
      CHECK_MESSAGE(wrong == "", wrong);
    }
  }
}

}  // namespace ashlar_test
