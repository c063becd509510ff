// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Runs one step of a plan on this rank's shard: what communicates is the mesh's business, what does
// not is done here.
//
//   slice      copies the part that the rank keeps
//   zero_pad   copies the shard into a larger one full of the reduction's identity

#include <ashlar/comm/mesh.hpp>

namespace ashlar {

/// A step that stays on its rank.
template <class Processor, class T>
void run_local(Processor const& on, transfer const& what, T const* source, T* target) {
  if (what.pads) fill(on, identity_of<T>(what.op), what.to.elements(), target);
  for (auto const& block : what.receives) copy(on, block, source, target);
}

/// Carries `what` out of `source`, a shard with box what.from, into `target`, one with box what.to.
/// Communicates: the step's collective along its axes.
template <class T, class Processor>
void run_transfer(basic_mesh<Processor> const& m, transfer const& what, T const* source,
                  T* target) {
  if (communicates(what.kind)) m.run(what, element_type_of<T>, source, target);
  else run_local(m.processor(), what, source, target);
}

}  // namespace ashlar
