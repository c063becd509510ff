// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: nn::skip<Dim>(inner): dim 0 counts the samples of a batch, which no layer may concatenate.

#include <ashlar/nn/activation.hpp>
#include <ashlar/nn/skip.hpp>

namespace nn = ashlar::nn;

#ifdef ASHLAR_CONTROL
constexpr auto net = nn::skip<1>(nn::gelu());
#else
constexpr auto net = nn::skip<0>(nn::gelu());
#endif
