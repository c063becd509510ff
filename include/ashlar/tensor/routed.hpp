// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Routed tensors [tokens.., experts, features]: a mixture of experts stores for each token only the
// rows of the experts to which the token goes (layout/routing.hpp). The shard of a routed tensor is
// an array [rows, features] in host memory. Its size depends on the routes, so it is known only at
// run time. The shard keeps a pointer to the routes. On a partial axis, each rank has addends for
// all rows of its box.
//
//   make_routed<Tensor>(mesh, extents, p, routes)   a routed tensor; its shard is not initialized
//   rows_of(x)                                      says which rows of x this rank has
//
// A routed tensor is redistributed by the same plan as a dense tensor with its extents
// (routed_steps.hpp).

#include <ashlar/layout/routing.hpp>
#include <ashlar/tensor/any_tensor.hpp>

namespace ashlar {
namespace detail {

/// The deleter in the shared pointer to a routed tensor's shard. It knows the rows of the shard,
/// and releases the shard's memory.
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
  if (owner == nullptr) throw error("rows_of", "the tensor has no routes. Make it with dispatch.");
  return owner->rows;
}

}  // namespace detail

/// Returns a routed tensor at placement `p` whose shard is not initialized. The extents are
/// [tokens.., experts, features], with the number of experts of each token in shape::chosen.
/// Communicates nothing. Throws ashlar::error if the routes do not fit the extents.
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

/// Returns which rows of the routed tensor x this rank has. Throws ashlar::error if the tensor has
/// no routes.
template <distributed Tensor>
routed_rows const& rows_of(Tensor const& x) {
  return detail::rows_of_shard<typename Tensor::processor_type>(x.shard());
}

}  // namespace ashlar
