// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#include "train_on_cuda.hpp"

namespace example {

void train_bfloat16(options const& o, ashlar::nccl::mesh const& mesh, peak const& limit) {
  train<ashlar::bfloat16>(o, mesh, limit);
}

}  // namespace example
