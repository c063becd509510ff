// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The device kernels for the backward pass of multi-head attention, with the arrays of
// device/attention_extents.hpp. dO is the gradient of the output O. The probabilities P are not
// saved by the forward pass. The kernels recompute P, tile by tile, from the saved log_sum_exp:
//
//   P  = e^(scale Q K^T - log_sum_exp), 0 where masked       dV = P^T dO
//   dS = P (dO V^T - dot(dO, O))                             dQ = scale dS K,  dK = scale dS^T Q
//
//   launch 1   computes dot(dO, O) of each row into the workspace
//   launch 2   computes dK and dV: each block has one tile of keys and loops over the query rows
//              that attend to these keys
//   launch 3   computes dQ: each block has one tile of query rows and loops over the keys that
//              these rows attend to
//
// P and dS are computed twice, by launch 2 and by launch 3. The advantage is that no two blocks add
// to the same element. So there are no atomics, and results are bitwise reproducible. dqkv is
// overwritten.
//
// attention_matrix_backward.hpp has the kernels on tensor cores, and attention_backward_blocks.hpp
// the kernels without tensor cores. attention.hpp states when tensor cores are used.

#include <cstdint>
#include <optional>
#include <type_traits>

#include <ashlar/config.hpp>
#include <ashlar/device/cuda/kernel/attention.hpp>
#include <ashlar/device/cuda/kernel/attention_backward_blocks.hpp>
#include <ashlar/device/cuda/kernel/attention_matrix_dots.hpp>
#include <ashlar/device/cuda/kernel/attention_matrix_keys.hpp>
#include <ashlar/device/cuda/kernel/attention_matrix_rows.hpp>
#include <ashlar/device/cuda/kernel/pack.hpp>

namespace ashlar::cuda {

/// Returns the number of workspace elements (accumulation_t<T>) that attention_backward needs.
constexpr std::int64_t attention_backward_workspace(device::attention_extents const& e) {
  return e.batch * e.heads * e.sequence;
}

namespace detail {

/// Computes dot(dO, O), the dot product of dO and O over head_dim, for each row. Reads Width
/// elements at a time.
template <class T, int Width>
struct attention_dots {
  device::attention_extents e;
  T const* dout;
  T const* out;
  accumulation_t<T>* dots;  // [batch, heads, sequence]

  ASHLAR_HD void operator()(std::int64_t i) const {
    using A = accumulation_t<T>;
    division const place(i, e.sequence);
    auto const left = rows_of_out(e, dout, place.quotient);
    auto const right = rows_of_out(e, out, place.quotient);
    std::int64_t const at = place.remainder * left.stride;
    A sum = A(0);
    for (std::int64_t c = 0; c < e.head_dim; c += Width) {
      auto const x = load<Width>(left.data + at + c);
      auto const y = load<Width>(right.data + at + c);
      for (int k = 0; k < Width; ++k) sum += static_cast<A>(x.at[k]) * static_cast<A>(y.at[k]);
    }
    dots[i] = sum;
  }
};

template <class Launcher, class T>
void launch_attention_dots(Launcher const& launch, T const* dout, T const* out,
                           device::attention_extents const& e, accumulation_t<T>* dots) {
  std::int64_t const rows = e.batch * e.heads * e.sequence;
  with_width<T>(e.head_dim % widest<T> == 0 && is_packable(dout, out), [&]<int Width>() {
    launch.for_each("attention_backward", attention_dots<T, Width>{e, dout, out, dots}, rows);
  });
}

}  // namespace detail

/// Computes dqkv, the gradient of qkv. `dout` is the gradient of `out`. `qkv` is the input of the
/// forward pass, and `out` and `log_sum_exp` are its outputs. `workspace` has
/// attention_backward_workspace(e) elements.
template <launcher Launcher, class T>
void attention_backward(Launcher const& launch, T const* dout, T const* qkv, T const* out,
                        accumulation_t<T> const* log_sum_exp, device::attention_extents const& e,
                        accumulation_t<T>* workspace, T* dqkv,
                        std::optional<double> scale = std::nullopt) {
  using A = accumulation_t<T>;
  A const factor = device::attention_scale<A>(e.head_dim, scale);
  if constexpr (std::is_same_v<T, bfloat16>) {
    if (attention_on_matrices(e, factor, qkv, dout, out, dqkv)) {
      detail::attention_matrix_dots const dots{e, dout, out, workspace};
      launch.blocks("attention_backward", dots, (dots.all_rows() + dots.rows - 1) / dots.rows,
                    dots.launch_threads, 0);
      return detail::with_matrix_dim(e, [&]<int Dim>() {
        auto const run = [&](auto const& body) {
          launch.blocks("attention_backward", body, e.batch * e.heads * body.tiles(),
                        body.launch_threads, body.shared_bytes());
        };
        run(detail::attention_matrix_keys<Dim>{
            {e, factor, dout, qkv, log_sum_exp, workspace, dqkv}});
        run(detail::attention_matrix_rows<Dim>{
            {e, factor, dout, qkv, log_sum_exp, workspace, dqkv}});
      });
    }
  }
  detail::with_head_dim<T>(e, [&]<int Dim>() {
    detail::launch_attention_dots(launch, dout, out, e, workspace);
    detail::attention_backward_tiles<T, Dim> const tiles{e,           factor,    dout, qkv,
                                                         log_sum_exp, workspace, dqkv};
    std::int64_t const blocks = e.batch * e.heads * tiles.tiles();
    launch.blocks("attention_backward", detail::attention_keys_block<T, Dim>{tiles}, blocks,
                  tiles.launch_threads, tiles.shared_bytes());
    launch.blocks("attention_backward", detail::attention_rows_block<T, Dim>{tiles}, blocks,
                  tiles.launch_threads, tiles.shared_bytes());
  });
}

}  // namespace ashlar::cuda
