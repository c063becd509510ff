// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Exchanges the halos of a tensor x for a layer such as a convolution, whose window slides along a
// dim that mesh axes split. The halo of a rank is the part of x that the windows of this rank's
// output cover and that other ranks own (layout/halo_layout.hpp).
//
//   with_halo(x, halo)        x with its halo: all elements that the windows of this rank cover
//   sum_of_halos(dx, halo)    the gradient of x, where dx is the gradient of x with its halo
//
// A tensor with its halo has the extents and the placement of x, but its local_box() is the box
// that this rank reads. The boxes of different ranks overlap. So only layers compute with such a
// tensor. The operators of this folder would give wrong results for it.
//
// sum_of_halos adds the addends of an element in the order of the ranks that read the element.

#include <ashlar/comm/abandon_on_exception.hpp>
#include <ashlar/comm/halo_transfer.hpp>
#include <ashlar/config.hpp>
#include <ashlar/device/functor.hpp>
#include <ashlar/device/host/operations.hpp>
#include <ashlar/support/buffer.hpp>
#include <ashlar/tensor/any_tensor.hpp>

namespace ashlar::detail {

/// Runs one transfer. If it throws, the mesh is abandoned: later transfers on the mesh then throw.
template <class Processor>
void run_halo(basic_mesh<Processor> const& m, transfer const& what, element_type type,
              void const* source, void* target) {
  abandon_on_exception const guard(m.operations());
  m.run(what, type, source, target);
}

/// Returns x with its halo: the elements that the windows of this rank's output cover. Communicates
/// one transfer along the axes that split the dim of the windows. Each rank receives the elements
/// that it reads but does not own.
template <class Processor>
any_tensor<Processor> with_halo(any_tensor<Processor> const& x, halo_transfers const& halo) {
  auto const& m = x.mesh();
  auto made = any_tensor<Processor>::with_box(m, x.extents(), x.placement(), halo.read, x.type());
  if (m.is_here()) run_halo(m, halo.exchange, x.type(), x.data(), made.data());
  return made;
}

/// Adds the elements of the box `region` in the array `addends` to those in the array `sums`.
/// `addends` covers the box `from`, and `sums` covers the box `to`. All boxes are in global
/// indices.
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

/// Returns the gradient of a tensor x, where dx is the gradient of x with its halo. The gradient of
/// an element is the sum over all ranks that read the element. Communicates one transfer along the
/// axes that split the dim of the windows. Each rank receives the addends for the elements that it
/// owns.
template <class Processor>
any_tensor<Processor> sum_of_halos(any_tensor<Processor> const& dx, halo_transfers const& halo) {
  auto const& m = dx.mesh();
  any_tensor<Processor> const made(m, dx.extents(), dx.placement(), dx.type());
  if (!m.is_here()) return made;
  auto const& what = halo.addends;
  with_element_type(dx.type(), [&]<class T>(T) {
    if constexpr (!std::is_integral_v<T>) {  // gradients never have integer elements
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
