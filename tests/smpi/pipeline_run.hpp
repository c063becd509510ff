// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs a training step of a pipeline on a simulated cluster. The executor and the messages are
// those of the library. The stages compute nothing and only take simulated time
// (support/simulated_element.hpp).
//
//   stage_chain(...)        a net of one element for each stage, and its placements
//   own_part(...)           makes the parts of the mesh and returns the part of this rank
//   simulated_step(...)     the simulated seconds of the program on the slowest rank

#include <algorithm>

#include <smpi/patient_waits.hpp>
#include <smpi/simulated.hpp>

#include <ashlar/step/build_stage.hpp>
#include <ashlar/step/pipeline/costs.hpp>

namespace ashlar_test {

namespace pipelines = ashlar::pipelines;
namespace search = ashlar::search;

/// A net whose elements are the stages of a pipeline, and the parts of the mesh that run them.
struct stage_chain {
  search::problem net;
  search::plan chosen;
  search::pipeline_part part;

  /// Every stage passes a tensor with the extents `extents` and the placement `at` to the next
  /// stage, and the gradient of its input to the previous stage. The first axis of the mesh `whole`
  /// is divided into as many parts as the schedule has positions. `costs` are, for each stage, the
  /// seconds of the passes of one micro-batch on the machine `m`.
  stage_chain(ashlar::topology const& whole, pipelines::schedule const& order,
              pipelines::pipeline_costs const& costs, ashlar::shape const& extents,
              ashlar::placement const& at, int element_size, ashlar::machine const& m)
      : part{0, order, {}, whole, divided(whole, 0, order.positions)} {
    net.micro_batches = order.micro_batches;
    net.element_size = element_size;
    chosen.mesh = part.parts[0].axes;
    chosen.micro_batches = order.micro_batches;
    for (int s = 0; s < order.stages(); ++s) {
      auto const& cost = costs[static_cast<std::size_t>(s)];
      search::layer_spec spec;
      spec.name = "stage";
      spec.x = spec.y = extents;
      spec.backward = search::backward_form::halves;
      spec.forward_flops = cost.forward * m.flops;
      spec.backward_flops = (cost.input_gradient + cost.weight_gradient) * m.flops;
      spec.gradient_flops = cost.weight_gradient * m.flops;
      net.add(spec);
      chosen.choices.push_back({at, at, at, at, {}, {}});
      part.limits.push_back(s);
    }
    part.limits.push_back(order.stages());
    // The program divides the work among the ranks of a stage. But `costs` are already the costs of
    // one rank, so they are multiplied by the number of ranks that share the work.
    double const share = search::work_fraction(net.spec(0), chosen[0], chosen.mesh);
    for (auto& layer : net.layers)
      for (double* const flops :
           {&layer.forward_flops, &layer.backward_flops, &layer.gradient_flops})
        *flops /= share;
  }
};

/// Makes the parts of the mesh, and returns the part of this rank. Sets part.position to its
/// number.
inline ashlar::mesh own_part(ashlar::mesh const& whole, search::pipeline_part& part) {
  std::vector<ashlar::mesh> parts;
  for (auto const& p : part.parts) parts.push_back(whole.part(p.ranks, p.axes));
  part.position = 0;
  while (!parts[static_cast<std::size_t>(part.position)].is_here()) ++part.position;
  return parts[static_cast<std::size_t>(part.position)];
}

/// Runs the program of this rank's part. Returns the simulated seconds of the slowest rank, which
/// are valid on rank 0 only. `block` is a parameter of simulated_element, `nap` of patient_waits.
inline double simulated_step(search::program const& p, ashlar::mesh const& own, double block,
                             double nap) {
  using processor = ashlar::device::host::processor;
  std::vector<std::unique_ptr<ashlar::nn::element_node<processor>>> elements;
  for (int i = 0; i < p.elements; ++i)
    elements.push_back(std::make_unique<simulated_element>(own, p, i, block));
  ashlar::nn::step_input<processor> input;
  auto const& first = static_cast<simulated_element const&>(*elements.front());
  input.data = [&](int b) {
    for (std::size_t v = 0; v < p.values.size(); ++v)
      if (p.values[v].kind == search::value_kind::data && p.values[v].micro_batch == b)
        return first.made(static_cast<int>(v));
    return simulated_element::any();
  };
  input.targets = [](int) { return simulated_element::any(); };
  input.pass = [](int) { return ashlar::nn::pass{true, 0, 0}; };
  ashlar::nn::executor<processor> walker(own, elements, p, ashlar::element_type::f32);
  patient_waits const waits(own, nap);
  double const mine = simulated_seconds([&] { walker.run(0, walker.first_update(), input); });
  double slowest = 0;
  MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  return slowest;
}

}  // namespace ashlar_test
