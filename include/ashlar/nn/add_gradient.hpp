// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Adds the gradient of a tied parameter's later use to that of its first use (nn/tied.hpp).

#include <ashlar/device/functor.hpp>
#include <ashlar/tensor/any_tensor.hpp>

namespace ashlar::nn {

/// Adds the elements of `added` to those of `to`, which has the same placement and is of float or
/// double. Communicates nothing.
template <class Processor>
void add_gradient(any_tensor<Processor> const& added, any_tensor<Processor> const& to) {
  auto const add = [&]<class T>(T*) {
    T* const sum = to.template data_as<T>();
    map(to.mesh().processor(), device::sum_of{}, static_cast<T const*>(sum),
        static_cast<T const*>(added.template data_as<T>()), to.local_elements(), sum);
  };
  if (to.type() == element_type::f64) add(static_cast<double*>(nullptr));
  else add(static_cast<float*>(nullptr));
}

}  // namespace ashlar::nn
