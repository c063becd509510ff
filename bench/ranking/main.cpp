// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Measures whether predicted communication times rank parallelization strategies in the same order
// as times measured on real ranks (AutoDDL, figure 4). A strategy is a training plan. The
// strategies of a Transformer and of a perceptron are drawn so that they cover the space of plans.
// Each strategy trains for some steps.
//
//   mpirun -n 4 bench/calibrate --out machine.json
//   mpirun -n 4 bench/ranking --machine machine.json
//
// The columns:
//
//   predicted   the seconds that the plan predicts for the collectives of a step
//   measured    the median time of the same collectives in the same order without computation
//               (step_communication.hpp), from a barrier until the slowest rank has finished
//   in step     the median time that the slowest rank spends in collectives during a training step.
//               This time includes waiting for other ranks. With more ranks than cores, a rank
//               mostly waits while other ranks compute.
//
// Strategies take turns. bench/calibrate must run with the same number of ranks on the same cores.
// With more ranks than cores, α must include the time that a rank waits for a core. A calibration
// with fewer ranks would not measure this time.
//
// tests/smpi/ranking.cpp compares the same strategies with simulated clusters.

#include <cstdio>

#include <CLI/CLI.hpp>
#include <support/nets.hpp>
#include <support/plans.hpp>
#include <support/ranking_nets.hpp>
#include <support/strategies.hpp>

#include <ashlar/ashlar.hpp>
#include <ashlar/io/json/machine_file.hpp>

#include "../support/csv.hpp"
#include "../support/grid_rows.hpp"
#include "../support/options.hpp"
#include "../support/others.hpp"
#include "../support/settings.hpp"
#include "step_communication.hpp"

namespace {

using namespace ashlar_bench;

struct options : measuring_options {
  options() : measuring_options{{0, 5, 15}} {}
  std::string machine, mesh;
  std::vector<std::string> nets{"gpt", "mlp"};
  int strategies = 30, scale = 4, steps = 3, repeats = 5;
};

char const* const heading =
    "ranks,memory,transport,net,mesh,strategy,predicted_us,measured_us,in_step_us,others";

/// Returns a mesh of all ranks with two axes that are as even as possible. If the number of ranks
/// is prime, the mesh has one axis.
ashlar::topology default_mesh(int ranks) {
  int const inner = grid_rows(ranks);
  if (inner == 1) return {{"a", ranks}};
  return {{"a", ranks / inner}, {"b", inner}};
}

/// Returns the seconds that the slowest rank spends in collectives during a training step.
template <class Net, class Data>
double time_step(Net const& net, ashlar::mesh const& m, ashlar::search::plan const& plan,
                 Data const& data, MPI_Comm world) {
  auto model = ashlar::nn::place<float>(net, m, plan, 7);
  auto const step = [&] {
    model.clear_gradients();
    model.accumulate(std::span(data.inputs), std::span(data.targets), 0);
    model.synchronize();
  };
  step();  // The first step allocates memory, makes communicators and warms caches.
  MPI_Barrier(world);
  double const before = m.communication_seconds();
  step();
  return most_of_ranks(world, {m.communication_seconds() - before})[0];
}

/// Returns the position of values[0] in ascending order: 1 if no value is smaller.
int place_of_first(std::vector<double> const& values) {
  return 1 + static_cast<int>(std::count_if(values.begin(), values.end(),
                                            [&](double v) { return v < values[0]; }));
}

template <class Net, class Batch>
void rank(std::string const& name, Net const& net, Batch const& batch, ashlar::mesh const& m,
          MPI_Comm world, options const& o, csv_file& csv) {
  using input = std::conditional_t<ashlar::nn::takes_tokens<Net>(), std::int32_t, float>;
  auto const problem = ashlar::search::any_length(ashlar::nn::describe<float>(net, batch));
  auto const plans = ashlar_test::spread_strategies(problem, m.topology(), m.machine(),
                                                    o.strategies, 1);
  auto const data = ashlar_test::random_batch<input>(batch, 64, 64, 1);
  std::vector<std::vector<double>> alone(plans.size()), in_step(plans.size());
  others_share const others(world);
  // Strategies take turns, so that disturbances of the machine affect all of them equally.
  for (int round = 0; round < o.how.least_rounds; ++round)
    for (std::size_t i = 0; i < plans.size(); ++i) {
      if (round < o.steps) in_step[i].push_back(time_step(net, m, plans[i], data, world));
      step_communication const all(m, problem, plans[i]);
      all.run();  // The first run allocates memory, makes communicators and warms caches.
      for (int k = 0; k < o.repeats; ++k) {
        MPI_Barrier(world);
        double const start = now();
        all.run();
        alone[i].push_back(most_of_ranks(world, {now() - start})[0]);
      }
    }
  double const busy = others.percent();
  if (m.rank() != 0) return;
  std::vector<double> predicted, measured, trained;
  std::printf("\n%s on %s: predicted us  measured us  ratio  in step us\n", name.c_str(),
              to_string(m.topology()).c_str());
  for (std::size_t i = 0; i < plans.size(); ++i) {
    predicted.push_back(plans[i].communication_seconds);
    measured.push_back(median_of(alone[i]));
    trained.push_back(median_of(in_step[i]));
    std::printf("%12.1f  %12.1f  %5.2f  %12.1f\n", 1e6 * predicted[i], 1e6 * measured[i],
                measured[i] / predicted[i], 1e6 * trained[i]);
    csv.row({std::to_string(m.ranks()), memory_setting(), transport_setting(), name,
             without_commas(to_string(m.topology())), std::to_string(i),
             number(1e6 * predicted[i], "%.2f"), number(1e6 * measured[i], "%.2f"),
             number(1e6 * trained[i], "%.2f"), others_text(busy)});
  }
  std::printf("%s: Spearman %.3f of %zu strategies (in steps that train: %.3f); the chosen plan is "
              "number %d (%d)%s\n",
              name.c_str(), ashlar_test::spearman(predicted, measured), plans.size(),
              ashlar_test::spearman(predicted, trained), place_of_first(measured),
              place_of_first(trained),
              busy > 5 ? "; other processes used the cores, too: measure again" : "");
}

}  // namespace

