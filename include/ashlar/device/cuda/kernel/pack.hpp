// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A pack is a group of adjacent elements that one thread reads or writes with one instruction. A
// pack usually has 16 bytes, which is the widest access of a device. If addresses are not aligned
// to 16 bytes, single elements are used instead.
//
//   pack<T, W>         W elements; a load or store of up to 16 bytes is one instruction
//   widest<T>          16 / sizeof(T)
//   is_packable(p...)  whether all these addresses are multiples of 16
//   with_width         calls a function template for packs or for single elements
//   packed             a loop over n elements: whole packs first, then the last elements one by one
//
// This is plain C++: the tests run the same code on the host.

#include <cstdint>

#include <ashlar/config.hpp>

namespace ashlar::cuda {

inline constexpr int pack_bytes = 16;

template <class T>
inline constexpr int widest = pack_bytes / static_cast<int>(sizeof(T));

template <class T, int Width>
struct alignas(sizeof(T) * Width > pack_bytes ? pack_bytes : sizeof(T) * Width) pack {
  T at[Width];
};

template <int Width, class T>
ASHLAR_HD inline pack<T, Width> load(T const* from) {
  return *reinterpret_cast<pack<T, Width> const*>(from);
}

template <int Width, class T>
ASHLAR_HD inline void store(T* to, pack<T, Width> const& values) {
  *reinterpret_cast<pack<T, Width>*>(to) = values;
}

template <class... T>
bool is_packable(T const*... pointers) {
  return ((reinterpret_cast<std::uintptr_t>(pointers) % pack_bytes == 0) && ...);
}

/// Calls f.operator()<Width>(). Width is widest<T>, the number of elements in 16 bytes, if
/// `packable`. Otherwise Width is 1.
template <class T, class F>
void with_width(bool packable, F const& f) {
  if (packable) {
    f.template operator()<widest<T>>();
  } else {
    f.template operator()<1>();
  }
}

/// A loop over n elements as a function of an index. An index below `packs` calls Op::run<Width>
/// for a pack of Width elements. Each later index calls Op::run<1> for one of the remaining
/// elements.
template <int Width, class Op>
struct packed {
  Op op;
  std::int64_t packs;
  std::int64_t n;

  packed(Op const& made, std::int64_t elements) : op(made), packs(elements / Width), n(elements) {}

  std::int64_t indices() const { return packs + n - packs * Width; }

  ASHLAR_HD void operator()(std::int64_t i) const {
    if (i < packs) {
      op.template run<Width>(i * Width);
    } else {
      op.template run<1>(packs * Width + (i - packs));
    }
  }
};

/// Launches `op` over n elements. If `packable`, each thread processes a pack of 16 bytes, and the
/// last elements are processed one by one.
template <class T, class Launcher, class Op>
void launch_packed(Launcher const& launch, char const* name, Op const& op, std::int64_t n,
                   bool packable) {
  with_width<T>(packable, [&]<int Width>() {
    packed<Width, Op> const loop(op, n);
    launch.for_each(name, loop, loop.indices());
  });
}

}  // namespace ashlar::cuda
