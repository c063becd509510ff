// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Basic operations on arrays in device memory, on a CUDA stream: copies, fills and random elements.
// The functions are the same as in device/host/elements.hpp. This file defines the copies of
// contiguous arrays, and includes map.hpp, strided.hpp and random.hpp for the other functions.

#include <ashlar/device/cuda/capture.hpp>
#include <ashlar/device/cuda/error.hpp>
#include <ashlar/device/cuda/map.hpp>
#include <ashlar/device/cuda/random.hpp>
#include <ashlar/device/cuda/strided.hpp>

namespace ashlar::cuda {
namespace detail {

inline void copy_bytes(cudaStream_t stream, void const* from, std::int64_t bytes, void* to,
                       cudaMemcpyKind kind) {
  if (bytes == 0) return;
  check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), kind, stream),
        "cudaMemcpyAsync");
}

}  // namespace detail

/// Copies n elements from host memory (`source`) to device memory (`target`), in the order of the
/// stream. Pinned host memory must not change until the stream has executed the copy. Other host
/// memory may be reused when this function returns.
template <class T>
void upload(cudaStream_t stream, T const* source, std::int64_t n, T* target) {
  refuse_if_capturing(stream, "upload", "each replay would read the host memory again.");
  detail::copy_bytes(stream, source, n * static_cast<std::int64_t>(sizeof(T)), target,
                     cudaMemcpyHostToDevice);
}
/// Copies n elements from device memory (`source`) to host memory (`target`). Waits for the stream,
/// so the copy is complete when this function returns.
template <class T>
void download(cudaStream_t stream, T const* source, std::int64_t n, T* target) {
  refuse_if_capturing(stream, "download", "the values exist only after the device has run.");
  detail::copy_bytes(stream, source, n * static_cast<std::int64_t>(sizeof(T)), target,
                     cudaMemcpyDeviceToHost);
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}
/// Copies n elements within device memory, in the order of the stream. The arrays must not overlap.
template <class T>
void copy_elements(cudaStream_t stream, T const* source, std::int64_t n, T* target) {
  detail::copy_bytes(stream, source, n * static_cast<std::int64_t>(sizeof(T)), target,
                     cudaMemcpyDeviceToDevice);
}

}  // namespace ashlar::cuda
