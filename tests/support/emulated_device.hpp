// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A device played by the host: the same kernels, every index of every loop and every thread of every
// block one after the other, so that index arithmetic is tested where there is no device
// (device/cuda/kernel/launcher.hpp says what a launcher is).
//
//   threads run in rising order, or, `backwards`, in falling order; so do blocks and indices. A kernel
//   that leans on an order, as one with a missing barrier does, gives other values.
//   shared memory is as large as was asked for, exactly, and begins as NaN
//   fold takes the order of the device's shuffles

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include <ashlar/device/cuda/kernel/launcher.hpp>

namespace ashlar_test {

class emulated_block {
 public:
  emulated_block(std::int64_t index, std::int64_t count, int threads, std::byte* shared,
                 bool backwards)
      : index_(index), count_(count), threads_(threads), shared_(shared), backwards_(backwards) {}

  std::int64_t index() const { return index_; }
  std::int64_t count() const { return count_; }
  int threads() const { return threads_; }
  std::byte* shared() const { return shared_; }

  template <class F>
  void each(F const& f) const {
    for (int t = 0; t < threads_; ++t) f(backwards_ ? threads_ - 1 - t : t);
  }

  template <class F>
  void each_alone(F const& f) const {
    each(f);
  }

  template <class V>
  class per_thread {
   public:
    explicit per_thread(emulated_block const& block)
        : bytes_(static_cast<std::size_t>(block.threads()) * sizeof(V) / sizeof(double) + 1) {
      std::memset(bytes_.data(), 0xff, bytes_.size() * sizeof(double));
    }
    V& operator[](int t) { return reinterpret_cast<V*>(bytes_.data())[t]; }

   private:
    std::vector<double> bytes_;  // V may have no default constructor
  };

  template <class V, class Combine>
  V fold(per_thread<V>& values, V* scratch, Combine const& combine) const {
    constexpr int warp = ashlar::cuda::warp;
    for (int first = 0; first < threads_; first += warp) {
      for (int offset = warp / 2; offset > 0; offset /= 2) {
        for (int lane = 0; lane < offset; ++lane) {
          V& mine = values[first + lane];
          mine = combine(mine, values[first + lane + offset]);
        }
      }
      std::memcpy(scratch + first / warp, &values[first], sizeof(V));
    }
    V total = scratch[0];
    for (int w = 1; w < threads_ / warp; ++w) total = combine(total, scratch[w]);
    std::memset(static_cast<void*>(scratch), 0xff,
                sizeof(V) * static_cast<std::size_t>(threads_ / warp));
    return total;
  }

 private:
  std::int64_t index_, count_;
  int threads_;
  std::byte* shared_;
  bool backwards_;
};

class emulated_device {
 public:
  using is_launcher = void;
  explicit emulated_device(bool backwards = false) : backwards_(backwards) {}

  template <class F>
  void for_each(char const*, F const& f, std::int64_t n) const {
    for (std::int64_t i = 0; i < n; ++i) f(backwards_ ? n - 1 - i : i);
  }

  template <class Body>
  void blocks(char const* name, Body const& body, std::int64_t count, int threads,
              std::int64_t shared_bytes) const {
    if (threads <= 0 || threads % ashlar::cuda::warp != 0 || threads > Body::launch_threads)
      throw std::logic_error(std::string(name) +
                             ": threads of a block: " + std::to_string(threads));
    if (shared_bytes > 227 * 1024)
      throw std::logic_error(std::string(name) +
                             ": shared memory of a block: " + std::to_string(shared_bytes));
    for (std::int64_t b = 0; b < count; ++b) {
      // Of its own allocation, so that the address sanitizer sees an access beyond it.
      std::vector<std::byte> shared(static_cast<std::size_t>(shared_bytes), std::byte{0xff});
      emulated_block const block(backwards_ ? count - 1 - b : b, count, threads, shared.data(),
                                 backwards_);
      body(block);
    }
  }

 private:
  bool backwards_;
};

}  // namespace ashlar_test
