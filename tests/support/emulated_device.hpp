// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A device emulated on the host, so that the index arithmetic of kernels is tested on machines
// without a device. The emulated device runs the unchanged kernels: every index of every loop and
// every thread of every block, one after the other. device/cuda/kernel/launcher.hpp describes the
// launcher interface.
//
//   order                threads, blocks and indices run in rising order, or in falling order if
//                        `backwards` is set; a kernel that depends on the order, for example
//                        because a barrier is missing, then gives different results
//   shared memory        has exactly the requested size, and is initialized to NaN
//   fold, fold_warps     combine values of threads in the same order as a device's warp shuffles
//   mma, load_matrices   place elements as kernel/warp_matrix.hpp describes; each row of 16 bytes
//                        must be aligned
//   copy_async           sets its target to NaN at once, and writes the data when the kernel waits
//                        for the copy; overwriting a row that another warp has loaded since the
//                        last barrier is an error

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <ashlar/device/cuda/kernel/launcher.hpp>
#include <ashlar/device/cuda/kernel/warp_matrix.hpp>

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
    each_alone(f);
    barrier();
  }

  template <class F>
  void each_alone(F const& f) const {
    for (int t = 0; t < threads_; ++t) {
      thread_ = backwards_ ? threads_ - 1 - t : t;
      f(thread_);
    }
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
    std::vector<double> bytes_;  // double, because V may have no default constructor
  };

  template <class V, class Combine>
  V fold(per_thread<V>& values, V* scratch, Combine const& combine) const {
    constexpr int warp = ashlar::cuda::warp;
    fold_warps(values, combine);
    for (int first = 0; first < threads_; first += warp)
      std::memcpy(scratch + first / warp, &values[first], sizeof(V));
    V total = scratch[0];
    for (int w = 1; w < threads_ / warp; ++w) total = combine(total, scratch[w]);
    std::memset(static_cast<void*>(scratch), 0xff,
                sizeof(V) * static_cast<std::size_t>(threads_ / warp));
    barrier();
    return total;
  }

  template <class V, class Combine>
  void fold_warps(per_thread<V>& values, Combine const& combine) const {
    constexpr int warp = ashlar::cuda::warp;
    for (int first = 0; first < threads_; first += warp) {
      for (int offset = warp / 2; offset > 0; offset /= 2) {
        for (int lane = 0; lane < offset; ++lane) {
          V& mine = values[first + lane];
          mine = combine(mine, values[first + lane + offset]);
        }
      }
      for (int lane = 1; lane < warp; ++lane) values[first + lane] = values[first];
    }
  }

  template <class Get>
  void mma(Get const& get) const {
    using namespace ashlar::cuda;
    for (int first = 0; first < threads_; first += warp) {
      float a[16][16], b[16][8];
      for (int lane = 0; lane < warp; ++lane) {
        mma_operands const o = get(first + lane);
        for (int i = 0; i < 4; ++i) {
          auto const at = place_in_a(lane, i);
          for (int half = 0; half < 2; ++half) a[at.row][at.column + half] = value(o.a[i], half);
        }
        for (int i = 0; i < 2; ++i) {
          auto const at = place_in_b(lane, i);
          for (int half = 0; half < 2; ++half) b[at.row + half][at.column] = value(o.b[i], half);
        }
      }
      for (int lane = 0; lane < warp; ++lane) {
        mma_operands const o = get(first + lane);
        for (int i = 0; i < 4; ++i) {
          auto const at = place_in_c(lane, i);
          for (int k = 0; k < 16; ++k) o.c[i] += a[at.row][k] * b[k][at.column];
        }
      }
    }
  }

  template <bool Transposed, class Get>
  void load_matrices(Get const& get) const {
    constexpr int warp = ashlar::cuda::warp;
    for (int first = 0; first < threads_; first += warp) {
      std::uint16_t rows[4][8][8];
      for (int lane = 0; lane < warp; ++lane) {
        auto const* const row = get(first + lane).row;
        if ((reinterpret_cast<std::byte const*>(row) - shared_) % 16 != 0)
          throw std::logic_error(
              "load_matrices: a row that does not begin at a multiple of 16 bytes");
        std::memcpy(rows[lane / 8][lane % 8], row, 16);
        loaded_[row] |= 1u << first / warp;
      }
      for (int lane = 0; lane < warp; ++lane) {
        for (int i = 0; i < 4; ++i) {
          int const across = lane / 4, along = lane % 4 * 2;
          std::uint32_t const low = Transposed ? rows[i][along][across] : rows[i][across][along];
          std::uint32_t const high = Transposed ? rows[i][along + 1][across]
                                                : rows[i][across][along + 1];
          get(first + lane).to[i] = low | high << 16;
        }
      }
    }
  }

  template <class Get, class Combine>
  void fold_quads(Get const& get, Combine const& combine) const {
    for (int offset = 1; offset < 4; offset *= 2) {
      std::vector<float> before;
      for (int t = 0; t < threads_; ++t) before.push_back(get(t));
      for (int t = 0; t < threads_; ++t) {
        get(t) = combine(before[static_cast<std::size_t>(t)],
                         before[static_cast<std::size_t>(t ^ offset)]);
      }
    }
  }

  template <int Bytes>
  void copy_async(void* to, void const* from, bool valid) const {
    if ((static_cast<std::byte*>(to) - shared_) % Bytes != 0 ||
        reinterpret_cast<std::uintptr_t>(from) % Bytes != 0)
      throw std::logic_error("copy_async: an address that is not a multiple of its size");
    auto const readers = loaded_.find(to);
    if (readers != loaded_.end() && (readers->second & ~(1u << thread_ / ashlar::cuda::warp)) != 0)
      throw std::logic_error("copy_async: another warp has read this row since the last barrier");
    std::memset(to, 0xff, Bytes);
    copies_.push_back({to, valid ? from : nullptr, Bytes, group_});
  }
  void commit_copies() const { ++group_; }
  template <int Groups>
  void wait_copies() const {
    std::vector<copy> later;
    for (copy const& c : copies_) {
      if (c.group >= group_ - Groups) {
        later.push_back(c);
      } else if (c.from != nullptr) {
        std::memcpy(c.to, c.from, c.bytes);
      } else {
        std::memset(c.to, 0, c.bytes);
      }
    }
    copies_ = later;
    barrier();
  }

  static float exp2(float x) { return std::exp2(x); }
  static std::uint32_t pack_bfloat16(float low, float high) {
    std::uint32_t const upper = ashlar::bfloat16(high).bits();
    return upper << 16 | ashlar::bfloat16(low).bits();
  }

 private:
  struct copy {
    void* to;
    void const* from;
    std::size_t bytes;
    int group;
  };

  void barrier() const { loaded_.clear(); }

  static float value(std::uint32_t word, int half) {
    return static_cast<float>(
        ashlar::bfloat16::from_bits(static_cast<std::uint16_t>(word >> half * 16)));
  }

  std::int64_t index_, count_;
  int threads_;
  std::byte* shared_;
  bool backwards_;
  mutable std::vector<copy> copies_;
  // For each row of 16 bytes in shared memory, by its address: a bit mask of the warps that have
  // read it.
  mutable std::map<void const*, std::uint32_t> loaded_;
  mutable int thread_ = 0;
  mutable int group_ = 0;
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
      // Each block has its own allocation, so that the address sanitizer detects out-of-bounds
      // accesses.
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
