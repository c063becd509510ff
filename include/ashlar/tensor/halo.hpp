// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Exchanges the halos of a tensor of which mesh axes split a dim, and along this dim a window slides
// (layout/halo_layout.hpp).
//
//   with_halo(x, halo)             x with its halo: what the windows of this rank cover
//   sum_of_halos(dx, halo)         the gradient of x from the gradients of x with its halo
//
// A tensor with its halo has the extents and the placement of x, but its local_box() is the box that
// this rank reads. Boxes of different ranks overlap. So only the passes of layers may compute with
// it. No operator of this folder may get it.
//
// The addends of an element are added in the order of the ranks that read it.

#include <ashlar/comm/abandon_on_exception.hpp>
#include <ashlar/comm/halo_transfer.hpp>
#include <ashlar/config.hpp>
#include <ashlar/device/functor.hpp>
#include <ashlar/device/host/operations.hpp>
#include <ashlar/support/buffer.hpp>
#include <ashlar/tensor/any_tensor.hpp>

namespace ashlar::detail {

/// Runs a transfer on its own. An exception abandons the mesh.
template <class Processor>
void run_halo(basic_mesh<Processor> const& m, transfer const& what, element_type type,
              void const* source, void* target) {
  abandon_on_exception const guard(m.operations());
  m.run(what, type, source, target);
}

/// Returns x with its halo. Communicates one transfer along the axes that split the dim: the elements
/// that this rank reads and does not own.
template <class Processor>
any_tensor<Processor> with_halo(any_tensor<Processor> const& x, halo_transfers const& halo) {
  auto const& m = x.mesh();
  auto made = any_tensor<Processor>::with_box(m, x.extents(), x.placement(), halo.read, x.type());
  if (m.is_here()) run_halo(m, halo.exchange, x.type(), x.data(), made.data());
  return made;
}

/// Adds the elements of a region of `addends` to those of `sums`. `addends` is an array of the box
/// `from`, and `sums` one of the box `to`. All boxes are in global indices.
template <class Processor, class T>
void add_region(Processor const& on, box const& region, box const& from, T const* addends,
                box const& to, T* sums) {
  if (region.elements() == 0) return;
  // The dims from `inner` on are contiguous in both arrays.
  int inner = region.rank() - 1;
  while (inner > 0 && from[inner].size == region[inner].size && to[inner].size == from[inner].size)
    --inner;
  std::int64_t run = 1;
  for (int d = inner; d < region.rank(); ++d) run *= region[d].size;
  std::int64_t const runs = region.elements() / run;
  for (std::int64_t r = 0; r < runs; ++r) {
    box first = region;  // the first element of the run
    std::int64_t rest = r;
    for (int d = inner - 1; d >= 0; --d) {
      first.dim[d].begin += rest % region[d].size;
      rest /= region[d].size;
    }
    T* const sum = sums + offset_of(to, first);
    map(on, device::sum_of{}, static_cast<T const*>(sum), addends + offset_of(from, first), run,
        sum);
  }
}

/// Returns the gradient of a tensor from the gradients of the tensor with its halo: the sum over all
/// ranks that read an element. Communicates one transfer along the axes that split the dim: the
/// addends that other ranks have for the elements that this rank owns.
template <class Processor>
any_tensor<Processor> sum_of_halos(any_tensor<Processor> const& dx, halo_transfers const& halo) {
  auto const& m = dx.mesh();
  any_tensor<Processor> const made(m, dx.extents(), dx.placement(), dx.type());
  if (!m.is_here()) return made;
  auto const& what = halo.addends;
  with_element_type(dx.type(), [&]<class T>(T) {
    if constexpr (!std::is_integral_v<T>) {  // gradients are no integers
      buffer<T> const received(m.memory(), what.to.elements());
      run_halo(m, what, dx.type(), dx.data(), received.data());
      auto* const sum = static_cast<T*>(made.data());
      fill(m.processor(), T(0), made.local_elements(), sum);
      for (std::size_t j = 0; j < halo.added.size(); ++j) {
        box const& region = halo.added[j];
        if (static_cast<int>(j) == what.index)
          add_region(m.processor(), region, halo.read, static_cast<T const*>(dx.data()), halo.own,
                     sum);
        else
          add_region(m.processor(), region, region,
                     static_cast<T const*>(received.data()) + what.receives[j].target_offset,
                     halo.own, sum);
      }
    }
  });
  return made;
}

#if !ASHLAR_DEFINES(TENSOR)
extern template any_tensor<device::host::processor>
with_halo(any_tensor<device::host::processor> const&, halo_transfers const&);
extern template any_tensor<device::host::processor>
sum_of_halos(any_tensor<device::host::processor> const&, halo_transfers const&);
#endif

}  // namespace ashlar::detail
