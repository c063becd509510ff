// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Device kernels for the random elements of a shard, which has the global indices [first, first +
// count) of a tensor. A value depends only on (seed, stream, global index), as on the host. So a
// value does not depend on the mesh. Here `stream` is the number of a sequence of random numbers,
// not a CUDA stream.
//
//   fill_uniform, fill_normal   the functions of device/host/random.hpp
//   dropout                     dropout_forward of device/host/dropout.hpp; y may be x. For the
//                               backward pass, the caller passes dy instead of x.
//
// A thread computes one block of the Philox generator. Block b has the random words of the four
// indices 4b to 4b + 3. At both ends of the range, some of these words may not be needed. In
// dropout of bfloat16, a thread computes two Philox blocks, so that it reads and writes 16 bytes at
// a time.

#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/cuda/kernel/launcher.hpp>
#include <ashlar/device/cuda/kernel/pack.hpp>
#include <ashlar/device/formula/dropout.hpp>
#include <ashlar/device/normal.hpp>
#include <ashlar/device/philox.hpp>
#include <ashlar/device/uniform_range.hpp>
#include <ashlar/support/accumulation.hpp>

namespace ashlar::cuda {

namespace detail {

/// Divides the global indices [first, first + count) into groups, one for each thread. A group has
/// `size` elements and uses `Blocks` blocks of the Philox generator, with 4 random words each.
/// offset(i) is the position of group i in the range.
template <int Blocks>
struct word_groups {
  static constexpr int size = 4 * Blocks;
  std::uint64_t seed, stream;
  std::int64_t first, count;

  std::int64_t groups() const {
    return count == 0 ? 0 : (first + count - 1) / size - first / size + 1;
  }

  ASHLAR_HD std::int64_t offset(std::int64_t i) const { return size * (first / size + i) - first; }
  ASHLAR_HD bool has(std::int64_t element) const { return element >= 0 && element < count; }
  ASHLAR_HD bool has_all(std::int64_t element) const {
    return element >= 0 && element + size <= count;
  }
  /// Returns 4 random words of group i: for the elements offset(i) + 4 * block and the next three.
  ASHLAR_HD device::philox_block words(std::int64_t i, int block = 0) const {
    return device::random_block(seed, stream,
                                static_cast<std::uint64_t>((first / size + i) * Blocks + block));
  }
  /// Returns whether groups of elements can be read and written as packs. `run` is the address of
  /// the element with global index `first`. Every group must be aligned to its size in bytes, or to
  /// 16 bytes if the group is larger than 16 bytes.
  template <class T>
  bool is_packable(T const* run) const {
    return reinterpret_cast<std::uintptr_t>(run - first % size) %
               (size * sizeof(T) < pack_bytes ? size * sizeof(T) : pack_bytes) ==
           0;
  }
};

using word_blocks = word_groups<1>;

template <class T>
struct uniform_each {
  word_blocks run;
  device::uniform_range<T> range;
  T* out;

  ASHLAR_HD T value(device::philox_block const& words, int k) const { return range(words.word[k]); }
};

template <class T>
struct normal_each {
  using A = accumulation_t<T>;
  word_blocks run;
  A mean, deviation;
  T* out;

  ASHLAR_HD T value(device::philox_block const& words, int k) const {
    int const pair = k - k % 2;
    device::normal_pair const z = device::normals_from_words(words.word[pair],
                                                             words.word[pair + 1]);
    return static_cast<T>(mean + deviation * static_cast<A>(k % 2 == 0 ? z.first : z.second));
  }
};

template <bool Packed, class Each>
struct fill_blocks {
  Each each;

  ASHLAR_HD void operator()(std::int64_t i) const {
    auto const words = each.run.words(i);
    std::int64_t const at = each.run.offset(i);
    if (Packed && each.run.has_all(at)) {
      pack<std::remove_pointer_t<decltype(each.out)>, 4> values;
      for (int k = 0; k < 4; ++k) values.at[k] = each.value(words, k);
      store<4>(each.out + at, values);
    } else {
      for (int k = 0; k < 4; ++k) {
        if (each.run.has(at + k)) each.out[at + k] = each.value(words, k);
      }
    }
  }
};

template <class Launcher, class Each>
void launch_fill(Launcher const& launch, char const* name, Each const& each) {
  if (each.run.is_packable(each.out)) {
    launch.for_each(name, fill_blocks<true, Each>{each}, each.run.groups());
  } else {
    launch.for_each(name, fill_blocks<false, Each>{each}, each.run.groups());
  }
}

template <class T, bool Packed>
struct dropout_each {
  static constexpr int blocks = sizeof(T) < 4 ? 2 : 1;
  using A = accumulation_t<T>;
  using words_type = word_groups<blocks>;
  words_type run;
  device::dropout_rule<A> rule;
  T const* x;
  T* y;

  ASHLAR_HD T value(T source, std::uint32_t word) const {
    return rule.drops_all ? static_cast<T>(A(0))
                          : static_cast<T>(rule(static_cast<A>(source), word));
  }
  ASHLAR_HD void operator()(std::int64_t i) const {
    std::int64_t const at = run.offset(i);
    if (Packed && run.has_all(at)) {
      auto values = load<4 * blocks>(x + at);
      for (int b = 0; b < blocks; ++b) {
        auto const words = run.words(i, b);
        for (int k = 0; k < 4; ++k)
          values.at[4 * b + k] = value(values.at[4 * b + k], words.word[k]);
      }
      store<4 * blocks>(y + at, values);
    } else {
      for (int b = 0; b < blocks; ++b) {
        auto const words = run.words(i, b);
        for (int k = 0; k < 4; ++k) {
          std::int64_t const element = at + 4 * b + k;
          if (run.has(element)) y[element] = value(x[element], words.word[k]);
        }
      }
    }
  }
};

}  // namespace detail

template <launcher Launcher, class T>
void fill_uniform(Launcher const& launch, std::uint64_t seed, std::uint64_t stream,
                  std::int64_t first, std::int64_t count, accumulation_t<T> low,
                  accumulation_t<T> high, T* out) {
  detail::launch_fill(launch, "fill_uniform",
                      detail::uniform_each<T>{{seed, stream, first, count}, {low, high}, out});
}

template <launcher Launcher, class T>
void fill_normal(Launcher const& launch, std::uint64_t seed, std::uint64_t stream,
                 std::int64_t first, std::int64_t count, accumulation_t<T> mean,
                 accumulation_t<T> deviation, T* out) {
  detail::launch_fill(launch, "fill_normal",
                      detail::normal_each<T>{{seed, stream, first, count}, mean, deviation, out});
}

/// Computes y = dropout of x, where elements are dropped with probability p. Element i of x has the
/// global index first + i. Throws std::invalid_argument for p outside [0, 1).
template <launcher Launcher, class T>
void dropout(Launcher const& launch, T const* x, std::int64_t count, double p, std::uint64_t seed,
             std::uint64_t stream, std::int64_t first, T* y) {
  typename detail::dropout_each<T, true>::words_type const run{seed, stream, first, count};
  device::dropout_rule<accumulation_t<T>> const rule(p);
  if (run.is_packable(x) && run.is_packable(y)) {
    launch.for_each("dropout", detail::dropout_each<T, true>{run, rule, x, y}, run.groups());
  } else {
    launch.for_each("dropout", detail::dropout_each<T, false>{run, rule, x, y}, run.groups());
  }
}

}  // namespace ashlar::cuda
