// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Arrays in host memory, on which the kernel cases (tests/support/kernel_*.hpp) run without CUDA.
// emulated_device.hpp executes the kernels. tests/cuda/device_arrays.hpp has the same interface for
// a real device. In the functions below, `skip` is the number of elements between an address
// aligned to 16 bytes and the first element of the array.
//
//   queue()                 the first argument of a kernel's function
//   upload(values, skip)    an array with a copy of the values
//   download(array)         the values of the array
//   make<T>(n, skip)        an array of n elements whose bytes are all 0xff

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "support/emulated_device.hpp"

namespace ashlar_test {

class emulated_arrays {
 public:
  template <class T>
  class array {
   public:
    array(std::int64_t n, int skip)
        : words_((static_cast<std::size_t>(n + skip) * sizeof(T)) / sizeof(line) + 1), n_(n),
          skip_(skip) {
      std::memset(static_cast<void*>(words_.data()), 0xff, words_.size() * sizeof(line));
    }
    T* data() { return reinterpret_cast<T*>(words_.data()) + skip_; }
    T const* data() const { return reinterpret_cast<T const*>(words_.data()) + skip_; }
    std::int64_t size() const { return n_; }

   private:
    struct alignas(16) line {
      std::byte bytes[16];
    };
    std::vector<line> words_;
    std::int64_t n_;
    int skip_;
  };

  explicit emulated_arrays(bool backwards = false) : device_(backwards) {}

  emulated_device const& queue() const { return device_; }

  template <class T>
  array<T> make(std::int64_t n, int skip = 0) {
    return array<T>(n, skip);
  }
  template <class T>
  array<T> upload(std::vector<T> const& values, int skip = 0) {
    array<T> made(static_cast<std::int64_t>(values.size()), skip);
    if (!values.empty()) std::memcpy(made.data(), values.data(), values.size() * sizeof(T));
    return made;
  }
  template <class T>
  std::vector<T> download(array<T> const& from) {
    return std::vector<T>(from.data(), from.data() + from.size());
  }

 private:
  emulated_device device_;
};

}  // namespace ashlar_test
