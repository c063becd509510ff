// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Trains a GPT with a train::trainer for one step, in which micro-batches take turns. Compares the
// simulated seconds of the step with the timeline of its program (step/timeline.hpp):
//
//   step    The simulated time agrees with the timeline within 5 % on a flat network, and within
//           15 % if the ranks of each node share one link.
//   gain    The time that is saved if 2 micro-batches take turns agrees with the predicted gain
//           within 10 %, or within 1 % of the step if the gain is small. This is checked only with
//           the word `queued`. Without it, transfers share the links and more time may be saved.
//
// The trainer, the executor, the layers and the transports are those of the library. In addition,
// every element of the net sleeps for the seconds of its actions (support/slowed_model.hpp), and
// polling for messages takes no time (patient_transport.hpp).
//
// The arguments after mesh and machine are:
//
// - the net: gpt, or moe with a mixture of experts in every second block
// - the plan: data, zero3, tensor (split along the last axis), or experts (data-parallel, with the
//   experts split along the last axis). With the word `strategies`, 30 plans of various kinds run.
//   Their simulated and predicted seconds must have a Spearman correlation of at least 0.95.
// - the number of pieces into which a step is divided; transfers progress between two pieces
// - ratios of computing time to communication time
//
// The last argument may be one of these words:
//
//   queued   each tier carries one transfer at a time, as the timeline assumes (queued_links.hpp).
//            Without this word, transfers of different groups of ranks share the links, and a step
//            may also be shorter than its timeline, by up to 15 %.
//   routed   Tokens go where the router sends them, not evenly to all experts. The time of a step
//            is only printed.
//
// run: a=2,b=4 bandwidth gpt tensor 2000 1
// run: node=2,gpu=4 bandwidth moe experts 2000 1

#include <sstream>

#include <smpi/patient_transport.hpp>
#include <smpi/queued_links.hpp>
#include <smpi/sleeping_ranks.hpp>
#include <smpi/timed_steps.hpp>
#include <support/nets.hpp>
#include <support/slowed_model.hpp>
#include <support/strategies.hpp>

#include <ashlar/nn/moe.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/step/timeline.hpp>

