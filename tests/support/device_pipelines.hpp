// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Trains GPTs in pipeline stages on ranks with one device each. The results must agree with those
// of one rank of the host. The cases run on a real device (tests/cuda) and on the fake device
// (tests/cuda/fake). All ranks must call each function.

#include <vector>

#include <support/device_trainings.hpp>
#include <support/staged_nets.hpp>

#include <ashlar/comm/nccl/backend.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/search/price_pipeline.hpp>
#include <ashlar/step/pipeline/split_backward.hpp>
#include <ashlar/step/pipeline/text.hpp>
#include <ashlar/step/pipeline/warm_up.hpp>

namespace ashlar_test {

namespace pipelines = ashlar::pipelines;

/// The number of blocks of the GPTs.
constexpr int staged_blocks = 4;
/// The batch of each step: four micro-batches.
constexpr nn::token_batch staged_batch{2, 4, 4};
inline ashlar::train::trainer_options staged_options() { return {.clip = 0.5}; }

/// Returns the plan `chosen` in stages of a schedule. The stages are nearly equal.
inline search::pipeline_plan in_even_stages(search::problem const& problem,
                                            search::plan const& chosen,
                                            pipelines::schedule const& order,
                                            ashlar::machine const& machine) {
  return search::price_pipeline(problem, chosen, even_limits(problem, order.stages()),
                                std::vector<int>(static_cast<std::size_t>(order.stages())), 0,
                                order.micro_batches, machine, order);
}

/// The trainings of both GPTs on one rank of the host. MPI must be initialized for the constructor.
struct staged_on_host {
  trained_net plain = trained_on_host(small_gpt(staged_blocks), staged_batch, staged_options());
  trained_net tied = trained_on_host(tied_gpt(staged_blocks), staged_batch, staged_options());
};

/// Returns the data-parallel plan of a net on the ranks of a stage.
inline constexpr auto splits_batch = [](auto const&... net) {
  return search::data_parallel(net...);
};
/// Returns the tensor-parallel plan.
inline constexpr auto splits_tensors = [](auto const&... net) {
  return search::tensor_parallel(net...);
};

/// Trains a GPT in stages, which divide the first axis of the mesh. In float, all results must
/// agree with `host` to 1e-5. In bfloat16, only the losses must agree, to 5 %. choose(problem,
/// topology, machine) returns the plan of the net on the ranks of one stage.
template <class T, class Net, class Choose>
void check_stages(ashlar::nccl::mesh const& whole, Net const& net, trained_net const& host,
                  pipelines::schedule const& order, Choose const& choose) {
  CAPTURE(to_string(whole.topology()));
  CAPTURE(to_string(order));
  auto const problem = any_length(nn::describe<T>(net, staged_batch));
  auto const inner = search::stage_mesh(whole.topology(), 0, order.positions);
  auto const plan = in_even_stages(problem, choose(problem, inner, whole.machine()), order,
                                   whole.machine());
  auto model = nn::place<T>(net, whole, plan, 5);
  auto const made = trained(model, staged_batch, plain_descent, staged_options(),
                            [](auto const&) {});
  if (std::is_same_v<T, float>) check_as_on_host(made, host, 1e-5);
  else check_losses(made, host, 0.05);
}

/// Trains on a pipeline in which each part is one rank, under three schedules. Under ZB-V, a rank
/// has two stages.
inline void check_stages_of_one_rank(ashlar::nccl::world const& w, staged_on_host const& host) {
  int const n = w.size(), m = staged_batch.micro_batches;
  ashlar::nccl::mesh const whole(w, {{"stage", n}, {"gpu", 1}});
  auto const check = [&](auto const& net, trained_net const& right, auto const& order) {
    check_stages<float>(whole, net, right, order, splits_batch);
  };
  auto const gpt = small_gpt(staged_blocks);
  check(gpt, host.plain, pipelines::one_f_one_b(n, m));
  check(gpt, host.plain, pipelines::eager(n, m));
  check(gpt, host.plain, pipelines::zb_v(n, m));
  check(tied_gpt(staged_blocks), host.tied, pipelines::one_f_one_b(n, m));
}

/// Trains in two stages of equally many ranks, which split the batch or tensors.
inline void check_stages_of_several_ranks(ashlar::nccl::world const& w,
                                          staged_on_host const& host) {
  int const m = staged_batch.micro_batches;
  ashlar::nccl::mesh const whole(w, {{"stage", 2}, {"gpu", w.size() / 2}});
  auto const gpt = small_gpt(staged_blocks);
  for (auto const& order : {pipelines::one_f_one_b(2, m), pipelines::eager(2, m)}) {
    check_stages<float>(whole, gpt, host.plain, order, splits_batch);
    check_stages<float>(whole, gpt, host.plain, order, splits_tensors);
  }
  check_stages<float>(whole, tied_gpt(staged_blocks), host.tied, pipelines::one_f_one_b(2, m),
                      splits_batch);
}

/// Trains in two stages in bfloat16.
inline void check_bfloat16_stages(ashlar::nccl::world const& w, staged_on_host const& host) {
  ashlar::nccl::mesh const whole(w, {{"stage", 2}, {"gpu", w.size() / 2}});
  check_stages<ashlar::bfloat16>(whole, small_gpt(staged_blocks), host.plain,
                                 pipelines::one_f_one_b(2, staged_batch.micro_batches),
                                 splits_batch);
}

}  // namespace ashlar_test
