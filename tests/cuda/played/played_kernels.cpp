// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// The kernels of device/cuda/strided.hpp, and fill, as those of the host, run when the stream comes to them.

#include <algorithm>
#include <array>
#include <vector>

#include <ashlar/device/cuda/map.hpp>
#include <ashlar/device/cuda/strided.hpp>
#include <ashlar/device/host/reduce_strided.hpp>

#include "played_cuda.hpp"

namespace ashlar::cuda {
namespace {

using numbers = std::array<std::int64_t, 8>;

numbers kept(int rank, std::int64_t const* values) {
  numbers all{};
  for (int d = 0; d < rank; ++d) all[static_cast<std::size_t>(d)] = values[d];
  return all;
}

template <class Word>
void copy_words(int rank, numbers const& extents, void const* src, numbers const& src_strides,
                void* dst, numbers const& dst_strides) {
  device::host::copy_strided(rank, extents.data(), static_cast<Word const*>(src),
                             src_strides.data(), static_cast<Word*>(dst), dst_strides.data());
}

}  // namespace

void copy_strided_bytes(cudaStream_t stream, std::int64_t size, int rank,
                        std::int64_t const* extents, void const* src,
                        std::int64_t const* src_strides, void* dst,
                        std::int64_t const* dst_strides) {
  played::enqueue(stream, [=, e = kept(rank, extents), from = kept(rank, src_strides),
                           to = kept(rank, dst_strides)] {
    if (size == 2) copy_words<std::uint16_t>(rank, e, src, from, dst, to);
    if (size == 4) copy_words<std::uint32_t>(rank, e, src, from, dst, to);
    if (size == 8) copy_words<std::uint64_t>(rank, e, src, from, dst, to);
  });
}

template <class T>
void reduce_strided(cudaStream_t stream, reduction op, int rank, std::int64_t const* extents,
                    std::span<T const* const> sources, std::int64_t const* source_strides, T* dst,
                    std::int64_t const* dst_strides) {
  played::enqueue(stream, [=, e = kept(rank, extents), from = kept(rank, source_strides),
                           to = kept(rank, dst_strides),
                           all = std::vector<T const*>(sources.begin(), sources.end())] {
    device::host::reduce_strided(op, rank, e.data(), std::span<T const* const>(all), from.data(),
                                 dst, to.data());
  });
}

template <class T>
void fill(cudaStream_t stream, std::type_identity_t<T> value, std::int64_t n, T* y) {
  played::enqueue(stream, [=] { std::fill_n(y, n, value); });
}

#define ASHLAR_PLAYED_REDUCE(T)                                                                    \
  template void reduce_strided(cudaStream_t, reduction, int, std::int64_t const*,                  \
                               std::span<T const* const>, std::int64_t const*, T*,                 \
                               std::int64_t const*);                                               \
  template void fill<T>(cudaStream_t, T, std::int64_t, T*);

ASHLAR_PLAYED_REDUCE(float)
ASHLAR_PLAYED_REDUCE(double)
ASHLAR_PLAYED_REDUCE(bfloat16)
ASHLAR_PLAYED_REDUCE(std::int32_t)
ASHLAR_PLAYED_REDUCE(std::int64_t)

}  // namespace ashlar::cuda
