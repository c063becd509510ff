// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Stands where device/cuda/kernel/device.cuh is for nvcc: the launcher of a fake device. A kernel is what the
// emulated device makes of its body, when its stream comes to it. Which kernels there are is still said by
// device/cuda/launch, so what nvcc would not compile does not link here either.

#include <cstdint>
#include <functional>

#include <cuda_runtime_api.h>
#include <support/emulated_device.hpp>

namespace fake {
void enqueue(cudaStream_t stream,
             std::function<void()> work);  // fake_cuda.hpp, without NCCL's names
}  // namespace fake

namespace ashlar::cuda {

class device_launcher {
 public:
  using is_launcher = void;
  explicit device_launcher(cudaStream_t stream) : stream_(stream) {}

  template <class F>
  void for_each(char const* name, F const& f, std::int64_t n) const {
    if (n <= 0) return;
    fake::enqueue(stream_, [=] { ashlar_test::emulated_device().for_each(name, f, n); });
  }

  template <class Body>
  void blocks(char const* name, Body const& body, std::int64_t count, int threads,
              std::int64_t shared_bytes) const {
    if (count <= 0) return;
    fake::enqueue(stream_, [=] {
      ashlar_test::emulated_device().blocks(name, body, count, threads, shared_bytes);
    });
  }

 private:
  cudaStream_t stream_;
};

}  // namespace ashlar::cuda
