// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Runs training steps in which redistributions overlap with simulated computations, and compares
// the simulated times of the steps with the timelines of their programs. The two times must agree
// within 5 % on a flat network, and within 15 % if the ranks of each node share one link. Programs
// in serial order must take the sum of all times, within the same tolerances.
//
// The executor and the transports are those of the library. The layers only consume simulated time
// (support/simulated_element.hpp), and polling for messages takes no time (patient_transport.hpp).
//
// The arguments after mesh and machine are:
//
// - the net: gpt or mlp
// - the names of its training plans, separated by commas: data, tensor or zero3
// - the number of pieces into which the computing time is divided; transfers progress between two
//   pieces
// - ratios of computing time to communication time
//
// run: a=4,b=4 bandwidth gpt data,tensor,zero3 2000 1
// run: node=4,gpu=4 bandwidth mlp data,zero3 500 1
// run: node=2,gpu=8 bandwidth gpt data,tensor,zero3 500 1
// run: node=8,gpu=8 bandwidth mlp tensor 400 1
// thorough: a=16 bandwidth mlp data,tensor,zero3 500 2 1 0.5
// thorough: node=8,gpu=2 bandwidth mlp data,tensor,zero3 500 2 1 0.5
// thorough: a=16,b=16 bandwidth mlp tensor 100 2
// thorough: node=32,gpu=8 bandwidth mlp tensor 50 2

#include <sstream>

#include <smpi/patient_transport.hpp>
#include <smpi/timed_steps.hpp>
#include <support/simulated_element.hpp>
#include <support/strategies.hpp>

#include <ashlar/nn/gpt.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/step/overlapped.hpp>
#include <ashlar/step/timeline.hpp>

namespace {

using namespace ashlar_test;
namespace nn = ashlar::nn;
namespace search = ashlar::search;
namespace step = ashlar::step;

/// Scales the seconds of all computations by one factor, so that together they take `ratio` times
/// as long as all communication. Then sets the seconds of the parameter updates to 0.
step::program with_work(step::program p, ashlar::machine const& m, double ratio) {
  auto const when = step::timeline_of(p, m);
  for (auto& a : p.actions) {
    a.seconds *= ratio * when.communication / when.work;
    if (a.kind == step::action_kind::update) a.seconds = 0;
  }
  return p;
}

/// Runs a program and returns the simulated seconds of the slowest rank. The result is valid on
/// rank 0 only.
double simulated_walk(step::program const& p, ashlar::mesh const& m, double block) {
  std::vector<std::unique_ptr<nn::element_node<ashlar::device::host::processor>>> elements;
  for (int i = 0; i < p.elements; ++i)
    elements.push_back(std::make_unique<simulated_element>(m, p, i, block));
  auto const& first = static_cast<simulated_element const&>(*elements.front());
  nn::step_input<ashlar::device::host::processor> input;
  input.data = [&](int b) {
    for (std::size_t v = 0; v < p.values.size(); ++v)
      if (p.values[v].kind == step::value_kind::data && p.values[v].micro_batch == b)
        return first.made(static_cast<int>(v));
    return simulated_element::any();
  };
  input.targets = [](int) { return simulated_element::any(); };
  input.pass = [](int) { return nn::pass{true, 0, 0}; };
  nn::executor<ashlar::device::host::processor> walker(m, elements, p, ashlar::element_type::f32);
  auto const run = [&] { walker.run(0, walker.first_update(), input); };
  double const mine = simulated_seconds(run);
  double slowest = 0;
  MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  return slowest;
}

/// A net, the training plans under which the net runs, and the names of the plans.
struct subject {
  search::problem problem;
  std::vector<std::string> names;
  std::vector<search::plan> plans;
};

template <class Net, class Batch>
subject described(Net const& net, Batch const& batch, ashlar::topology const& t,
                  ashlar::machine const& m, std::string const& names) {
  return from_rank_0([&] {
    subject made{search::any_length(nn::describe<float>(net, batch)), {}, {}};
    std::istringstream each(names);
    for (std::string name; std::getline(each, name, ',');) {
      auto const plan_of = name == "data"     ? search::data_parallel<search::dynamic_size>
                           : name == "tensor" ? search::tensor_parallel<search::dynamic_size>
                                              : search::zero_3<search::dynamic_size>;
      made.names.push_back(name);
      made.plans.push_back(plan_of(made.problem, t, m));
    }
    return made;
  });
}

}  // namespace

int main(int argc, char** argv) {
  ashlar::mpi::environment env(argc, argv);
  arguments const given(argc, argv);
  charge_each_message(given.machine);
  ashlar::mesh const m(env.world(), given.topology,
                       communication_only(with_envelopes(given.machine, given.topology)));
  auto const& t = m.topology();
  int const n = t.ranks();
  auto priced = m.machine();
  priced.flops = priced.memory_bandwidth = 1e9;
  auto const net = given.rest.at(0) == "gpt"
                       ? described(nn::chain(nn::embedding(64, 64),
                                             nn::repeat(2, nn::gpt_block(64, 16)),
                                             nn::layer_norm(64), nn::linear(64, 64)),
                                   nn::token_batch{16, 16, 1}, t, priced, given.rest.at(1))
                       : described(nn::chain(nn::linear(n, n), nn::gelu(), nn::linear(n, n),
                                             nn::gelu(), nn::linear(n, n)),
                                   nn::feature_batch{n, n, n < 256 ? 2 : 1}, t, priced,
                                   given.rest.at(1));
  double const blocks = given.number(2);
  double const tolerance = t.ranks_per_node() == n ? 0.05 : 0.15;
  verdict all;
  if (m.rank() == 0)
    std::printf("work over   serial us          with overlap us\n"
                "comm        simulated  ratio   simulated  ratio   exposed us  plan\n");
  for (std::size_t i = 0; i < net.plans.size(); ++i)
    for (std::size_t k = 3; k < given.rest.size(); ++k) {
      auto const in_order = from_rank_0([&] {
        return with_work(step::build(net.problem, net.plans[i], priced), m.machine(),
                         std::stod(given.rest[k]));
      });
      auto const overlapped = from_rank_0([&] {
        step::overlap_options how;
        how.buckets = false;
        how.limit = std::int64_t{1} << 40;
        return step::overlapped(in_order, m.machine(), how);
      });
      auto const when = step::timeline_of(overlapped.made, m.machine());
      auto const serial = step::serial_seconds(in_order, m.machine()).seconds();
      double const block = when.work / blocks;
      open_groups(in_order, m);
      auto const quiet = patient(m, block / 10);
      double const seconds[] = {simulated_walk(in_order, m, block),
                                simulated_walk(overlapped.made, m, block)};
      if (m.rank() != 0) continue;
      double const ratios[] = {seconds[0] / serial, seconds[1] / when.seconds};
      auto const& name = net.names[i];
      std::printf("%6.2f    %10.1f  %.3f  %10.1f  %.3f   %10.1f   %s\n",
                  when.work / when.communication, 1e6 * seconds[0], ratios[0], 1e6 * seconds[1],
                  ratios[1], 1e6 * when.exposed, name.c_str());
      all.check(std::abs(ratios[0] - 1) <= tolerance, "serial order of " + name);
      all.check(std::abs(ratios[1] - 1) <= tolerance, "overlap of " + name);
      double const least = std::max(when.work, when.busiest_link());
      all.check(when.seconds >= least * (1 - 1e-12), "less than possible: " + name);
      all.check(when.seconds <= serial * (1 + 1e-12), "more than serial: " + name);
    }
  return all.exit_code();
}
