// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Operations on the gradient sums of parameters, whose elements are float or double. They
// communicate nothing.

#include <ashlar/device/functor.hpp>
#include <ashlar/tensor/any_tensor.hpp>

namespace ashlar::nn {

namespace detail {

/// Calls f with a null pointer to the type of the elements of `sum`, float or double.
template <class Processor, class F>
void for_type_of(any_tensor<Processor> const& sum, F const& f) {
  if (sum.type() == element_type::f64) f(static_cast<double*>(nullptr));
  else f(static_cast<float*>(nullptr));
}

}  // namespace detail

/// Sets a gradient sum to zero.
template <class Processor>
void set_to_zero(any_tensor<Processor> const& sum) {
  detail::for_type_of(sum, [&]<class T>(T*) {
    fill(sum.mesh().processor(), T(0), sum.local_elements(), sum.template data_as<T>());
  });
}

/// Adds `added`, the gradient of a tied parameter's later use, to the gradient of its first use
/// (nn/tied.hpp). Both have the same placement.
template <class Processor>
void add_gradient(any_tensor<Processor> const& added, any_tensor<Processor> const& to) {
  detail::for_type_of(to, [&]<class T>(T*) {
    T* const sum = to.template data_as<T>();
    map(to.mesh().processor(), device::sum_of{}, static_cast<T const*>(sum),
        static_cast<T const*>(added.template data_as<T>()), to.local_elements(), sum);
  });
}

}  // namespace ashlar::nn