namespace {

using namespace ashlar_test;
namespace nn = ashlar::nn;
namespace search = ashlar::search;
namespace step = ashlar::step;

constexpr int micro_batches = 4, width = 64, length = 16, vocabulary = 64;

/// Trains a step in which `turns` micro-batches take turns.
template <class Net>
timed_step train(Net const& net, ashlar::mesh const& m, search::problem problem, search::plan plan,
                 int turns, arguments const& given, int even_experts) {
  problem.interleaved = turns;
  search::predict(plan, problem, m.machine());
  slow_work how;
  how.even_experts = even_experts;
  auto model = place_slowed<float>(net, m, plan, 7, how);
  ashlar::train::trainer trainer(model, ashlar::train::adam_w{});
  auto const when = step::timeline_of(trainer.program(), m.machine());
  how.piece = when.seconds / given.number(2);
  nap = how.piece / 10;
  nn::token_batch const batch{plan.input[0], length, micro_batches};
  auto const data = random_batch<std::int32_t>(batch, vocabulary, vocabulary, 1);
  open_groups(trainer.program(), m);
  meet();
  std::optional<ashlar::decorated_transport> queued;
  if (given.rest.back() == "queued")
    queued.emplace(m, [&](std::shared_ptr<ashlar::communicator> inner) {
      return std::make_shared<queued_links>(std::move(inner), m.topology(), m.operations());
    });
  auto const quiet = patient(m, nap);
  double const mine = simulated_seconds([&] { trainer.step(data); });
  double slowest = 0;
  MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  return {when.seconds, slowest, when.exposed};
}

/// Returns the plan with this name.
search::plan named_plan(std::string const& name, search::problem const& net,
                        ashlar::topology const& t, ashlar::machine const& m) {
  if (name == "data") return search::data_parallel(net, t, m);
  if (name == "zero3") return search::zero_3(net, t, m);
  if (name == "tensor") return search::tensor_parallel(net, t, m);
  return search::detail::constrained(
      net, t, m, false, [&](int a, ashlar::training_row const& r, search::layer_spec const& spec) {
        bool const of_experts = spec.x.is_routed() && !spec.parameters.empty();
        return of_experts && a + 1 == t.axes() ? r.x.is_split_of(spec.x.rank() - 2)
                                               : search::detail::is_data_row(r);
      });
}

template <class Net>
void compare(Net const& net, ashlar::mesh const& m, search::problem const& problem,
             arguments const& given, int even_experts, verdict& all) {
  auto const& t = m.topology();
  auto const links = m.machine();
  bool const is_flat = t.ranks_per_node() == t.ranks(), is_queued = given.rest.back() == "queued";
  auto const name = given.rest.at(1);
  if (m.rank() == 0)
    std::printf(
        "work / comm  turns   timeline us  simulated us  ratio  exposed us    gain  simulated\n");
  for (std::size_t k = 3; k < given.rest.size(); ++k) {
    if (std::isalpha(given.rest[k].front())) continue;
    auto priced = links;
    priced.flops = 1e9;
    auto const plan = from_rank_0([&] { return named_plan(name, problem, t, priced); });
    m.set_machine(with_work(problem, plan, links, std::stod(given.rest[k])));
    timed_step alone{};
    for (int const turns : {1, 2, 4}) {
      auto const took = train(net, m, problem, plan, turns, given, even_experts);
      if (m.rank() != 0) continue;
      if (turns == 1) alone = took;
      double const ratio = took.simulated / took.predicted;
      double const gain = 1 - took.predicted / alone.predicted;
      double const simulated_gain = 1 - took.simulated / alone.simulated;
      std::printf("%11s  %5d  %12.1f  %12.1f  %5.3f  %10.1f  %6.4f     %6.4f\n",
                  given.rest[k].c_str(), turns, 1e6 * took.predicted, 1e6 * took.simulated, ratio,
                  1e6 * took.exposed, gain, simulated_gain);
      std::fflush(stdout);
      if (given.rest.back() == "routed") continue;
      all.check(ratio <= (is_flat ? 1.05 : 1.15), "seconds of " + name);
      all.check(ratio >= (is_flat && is_queued ? 0.95 : 0.85), "seconds of " + name);
      if (turns == 2 && is_queued)
        all.check(std::abs(simulated_gain - gain) <= std::max(0.1 * gain, 0.01), "gain of " + name);
    }
  }
}

/// Checks that simulated and predicted seconds put 30 plans in nearly the same order. In a third of
/// the plans micro-batches do not take turns, in a third 2 take turns, and in a third 4.
template <class Net>
void rank(Net const& net, ashlar::mesh const& m, search::problem const& problem,
          arguments const& given, int even_experts, verdict& all) {
  constexpr int count = 30;
  auto const& t = m.topology();
  auto priced = m.machine();
  priced.flops = 1e9;
  m.set_machine(with_work(problem,
                          from_rank_0([&] { return named_plan("tensor", problem, t, priced); }),
                          m.machine(), std::stod(given.rest.at(3))));
  auto const plans = from_rank_0(
      [&] { return spread_strategies(problem, t, m.machine(), count, 1); });
  std::vector<double> predicted, simulated;
  if (m.rank() == 0) std::printf("turns   timeline us  simulated us  ratio\n");
  for (std::size_t i = 0; i < plans.size(); ++i) {
    int const turns = 1 << i % 3;
    auto const took = train(net, m, problem, plans[i], turns, given, even_experts);
    predicted.push_back(took.predicted);
    simulated.push_back(took.simulated);
    if (m.rank() == 0)
      std::printf("%5d  %12.1f  %12.1f  %5.3f\n", turns, 1e6 * took.predicted, 1e6 * took.simulated,
                  took.simulated / took.predicted);
  }
  if (m.rank() != 0) return;
  double const correlation = spearman(predicted, simulated);
  std::printf("Spearman %.3f\n", correlation);
  all.check(correlation >= 0.95, "rank correlation " + std::to_string(correlation));
}

template <class Net>
void run(Net const& net, ashlar::mesh const& m, arguments const& given, int experts, verdict& all) {
  nn::token_batch const batch{std::max(8, m.ranks()), length, micro_batches};
  auto const problem = search::any_length(nn::describe<float>(net, batch));
  int const even = given.rest.back() == "routed" ? 0 : experts;
  if (given.rest.at(1) == "strategies") rank(net, m, problem, given, even, all);
  else compare(net, m, problem, given, even, all);
}

}  // namespace

int main(int argc, char** argv) {
  ashlar::mpi::environment env(argc, argv);
  arguments const given(argc, argv);
  ashlar::mesh const m = timed_mesh(env, given);
  int const last = m.topology().extent(m.topology().axes() - 1);
  int const heads = std::max(8, last);
  std::setvbuf(stdout, nullptr, _IONBF, 0);
  verdict all;
  if (given.rest.at(0) == "moe") {
    nn::moe_options o;
    o.experts = 2 * last;
    o.hidden = 2 * width;
    run(nn::moe_gpt({2, width, heads, vocabulary}, o), m, given, o.experts, all);
  } else {
    run(nn::chain(nn::embedding(vocabulary, width), nn::repeat(2, nn::gpt_block(width, heads)),
                  nn::layer_norm(width), nn::linear(width, vocabulary)),
        m, given, 0, all);
  }
  return all.exit_code();
}
