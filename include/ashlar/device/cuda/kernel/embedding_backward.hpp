// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Kernels for the gradient of a table whose rows were looked up by ids (embedding.hpp):
//
//   1  The tokens are sorted by their table rows (token_sort.hpp).
//   2  One thread is launched for each sorted token and each pack of columns. If the token is the
//      first one of a table row, the thread adds up the gradients of all tokens of that row, in the
//      order of the tokens, as the host does. Otherwise the thread does nothing.
//
// So results are bitwise reproducible, without atomics. Table rows without tokens are not accessed.
// Tokens whose ids belong to another rank's shard are sorted last and add nothing.

#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/cuda/kernel/embedding.hpp>
#include <ashlar/device/cuda/kernel/launcher.hpp>
#include <ashlar/device/cuda/kernel/pack.hpp>
#include <ashlar/device/cuda/kernel/token_sort.hpp>

namespace ashlar::cuda {

namespace detail {

template <int Width, class T>
struct embedding_backward_each {
  static constexpr int ahead = 4;  // the number of gradients that a thread loads at a time
  T const* dy;
  sorted_tokens sorted;
  std::int64_t tokens, rows, cols;
  accumulation_t<T>* dtable;

  ASHLAR_HD void operator()(std::int64_t i) const {
    division const place(i, cols / Width);
    std::int64_t at = place.quotient;
    std::int32_t const row = sorted.keys[at];
    if (row >= rows || (at > 0 && sorted.keys[at - 1] == row)) return;
    std::int64_t const c = place.remainder * Width;
    addition<Width, T> add(dtable + row * cols + c);
    for (; at + ahead <= tokens && sorted.keys[at + ahead - 1] == row; at += ahead) {
      pack<T, Width> values[ahead];
      for (int k = 0; k < ahead; ++k)
        values[k] = load<Width>(dy + sorted.tokens[at + k] * cols + c);
      for (int k = 0; k < ahead; ++k) add(values[k]);
    }
    for (; at < tokens && sorted.keys[at] == row; ++at)
      add(load<Width>(dy + sorted.tokens[at] * cols + c));
    add.finish();
  }
};

}  // namespace detail

/// Returns the number of workspace elements (std::int32_t) that embedding_backward needs.
constexpr std::int64_t embedding_backward_workspace(std::int64_t rows, std::int64_t tokens) {
  return detail::token_sort_workspace(rows, tokens);
}

template <launcher Launcher, class T>
void embedding_backward(Launcher const& launch, T const* dy, std::int32_t const* ids,
                        std::int64_t tokens, std::int64_t first_row, std::int64_t rows,
                        std::int64_t cols, std::int32_t* workspace, accumulation_t<T>* dtable) {
  if (tokens == 0 || rows == 0 || cols == 0) return;
  auto const sorted = detail::sort_tokens(launch, "embedding_backward", ids, tokens, first_row,
                                          rows, workspace);
  with_width<T>(cols % widest<T> == 0 && is_packable(dy, dtable), [&]<int Width>() {
    launch.for_each(
        "embedding_backward",
        detail::embedding_backward_each<Width, T>{dy, sorted, tokens, rows, cols, dtable},
        tokens * (cols / Width));
  });
}

}  // namespace ashlar::cuda
