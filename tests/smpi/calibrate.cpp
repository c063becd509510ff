// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Runs the measurements and fits of bench/calibrate on a simulated cluster. The fits must find the
// numbers from which the cluster was made: α and β of both tiers. α and β are fitted to all
// collectives together, and to each collective alone. The ranks of a node share the node's link to
// other nodes.
//
// run: node=4,gpu=4 workstation
// run: node=4,gpu=4 gpu_cluster
// run: node=3,gpu=4 workstation
// run: node=16 gpu_cluster
// run: gpu=16 workstation

#include <smpi/message_costs.hpp>
#include <smpi/simulated.hpp>

#include "../../bench/calibrate/groups.hpp"

namespace {

using namespace ashlar_test;
using namespace ashlar_bench;
using ashlar::link_sample;

/// Runs a step on arrays of ones. Returns the simulated seconds of the slowest rank, on all ranks.
double seconds_of(ashlar::mesh const& m, measured_step const& s) {
  auto const what = make_transfer(s.step, s.extents, m.topology(), m.coordinate());
  ashlar::buffer<float> const source(m.memory(), what.from.elements()),
      target(m.memory(), what.to.elements());
  std::fill_n(source.data(), what.from.elements(), 1.0f);
  auto const run = [&] {
    m.run(what, ashlar::element_type_of<float>, source.data(), target.data());
  };
  run();  // the first run creates groups of ranks and allocates memory
  double seconds = simulated_seconds(run);
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

void check_fit(std::vector<link_sample> const& samples, ashlar::link const& made_of,
               std::string const& what, int rank, verdict& all) {
  if (samples.empty()) return;
  auto const fit = fit_link(samples);
  double const alpha = fit.value.alpha / made_of.alpha, beta = fit.value.beta / made_of.beta;
  if (rank == 0)
    std::printf(
        "%-22s %3zu samples: alpha %.4f, beta %.4f of the true values, worst error %.2f %%\n",
        what.c_str(), samples.size(), alpha, beta, 100 * fit.error.worst);
  // SMPI adds 16 bytes to each message, which changes the results by up to 1 %.
  all.check(std::abs(beta - 1) < 0.02, "beta of " + what);
  all.check(std::abs(alpha - 1) < 0.02, "alpha of " + what);
  all.check(fit.error.worst < 0.02, "times of " + what);
}

int run(int argc, char** argv) {
  ashlar::mpi::environment env(argc, argv);
  arguments const given(argc, argv);
  charge_each_message(given.machine);
  int const per_node = given.topology.ranks_per_node();
  verdict all;
  for (auto const where : {reach::intra, reach::inter}) {
    std::vector<link_sample> every;
    std::vector<link_sample> of_kind[ashlar::collective_links::kinds];
    for (auto const& g : groups_on(given.topology.ranks() / per_node, per_node)) {
      if (g.where != where) continue;
      ashlar::mesh const m(env.world(), g.mesh, given.machine);
      // Sizes are limited because the model counts one message per transfer. Larger messages that
      // are packed or summed would be sent in several parts.
      for (std::int64_t const bytes : {8'192, 32'768, 131'072})
        for (auto const& s : steps_on(g, bytes)) {
          auto const sample = sample_of(g, s, seconds_of(m, s));
          every.push_back(sample);
          of_kind[static_cast<int>(s.step.kind)].push_back(sample);
        }
    }
    auto const& made_of = where == reach::intra ? given.machine.intra : given.machine.inter;
    check_fit(every, made_of, to_string(where), env.rank(), all);
    for (int k = 0; k < ashlar::collective_links::kinds; ++k)
      check_fit(of_kind[k], made_of,
                std::string(to_string(where)) + " " + to_string(static_cast<ashlar::collective>(k)),
                env.rank(), all);
  }
  return all.exit_code();
}

}  // namespace

int main(int argc, char** argv) { return run(argc, argv); }
