// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Compiles the planners of redistributions and of moves between parts of a mesh, the costs of
// halos, the builder of training-step programs, and the passes over these programs.

#define ASHLAR_COMPILES_STEP 1
#include <ashlar/plan/cross_mesh.hpp>
#include <ashlar/plan/redistribution.hpp>
#include <ashlar/step/build.hpp>
#include <ashlar/step/crossings_at_once.hpp>
#include <ashlar/step/overlapped.hpp>
#include <ashlar/step/pass_trial.hpp>
#include <ashlar/step/program_builder.hpp>
#include <ashlar/step/stage_builder.hpp>

namespace ashlar {

redistribution_plan detail::redistribution_at_run_time(shape const& extents, int element_size,
                                                       placement const& from, placement const& to,
                                                       topology const& t, machine const& m) {
  return cheapest_redistribution(extents, element_size, from, to, t, m);
}

cross_mesh_plan detail::cross_mesh_at_run_time(shape const& extents, int element_size,
                                               mesh_part const& source, placement const& from,
                                               mesh_part const& target, placement const& to,
                                               topology const& whole, machine const& m,
                                               crossing_choice const& choice) {
  return cross_mesh_here(extents, element_size, source, from, target, to, whole, m, choice);
}

namespace search {
inline namespace step {
namespace step_detail {

halo_traffic halo_coordinates_at_run_time(sliding_window const& w, std::int64_t x, std::int64_t y,
                                          topology const& t, axis_list const& axes) {
  return halo_coordinates_here(w, x, y, t, axes);
}

halo_memory halo_memory_at_run_time(layer_spec const& spec, layer_choice const& c,
                                    topology const& t, int element_size) {
  return halo_memory_here(spec, c, t, element_size);
}

program build_at_run_time(problem const& net, plan const& chosen, machine const& m) {
  return include_step_program_builder_hpp(net, chosen, m, 0);
}

}  // namespace step_detail
}  // namespace step
}  // namespace search

search::overlap_result search::overlapped(program const& p, machine const& m,
                                          overlap_options const& options) {
  return step_detail::with_what_pays(p, m, options);
}

}  // namespace ashlar
