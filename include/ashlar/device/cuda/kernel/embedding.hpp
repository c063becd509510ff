// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Kernels that look up table rows by integer ids, with the functions of device/host/embedding.hpp.
// A rank has a shard of the table: `rows` rows, starting at first_row. If an id belongs to another
// shard, this rank computes a zero row in the forward pass and adds no gradient in the backward
// pass.
//
//   embedding_forward, add_positions     one thread for each pack of columns of a token
//   add_positions_backward               one thread for each pack of columns of a position
//   embedding_backward                   in embedding_backward.hpp
//
// There are no atomics: gradients are accumulated in the order of the tokens, as on the host, so
// that results are bitwise reproducible. Gradients of tables are of type accumulation_t<T>.

#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/cuda/kernel/launcher.hpp>
#include <ashlar/device/cuda/kernel/pack.hpp>
#include <ashlar/support/accumulation.hpp>

namespace ashlar::cuda {

namespace detail {

template <int Width, class T>
struct embedding_each {
  T const* table;
  std::int64_t first_row, rows, cols;
  std::int32_t const* ids;
  T* y;

  ASHLAR_HD void operator()(std::int64_t i) const {
    division const place(i, cols / Width);
    std::int64_t const c = place.remainder * Width;
    std::int64_t const row = ids[place.quotient] - first_row;
    pack<T, Width> values;
    if (row >= 0 && row < rows) {
      values = load<Width>(table + row * cols + c);
    } else {
      for (T& v : values.at) v = static_cast<T>(accumulation_t<T>(0));
    }
    store<Width>(y + place.quotient * cols + c, values);
  }
};

/// Adds several packs of Width elements to target[0 .. Width). The sums stay in registers until
/// finish() stores them.
template <int Width, class T>
struct addition {
  using A = accumulation_t<T>;
  A* target;
  pack<A, Width> sums;

  ASHLAR_HD explicit addition(A* at) : target(at), sums(load<Width>(at)) {}
  ASHLAR_HD void operator()(pack<T, Width> const& values) {
    for (int k = 0; k < Width; ++k) sums.at[k] += static_cast<A>(values.at[k]);
  }
  ASHLAR_HD void finish() const { store<Width>(target, sums); }
};

template <int Width, class T>
struct positions_each {
  T const* positions;
  std::int64_t sequence, cols, first_token;
  T* y;

  ASHLAR_HD void operator()(std::int64_t i) const {
    using A = accumulation_t<T>;
    division const place(i, cols / Width);
    std::int64_t const c = place.remainder * Width;
    std::int64_t const position = division(first_token + place.quotient, sequence).remainder;
    auto const added = load<Width>(positions + position * cols + c);
    auto values = load<Width>(y + place.quotient * cols + c);
    for (int k = 0; k < Width; ++k) {
      values.at[k] = static_cast<T>(static_cast<A>(values.at[k]) + static_cast<A>(added.at[k]));
    }
    store<Width>(y + place.quotient * cols + c, values);
  }
};

template <int Width, class T>
struct positions_backward_each {
  T const* dy;
  std::int64_t sequence, cols, first_token, tokens;
  accumulation_t<T>* dpositions;

  ASHLAR_HD void operator()(std::int64_t i) const {
    division const place(i, cols / Width);
    std::int64_t const c = place.remainder * Width;
    // The position of token t in its sequence is (first_token + t) % sequence. Find the first token
    // at this thread's position.
    std::int64_t t = place.quotient - division(first_token, sequence).remainder;
    if (t < 0) t += sequence;
    if (t >= tokens) return;
    addition<Width, T> add(dpositions + place.quotient * cols + c);
    for (; t < tokens; t += sequence) add(load<Width>(dy + t * cols + c));
    add.finish();
  }
};

}  // namespace detail

template <launcher Launcher, class T>
void embedding_forward(Launcher const& launch, T const* table, std::int64_t first_row,
                       std::int64_t rows, std::int64_t cols, std::int32_t const* ids,
                       std::int64_t tokens, T* y) {
  with_width<T>(cols % widest<T> == 0 && is_packable(table, y), [&]<int Width>() {
    launch.for_each("embedding_forward",
                    detail::embedding_each<Width, T>{table, first_row, rows, cols, ids, y},
                    tokens * (cols / Width));
  });
}

template <launcher Launcher, class T>
void add_positions(Launcher const& launch, T const* positions, std::int64_t sequence,
                   std::int64_t cols, std::int64_t first_token, std::int64_t tokens, T* y) {
  with_width<T>(cols % widest<T> == 0 && is_packable(positions, y), [&]<int Width>() {
    launch.for_each("add_positions",
                    detail::positions_each<Width, T>{positions, sequence, cols, first_token, y},
                    tokens * (cols / Width));
  });
}

template <launcher Launcher, class T>
void add_positions_backward(Launcher const& launch, T const* dy, std::int64_t sequence,
                            std::int64_t cols, std::int64_t first_token, std::int64_t tokens,
                            accumulation_t<T>* dpositions) {
  with_width<T>(cols % widest<T> == 0 && is_packable(dy, dpositions), [&]<int Width>() {
    launch.for_each("add_positions_backward",
                    detail::positions_backward_each<Width, T>{dy, sequence, cols, first_token,
                                                              tokens, dpositions},
                    sequence * (cols / Width));
  });
}

}  // namespace ashlar::cuda
