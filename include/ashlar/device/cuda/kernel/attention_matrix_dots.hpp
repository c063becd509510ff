// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Computes dot(dO, O), the dot product over head_dim, for each row of each head. This is the first
// launch of the attention backward pass for bfloat16 on tensor cores
// (attention_matrix_backward.hpp). Four neighbouring threads share a row and together read 64
// contiguous bytes at a time. A block processes 32 rows.

#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/cuda/kernel/attention_matrix.hpp>

namespace ashlar::cuda::detail {

struct attention_matrix_dots {
  static constexpr int launch_threads = matrix_threads;
  static constexpr int rows = matrix_threads / 4;

  device::attention_extents e;
  bfloat16 const* dout;
  bfloat16 const* out;
  float* dots;  // [batch, heads, sequence]

  std::int64_t all_rows() const { return e.batch * e.heads * e.sequence; }

  template <class Block>
  ASHLAR_HD void operator()(Block const& block) const {
    std::int64_t const end = e.batch * e.heads * e.sequence;
    auto const row = [&](int t) { return block.index() * rows + t / 4; };
    typename Block::template per_thread<float> sums(block);
    block.each_alone([&](int t) {
      float sum = 0.0f;
      if (row(t) < end) {
        division const place(row(t), e.sequence);
        auto const left = rows_of_out(e, dout, place.quotient);
        auto const right = rows_of_out(e, out, place.quotient);
        std::int64_t const at = place.remainder * left.stride;
        for (std::int64_t c = t % 4 * 8; c < e.head_dim; c += 32) {
          auto const x = load<8>(left.data + at + c);
          auto const y = load<8>(right.data + at + c);
          for (int k = 0; k < 8; ++k)
            sum += static_cast<float>(x.at[k]) * static_cast<float>(y.at[k]);
        }
      }
      sums[t] = sum;
    });
    block.fold_quads([&](int t) -> float& { return sums[t]; },
                     [](float a, float b) { return a + b; });
    block.each_alone([&](int t) {
      if (t % 4 == 0 && row(t) < end) dots[row(t)] = sums[t];
    });
  }
};

}  // namespace ashlar::cuda::detail
