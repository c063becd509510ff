// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Named ranges of the program's time for Nsight Systems and other tools that read NVTX; in the domain "ashlar".
//
//   [[maybe_unused]] auto const scope = range(on, "12.linear forward");       until the end of the block
//
//   a tool is attached            two calls, which copy the name
//   none is                       two tests of a null pointer
//   no nvtx3 in the toolkit       nothing
//
// A range says when the host gave work to the device; the tool shows beside it when the device did it.
// On the host's processor `range` is of an empty type (device/host/operations.hpp).

#include <ashlar/config.hpp>
#include <ashlar/device/cuda/processor.hpp>

#if ASHLAR_HAS_NVTX
#include <nvtx3/nvtx3.hpp>
#endif

namespace ashlar::cuda {

#if ASHLAR_HAS_NVTX

struct nvtx_domain {
  static constexpr char const* name = "ashlar";
};

using named_range = nvtx3::scoped_range_in<nvtx_domain>;

#else

struct named_range {
  explicit named_range(char const*) {}
};

#endif

/// A range that ends with the object. Ranges of a thread nest.
[[nodiscard]] inline named_range range(processor const&, char const* name) {
  return named_range(name);
}

}  // namespace ashlar::cuda
