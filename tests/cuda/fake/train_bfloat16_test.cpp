// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests training on fake GPU ranks in bfloat16, with parameters and sums in float. The losses must
// be close to the losses of the host, which trains in float (train_gpt_losses.hpp).

#include "train_gpt_losses.hpp"

namespace ashlar_test {

TEST_CASE("bfloat16, on one rank, and with tensors split over two") {
  compare<ashlar::bfloat16>({{"gpu", 1}}, false, 0, 3e-3);
  compare<ashlar::bfloat16>({{"gpu", 2}}, true, 0.1, 3e-3, 15);
}

}  // namespace ashlar_test
