// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: trainer::step: the part of a batch has other types of inputs or targets than the net.

#include <ashlar/nn/linear.hpp>
#include <ashlar/nn/mean_squared_error.hpp>
#include <ashlar/nn/place.hpp>
#include <ashlar/train/sgd.hpp>
#include <ashlar/train/trainer.hpp>

namespace nn = ashlar::nn;
namespace train = ashlar::train;

inline auto const net = nn::chain(nn::linear(3, 2), nn::mean_squared_error());
using model = decltype(nn::place<float>(net, std::declval<ashlar::mesh>(),
                                        std::declval<ashlar::search::plan>()));

void step(train::trainer<model, train::sgd>& trainer) {
#ifdef ASHLAR_CONTROL
  trainer.step(train::local_batch<float, float>{{1, 2, 3}, {1, 2}});
#else
  trainer.step(train::local_batch<float>{{1, 2, 3}, {1}});
#endif
}
