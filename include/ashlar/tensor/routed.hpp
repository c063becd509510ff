// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Tensors of routed rows: a mixture of experts stores only the rows of the experts that each token is
// routed to (layout/routing.hpp). The shard of a routed tensor is an array [rows, features] in host
// memory, whose size is known only at run time. It carries the routes. A partial tensor has all rows
// of its box on each rank.
//
//   make_routed<Tensor>(mesh, extents, p, routes)   a tensor whose shard is not initialized
//   rows_of(x)                                      the rows that this rank has of x
//
// Redistributions of these tensors take the same plans as those of dense tensors. They always run at
// once: a step of the program that moves rows never proceeds in the background.

#include <cstring>

#include <ashlar/comm/abandon_on_exception.hpp>
#include <ashlar/comm/routed_transfer.hpp>
#include <ashlar/config.hpp>
#include <ashlar/support/buffer.hpp>
#include <ashlar/tensor/any_tensor.hpp>

namespace ashlar {
namespace detail {

/// Owns the memory of a routed tensor's shard, as the deleter of its shared pointer.
template <class Memory>
struct routed_shard {
  std::shared_ptr<Memory> memory;
  std::size_t bytes;
  routed_rows rows;
  void operator()(void* block) const { memory->release(block, bytes); }
};
template <class Processor>
using routed_shard_on = routed_shard<
    std::remove_cvref_t<decltype(*std::declval<basic_mesh<Processor>>().shared_memory())>>;

template <class Processor>
any_tensor<Processor> new_routed(basic_mesh<Processor> const& m, shape const& extents,
                                 placement const& p, routed_rows rows, element_type type) {
  static_assert(Processor::is_host,
                "Tensors of routed rows exist on the host only. Place the net on an ashlar::mesh.");
  box stored;
  stored.dim.resize(extents.rank());
  for (int d = 0; d < extents.rank(); ++d) stored.dim[d] = {0, 1};
  stored.dim[0].size = rows.size();
  stored.dim[extents.rank() - 1] = rows.within[extents.rank() - 1];
  auto const bytes = static_cast<std::size_t>(stored.elements()) *
                     static_cast<std::size_t>(size_of(type));
  auto memory = m.shared_memory();
  void* const block = allocate_shard(*memory, bytes, extents, p, m.topology());
  return any_tensor<Processor>::with_shard(
      m, extents, p, stored, type,
      std::shared_ptr<void>(block, routed_shard_on<Processor>{memory, bytes, std::move(rows)}));
}

template <class Processor>
routed_rows const& rows_of_shard(std::shared_ptr<void> const& shard) {
  auto const* const owner = std::get_deleter<routed_shard_on<Processor>>(shard);
  if (owner == nullptr)
    throw error("rows_of", "the tensor has no routes. Make it with nn::dispatch.");
  return owner->rows;
}

/// Copies between a shard of a routed tensor and a packed array that has the rows and features of the
/// box `region` only.
template <class T>
struct row_copier {
  shape const& extents;
  routed_rows const& rows;
  T* values;  ///< of the shard

