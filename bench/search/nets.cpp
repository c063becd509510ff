// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#include "nets.hpp"

#include <stdexcept>

#include <ashlar/nn/alexnet.hpp>
#include <ashlar/nn/describe.hpp>
#include <ashlar/nn/dlrm.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/nn/vgg.hpp>

namespace ashlar_bench {

namespace nn = ashlar::nn;

std::vector<named_net> all_nets() {
  nn::image_batch const images{512, 3, 224, 224};
  auto const dense = nn::chain(nn::linear(25088, 4096), nn::relu(), nn::linear(4096, 4096),
                               nn::relu(), nn::linear(4096, 1000));
  return {{"alexnet", any_length(nn::describe(nn::alexnet(), images))},
          {"vgg13", any_length(nn::describe(nn::vgg13(), images))},
          {"gpt", any_length(nn::describe(nn::gpt(nn::gpt_sizes::daint_64),
                                          nn::token_batch{64, 1024, 16}))},
          {"dlrm", any_length(nn::describe(nn::dlrm_described(), nn::category_batch{2048, 26}))},
          {"dense", any_length(nn::describe(dense, nn::feature_batch{512, 25088}))}};
}

named_net const& net_named(std::vector<named_net> const& nets, std::string const& name) {
  std::string names;
  for (auto const& n : nets) {
    if (n.name == name) return n;
    names += (names.empty() ? "" : ", ") + n.name;
  }
  throw std::runtime_error("--nets: there is no net \"" + name + "\". Use: " + names + ".");
}

}  // namespace ashlar_bench
