// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Runs a training step of the U-Transformer of "On Optimizing the Communication of Model
// Parallelism" (nn/u_transformer.hpp) in two stages on two simulated machines of type p3.8xlarge.
// The step runs with the schedules and transfers that pipeline_gpt.cpp lists. The net is cut at its
// innermost level, so the inputs of many skips cross the cut, and their gradients cross back.
//
// A step has micro-batches of 64 images in 32-bit numbers, as in the program that the paper's
// authors published with Alpa. Within a machine, each rank has a part of the images, so no two
// ranks need the same slice. Then the strategies send/recv, alpa and broadcast send the same
// messages, so the table has one row for all three.
//
// build_stage makes the programs from the whole net, with all skips. The elements of the programs
// take the seconds that the cost model predicts for the net at its real size. The tensors are 64
// times smaller: those of the same net with 4 images and a quarter of all channels. The links are
// 64 times slower. Parameters are left out, because their gradients are synchronized only within a
// machine and once a step.
//
// The cut is the one that the search finds for eager-1F1B. The row `searched` has the cut and the
// schedule that the search finds with split backward passes, delayed gradients of parameters and
// any warm-up depths.
//
// The arguments after mesh and machine are the number of micro-batches, and whether the blocks'
// forward passes run again in the backward pass (1) or not (0). Two words may follow:
//
//   batched     the convolution of all images of a rank is one matrix product, as in GPU libraries.
//               The library's own convolution computes one product for each image, which is slow
//               for the small images of the inner levels
//   published   the net and the cut are those of the authors' program (published_u_net.hpp)
//
// run: node=2,gpu=4 slow:p3_8xlarge 4 1
// thorough: node=2:inter,gpu=4 slow:p3_8xlarge 16 1

#include <smpi/message_costs.hpp>
#include <smpi/pipeline_compared.hpp>
#include <smpi/published_u_net.hpp>

#include <ashlar/nn/describe.hpp>
#include <ashlar/search/pipeline.hpp>

namespace {

using namespace ashlar_test;
namespace nn = ashlar::nn;

constexpr double scale = 64;

/// The machine from which the seconds of the stages are computed. Its matrix products of 32-bit
/// numbers reach 76 % of the peak of 15.7 TF/s, the same share of the peak as the preset assumes
/// for 16-bit numbers. Its memory is unlimited.
ashlar::machine real_machine() {
  auto m = ashlar::machines::p3_8xlarge;
  m.flops = 0.76 * 15.7e12;
  m.memory = 0;
  return m;
}

/// Which net runs, and how.
struct net_choice {
  bool again;      ///< whether all segments are recomputed, or none
  bool published;  ///< the net of the authors' program, not nn::u_transformer
  bool batched;    ///< whether a convolution is one product for all images of a rank
};

/// Describes the net with these extents, for micro-batches of `images` images. No segment is
/// recomputed.
search::problem described(net_choice const& choice, nn::u_transformer_options<4> const& extents,
                          int images, int micro_batches) {
  nn::image_batch const batch{images, 3, 32, 32, micro_batches};
  auto net = choice.published ? any_length(nn::describe(published_u_net(extents), batch))
                              : any_length(nn::describe(nn::u_transformer(extents), batch));
  if (choice.batched)
    for (auto& layer : net.layers)
      if (layer.name == "convolution") layer.gemm.m |= 1u;  // dim 0 of x, which counts the images
  return net;
}

/// Describes the net at the size of the paper.
search::problem paper_net(net_choice const& choice, int micro_batches) {
  auto net = described(choice, nn::paper_u_transformer, 64, micro_batches);
  if (choice.again) net.recomputed = net.segments;
  return net;
}

/// A net to simulate, and the placements of its elements on the mesh of one part of the pipeline.
struct simulated_net {
  search::problem net;
  search::plan chosen;
};

/// Returns the net with 4 images and a quarter of all channels. Its elements take as many seconds
/// as the elements of the paper's net under `plan`. If `signal` is true, every tensor has only one
/// or two elements for each of the 4 ranks of a part.
simulated_net smaller(net_choice const& choice, search::pipeline_plan const& plan,
                      ashlar::machine const& simulated, bool signal) {
  constexpr nn::u_transformer_options<4> quarter{
      .channels = {168, 336, 672, 672}, .groups = 8, .context = {16, 672}};
  int const micro_batches = plan.micro_batches();
  auto const real = chain_of(described(choice, nn::paper_u_transformer, 64, micro_batches), plan);
  simulated_net made{chain_of(described(choice, quarter, 4, micro_batches), plan), plan.chosen};
  auto& net = made.net;
  auto const& chosen = plan.chosen;
  auto const machine = real_machine();
  search::crossing_prices crossings(chosen.mesh, -1, machine);
  search::stage_model<search::dynamic_size> const seconds(real, chosen, machine, crossings);
  for (int i = 0; i < net.size(); ++i) {
    auto spec = net.spec(i);
    auto& c = made.chosen.choices[static_cast<std::size_t>(i)];
    c.parameters = {};
    c.statistics = {};
    spec.parameters = {};
    spec.statistics = {};
    spec.gemm = {};
    spec.context = {};
    spec.forward_values = spec.backward_values = spec.gradient_values = 0;
    if (signal) {
      bool const joins = makes_two_gradients(net, i);
      spec.x = {4, 1, 1, 1};
      if (i + 1 < net.size()) spec.y = {4, joins ? 2 : 1, 1, 1};
    }
    double const flops = simulated.flops / search::work_fraction(spec, c, chosen.mesh);
    spec.forward_flops = seconds[i].forward * flops;
    spec.backward_flops = seconds[i].backward * flops;
    spec.gradient_flops = seconds[i].weights * flops;
    net.replace(i, spec);
  }
  return made;
}

/// Returns the plan with the cut of the authors' program, under eager-1F1B.
search::pipeline_plan at_published_cut(search::problem const& net, search::pipeline_plan const& p,
                                       ashlar::machine const& m) {
  auto const cut = published_cut(net);
  return search::price_pipeline(net, p.chosen, cut, search::recomputed_in_stages(net, cut), p.axis,
                                p.micro_batches(), m, pipelines::eager(2, p.micro_batches()));
}

}  // namespace

