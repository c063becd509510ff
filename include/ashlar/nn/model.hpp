// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A net placed on a mesh by a plan: what a trainer trains.
//
//   auto model = nn::place<float>(net, batch, mesh, plan);                   run-time plan
//   auto model = nn::place<float>(net, batch, mesh, nn::constant<plan>);     constexpr plan: typed
//
// Every redistribution that the model makes is in search::schedule(problem, plan), in that order.

#include <ashlar/nn/describe.hpp>

namespace ashlar::nn {

template <class T, class Batch, class Placed, class Loss>
class model {
 public:
  using value_type = T;
  using batch_type = Batch;

  model(ashlar::mesh const& m, Batch const& batch, std::uint64_t seed, Placed placed, Loss loss)
      : mesh_(m), batch_(batch), seed_(seed), placed_(std::move(placed)), loss_(std::move(loss)) {}

  ashlar::mesh const& mesh() const { return mesh_; }
  Batch const& batch() const { return batch_; }

  /// Forward and backward on one micro-batch; gradients add up in the parameters.
  /// `inputs` and `targets`: the whole micro-batch, row-major, the same on every rank. Targets < 0
  /// are ignored. `number`: of the pass, for dropout. Returns this rank's share of the summed loss.
  /// Gradients are those of the mean over the rows of a step.
  template <class Input>
  loss_share accumulate(std::span<Input const> inputs, std::span<std::int32_t const> targets,
                        std::int64_t number) {
    auto const logits = placed_.forward(input(inputs), pass{true, seed_, number});
    double const scale = 1.0 / (static_cast<double>(batch_.rows()) *
                                static_cast<double>(batch_.micro_batches));
    auto const share = loss_.forward(logits, target(targets), scale);
    placed_.backward(loss_.backward());
    return share;
  }

  /// The output of the net for a batch, whole on every rank, without training.
  template <class Input>
  std::vector<T> predict(std::span<Input const> inputs) {
    return to_full(placed_.forward(input(inputs), pass{false, seed_, 0}));
  }

  /// This rank's share of the summed loss of a batch, without training.
  template <class Input>
  loss_share evaluate(std::span<Input const> inputs, std::span<std::int32_t const> targets) {
    return loss_.forward(placed_.forward(input(inputs), pass{false, seed_, 0}), target(targets), 1);
  }

  /// Makes the gradients of all parameters whole (as stored). Communicates: the plan's
  /// synchronizations, parameter by parameter.
  void synchronize() {
    placed_.for_each_parameter([](auto& p) { p.synchronize(); });
  }
  void clear_gradients() {
    placed_.for_each_parameter([](auto& p) { p.clear(); });
  }
  template <class F>
  void for_each_parameter(F f) {
    placed_.for_each_parameter(f);
  }

  /// Elements of all parameters, each counted once.
  std::int64_t parameter_count() {
    std::int64_t n = 0;
    for_each_parameter([&](auto& p) { n += p.value().extents().elements(); });
    return n;
  }

 private:
  template <class Input>
  auto input(std::span<Input const> values) const {
    return from_full<Batch::rank>(mesh_, batch_.extents(), placement::all_broadcast(mesh_.axes()),
                                  values);
  }
  auto target(std::span<std::int32_t const> values) const {
    shape extents = batch_.extents();
    if constexpr (!requires { typename Batch::value_type; }) extents.extent.pop_back();
    if constexpr (requires { typename Batch::value_type; })
      return from_full<Batch::rank>(mesh_, extents, placement::all_broadcast(mesh_.axes()), values);
    else
      return from_full<Batch::rank - 1>(mesh_, extents, placement::all_broadcast(mesh_.axes()),
                                        values);
  }

  ashlar::mesh mesh_;
  Batch batch_;
  std::uint64_t seed_;
  Placed placed_;
  Loss loss_;
};

namespace detail {
template <class T, class Layer, class Batch, class Cursor, class LossCursor>
auto place_with(Layer const& net, Batch const& batch, mesh const& m, Cursor const& cursor,
                LossCursor const& loss_cursor, std::uint64_t seed) {
  stream_counter streams{seed, 0};
  auto placed = nn::place_part<T, Batch::rank>(net, m, batch.extents(), cursor, streams);
  auto loss = softmax_cross_entropy().template place<T, Layer::template y_rank<Batch::rank>>(
      loss_cursor.choice());
  return model<T, Batch, decltype(placed), decltype(loss)>(m, batch, seed, std::move(placed),
                                                           std::move(loss));
}

inline void check_mesh(topology const& plan, topology const& here) {
  if (!(plan == here))
    throw error("nn::place", "the plan is for mesh " + to_string(plan) +
                                 " but the model is placed on " + to_string(here) + ".");
}
}  // namespace detail

/// Places `net` by a run-time plan. Parameters are drawn from (seed, global index), so they do not
/// depend on the plan. Throws ashlar::error if the plan is for another mesh or net.
template <class T, class Layer, class Batch>
auto place(Layer const& net, Batch const& batch, mesh const& m, search::plan const& plan,
           std::uint64_t seed = 0) {
  detail::check_mesh(plan.mesh, m.topology());
  auto const problem = describe<T>(net, batch);
  if (plan.size() != problem.size() || plan.problem_hash != search::hash(problem))
    throw error("nn::place", "the plan was made for another net or batch: it has " +
                                 std::to_string(plan.size()) + " elements, this net has " +
                                 std::to_string(problem.size()) + ". Search again for this net.");
  run_time_cursor const cursor{&plan, 0};
  return detail::place_with<T>(net, batch, m, cursor, cursor.advance(problem.size() - 1), seed);
}

/// Places `net` by a plan that the compiler knows: every tensor of the model is typed.
template <class T, class Layer, class Batch, auto const& Plan>
auto place(Layer const& net, Batch const& batch, mesh const& m, constant_plan<Plan>,
           std::uint64_t seed = 0) {
  detail::check_mesh(Plan.mesh, m.topology());
  auto const problem = describe<T>(net, batch);
  if (Plan.problem_hash != search::hash(problem))
    throw error("nn::place", "the plan was made for another net or batch.");
  compile_time_cursor<Plan> const cursor{};
  return detail::place_with<T>(net, batch, m, cursor,
                               compile_time_cursor<Plan, element_count<Layer>()>{}, seed);
}

}  // namespace ashlar::nn
