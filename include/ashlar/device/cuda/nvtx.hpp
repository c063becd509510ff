// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Named time ranges for Nsight Systems and other tools that read NVTX, in the NVTX domain "ashlar".
//
//   [[maybe_unused]] auto const scope = range(on, "12.linear forward");
//
// The range ends when `scope` is destroyed. The cost of a range:
//
//   a tool is attached            two calls, which copy the name
//   no tool is attached           two tests of a null pointer
//   the toolkit lacks nvtx3       nothing
//
// A range shows when the host submitted work. The tool also shows when the device executed that
// work. For the host's processor, `range` returns an object of an empty type
// (device/host/range.hpp).

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

/// Starts a range that ends when the returned object is destroyed. Ranges of one thread may be
/// nested.
[[nodiscard]] inline named_range range(processor const&, char const* name) {
  return named_range(name);
}

}  // namespace ashlar::cuda
