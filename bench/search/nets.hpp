// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The nets of AutoDDL's figure 7, and a small net (dense) for which the exhaustive search can
// finish. Section 4.4 of the paper does not state the sizes of the nets. This file uses the sizes
// of the paper's section 5 on 64 nodes. DLRM has the sizes of the MLPerf benchmark.
//
//   alexnet, vgg13   512 images of 3 x 224 x 224
//   gpt              8 blocks, d-model 8192, 16 micro-batches of 64 sequences of 1,024 tokens
//   dlrm             26 tables of 1,000,000 x 128, 2,048 samples
//   dense            the three dense layers of VGG13, 512 samples

#include <string>
#include <vector>

#include <ashlar/step/problem.hpp>

namespace ashlar_bench {

struct named_net {
  std::string name;
  ashlar::search::problem problem;
};

std::vector<named_net> all_nets();

/// Returns the net of that name. Throws std::runtime_error with a list of the names if there is
/// none.
named_net const& net_named(std::vector<named_net> const& nets, std::string const& name);

}  // namespace ashlar_bench
