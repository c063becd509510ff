// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Measures the exact search of a training plan, for 64 nodes of the preset machine Piz Daint
// without a memory limit. A benchmark is named search/NET/MESH. Every rank runs the same search, as
// in a program that searches when it starts. bench/search compares different search algorithms.
//
//   gpt     8 blocks, d-model 8192, 16 micro-batches of 64 sequences of 1,024 tokens
//   vgg13   512 images of 3 x 224 x 224

#include <ashlar/machine/presets.hpp>
#include <ashlar/nn/describe.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/nn/vgg.hpp>
#include <ashlar/search/optimal.hpp>

#include "suite.hpp"

namespace {

using namespace ashlar_bench::micro;

void add_net(suite& all, std::string const& name, ashlar::search::problem const& net) {
  auto machine = ashlar::machines::piz_daint;
  machine.memory = 0;  // no limit
  for (std::string const mesh : {"rack=8,node=8", "row=4,rack=4,node=4"})
    all.add("search/" + name + "/" + mesh,
            [=, t = ashlar::parse_topology(mesh)](team const&) -> work {
              return {[=] { (void)ashlar::search::optimal(net, t, machine); }};
            });
}

family const searches([](suite& all) {
  namespace nn = ashlar::nn;
  add_net(
      all, "gpt",
      any_length(nn::describe(nn::gpt(nn::gpt_sizes::daint_64), nn::token_batch{64, 1024, 16})));
  add_net(all, "vgg13", any_length(nn::describe(nn::vgg13(), nn::image_batch{512, 3, 224, 224})));
});

}  // namespace
