// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The members of a model (model.hpp), and the executor that several of its functions use.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <ashlar/nn/describe.hpp>
#include <ashlar/nn/executor.hpp>
#include <ashlar/nn/mixture_log.hpp>
#include <ashlar/nn/place_part.hpp>
#include <ashlar/step/build.hpp>
#include <ashlar/step/build_stage.hpp>

namespace ashlar::nn {

/// The members of a model. They form an object of their own because their addresses must not change
/// when the model is moved.
template <class T, class Processor, class Input>
struct model_state {
  using mesh_type = basic_mesh<Processor>;
  /// A function that throws ashlar::error if the net's first layer does not accept the inputs.
  using input_check = std::function<void(std::span<Input const>)>;

  model_state(mesh_type const& m, mesh_type const& here, std::optional<step::pipeline_part> part,
              search::problem described, search::plan chosen, std::uint64_t s,
              std::vector<std::unique_ptr<element_node<Processor>>> elements, input_check first);
  ~model_state();

  /// Returns the program of a step of the problem `net`, on the whole mesh or on `part` of a
  /// pipeline. The program is in serial order: no communication overlaps with computation.
  step::program program_of(search::problem const& net, search::plan const& chosen,
                           std::optional<step::pipeline_part> const& part) const;
  /// Returns the program of a step with all micro-batches. A plain step sends all gradients
  /// exactly, so its program has no wires (plan/wire.hpp).
  step::program whole_program(bool is_plain) const;

  executor<Processor> make_executor(step::program const& p) const;

  /// Returns the executor of the program of one micro-batch, in which no gradient is delayed. If
  /// parameters are still to be renewed (renews_before_use), renews them first. Communicates: the
  /// moves of a renewal.
  executor<Processor>& one_micro_batch();

  /// The mesh of all ranks that train, and this rank's part of it (model::stage_mesh).
  mesh_type mesh, stage;
  std::optional<step::pipeline_part> pipeline;
  search::problem problem;
  search::plan plan;
  shape targets, context;  ///< the extents of a micro-batch's targets and of its context
  std::uint64_t seed;
  bool is_synchronized = false;    ///< whether synchronize() ran after clear_gradients()
  bool renews_before_use = false;  ///< whether stored parameters are older than updated ones
  std::vector<std::unique_ptr<element_node<Processor>>> nodes;
  input_check check_input;
  mixture_log mixtures;
  step::program one;  ///< the program of one micro-batch, built when it is first needed
  std::unique_ptr<executor<Processor>> one_walker;
};

template <class T, class Processor, class Input>
model_state<T, Processor, Input>::model_state(
    mesh_type const& m, mesh_type const& here, std::optional<step::pipeline_part> part,
    search::problem described, search::plan chosen, std::uint64_t s,
    std::vector<std::unique_ptr<element_node<Processor>>> elements, input_check first)
    : mesh(m), stage(here), pipeline(std::move(part)), problem(std::move(described)),
      plan(std::move(chosen)), context(context_extents(problem)), seed(s),
      nodes(std::move(elements)), check_input(std::move(first)) {}

template <class T, class Processor, class Input>
model_state<T, Processor, Input>::~model_state() = default;

template <class T, class Processor, class Input>
step::program
model_state<T, Processor, Input>::program_of(search::problem const& net, search::plan const& chosen,
                                             std::optional<step::pipeline_part> const& part) const {
  return part ? step::build_stage(net, chosen, mesh.machine(), *part)
              : step::build(net, chosen, mesh.machine());
}

template <class T, class Processor, class Input>
step::program model_state<T, Processor, Input>::whole_program(bool is_plain) const {
  return program_of(problem, is_plain ? search::without_wires(plan) : plan, pipeline);
}

template <class T, class Processor, class Input>
executor<Processor> model_state<T, Processor, Input>::make_executor(step::program const& p) const {
  return {stage, nodes, p, element_type_of<T>};
}

template <class T, class Processor, class Input>
executor<Processor>& model_state<T, Processor, Input>::one_micro_batch() {
  if (one_walker == nullptr) {
    auto single = problem;
    single.micro_batches = single.interleaved = 1;
    auto part = pipeline;
    if (part) {
      part->order.micro_batches = 1;
      for (auto& own : part->order.order)
        std::erase_if(own, [](pipelines::action const& a) { return a.micro_batch > 0; });
    }
    one = program_of(single, step::without_delays(plan), part);
    // The executor is constructed by `new` from the returned value, since an executor on devices
    // cannot be moved.
    one_walker.reset(new executor<Processor>(make_executor(one)));
  }
  if (renews_before_use) {
    one_walker->renew();
    renews_before_use = false;  // only now, so that a renewal that failed is not forgotten
  }
  return *one_walker;
}

#if !ASHLAR_DEFINES(NN)
extern template struct model_state<float, device::host::processor, float>;
extern template struct model_state<float, device::host::processor, std::int32_t>;
extern template struct model_state<double, device::host::processor, double>;
extern template struct model_state<double, device::host::processor, std::int32_t>;
#endif

}  // namespace ashlar::nn