int main(int argc, char** argv) {
  ashlar::mpi::environment env(argc, argv);
  arguments const given(argc, argv);
  charge_each_message(given.machine);
  ashlar::mesh const m(env.world(), given.topology, given.machine);
  int const micro_batches = given.number(0);
  auto const asks = [&](char const* word) {
    return std::find(given.rest.begin(), given.rest.end(), word) != given.rest.end();
  };
  net_choice const choice{given.number(1) != 0, asks("published"), asks("batched")};
  auto const real = real_machine();
  auto const found = [&](std::vector<std::string> const& schedules) {
    return search::pipeline([&](int n) { return paper_net(choice, n); }, given.topology, real,
                            {{2}, {micro_batches}, schedules, {2}, true});
  };
  auto const early = from_rank_0([&] {
    auto const plan = found({"eager"});
    if (!choice.published) return plan;
    return at_published_cut(paper_net(choice, micro_batches), plan, real);
  });
  auto const best = from_rank_0([&] { return found({"searched", "zb_h1", "zb_h2", "delayed"}); });
  auto const net = chain_of(paper_net(choice, micro_batches), early);
  auto const limits = limits_of(early);
  verdict all;
  if (m.rank() == 0) {
    all.check(early.chosen.choices == best.chosen.choices, "both have the same placements");
    auto const full = smaller(choice, early, given.machine, false);
    for (auto const& it : cut_skips(full.net, limits))
      all.check(double(full.net.spec(it.begin).x.elements()) * scale ==
                    double(net.spec(it.begin).x.elements()),
                "the tensors are 64 times smaller");
    double sent = early.stages[0].sending, back = early.stages[1].sending_back;
    for (auto const& it : early.skips) sent += it.forward, back += it.backward;
    std::printf("%zu skips between the stages; transfer / (F + B): %.3f forward, %.3f backward\n",
                early.skips.size(), sent / early.stages[0].seconds, back / early.stages[1].seconds);
    std::printf("predicted: %.3f s eager, %.3f s searched (%s, cut at %d and %d of %d)\n",
                early.seconds(), best.seconds(), search::schedule_text(schedule_of(best)).c_str(),
                limits[1], limits_of(best)[1], net.size());
  }
  auto const run = [&](pipelines::schedule const& order, bool is_signal, bool at_once,
                       search::pipeline_plan const& plan) {
    auto const it = smaller(choice, plan, given.machine, is_signal);
    search::pipeline_part part{0, order, limits_of(plan), given.topology,
                               divided(given.topology, 0, 2)};
    auto const own = own_part(m, part);
    auto program = search::build_stage(it.net, it.chosen, given.machine, part);
    if (at_once) program = search::with_crossings_at_once(program);
    return simulated_step(program, own, 20e-3, 4e-4);
  };
  auto const plain = pipelines::one_f_one_b(2, micro_batches);
  auto const eager = pipelines::eager(2, micro_batches);
  compared_steps steps(m.rank() == 0);
  steps.add("signal", run(eager, true, false, early));
  steps.add("send/recv, alpa, broadcast", run(plain, false, true, early));
  double const overlap = steps.add("overlap", run(plain, false, false, early));
  double const eager_seconds = run(eager, false, false, early);
  double const ahead = steps.add("eager", eager_seconds);
  double const split = steps.add("eager, split", run(with_halves(eager), false, false, early));
  auto const late = eager_delayed(micro_batches, costs_of(early), early.skips);
  double const delayed = steps.add("eager, delayed", run(late, false, false, early));
  double const searched = steps.add("searched", run(schedule_of(best), false, false, best));
  if (m.rank() == 0) {
    all.check(std::abs(eager_seconds / early.seconds() - 1) <= 0.03,
              "eager-1F1B takes the predicted seconds");
    all.check(ahead >= 0.97 || micro_batches < 16, "eager-1F1B reaches 97 % of signal");
    all.check(split >= ahead * 0.999, "the split backward pass is no slower");
    all.check(delayed >= split * 0.999, "delayed gradients make it no slower");
    all.check(ahead >= overlap * 0.999, "eager-1F1B is no slower than 1F1B");
    all.check(searched >= ahead * 0.999, "the searched schedule is no slower than eager-1F1B");
  }
  return all.exit_code();
}
