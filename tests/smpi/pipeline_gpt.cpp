// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Runs a training step of a GPT in two stages on two simulated machines p3.8xlarge, by the
// schedules and transfers that figure 7 of "On Optimizing the Communication of Model Parallelism"
// compares. The first axis of the mesh has the stages. The argument after mesh and machine is the
// number of ranks that share the operators of a layer.
//
//   signal          eager-1F1B with one element for each rank in a transfer: the bound
//   send/recv       1F1B; every rank that needs a slice gets its own copy from the other node; no part
//                   computes meanwhile
//   broadcast       the same, but each slice crosses once
//   overlap         1F1B, with transfers that go on while the parts compute
//   eager           eager-1F1B with such transfers
//   eager, split    the same; the gradient of the input is sent before those of the parameters
//
// The model has 32 layers of width 2560 and sequences of 1024 tokens, in micro-batches of 16
// sequences in 16-bit numbers (here half as many of 32 bits). A layer's forward pass runs again in
// the backward pass. Work, and the all-reduces of shared operators inside of a node, are simulated
// seconds. The tensors that cross are `scale` times smaller than the model's, and the links as much
// slower, so messages take the same time.
//
// run: node=2,gpu=4 slow:p3_8xlarge 1 16
// thorough: node=2,data=4 slow:p3_8xlarge 1 64
// thorough: node=2,data=2,operator=2 slow:p3_8xlarge 2 16

#include <smpi/message_costs.hpp>
#include <smpi/pipeline_run.hpp>

#include <ashlar/step/crossings_at_once.hpp>
#include <ashlar/step/pipeline/warm_up.hpp>

namespace {

using namespace ashlar_test;

constexpr double scale = 64;
constexpr double layers = 32, width = 2560, tokens = 1024, sequences = 16, vocabulary = 51200;

/// Returns the costs of a stage of half of the layers on `ranks` ranks, of which `sharing` share
/// the operators of each layer.
pipelines::stage_costs costs_of(ashlar::machine const& m, int ranks, int sharing, bool is_last) {
  double const all = sequences * tokens;
  double flops = layers / 2 * (24 * all * width * width + 4 * all * tokens * width);
  double const bytes = all * width * 2 * sharing / ranks;
  double const reduces = layers / 2 * 2 * 2 * (sharing - 1) / sharing * bytes * m.intra.beta /
                         scale;
  double const forward = flops / ranks / m.flops + reduces;
  double const output = is_last ? 2 * all * width * vocabulary / ranks / m.flops : 0;
  return {forward + output, 2 * forward + output, flops / ranks / m.flops + output, 0, 0};
}

/// Returns the schedule with each backward pass in its two halves, one right after the other.
pipelines::schedule with_halves(pipelines::schedule s) {
  for (auto& own : s.order) {
    std::vector<pipelines::action> halves;
    for (auto const& a : own) {
      halves.push_back(a);
      if (a.what != pipelines::pass::backward) continue;
      halves.back().what = pipelines::pass::input_gradient;
      halves.push_back({pipelines::pass::weight_gradient, a.micro_batch, a.chunk});
    }
    own = halves;
  }
  return s;
}

}  // namespace

int main(int argc, char** argv) {
  ashlar::mpi::environment env(argc, argv);
  arguments const given(argc, argv);
  charge_each_message(given.machine);
  auto const& t = given.topology;
  auto const machine = given.machine;
  ashlar::mesh const m(env.world(), t, machine);
  int const sharing = given.number(0), micro_batches = given.number(1);
  int const ranks = t.ranks() / 2;
  pipelines::pipeline_costs const costs{costs_of(given.machine, ranks, sharing, false),
                                        costs_of(given.machine, ranks, sharing, true)};
  auto const at = ashlar::parse_placement(t.axes() > 2 ? "B,S(0),B" : "B,S(0)");
  auto const elements = static_cast<std::int64_t>(sequences * tokens * width / 2 / scale);
  auto const plain = pipelines::one_f_one_b(2, micro_batches);
  auto const early = pipelines::eager(2, micro_batches);
  double least = 0;
  auto const run = [&](char const* name, pipelines::schedule const& order, std::int64_t n,
                       bool at_once) {
    stage_chain chain(t, order, costs, {n}, at, 4, machine);
    auto const own = own_part(m, chain.part);
    auto program = search::build_stage(chain.net, chain.chosen, machine, chain.part);
    if (at_once) program = search::with_crossings_at_once(program);
    double const seconds = simulated_step(program, own, 4e-3, 4e-4);
    if (m.rank() != 0) return 0.;
    if (least == 0) least = seconds;
    std::printf("%-13s %8.4f %6.3f\n", name, seconds, least / seconds);
    return least / seconds;
  };
  if (m.rank() == 0)
    std::printf("transfer / (F + B) of the first stage: %.3f\ntransfers      seconds signal\n",
                double(elements) * 4 * machine.inter.beta / costs[0].all());
  verdict all;
  run("signal", early, ranks, false);
  run("send/recv", plain, elements * sharing, true);
  run("broadcast", plain, elements, true);
  double const overlap = run("overlap", plain, elements, false);
  double const eager = run("eager", early, elements, false);
  double const split = run("eager, split", with_halves(early), elements, false);
  if (m.rank() == 0) {
    all.check(eager >= 0.97, "eager-1F1B reaches 97 % of signal");
    all.check(split >= eager * 0.999, "the split backward pass is no slower");
    all.check(eager >= overlap, "eager-1F1B is no slower than 1F1B");
  }
  return all.exit_code();
}
