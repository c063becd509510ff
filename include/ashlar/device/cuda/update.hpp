// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Parameter updates on a CUDA stream, in one pass over the arrays. formula/update.hpp has the
// formulas, kernel/update.hpp the kernels. Element types:
//
//   gradient    weight, moments, velocity    copy
//   float       float                        bfloat16 or null
//   bfloat16    float                        bfloat16 or null
//   double      double                       null

#include <cstdint>

#include <cuda_runtime_api.h>

#include <ashlar/device/formula/update.hpp>
#include <ashlar/support/bfloat16.hpp>

namespace ashlar::cuda {

/// Updates `count` weights and their first and second moments by AdamW. Unless `copy` is null, also
/// writes the new weights to `copy`, rounded to bfloat16.
template <class G, class W>
void adam_w_update(cudaStream_t stream, device::adam_w_factors const& factors, G const* gradient,
                   std::int64_t count, W* first, W* second, W* weight, bfloat16* copy = nullptr);

/// Updates `count` weights and their velocities by SGD with momentum. Unless `copy` is null, also
/// writes the new weights to `copy`, rounded to bfloat16.
template <class G, class W>
void sgd_update(cudaStream_t stream, device::sgd_factors const& factors, G const* gradient,
                std::int64_t count, W* velocity, W* weight, bfloat16* copy = nullptr);

}  // namespace ashlar::cuda
