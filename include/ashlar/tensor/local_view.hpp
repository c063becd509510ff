// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// local_view: this rank's shard as an address, extents and strides, for code that does not know
// ashlar's tensors. Nothing is copied. A view is valid as long as a tensor with this shard exists.

#include <ashlar/tensor/strided_view.hpp>
#include <ashlar/tensor/tensor.hpp>

namespace ashlar {

/// Returns a view of this rank's shard as local_view does, but accepts a partial tensor. The shard
/// of a partial tensor has this rank's addends of the values. Communicates nothing.
template <distributed Tensor>
strided_view<typename Tensor::value_type, Tensor::rank> local_addends_view(Tensor const& x) {
  using view = strided_view<typename Tensor::value_type, Tensor::rank>;
  typename view::numbers extents{};
  for (int d = 0; d < Tensor::rank; ++d) extents[static_cast<std::size_t>(d)] = x.local_size(d);
  return row_major_view<typename Tensor::value_type, Tensor::rank>(x.local_addends().data(),
                                                                   extents);
}

/// Returns a view of this rank's shard, with the shard's extents and the strides of a row-major
/// array. As with a pointer, the view of a const tensor still gives write access. Communicates
/// nothing. Works for host memory only. Refuses a partial tensor, as local() does: for a typed
/// tensor the call does not compile, for a dynamic one it throws ashlar::error.
template <distributed Tensor>
auto local_view(Tensor const& x) {
  x.require_values();
  return local_addends_view(x);
}

}  // namespace ashlar
