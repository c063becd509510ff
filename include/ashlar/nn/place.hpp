// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Places a net on a mesh by a plan. Each layer gets the placements of its part of the plan.
//
//   auto model = nn::place<float>(net, mesh, plan);                   a run-time plan
//   auto model = nn::place<float>(net, mesh, nn::constant<plan>);     a constexpr plan: typed
//
// Every rank throws if the plan is for another mesh or another net, or if the plan breaks a layer's
// rules.

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ashlar/nn/describe.hpp>
#include <ashlar/nn/model.hpp>
#include <ashlar/search/pipeline_plan.hpp>
#include <ashlar/step/staleness.hpp>
#if ASHLAR_DEFINES(NN)
#include <ashlar/search/legal.hpp>
#include <ashlar/step/check_turns.hpp>
#include <ashlar/step/pipeline/check.hpp>
#endif

namespace ashlar::nn {

namespace detail {

/// Places a net that ends in a loss.
template <class T, class Processor, class Net, class Cursor>
auto place_with(Net const& net, net_builder<Processor> built, search::problem problem,
                search::plan plan, Cursor const& cursor,
                std::optional<step::pipeline_part> pipeline = {}) {
  static_assert(!std::is_same_v<T, bfloat16> || !Processor::is_host,
                "nn::place: models on the host are of float or double. Place the net as "
                "nn::place<float>(...), or as bfloat16 on a mesh of devices.");
  static_assert(!std::is_integral_v<T>,
                "nn::place: integers are types of tensors, not of layers. Place the net as "
                "nn::place<float>(...).");
  using input = std::conditional_t<takes_tokens<Net>(), std::int32_t, accumulation_t<T>>;
  constexpr int x_rank = input_rank<Net>();
  built.ties = problem.ties;
  nn::place_part<T, x_rank>(net, built, plan.input, cursor);
  auto const check_input = [first = first_layer(net)](std::span<input const> values) {
    if constexpr (requires { first.check(values); }) first.check(values);
  };
  return model<T, Processor, input, x_rank, output_rank<Net, x_rank>(),
               typename loss_of<Net>::type>(built.mesh, built.here(), std::move(pipeline),
                                            std::move(problem), std::move(plan), built.streams.seed,
                                            std::move(built.nodes), check_input);
}

/// Returns a builder that places a net on a mesh. If with_loss() wraps the user's net and a loss in
/// a chain, the names of parameters leave out the position in this chain.
template <class Layer, class Processor>
net_builder<Processor> builder_for(basic_mesh<Processor> const& m, std::uint64_t seed) {
  return {m, {seed}, {}, {}, ends_in_loss<Layer>};
}

ASHLAR_INLINE error made_for_another_net(std::string const& why);

/// Throws ashlar::error if a plan does not fit the net's problem.
ASHLAR_INLINE void check_plan(search::plan const& plan, search::problem const& problem);

/// Throws ashlar::error if the stages of a pipeline, or its schedule, do not fit the net.
ASHLAR_INLINE void check_pipeline(search::pipeline_plan const& p, search::problem const& problem);

/// Returns the description of the pipeline (step/pipeline_part.hpp): the schedule, the stages and
/// the parts of the mesh `whole`. The position is 0, that of the first part.
ASHLAR_INLINE step::pipeline_part part_of_pipeline(search::pipeline_plan const& p,
                                                   topology const& whole);

/// Checks that a plan fits the net and the mesh, and returns the net's problem. Throws
/// ashlar::error if the plan does not fit. `planned_for` is the mesh of all ranks of the plan.
template <class T, class Layer, class Processor>
search::problem checked_problem(Layer const& net, basic_mesh<Processor> const& m,
                                search::plan const& plan, std::uint64_t seed,
                                topology const& planned_for) {
  if (!(planned_for == m.topology()))
    throw error("nn::place", "the plan is for mesh " + to_string(planned_for) +
                                 " but the model is placed on " + to_string(m.topology()) + ".");
  auto const problem = [&] {
    try {
      auto described = any_length(describe<T>(net, plan.input, plan.micro_batches));
      described.interleaved = plan.interleaved;
      return described;
    } catch (error const& e) {
      throw made_for_another_net("on its batches of " + to_string(plan.input) + ", " + e.what());
    }
  }();
  m.require_agreement(search::fingerprint(plan), "nn::place", "the ranks have different plans");
  m.require_agreement(seed, "nn::place", "the ranks have different seeds");
  check_plan(plan, problem);
  if (char const* const wrong = search::staleness_fault(problem, plan, m.machine()))
    throw error("nn::place", wrong);
  if (search::is_stale(plan) && !Processor::is_host)
    throw error(
        "nn::place",
        "ranks with stale parameters write letters to each other, which NCCL does not have. "
        "Place the net on a mesh of host memory, or give a plan without staleness.");
  if (search::has_rows(plan) && !Processor::is_host)
    throw error("nn::place",
                "gradients in rows exist on the host only, but the mesh is one of devices. Give a "
                "plan of another strategy than sync::rows.");
  if (search::has_wires(plan) && (problem.accumulation_size != 4 || !Processor::is_host))
    throw error("nn::place",
                "wires encode gradients of float in host memory, but this net is of double or on "
                "devices. Give a plan without wires.");
  return problem;
}

#if ASHLAR_DEFINES(NN)
ASHLAR_INLINE error made_for_another_net(std::string const& why) {
  return error("nn::place",
               "the plan was made for another net: " + why + " Search again for this net.");
}

ASHLAR_INLINE void check_plan(search::plan const& plan, search::problem const& problem) {
  if (plan.size() != problem.size())
    throw made_for_another_net("it has " + std::to_string(plan.size()) +
                               " elements, this net has " + std::to_string(problem.size()) + ".");
  if (plan.problem_hash != search::hash(problem))
    throw made_for_another_net(
        "its extents, layers, element type or imbalance of experts are different.");
  if (plan.recomputed < 0 || plan.recomputed > problem.segments)
    throw error("nn::place", "the plan recomputes " + std::to_string(plan.recomputed) +
                                 " segments, this net has " + std::to_string(problem.segments) +
                                 ".");
  if (char const* const wrong = search::plain_steps_fault(plan)) throw error("nn::place", wrong);
  search::check_turns(problem, "nn::place");
  for (int i = 0; i < plan.size(); ++i) {
    auto const& spec = problem.spec(i);
    for (int k = 0; k < plan[i].parameters.size() && k < spec.parameters.size(); ++k)
      if (char const* const wrong = search::storage_fault(plan[i].parameters[k], spec.parameters[k],
                                                          plan.mesh))
        throw error("nn::place", "element " + std::to_string(i) + " (" + spec.name.text +
                                     ") of the plan, parameter " + spec.parameters[k].name.text +
                                     ": " + wrong);
    bool const turns = problem[i].kind == search::element_kind::branch_turn;
    if (!turns && !search::is_legal(plan[i], problem.spec(i), plan.mesh))
      throw error("nn::place",
                  "element " + std::to_string(i) + " (" + problem.spec(i).name.text +
                      ") of the plan has placements that no rule of that layer permits.");
    if (int const begin = search::broken_joint(problem, plan, i); begin >= 0)
      throw error("nn::place",
                  std::string(turns ? "the begin and the turn of the " : "the two ends of the ") +
                      problem.spec(i).name.text + ", elements " + std::to_string(begin) + " and " +
                      std::to_string(i) + " of the plan, have different placements.");
  }
  for (auto const& t : problem.ties)
    if (auto const &first = plan[t.first].parameters[t.first_index],
        &later = plan[t.later].parameters[t.later_index];
        !(first.store == later.store && first.update == later.update))
      throw error("nn::place",
                  "the plan stores or updates the parameter that elements " +
                      std::to_string(t.first) + " and " + std::to_string(t.later) +
                      " share at two placements. It is one parameter: give both uses the same "
                      "store and update.");
    else if (first.delay != later.delay)
      throw error("nn::place", "the plan delays the gradients of the parameter that elements " +
                                   std::to_string(t.first) + " and " + std::to_string(t.later) +
                                   " share by different numbers of steps. Give both uses the same "
                                   "delay.");
    else if (is_half_momentum(first.wire, later.wire))
      throw error("nn::place", "the plan sends the momentum of one use of the parameter that "
                               "elements " +
                                   std::to_string(t.first) + " and " + std::to_string(t.later) +
                                   " share, and the gradient of the other. Give both uses the "
                                   "same wire.");
}

ASHLAR_INLINE void check_pipeline(search::pipeline_plan const& p, search::problem const& problem) {
  auto const order = search::schedule_of(p);
  auto const refuse = [](std::string const& why) { throw error("nn::place", why); };
  if (auto const wrong = pipelines::fault_of(order); !wrong.empty())
    refuse("the pipeline's schedule does not run: " + wrong);
  if (order.stages() != static_cast<int>(p.stages.size()))
    refuse("the schedule has " + std::to_string(order.stages()) +
           " stages, but the plan cuts the net into " + std::to_string(p.stages.size()) + ".");
  if (order.micro_batches != p.micro_batches())
    refuse("the schedule has " + std::to_string(order.micro_batches) +
           " micro-batches, but the plan has " + std::to_string(p.micro_batches()) + ".");
  auto const cuts = search::detail::cutting_points(problem);
  int begin = 0;
  for (auto const& s : p.stages) {
    bool const is_cut = std::find(cuts.begin(), cuts.end(), s.last) != cuts.end();
    if (s.first != begin || s.last <= s.first || !is_cut)
      refuse("a stage has the elements " + std::to_string(s.first) + " to " +
             std::to_string(s.last - 1) + " of " + std::to_string(problem.size()) +
             ". Stages follow one another, none is empty, and no residual, no branch and no "
             "mixture of experts is cut.");
    begin = s.last;
    int const segments = search::stage_of(problem, s.first, s.last, 1).segments;
    if (s.recomputed < 0 || s.recomputed > segments)
      refuse("the stage of the elements " + std::to_string(s.first) + " to " +
             std::to_string(s.last - 1) + " recomputes " + std::to_string(s.recomputed) +
             " segments, but it has " + std::to_string(segments) + ".");
  }
  if (begin != problem.size())
    refuse("the stages end at element " + std::to_string(begin) + ", but the net has " +
           std::to_string(problem.size()) + ".");
}

ASHLAR_INLINE step::pipeline_part part_of_pipeline(search::pipeline_plan const& p,
                                                   topology const& whole) {
  auto order = search::schedule_of(p);
  int const positions = order.positions;
  int const axis = std::max(p.axis, 0);  // a plan of one part has no axis, and any axis will do
  return {0, std::move(order), search::limits_of(p), whole, divided(whole, axis, positions)};
}
#endif

}  // namespace detail

/// Places `net` by a run-time plan. The initial value of a parameter element depends only on the
/// net, the seed and the element's global index. So it does not depend on the plan. Communicates:
/// two all-reduces of 16 bytes, which check that all ranks have the same plan and seed. Throws
/// ashlar::error if the plan is for another mesh or net, or breaks a rule of a layer.
template <class T, class Layer, class Processor>
auto place(Layer const& net, basic_mesh<Processor> const& m, search::plan const& plan,
           std::uint64_t seed = 0) {
  auto problem = detail::checked_problem<T>(net, m, plan, seed, plan.mesh);
  return detail::place_with<T>(with_loss(net), detail::builder_for<Layer>(m, seed),
                               std::move(problem), plan, run_time_cursor<Processor>{&plan, 0});
}

/// Places `net` by a plan that is known at compile time. Every tensor of the model is statically
/// typed.
template <class T, class Layer, class Processor, auto const& Plan>
auto place(Layer const& net, basic_mesh<Processor> const& m, constant_plan<Plan>,
           std::uint64_t seed = 0) {
  static_assert(element_count<Layer>() > 0,
                "nn::place: repeat(n, block) has a run-time n. A typed model needs the form "
                "repeat<n>(block).");
  static_assert(search::staleness_fault(Plan) == nullptr,
                "nn::place: parameters of the constexpr plan are stale, but ranks also wait for "
                "each other along the axis of its mesh. Give a plan that splits only the batch, "
                "and change it by sync::owners{.staleness = K}.");
  search::plan chosen = search::with_capacity<search::dynamic_size>(Plan);
  auto problem = detail::checked_problem<T>(net, m, chosen, seed, chosen.mesh);
  return detail::place_with<T>(with_loss(net), detail::builder_for<Layer>(m, seed),
                               std::move(problem), std::move(chosen),
                               compile_time_cursor<Plan, 0, Processor>{});
}

/// Places `net` by a plan of fixed capacity, which is treated as a run-time value.
template <class T, class Layer, class Processor, int Capacity>
  requires(Capacity != search::dynamic_size)
auto place(Layer const& net, basic_mesh<Processor> const& m,
           search::basic_plan<Capacity> const& fixed, std::uint64_t seed = 0) {
  return place<T>(net, m, search::with_capacity<search::dynamic_size>(fixed), seed);
}

/// Places `net` by a plan with pipeline stages. The stages divide an axis of `m`, which must be a
/// whole mesh and not a part of one. The trainer runs the schedule of the plan. A plan of one stage
/// is placed like a plan without stages, with the recomputed segments of this stage. Initial values
/// and errors are the same as with a plan without stages. Every rank must call this function.
/// Communicates a few bytes, to make the parts of the mesh and to compare plans and seeds.
template <class T, class Layer, class Processor>
auto place(Layer const& net, basic_mesh<Processor> const& m, search::pipeline_plan const& p,
           std::uint64_t seed = 0) {
  if (p.stages.size() <= 1) {
    auto whole = p.chosen;
    if (!p.stages.empty()) whole.recomputed = p.stages.front().recomputed;
    return place<T>(net, m, whole, seed);
  }
  if (!(m.as_part() == all_of(m.whole())))
    throw error("nn::place", "pipeline stages are for a whole mesh, but mesh " +
                                 to_string(m.topology()) +
                                 " is a part of one. Place the net on the whole mesh, or give a "
                                 "plan without stages.");
  m.require_agreement(search::fingerprint(p), "nn::place", "the ranks have different plans");
  if (p.chosen.interleaved != 1)
    throw error(
        "nn::place",
        "micro-batches cannot take turns in a pipeline, whose schedule orders them. Set the "
        "plan's interleaved to 1.");
  if (search::has_rows(p.chosen))
    throw error("nn::place",
                "gradients in rows are not for pipeline stages. Place the net without stages, or "
                "give a plan of another strategy than sync::rows.");
  if (search::has_delays(p.chosen))
    throw error("nn::place",
                "delayed gradients are not for pipeline stages. Place the net without stages, or "
                "give a plan without delays.");
  if (search::is_stale(p.chosen))
    throw error("nn::place",
                "stale parameters are not for pipeline stages. Place the net without stages, or "
                "give a plan without staleness.");
  if (p.axis >= p.chosen.mesh.axes() || (p.parts() > 1 && p.axis < 0))
    throw error("nn::place", "the plan has " + std::to_string(p.parts()) + " parts, but its axis " +
                                 std::to_string(p.axis) + " is not one of mesh " +
                                 to_string(p.chosen.mesh) +
                                 ". Set the plan's axis to the number of the axis that the parts "
                                 "divide.");
  auto chosen = p.chosen;
  chosen.recomputed = 0;  // each stage has its own number, which check_pipeline checks
  auto problem = detail::checked_problem<T>(net, m, chosen, seed, search::whole_mesh(p));
  detail::check_pipeline(p, problem);
  auto part = detail::part_of_pipeline(p, m.topology());
  part.receives_ahead = Processor::is_host;
  auto built = detail::builder_for<Layer>(m, seed);
  std::vector<basic_mesh<Processor>> parts;
  for (auto const& own : part.parts) parts.push_back(m.part(own.ranks, own.axes));
  for (int s = 0; s < part.stages(); ++s)
    built.stages.emplace_back(parts[static_cast<std::size_t>(part.order.position_of(s))],
                              part.last_of(s));
  while (!parts[static_cast<std::size_t>(part.position)].is_here()) ++part.position;
  problem = search::chain_of(problem, p);
  chosen.recomputed = problem.recomputed;
  chosen.mesh = parts[static_cast<std::size_t>(part.position)].topology();
  auto const cursor = run_time_cursor<Processor>{&chosen, 0};
  return detail::place_with<T>(with_loss(net), std::move(built), std::move(problem), chosen, cursor,
                               std::move(part));
}

}  // namespace ashlar::nn
