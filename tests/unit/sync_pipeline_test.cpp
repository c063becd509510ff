// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the memory that is predicted for pipelines of a net with tied parameters, under each
// strategy of synchronization. An owned parameter is replicated before it crosses to another part
// of the pipeline, and so is its gradient. The programs of the parts must not need more memory than
// is predicted.

#include <algorithm>

#include <doctest/doctest.h>

#include <ashlar/machine/presets.hpp>
#include <ashlar/nn/describe.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/search/price_pipeline.hpp>
#include <ashlar/step/build_stage.hpp>
#include <ashlar/step/check.hpp>
#include <ashlar/step/high_water.hpp>
#include <ashlar/step/pipeline/warm_up.hpp>
#include <ashlar/step/text.hpp>
#include <ashlar/sync/named.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;
namespace search = ashlar::search;

}  // namespace

TEST_CASE("the predicted memory of a part covers the crossings of tied parameters") {
  double most = 0, least = 2;
  auto const& machine = ashlar::machines::workstation;
  auto net = any_length(
      nn::describe<float>(nn::tied(nn::embedding(1200, 8), nn::repeat(2, nn::gpt_block(8, 2)),
                                   nn::layer_norm(8), nn::output_embedding(8, 1200)),
                          nn::token_batch{4, 3, 4}));
  for (int const size : {4, 2})
    for (int const positions : {2, 3}) {
      net.element_size = size;
      ashlar::topology const whole{{"stage", positions}, {"gpu", 2}};
      auto const mesh = search::stage_mesh(whole, 0, positions);
      auto const points = search::detail::cutting_points(net);
      std::vector<int> limits;
      for (int s = 0; s <= positions; ++s)
        limits.push_back(points[(points.size() - 1) * std::size_t(s) / std::size_t(positions)]);
      auto const order = ashlar::pipelines::one_f_one_b(positions, net.micro_batches);
      auto const plain = search::data_parallel(net, mesh, machine);
      // What has arrived early from the neighbours, or is being sent to them, is not predicted.
      std::int64_t const neighbours = 2 * 3 * boundary_extents(net, limits[1] - 1).elements() *
                                      size;
      for (auto const name : ashlar::sync::names()) {
        auto const p = search::price_pipeline(net, ashlar::sync::named(name, net, plain, machine),
                                              limits, std::vector<int>(std::size_t(positions)), 0,
                                              net.micro_batches, machine, order);
        search::pipeline_part part{0, order, limits, whole, divided(whole, 0, positions)};
        for (int s = 0; s < positions; ++s) {
          part.position = s;
          auto const program = build_stage(net, p.chosen, machine, part);
          CHECK_FALSE(check(program).found());
          auto const needed = high_water(program).peak;
          auto const predicted = p.stages[std::size_t(s)].memory;
          CAPTURE(std::string(name));
          CAPTURE(size);
          CAPTURE(positions);
          CAPTURE(s);
          CHECK(needed <= predicted + neighbours);
          most = std::max(most, double(needed) / double(predicted));
          least = std::min(least, double(needed) / double(predicted));
        }
      }
    }
  MESSAGE("memory of programs from " << least << " to " << most << " of that predicted");
  CHECK(least > 0.7);
}

}  // namespace ashlar_test
