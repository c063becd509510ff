// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A plan that somebody wrote, or a baseline, as an algorithm's result: its predictions made anew, its
// lower bound and gap beside them.
//
//   search::appraise(net, search::megatron(net, t, m), m).gap       // at most so much faster is possible
//
// The bound is that of all plans on the plan's own mesh; on a mesh of other axes there may be better.

#include <ashlar/search/algorithm.hpp>
#include <ashlar/search/lagrangian.hpp>
#include <ashlar/search/legal.hpp>

namespace ashlar::search {

/// Throws ashlar::error if an element is not placed in a way that its layer has, or if the plan needs
/// more than m.memory bytes per rank. `o`: permits, whole_space and lower_bound as for a search.
template <int N>
basic_result<N> appraise(basic_problem<N> const& net, basic_plan<N> chosen, machine const& m,
                         options const& o = {}) {
  auto const refuse = [](std::string const& what) { throw error("search::appraise", what); };
  if (chosen.size() != net.size())
    refuse("the plan has " + std::to_string(chosen.size()) + " elements, the net " +
           std::to_string(net.size()) + ". Give the plan of this net.");
  for (int i = 0; i < net.size(); ++i) {
    std::string const element = "element " + std::to_string(i) + " (" + net.spec(i).name.text +
                                ") ";
    if (!is_legal(chosen[i], net.spec(i), chosen.mesh))
      refuse(element + "cannot be placed so: its layer has no such row.");
    if (net[i].kind == element_kind::residual_end && !(chosen[i] == chosen[net[i].partner]))
      refuse(element + "must lie as the element that begins its residual.");
  }
  detail::watch run("appraise", o);
  predict(chosen, net, m);
  if (m.memory > 0 && chosen.memory > m.memory)
    refuse("the plan needs " + bytes_text(double(chosen.memory)) + " per rank, more than the " +
           bytes_text(double(m.memory)) + " of the machine.");
  run.improves(chosen.seconds);
  run.bound_by([&] {
    // Below a memory limit any number of segments may be recomputed.
    recomputation const again{net.recomputed, m.memory > 0 && net.segments > net.recomputed
                                                  ? net.segments
                                                  : net.recomputed};
    chain_model<N> model = detail::model_of(net, chosen.mesh, m, o, again);
    return detail::lower_bound(model, m.memory);
  });
  return run.finish(static_cast<basic_plan<N>&&>(chosen));
}

}  // namespace ashlar::search
