// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Declares that the mesh of GPU ranks, and the classes and functions that move its tensors, are
// instantiated in device_instances.cpp. All tests on devices use them, so each of their sources
// would compile them again. A test that does not include this file compiles them itself.

#include <cstddef>
#include <memory>

#include <ashlar/comm/nccl/backend.hpp>
#include <ashlar/tensor/redistribute.hpp>
#include <ashlar/tensor/routed_steps.hpp>
#include <ashlar/tensor/running_plan.hpp>

namespace ashlar {

extern template class basic_mesh<cuda::processor>;
extern template class any_tensor<cuda::processor>;

namespace detail {

extern template box shard_box(nccl::mesh const&, shape const&, placement const&, int);
extern template std::shared_ptr<void> new_shard(nccl::mesh const&, shape const&, placement const&,
                                                box const&, std::size_t);
extern template class routed_steps<cuda::processor>;
extern template class running_plan<cuda::processor>;
extern template any_tensor<cuda::processor> run_plan(any_tensor<cuda::processor>,
                                                     prepared_plan const&);

}  // namespace detail

}  // namespace ashlar
