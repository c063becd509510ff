// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Functions to look at tensors. On a device, each function waits until the pending computations on
// the tensor have finished.
//
//   to_full        brings all values to every rank
//   local_values   copies this rank's shard to host memory
//   print          writes all values on rank 0

#include <ostream>
#include <vector>

#include <ashlar/tensor/redistribute.hpp>

namespace ashlar {

namespace detail {
/// Copies the `count` elements at `shard` from the memory of the processor to the host.
template <class T, class Processor>
std::vector<T> host_values(Processor const& on, T const* shard, std::int64_t count) {
  if constexpr (Processor::is_host) {
    return std::vector<T>(shard, shard + count);  // This constructor does not write zeros first.
  } else {
    std::vector<T> values(static_cast<std::size_t>(count));
    download(on, shard, count, values.data());
    return values;
  }
}
}  // namespace detail

/// Returns the values of this rank's shard, row-major, in host memory. Communicates nothing.
/// Refuses a partial tensor, as x.local() does.
template <distributed Tensor>
std::vector<typename Tensor::value_type> local_values(Tensor const& x) {
  x.require_values();
  using T = typename Tensor::value_type;
  return detail::host_values<T>(x.mesh().processor(), x.data(), x.local_elements());
}

/// Returns all values of `x`, row-major, on every rank. Communicates like a redistribution to B on
/// all axes.
template <distributed Tensor>
std::vector<typename Tensor::value_type> to_full(Tensor const& x) {
  auto const whole = redistribute(x, placement::all_broadcast(x.mesh().axes()));
  return local_values(whole);
}
/// Overload of to_full for a tensor whose type is known only at run time. Throws ashlar::error if
/// its elements are not of type T.
template <class T, class Processor>
std::vector<T> to_full(any_tensor<Processor> const& x) {
  auto const& m = x.mesh();
  x.template data_as<T>();  // throws before the communication
  auto const plan = m.prepared(x.extents(), sizeof(T), x.placement(),
                               placement::all_broadcast(m.axes()));
  auto const whole = detail::run_plan(x, *plan);
  return detail::host_values<T>(m.processor(), whole.template data_as<T>(), whole.local_elements());
}

/// Writes the description of `x` and its values, with four significant digits, to `out` on rank 0,
/// as in print(x, std::cout). Communicates like to_full, so all ranks must call this function.
template <distributed Tensor>
void print(Tensor const& x, std::ostream& out) {
  auto const values = to_full(x);
  if (x.mesh().rank() != 0) return;
  out << describe(x) << '\n';
  std::size_t const columns = Tensor::rank == 0
                                  ? 1
                                  : static_cast<std::size_t>(x.extents()[Tensor::rank - 1]);
  auto const digits = out.precision(4);
  for (std::size_t i = 0; i < values.size(); ++i) {
    out.width(10);
    out << values[i] << ((i + 1) % columns == 0 ? '\n' : ' ');
  }
  out.precision(digits);
}

/// Writes the extents, placement and mesh of `x`, but no values. Communicates nothing.
template <distributed Tensor>
std::ostream& operator<<(std::ostream& out, Tensor const& x) {
  return out << describe(x);
}

}  // namespace ashlar
