// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Lists the layers that ashlar::compiled contains for meshes of host memory (compiled/layers.cpp):
// the layers of perceptrons and of GPTs, of float and double. A program that links ashlar::compiled
// compiles neither the passes of these layers nor the kernels of these passes. Other layers are
// compiled by each program that uses them.

#include <ashlar/nn/choice.hpp>

namespace ashlar {

namespace device {
struct gelu;
struct relu;
}  // namespace device

namespace nn {

template <int In, int Out>
class linear;
template <class Functor>
class activation;
class attention_core;
class dropout;
class embedding;
class layer_norm;
class output_embedding;
class softmax_cross_entropy;
template <class Processor>
struct net_builder;

/// Expands to PLACES(T, XRank, Layer) for each layer. XRank is the number of dims of its input.
#define ASHLAR_USUAL_LAYERS(PLACES, T)                                                             \
  PLACES(T, 2, linear<1, 1>)                                                                       \
  PLACES(T, 2, activation<device::gelu>)                                                           \
  PLACES(T, 2, activation<device::relu>)                                                           \
  PLACES(T, 2, embedding)                                                                          \
  PLACES(T, 2, softmax_cross_entropy)                                                              \
  PLACES(T, 3, linear<1, 1>)                                                                       \
  PLACES(T, 3, linear<1, 2>)                                                                       \
  PLACES(T, 3, activation<device::gelu>)                                                           \
  PLACES(T, 3, dropout)                                                                            \
  PLACES(T, 3, layer_norm)                                                                         \
  PLACES(T, 3, output_embedding)                                                                   \
  PLACES(T, 3, softmax_cross_entropy)                                                              \
  PLACES(T, 4, attention_core)                                                                     \
  PLACES(T, 4, linear<2, 1>)

/// An explicit instantiation of place_layer (place_part.hpp).
#define ASHLAR_PLACES_LAYER(T, XRank, ...)                                                         \
  template void place_layer<T, XRank>(__VA_ARGS__ const&, net_builder<device::host::processor>&,   \
                                      shape const&,                                                \
                                      run_time_cursor<device::host::processor> const&);
#define ASHLAR_PLACED_LAYER(T, XRank, ...) extern ASHLAR_PLACES_LAYER(T, XRank, __VA_ARGS__)

}  // namespace nn
}  // namespace ashlar
