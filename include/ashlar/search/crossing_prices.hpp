// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Prices crossings: moves of a tensor from one part of a pipeline's mesh to another part. The price
// is computed from the plan of the crossing (plan/cross_mesh.hpp). It includes the redistributions
// on the two parts before and after the transfers between them.
//
// The parts of a pipeline are equal, and a machine has the same links between all of its nodes. So
// a crossing costs the same between any two parts, and its price is computed on a mesh of two
// neighbouring parts. A net has few different crossings. Each of them is planned once.

#include <vector>

#include <ashlar/mesh/mesh_part.hpp>
#include <ashlar/plan/cross_mesh.hpp>
#include <ashlar/plan/crossing/transfers.hpp>
#include <ashlar/search/transfer_bytes.hpp>

namespace ashlar::search {

class crossing_prices {
 public:
  struct price {
    double seconds = 0;
    std::int64_t sent = 0;  ///< bytes that the busiest rank of the source sends to other ranks
    transfer_bytes bytes;   ///< bytes of the tensor on both parts
  };

  /// `part` is the mesh of one of the equal parts of a pipeline. `axis` is the number of the mesh
  /// axis that the parts divide, or -1 if there is only one part, so that nothing crosses.
  crossing_prices(topology const& part, int axis, machine const& m) : machine_(m), both_(part) {
    if (axis < 0) return;
    both_.axis[axis].extent *= 2;
    auto const parts = divided(both_, axis, 2);
    source_ = parts[0];
    target_ = parts[1];
    has_parts_ = true;
  }

  /// Returns the price of moving a tensor from placement `from` on one part to placement `to` on
  /// another part. If there is only one part, nothing crosses: seconds and sent bytes are 0.
  price operator()(shape const& extents, int element_size, placement const& from,
                   placement const& to) {
    if (!has_parts_)
      return {0, 0, bytes_of_transfer(extents, element_size, both_, from, from, to, to)};
    for (auto const& k : known_)
      if (k.element_size == element_size && k.from == from && k.to == to && k.extents == extents)
        return k.found;
    known_.push_back({extents, element_size, from, to, work_out(extents, element_size, from, to)});
    return known_.back().found;
  }

 private:
  struct entry {
    shape extents;
    int element_size;
    placement from, to;
    price found;
  };

  price work_out(shape const& extents, int element_size, placement const& from,
                 placement const& to) const {
    auto const plan = plan_cross_mesh(extents, element_size, source_, from, target_, to, both_,
                                      machine_);
    std::vector<std::int64_t> sent(static_cast<std::size_t>(both_.ranks()));
    for_each_transfer(plan.across, both_, [&](crossing_transfer const& t) {
      sent[static_cast<std::size_t>(t.from)] += t.size * element_size;
    });
    return {plan.seconds, *std::max_element(sent.begin(), sent.end()),
            bytes_of_transfer(extents, element_size, source_.axes, from, plan.before.to,
                              plan.after.from, to)};
  }

  machine machine_;
  topology both_;
  mesh_part source_, target_;
  bool has_parts_ = false;
  std::vector<entry> known_;
};

}  // namespace ashlar::search
