// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Compiles the layers of perceptrons and of GPTs, of float and double, on meshes of host memory.

#define ASHLAR_COMPILES_LAYERS 1
#include <ashlar/nn/cross_entropy.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/nn/place_part.hpp>

namespace ashlar::nn {

ASHLAR_USUAL_LAYERS(ASHLAR_PLACES_LAYER, float)
ASHLAR_USUAL_LAYERS(ASHLAR_PLACES_LAYER, double)

}  // namespace ashlar::nn
