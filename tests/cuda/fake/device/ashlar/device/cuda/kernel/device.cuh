// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The launcher of the fake device. This file replaces device/cuda/kernel/device.cuh of the library,
// because the include path lists the folder of this file earlier. A launch puts the kernel into the
// stream. When the stream reaches the kernel, the emulated device executes the kernel's body.
//
// As for a real device, only the files of device/cuda/launch instantiate kernels. If a kernel is
// missing in those files, a program that needs the kernel does not link with the fake device
// either.

#include <cstdint>
#include <functional>

#include <cuda_runtime_api.h>
#include <support/emulated_device.hpp>

namespace fake {
// fake_cuda.hpp has the same declaration. It is not included here because it includes NCCL.
void enqueue(cudaStream_t stream, std::function<void()> work);
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
    launched_blocks(name, count);
    fake::enqueue(stream_, [=] {
      ashlar_test::emulated_device().blocks(name, body, count, threads, shared_bytes);
    });
  }

 private:
  cudaStream_t stream_;
};

}  // namespace ashlar::cuda
