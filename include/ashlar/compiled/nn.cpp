// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Compiles these parts of the library:
//
// - the executor that runs the program of a training step on the host
// - the checks of layers and plans
// - the models and trainers of the usual types
// - the trials of nn::verify

#define ASHLAR_COMPILES_NN 1
#include <ashlar/nn/formula_loss.hpp>
#include <ashlar/nn/place.hpp>
#include <ashlar/nn/verify.hpp>
#include <ashlar/train/trainer.hpp>

namespace ashlar {

using host = device::host::processor;

template class nn::layer_node_base<host>;
template class nn::executor<host>;
template class nn::parameter<host>;
template nn::parameter<host> nn::make_parameter<float>(step::parameter_spec const&, int,
                                                       basic_mesh<host> const&,
                                                       step::parameter_choice const&,
                                                       initial_values const&, std::uint64_t,
                                                       std::uint64_t, std::string const&);
template struct nn::model_state<float, host, float>;
template struct nn::model_state<float, host, std::int32_t>;
template struct nn::model_state<double, host, double>;
template struct nn::model_state<double, host, std::int32_t>;
#define ASHLAR_COMPILES_MODEL(...)                                                                 \
  template class __VA_ARGS__;                                                                      \
  template class train::trainer<__VA_ARGS__, train::adam_w>;                                       \
  template class train::trainer<__VA_ARGS__, train::sgd>;
ASHLAR_USUAL_MODELS(ASHLAR_COMPILES_MODEL)

}  // namespace ashlar
