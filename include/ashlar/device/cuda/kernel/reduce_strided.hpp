// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The device kernel that reduces n strided arrays of one shape into another array. The results are
// bitwise equal to the results of device/host/reduce_strided.hpp: the sources are reduced from left
// to right, in the order in which the caller passes them, in accumulation_t<T>, and the result is
// rounded to T once. If n is 1, the source is copied. comm/sum_order.hpp defines the orders that
// callers use.
//
//   contiguous, aligned rows   in packs of 16 bytes
//   otherwise                  element by element
//
// There are at most most_sources sources, because the addresses of the sources are kernel
// arguments.

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

#include <ashlar/config.hpp>
#include <ashlar/device/cuda/kernel/launcher.hpp>
#include <ashlar/device/cuda/kernel/pack.hpp>
#include <ashlar/device/cuda/kernel/strided.hpp>
#include <ashlar/device/host/combine.hpp>
#include <ashlar/support/accumulation.hpp>

namespace ashlar::cuda {

inline constexpr int most_sources = 128;

namespace detail {

template <reduction Op, class T, int Width>
struct reduce_each {
  strided_space space;  // its units are packs of Width elements
  int count;
  T* dst;
  T const* sources[most_sources];

  ASHLAR_HD void operator()(std::int64_t i) const {
    using A = accumulation_t<T>;
    std::int64_t from = 0;
    std::int64_t to = 0;
    space.offsets(i, from, to);
    auto const first = load<Width>(sources[0] + from * Width);
    if (count == 1) return store<Width>(dst + to * Width, first);
    A sums[Width];
    for (int k = 0; k < Width; ++k) sums[k] = static_cast<A>(first.at[k]);
    for (int s = 1; s < count; ++s) {
      auto const next = load<Width>(sources[s] + from * Width);
      for (int k = 0; k < Width; ++k)
        sums[k] = device::host::combine<Op>(sums[k], static_cast<A>(next.at[k]));
    }
    pack<T, Width> rounded;
    for (int k = 0; k < Width; ++k) rounded.at[k] = static_cast<T>(sums[k]);
    store<Width>(dst + to * Width, rounded);
  }
};

template <reduction Op, int Width, class Launcher, class T>
void launch_reduce(Launcher const& launch, device::host::strided_loop const& loop,
                   std::span<T const* const> sources, T* dst) {
  reduce_each<Op, T, Width> each{
      strided_space(loop, Width), static_cast<int>(sources.size()), dst, {}};
  for (int s = 0; s < each.count; ++s) each.sources[s] = sources[static_cast<std::size_t>(s)];
  launch.for_each("reduce_strided", each, each.space.units());
}

}  // namespace detail

/// Computes dst[i] = ((sources[0][i] op sources[1][i]) op ...) for every multi-index i below the
/// extents. All sources have the strides `source_strides`, in elements. dst may be one of the
/// sources if dst_strides equals source_strides. Throws std::invalid_argument if there is no
/// source, or if there are more than most_sources sources or more than 8 dims.
template <launcher Launcher, class T>
void reduce_strided(Launcher const& launch, reduction op, int rank, std::int64_t const* extents,
                    std::span<T const* const> sources, std::int64_t const* source_strides, T* dst,
                    std::int64_t const* dst_strides) {
  if (sources.empty() || sources.size() > most_sources) {
    throw std::invalid_argument("reduce_strided: cannot reduce " + std::to_string(sources.size()) +
                                " sources. Pass 1 to " + std::to_string(most_sources) + ".");
  }
  auto const loop = device::host::canonical_loop(rank, extents, source_strides, dst_strides);
  if (loop.empty) return;
  auto addresses = reinterpret_cast<std::uintptr_t>(dst);
  for (T const* const source : sources) addresses |= reinterpret_cast<std::uintptr_t>(source);
  bool const packs = widest_unit(loop, sizeof(T), addresses) == pack_bytes;
  auto const run = [&]<reduction Op>() {
    with_width<T>(
        packs, [&]<int Width>() { detail::launch_reduce<Op, Width>(launch, loop, sources, dst); });
  };
  switch (op) {
    case reduction::sum: return run.template operator()<reduction::sum>();
    case reduction::max: return run.template operator()<reduction::max>();
    case reduction::min: return run.template operator()<reduction::min>();
  }
}

}  // namespace ashlar::cuda
