// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Instantiates what device_instances.hpp declares, once for all tests on devices.

#include "device_instances.hpp"

namespace ashlar {

template class basic_mesh<cuda::processor>;
template class any_tensor<cuda::processor>;

namespace detail {

template box shard_box(nccl::mesh const&, shape const&, placement const&, int);
template std::shared_ptr<void> new_shard(nccl::mesh const&, shape const&, placement const&,
                                         box const&, std::size_t);
template class routed_steps<cuda::processor>;
template class running_plan<cuda::processor>;
template any_tensor<cuda::processor> run_plan(any_tensor<cuda::processor>, prepared_plan const&);

}  // namespace detail

}  // namespace ashlar
