// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Parameter updates on a stream, in one pass over the arrays (kernel/update.hpp,
// formula/update.hpp). Element types:
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

/// Updates the weight and its first and second moments. Unless `copy` is null, copy[i] = weight[i],
/// rounded.
template <class G, class W>
void adam_w_update(cudaStream_t stream, device::adam_w_factors const& factors, G const* gradient,
                   std::int64_t count, W* first, W* second, W* weight, bfloat16* copy = nullptr);

/// Updates the weight and its velocity. Unless `copy` is null, copy[i] = weight[i], rounded.
template <class G, class W>
void sgd_update(cudaStream_t stream, device::sgd_factors const& factors, G const* gradient,
                std::int64_t count, W* velocity, W* weight, bfloat16* copy = nullptr);

}  // namespace ashlar::cuda
