// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Looking at tensors: to_full brings all values to every rank, local_values a rank's own shard to its host,
// print writes all on rank 0. All wait for what is computed on the tensor.

#include <iomanip>
#include <ostream>
#include <vector>

#include <ashlar/tensor/redistribute.hpp>

namespace ashlar {

/// The values of this rank's shard, row-major, in the host's memory. Communicates nothing.
template <distributed Tensor>
std::vector<typename Tensor::value_type> local_values(Tensor const& x) {
  using T = typename Tensor::value_type;
  T const* const shard = x.data();
  if constexpr (Tensor::processor_type::is_host) {
    return std::vector<T>(shard, shard + x.local_elements());  // written once
  } else {
    std::vector<T> values(static_cast<std::size_t>(x.local_elements()));
    download(x.mesh().processor(), shard, x.local_elements(), values.data());
    return values;
  }
}

/// All values of `x`, row-major, on every rank.
/// Communicates: what redistribute(x, all B) does.
template <distributed Tensor>
std::vector<typename Tensor::value_type> to_full(Tensor const& x) {
  auto const whole = redistribute(x, placement::all_broadcast(x.mesh().axes()));
  return local_values(whole);
}

/// Writes where `x` lies and its values on rank 0. Communicates like to_full.
template <distributed Tensor>
void print(Tensor const& x, std::ostream& out) {
  auto const values = to_full(x);
  if (x.mesh().rank() != 0) return;
  out << describe(x) << '\n';
  std::size_t const columns = Tensor::rank == 0
                                  ? 1
                                  : static_cast<std::size_t>(x.extents()[Tensor::rank - 1]);
  for (std::size_t i = 0; i < values.size(); ++i)
    out << std::setw(10) << std::setprecision(4) << values[i]
        << ((i + 1) % columns == 0 ? '\n' : ' ');
}

/// Writes where `x` lies. Communicates nothing.
template <distributed Tensor>
std::ostream& operator<<(std::ostream& out, Tensor const& x) {
  return out << describe(x);
}

}  // namespace ashlar
