// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Runs a training step of a GPT in two stages on two simulated machines of type p3.8xlarge. The
// step runs with the schedules and transfers below. Figures 7 and 9 of "On Optimizing the
// Communication of Model Parallelism" compare the first six of them. The stages lie along the first
// axis of the mesh. The arguments after mesh and machine are the number of ranks that share the
// operators of a layer, and the number of micro-batches.
//
//   signal          eager-1F1B whose transfers have only one element for each rank, so that they
//                   take hardly any time
//   send/recv       1F1B; every rank that needs a slice gets its own copy from the other node, and
//                   no stage computes during a transfer
//   alpa            like send/recv, but a slice crosses in parts, one for each rank that needs the
//                   slice; these ranks then gather the parts
//   broadcast       like send/recv, but ranks pass a slice on to other ranks while it crosses
//   overlap         like broadcast, but the stages compute during transfers
//   eager           like overlap, but with eager-1F1B
//   eager, split    like eager, but the gradient of the input is sent before the gradients of the
//                   parameters are computed
//   eager, delayed  like "eager, split", but each stage delays its gradients of parameters by some
//                   number of micro-batches, so that the timeline of the step is as short as
//                   possible
//   searched        the fastest of four schedules: one with searched warm-up depths, ZB-H1, ZB-H2,
//                   and one with searched delays
//
// The model has 32 layers of width 2560 and sequences of 1024 tokens, in micro-batches of 16
// sequences. Its 16-bit numbers are simulated by half as many 32-bit numbers. The backward pass
// runs a layer's forward pass again. Computations only take simulated seconds, and so do the
// all-reduces inside a node for operators that several ranks share. The tensors that cross are
// `scale` times smaller than the model's tensors, and the links are slower by the same factor, so
// messages take the same time.
//
// run: node=2,gpu=4 slow:p3_8xlarge 1 16
// thorough: node=2,data=4 slow:p3_8xlarge 1 64
// thorough: node=2,data=2,operator=2 slow:p3_8xlarge 2 16

#include <smpi/message_costs.hpp>
#include <smpi/pipeline_compared.hpp>

#include <ashlar/search/schedule_choice.hpp>

namespace {

using namespace ashlar_test;

constexpr double scale = 64;
constexpr double layers = 32, width = 2560, tokens = 1024, sequences = 16, vocabulary = 51200;

/// Returns the costs of a stage that has half of the layers and runs on `ranks` ranks. Each group
/// of `sharing` ranks divides the operators of each layer among its members.
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

/// Changes the crossing: each stage receives tensors with the placement `parts`, and then gathers
/// them to the placement in which its passes use them.
void gather_inside(stage_chain& chain, ashlar::placement const& parts) {
  auto const at = chain.chosen[0].x;
  search::layer_spec moves = chain.net.spec(0);
  moves.name = "gather";
  moves.forward_flops = moves.backward_flops = moves.gradient_flops = 0;
  auto const both = chain.net;
  chain.net.layers.clear();
  chain.net.elements.clear();
  chain.net.add(both.spec(0));
  for (int k = 0; k < 2; ++k) chain.net.add(moves);
  chain.net.add(both.spec(1));
  search::layer_choice const plain = chain.chosen[0];
  chain.chosen.choices = {
      plain, {at, at, parts, parts, {}, {}}, {parts, parts, at, at, {}, {}}, plain};
  chain.part.limits = {0, 2, 4};
}

/// Returns the fastest schedule of the search for these costs.
pipelines::schedule searched(int micro_batches, pipelines::pipeline_costs const& costs) {
  pipelines::schedule best;
  double least = 0;
  for (auto const* name : {"searched", "zb_h1", "zb_h2", "delayed"}) {
    auto const order = search::make_schedule(search::schedule_choices(name).front(), 2,
                                             micro_batches, costs, {micro_batches, micro_batches});
    double const seconds = pipelines::seconds_of(order, costs);
    if (least > 0 && seconds >= least) continue;
    least = seconds;
    best = order;
  }
  return best;
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
  auto const parts = ashlar::parse_placement(t.axes() > 2 ? "B,S(0),S(0)" : "B,S(0)");
  auto const elements = static_cast<std::int64_t>(sequences * tokens * width / 2 / scale);
  auto const plain = pipelines::one_f_one_b(2, micro_batches);
  auto const early = pipelines::eager(2, micro_batches);
  auto with_sends = costs;
  for (auto& c : with_sends)
    c.send_forward = c.send_backward = double(elements) * 4 * machine.inter.beta;
  auto const best = from_rank_0([&] { return searched(micro_batches, with_sends); });
  enum class crossing { along, at_once, gathered };
  auto const run = [&](pipelines::schedule const& order, std::int64_t n, crossing how) {
    stage_chain chain(t, order, costs, {n}, at, 4, machine);
    if (how == crossing::gathered) gather_inside(chain, parts);
    auto const own = own_part(m, chain.part);
    auto program = search::build_stage(chain.net, chain.chosen, machine, chain.part);
    if (how != crossing::along) program = search::with_crossings_at_once(program);
    return simulated_step(program, own, 4e-3, 4e-4);
  };
  if (m.rank() == 0)
    std::printf("transfer / (F + B) of the first stage: %.3f\n",
                with_sends[0].send_forward / costs[0].all());
  verdict all;
  compared_steps steps(m.rank() == 0);
  steps.add("signal", run(early, ranks, crossing::along));
  steps.add("send/recv", run(plain, elements * sharing, crossing::at_once));
  steps.add("alpa", run(plain, elements, crossing::gathered));
  steps.add("broadcast", run(plain, elements, crossing::at_once));
  double const overlap = steps.add("overlap", run(plain, elements, crossing::along));
  double const eager = steps.add("eager", run(early, elements, crossing::along));
  double const split = steps.add("eager, split",
                                 run(with_halves(early), elements, crossing::along));
  double const delayed = steps.add(
      "eager, delayed", run(eager_delayed(micro_batches, with_sends), elements, crossing::along));
  double const free = steps.add("searched", run(best, elements, crossing::along));
  if (m.rank() == 0) {
    all.check(eager >= 0.97, "eager-1F1B reaches 97 % of signal");
    all.check(split >= eager * 0.999, "the split backward pass is no slower");
    all.check(delayed >= split * 0.999, "delayed gradients make it no slower");
    all.check(eager >= overlap, "eager-1F1B is no slower than 1F1B");
    all.check(free >= eager * 0.999, "the searched schedule is no slower than eager-1F1B");
  }
  return all.exit_code();
}
