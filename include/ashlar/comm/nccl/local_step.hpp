// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A step of a plan that stays on its rank (tensor/run_transfer.hpp has the host's), on a device:
//
//   slice      copies the part that the rank keeps
//   zero_pad   copies the shard into a larger one full of the reduction's identity

#include <ashlar/comm/nccl/device_kernels.hpp>
#include <ashlar/comm/transfer.hpp>
#include <ashlar/device/cuda/map.hpp>
#include <ashlar/device/cuda/processor.hpp>

namespace ashlar {

template <class T>
void run_local(cuda::processor const& on, transfer const& what, T const* source, T* target) {
  if (what.pads && what.to.elements() > 0)
    cuda::fill<T>(on.stream, identity_of<T>(what.op), what.to.elements(), target);
  for (auto const& block : what.receives)
    nccl::detail::copy_block(sizeof(T), block, reinterpret_cast<std::byte const*>(source),
                             reinterpret_cast<std::byte*>(target), on.stream);
}

}  // namespace ashlar
