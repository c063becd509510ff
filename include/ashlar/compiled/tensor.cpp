// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Compiles host tensors of the usual element types and numbers of dims, their redistribution, their
// exchanges of halos, and the evaluation of formulas of float and double.

#define ASHLAR_COMPILES_TENSOR 1
#include <ashlar/tensor/evaluate.hpp>
#include <ashlar/tensor/halo.hpp>
#include <ashlar/tensor/redistribute_async.hpp>

namespace ashlar {

template class any_tensor<device::host::processor>;
template class formulas::evaluation<float, device::host::processor>;
template class formulas::evaluation<double, device::host::processor>;
template class tensor<float, 1>;
template class tensor<float, 2>;
template class tensor<float, 3>;
template class tensor<float, 4>;
template class tensor<std::int32_t, 1>;
template class tensor<std::int32_t, 2>;

namespace detail {

template box shard_box(basic_mesh<device::host::processor> const&, shape const&, placement const&,
                       int);
template std::shared_ptr<void> new_shard(basic_mesh<device::host::processor> const&, shape const&,
                                         placement const&, box const&, std::size_t);
template class routed_steps<device::host::processor>;
template class running_plan<device::host::processor>;
template any_tensor<device::host::processor> run_plan(any_tensor<device::host::processor>,
                                                      prepared_plan const&);
template any_tensor<device::host::processor> with_halo(any_tensor<device::host::processor> const&,
                                                       halo_transfers const&);
template any_tensor<device::host::processor>
sum_of_halos(any_tensor<device::host::processor> const&, halo_transfers const&);

}  // namespace detail

}  // namespace ashlar