  template <class Copy>
  void for_each(box const& region, Copy const& copy) const {
    int const last = extents.rank() - 1;
    std::int64_t const width = region[last].size, all = rows.features();
    if (width == 0) return;
    std::int64_t const offset = region[last].begin - rows.within[last].begin;
    std::int64_t packed = 0;
    for_each_row_in(rows, extents, region, [&](std::int64_t row) {
      copy(values + row * all + offset, packed, width);
      packed += width;
    });
  }
  void pack(box const& region, T* target) const {
    for_each(region, [&](T const* row, std::int64_t at, std::int64_t n) {
      std::copy_n(row, n, target + at);
    });
  }
  void unpack(box const& region, T const* source) const {
    for_each(region,
             [&](T* row, std::int64_t at, std::int64_t n) { std::copy_n(source + at, n, row); });
  }
};

template <class T, class Processor>
void run_routed_step(redistribution_step const& s, any_tensor<Processor> const& x,
                     any_tensor<Processor> const& next) {
  auto const& m = x.mesh();
  auto const& extents = x.extents();
  auto const& before = rows_of_shard<Processor>(x.shard());
  auto const& after = rows_of_shard<Processor>(next.shard());
  T* const from = static_cast<T*>(x.data());
  T* const to = static_cast<T*>(next.data());
  row_copier<T> const old_rows{extents, before, from}, new_rows{extents, after, to};
  if (!communicates(s.kind)) {
    bool const pads = s.kind == collective::zero_pad;
    auto const a = static_cast<std::size_t>(s.axes[0]);
    if (pads) std::fill_n(to, next.local_elements(), identity_of<T>(s.to[s.axes[0]].op));
    if (pads && !s.from[s.axes[0]].is_split() && m.coordinate()[a] != 0) return;
    box const kept = intersect(before.within, after.within);
    buffer<T> packed(m.memory(), elements_in(*before.routes, extents, kept));
    old_rows.pack(kept, packed.data());
    new_rows.unpack(kept, packed.data());
    return;
  }
  auto const moved = make_routed_transfer(s, extents, *before.routes, m.topology(), m.coordinate());
  auto const& what = moved.what;
  if (s.kind == collective::all_reduce) return m.run(what, x.type(), from, to);
  bool const packs = s.kind != collective::all_gather;
  bool const unpacks = s.kind != collective::reduce_scatter;
  std::optional<buffer<T>> source, target;
  if (packs) {
    source.emplace(m.memory(), moved.source_elements);
    for (std::size_t j = 0; j < moved.gives.size(); ++j)
      old_rows.pack(moved.gives[j], source->data() + what.sends[j].source_offset);
  }
  if (unpacks) target.emplace(m.memory(), moved.target_elements);
  m.run(what, x.type(), packs ? source->data() : from, unpacks ? target->data() : to);
  if (unpacks)
    for (std::size_t j = 0; j < moved.takes.size(); ++j)
      new_rows.unpack(moved.takes[j], target->data() + what.receives[j].target_offset);
}

/// Runs the plan's steps on a routed tensor and returns the moved tensor.
template <class Processor>
any_tensor<Processor> run_routed_plan(any_tensor<Processor> x, redistribution_plan const& plan) {
  if constexpr (!Processor::is_host) {
    throw error("redistribute",
                "tensors of routed rows exist on the host only. Place the net on an "
                "ashlar::mesh.");
  } else {
    auto const m = x.mesh();
    abandon_on_exception const guard(m.operations());
    for (auto const& s : plan.steps) {
      auto const& routes = rows_of_shard<Processor>(x.shard()).routes;
      auto next = new_routed(m, x.extents(), s.to,
                             rows_in(routes, x.extents(), m.local_box(x.extents(), s.to)),
                             x.type());
      with_element_type(x.type(), [&]<class T>(T) {
        if constexpr (!std::is_integral_v<T>) run_routed_step<T>(s, x, next);
        else throw error("redistribute", "rows of experts have elements of a floating-point type.");
      });
      x = std::move(next);
    }
    return x;
  }
}

#if !ASHLAR_DEFINES(TENSOR)
extern template any_tensor<device::host::processor>
run_routed_plan(any_tensor<device::host::processor>, redistribution_plan const&);
#endif

}  // namespace detail

/// Returns a routed tensor at placement `p` whose shard is not initialized. The extents are [tokens..,
/// experts, features] and say how many experts each token has (shape::chosen). Communicates nothing.
template <distributed Tensor>
Tensor make_routed(typename Tensor::mesh_type const& m, shape const& extents, placement const& p,
                   std::shared_ptr<routing const> const& routes) {
  int const rank = extents.rank();
  std::int64_t tokens = 1;
  for (int d = 0; d < rank - 2; ++d) tokens *= extents[d];
  if (!extents.is_routed() || routes->tokens != tokens || routes->experts != extents[rank - 2] ||
      routes->chosen != extents.chosen)
    throw error("make_routed", "the routes are of " + std::to_string(routes->tokens) +
                                   " tokens to " + std::to_string(routes->chosen) + " of " +
                                   std::to_string(routes->experts) +
                                   " experts, but the extents are " + to_string(extents) + ".");
  return detail::new_routed(m, extents, p, rows_in(routes, extents, m.local_box(extents, p)),
                            element_type_of<typename Tensor::value_type>)
      .template as<Tensor>();
}

/// Returns the rows that this rank has of a routed tensor. Throws ashlar::error if the tensor has no
/// routes.
template <distributed Tensor>
routed_rows const& rows_of(Tensor const& x) {
  return detail::rows_of_shard<typename Tensor::processor_type>(x.shard());
}

}  // namespace ashlar
