// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Lists the models that ashlar::compiled contains (compiled/nn.cpp), together with their trainers
// by AdamW and SGD: nets of float and double on meshes of host memory, with cross-entropy losses.
// Their batches are features [batch, features] or tokens [batch, length]. Other models are compiled
// by each program that uses them.

#include <cstdint>

namespace ashlar::nn {

class softmax_cross_entropy;
template <class T, class Processor, class Input, int InputRank, int OutputRank, class Loss>
class model;

/// Expands to USES(type) for the type of each model. The macro USES must be defined with `...`,
/// since the commas in a type divide it into several arguments.
#define ASHLAR_USUAL_MODELS(USES)                                                                  \
  USES(::ashlar::nn::model<float, ::ashlar::device::host::processor, float, 2, 2,                  \
                           ::ashlar::nn::softmax_cross_entropy>)                                   \
  USES(::ashlar::nn::model<float, ::ashlar::device::host::processor, std::int32_t, 2, 3,           \
                           ::ashlar::nn::softmax_cross_entropy>)                                   \
  USES(::ashlar::nn::model<double, ::ashlar::device::host::processor, double, 2, 2,                \
                           ::ashlar::nn::softmax_cross_entropy>)                                   \
  USES(::ashlar::nn::model<double, ::ashlar::device::host::processor, std::int32_t, 2, 3,          \
                           ::ashlar::nn::softmax_cross_entropy>)

}  // namespace ashlar::nn