int main(int argc, char** argv) {
  ashlar::mpi::environment env(argc, argv);
  options o;
  CLI::App app{"Compares predicted and measured communication of strategies of a net"};
  app.add_option("--machine", o.machine, "the file of bench/calibrate with which they are priced");
  app.add_option("--mesh", o.mesh,
                 "mesh such as node=2,gpu=2; default: two axes of extents as equal as possible");
  app.add_option("--nets", o.nets, "gpt, mlp")
      ->delimiter(',')
      ->check(CLI::IsMember({"gpt", "mlp"}));
  app.add_option("--strategies", o.strategies, "number of strategies")->check(CLI::Range(3, 10000));
  app.add_option("--scale", o.scale, "factor of widths and batches")->check(CLI::Range(1, 64));
  app.add_option("--rounds", o.how.least_rounds,
                 "rounds, in each of which every strategy has a turn")
      ->check(CLI::PositiveNumber);
  app.add_option("--repeats", o.repeats, "measurements in each turn")->check(CLI::PositiveNumber);
  app.add_option("--steps", o.steps, "training steps of each strategy, one in each turn")
      ->check(CLI::PositiveNumber);
  app.add_option("--csv", o.csv, "append the table to this file");
  if (auto const ended = parse(app, o, argc, argv, env.rank())) return *ended;
  auto const t = o.mesh.empty() ? default_mesh(env.size()) : ashlar::parse_topology(o.mesh);
  auto const machine = o.machine.empty() ? ashlar::machines::workstation
                                         : ashlar::io::load_machine(o.machine);
  ashlar::mesh const m(env.world(), t, ashlar_test::communication_only(machine));
  csv_file csv(env.rank() == 0 ? o.csv : "", heading);
  for (auto const& net : o.nets)
    if (net == "gpt")
      rank(net, ashlar_test::ranking_gpt(o.scale), ashlar_test::ranking_tokens(o.scale), m,
           env.world(), o, csv);
    else
      rank(net, ashlar_test::ranking_mlp(o.scale), ashlar_test::ranking_features(o.scale), m,
           env.world(), o, csv);
}
