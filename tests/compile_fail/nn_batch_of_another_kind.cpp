// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: nn::describe: a net that begins with an embedding takes a token_batch, with embedding_tables a category_batch, with convolution or pooling an image_batch, any other net a feature_batch.

#include <ashlar/nn/convolution.hpp>
#include <ashlar/nn/describe.hpp>

namespace nn = ashlar::nn;

void describe() {
#ifdef ASHLAR_CONTROL
  nn::describe(nn::convolution(3, 4, 3), nn::image_batch{2, 3, 8, 8});
#else
  nn::describe(nn::convolution(3, 4, 3), nn::feature_batch{2, 3 * 8 * 8});
#endif
}
