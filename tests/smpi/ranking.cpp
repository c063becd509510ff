// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Trains a net for one step on a simulated cluster with each of several training plans. The order
// of the plans by predicted communication time must be close to their order by simulated time: the
// Spearman correlation must be at least 0.95. The plan that the search chooses must be among the
// best three. bench/ranking does the same on real ranks.
//
// run: node=4,gpu=4 gpu_cluster mlp 30
// run: node=2,gpu=8 gpu_cluster gpt 30

#include <smpi/message_costs.hpp>
#include <smpi/simulated.hpp>
#include <support/nets.hpp>
#include <support/plans.hpp>
#include <support/ranking_nets.hpp>
#include <support/strategies.hpp>

namespace {

using namespace ashlar_test;

template <class Net, class Batch>
void rank(Net const& net, Batch const& batch, ashlar::mesh const& m, int count, verdict& all) {
  using input = std::conditional_t<ashlar::nn::takes_tokens<Net>(), std::int32_t, float>;
  auto const problem = any_length(ashlar::nn::describe<float>(net, batch));
  auto const plans = spread_strategies(problem, m.topology(), m.machine(), count, 1);
  auto const data = random_batch<input>(batch, 64, 64, 1);
  std::vector<double> predicted, mine;
  for (auto const& plan : plans) {
    auto model = ashlar::nn::place<float>(net, m, plan, 7);
    auto const step = [&] {
      model.clear_gradients();
      model.accumulate(std::span(data.inputs), std::span(data.targets), 0);
      model.synchronize();
    };
    step();  // the first step creates groups of ranks and allocates memory
    mine.push_back(simulated_seconds(step));
    predicted.push_back(plan.communication_seconds);
  }
  std::vector<double> seconds(mine.size());
  MPI_Reduce(mine.data(), seconds.data(), static_cast<int>(mine.size()), MPI_DOUBLE, MPI_MAX, 0,
             MPI_COMM_WORLD);
  if (m.rank() != 0) return;
  std::printf("predicted us  simulated us  ratio\n");
  for (std::size_t i = 0; i < plans.size(); ++i)
    std::printf("%12.1f  %12.1f  %5.2f\n", 1e6 * predicted[i], 1e6 * seconds[i],
                seconds[i] / predicted[i]);
  double const correlation = spearman(predicted, seconds);
  auto const faster = std::count_if(seconds.begin(), seconds.end(),
                                    [&](double s) { return s < seconds[0]; });
  std::printf("Spearman %.3f; the chosen plan is number %d\n", correlation,
              static_cast<int>(faster) + 1);
  all.check(correlation >= 0.95, "rank correlation " + std::to_string(correlation));
  all.check(faster < 3, "the chosen plan is not among the best three");
}

}  // namespace

int main(int argc, char** argv) {
  ashlar::mpi::environment env(argc, argv);
  arguments const given(argc, argv);
  charge_each_message(given.machine);
  ashlar::mesh const m(env.world(), given.topology, communication_only(given.machine));
  verdict all;
  if (given.rest.at(0) == "gpt") rank(ranking_gpt(1), ranking_tokens(1), m, given.number(1), all);
  else rank(ranking_mlp(1), ranking_features(1), m, given.number(1), all);
  return all.exit_code();
}
