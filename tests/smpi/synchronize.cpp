// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Trains an MLP for one step under each strategy of gradient synchronization that has a name in
// sync/named.hpp, with overlap. Compares the simulated seconds of the step with the timeline of its
// program (step/timeline.hpp). The two times must agree within 5 % if all links are of one tier,
// and within 15 % if the ranks of each node share one link. A deadlock under any strategy fails the
// test.
//
// Steps with owners may be shorter than predicted: several owners can receive gradients at the same
// time, but the timeline lets each link tier carry one transfer at a time.
//
// The trainer, the executor, the layers and the transports are those of the library. In addition,
// every element of the net sleeps for the seconds of its actions (support/slowed_model.hpp), and
// polling for messages takes no time (patient_transport.hpp).
//
// The arguments after mesh and machine are:
//
// - the number of features of each layer
// - the number of pieces into which a step is divided; transfers progress between two pieces
// - the ratio of computing time to communication time of a step with all-reduces
// - the names of strategies (sync/named.hpp); without names, all strategies run
//
// run: a=16 bandwidth 64 400 1
// run: node=4,gpu=4 bandwidth+half_bandwidth 64 400 1 all-reduce optimal

#include <smpi/patient_transport.hpp>
#include <smpi/sleeping_ranks.hpp>
#include <smpi/timed_steps.hpp>
#include <support/nets.hpp>
#include <support/slowed_model.hpp>
#include <support/strategies.hpp>

#include <ashlar/search/baselines.hpp>
#include <ashlar/sync/named.hpp>
#include <ashlar/train/trainer.hpp>

namespace {

using namespace ashlar_test;
namespace nn = ashlar::nn;
namespace search = ashlar::search;
namespace step = ashlar::step;
namespace sync = ashlar::sync;

template <class Net>
timed_step train(Net const& net, ashlar::mesh const& m, search::plan const& plan,
                 std::int64_t samples, std::int64_t features, double pieces) {
  slow_work how;
  auto model = place_slowed<float>(net, m, plan, 7, how);
  ashlar::train::trainer trainer(model, ashlar::train::adam_w{});
  auto const when = step::timeline_of(trainer.program(), m.machine());
  how.piece = when.seconds / pieces;
  nap = how.piece / 10;
  ashlar::train::batch_data<float, std::int32_t> data;
  data.inputs.assign(static_cast<std::size_t>(samples * features), 0.5F);
  data.targets.assign(static_cast<std::size_t>(samples), 1);
  open_groups(trainer.program(), m);
  auto const quiet = patient(m, nap);
  double const mine = simulated_seconds([&] { trainer.step(data); });
  double slowest = 0;
  MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  return {when.seconds, slowest, when.exposed};
}

}  // namespace

int main(int argc, char** argv) {
  ashlar::mpi::environment env(argc, argv);
  arguments const given(argc, argv);
  ashlar::mesh const m = timed_mesh(env, given);
  std::int64_t const features = given.number(0), samples = m.ranks();
  auto const net = nn::chain(
      nn::linear(features, features), nn::gelu(), nn::linear(features, features), nn::gelu(),
      nn::linear(features, features), nn::gelu(), nn::linear(features, features));
  auto problem = search::any_length(nn::describe<float>(net, nn::feature_batch{samples, features}));
  problem.overlap = true;
  auto const plain = from_rank_0([&] {
    auto priced = m.machine();
    priced.flops = 1e9;
    return search::data_parallel(problem, m.topology(), priced);
  });
  m.set_machine(with_work(problem, plain, m.machine(), std::stod(given.rest.at(2))));
  std::vector<std::string> names(given.rest.begin() + 3, given.rest.end());
  auto const every = sync::names();
  if (names.empty()) names.assign(every.begin(), every.end());
  int const per_node = m.topology().ranks_per_node();
  double const tolerance = per_node == 1 || per_node == m.ranks() ? 0.05 : 0.15;
  verdict all;
  if (m.rank() == 0) std::printf("strategy         timeline us  simulated us  ratio  exposed us\n");
  for (auto const& name : names) {
    auto const plan = from_rank_0([&] { return sync::named(name, problem, plain, m.machine()); });
    auto const took = train(net, m, plan, samples, features, given.number(1));
    if (m.rank() != 0) continue;
    double const ratio = took.simulated / took.predicted;
    std::printf("%-15s  %11.1f  %12.1f  %5.3f  %10.1f\n", name.c_str(), 1e6 * took.predicted,
                1e6 * took.simulated, ratio, 1e6 * took.exposed);
    std::fflush(stdout);
    bool const is_owned = name.starts_with("owners");
    all.check(ratio <= 1 + tolerance, "seconds of " + name);
    all.check(is_owned || ratio >= 1 - tolerance, "seconds of " + name);
  }
  return all.exit_code();
}
