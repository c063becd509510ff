// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Measures the training of a small GPT in pipeline stages, one on each rank. These trainings take
// turns:
//
//   1f1b, eager   steps of a pipeline with the schedule 1F1B or eager-1F1B
//                 (step/pipeline/warm_up.hpp), whose transfers go on while the stages compute
//   waiting       steps of 1F1B in which a rank waits for each transfer as soon as it begins
//   independent   steps of one-rank trainings of the whole net, on all ranks at the same time
//
//   mpirun -n 2 bench/pipeline
//
// The net is cut so that the longest stage is as short as possible, according to the times of the
// layers in the independent training. The replay of the schedule (step/pipeline/replay.hpp)
// predicts a step and its bubble from the measured times of the passes. The program adds to the
// predicted step the measured time of what follows the passes on the first rank: the norm of the
// gradients and the updates. Figures are medians. The ratio of two trainings is the median of the
// ratios of single turns.

#include <cstdio>
#include <map>
#include <numeric>

#include <CLI/CLI.hpp>

#include <ashlar/ashlar.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/search/price_pipeline.hpp>
#include <ashlar/step/pipeline/bubble.hpp>
#include <ashlar/step/pipeline/warm_up.hpp>

#include "../support/csv.hpp"
#include "../support/options.hpp"
#include "../support/others.hpp"

namespace {

using namespace ashlar_bench;
namespace nn = ashlar::nn;
namespace step = ashlar::step;
namespace search = ashlar::search;
namespace train = ashlar::train;
namespace pipelines = ashlar::pipelines;

struct options : measuring_options {
  options() : measuring_options{{0, 9, 9}} {}
  int layers = 6, d_model = 192, heads = 4, context = 64, batch = 4, micro_batches = 16;
};

char const* const heading = "ranks,net,schedule,tokens_per_s,of_independent,of_waiting,of_1f1b,"
                            "of_replay,bubble,replay_bubble,others";

std::vector<double> ratios(std::vector<double> const& a, std::vector<double> const& b) {
  std::vector<double> all;
  for (std::size_t i = 0; i < a.size(); ++i) all.push_back(a[i] / b[i]);
  return all;
}

template <class Values>
void sum_over_ranks(Values& values, MPI_Comm comm) {
  MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_SUM,
                comm);
}

auto net_of(options const& o) {
  return nn::chain(nn::embedding(256, o.d_model),
                   nn::repeat(o.layers, nn::gpt_block(o.d_model, o.heads)),
                   nn::layer_norm(o.d_model), nn::linear(o.d_model, 256));
}
using model = decltype(nn::place<float>(net_of({}), std::declval<ashlar::mesh const&>(),
                                        search::plan()));

/// A training whose steps are measured.
struct training {
  std::string name;
  model net;
  std::unique_ptr<train::trainer<model, train::adam_w>> steps;
  /// One entry per step (take_turn): its seconds, the bubble that the trainer reports, and the
  /// seconds of this rank from the end of the last recorded action to the end of the step.
  std::vector<double> seconds{}, bubbles{}, tails{};
  /// The seconds of this rank's passes of each kind, in all turns.
  std::map<pipelines::pass, std::vector<double>> passes{};

  training(std::string called, model made, train::overlap overlap)
      : name(std::move(called)), net(std::move(made)),
        steps(std::make_unique<train::trainer<model, train::adam_w>>(
            net, train::adam_w{.lr = 1e-4},
            train::trainer_options{.overlap = overlap, .record_times = true})) {}

  /// Takes one step on all ranks at once. Stores the seconds of the slowest rank.
  void take_turn(train::batch_data<> const& data, MPI_Comm comm) {
    MPI_Barrier(comm);
    double const start = now();
    auto const report = steps->step(data);
    double most = now() - start;
    MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_DOUBLE, MPI_MAX, comm);
    seconds.push_back(most);
    bubbles.push_back(report.bubble);
    double last = 0;
    for (auto const& a : steps->times()) last = std::max(last, a.end);
    tails.push_back(report.seconds - last);
    std::map<std::pair<pipelines::pass, int>, double> own;
    for (std::size_t i = 0; i < steps->times().size(); ++i) {
      auto const& a = steps->program().actions[i];
      if (!step::computes(a.kind) || a.kind == step::action_kind::update) continue;
      auto const what = a.phase == step::phase::forward ? pipelines::pass::forward
                                                        : pipelines::pass::backward;
      own[{what, a.micro_batch}] += steps->times()[i].end - steps->times()[i].start;
    }
    for (auto const& [pass, time] : own) passes[pass.first].push_back(time);
  }
};

/// Returns the cut whose longest stage is as short as possible: the first element of each stage,
/// and the number of all elements. `element` has the seconds of each element.
std::vector<int> balanced_limits(search::problem const& problem, std::vector<double> const& element,
                                 int stages) {
  auto const points = search::detail::cutting_points(problem);
  std::vector<double> until{0};  // the seconds of all elements before each point
  for (std::size_t k = 1; k < points.size(); ++k)
    until.push_back(until.back() + std::accumulate(element.begin() + points[k - 1],
                                                   element.begin() + points[k], 0.0));
  // best[s][k] describes the best cut of the elements before point k into s stages: the seconds of
  // its longest stage, and the point at which its last stage begins.
  std::vector<std::vector<std::pair<double, std::size_t>>> best(
      static_cast<std::size_t>(stages) + 1,
      std::vector<std::pair<double, std::size_t>>(points.size(), {1e99, 0}));
  best[0][0].first = 0;
  for (std::size_t s = 1; s < best.size(); ++s)
    for (std::size_t k = 1; k < points.size(); ++k)
      for (std::size_t j = 0; j < k; ++j)
        best[s][k] = std::min(best[s][k], {std::max(best[s - 1][j].first, until[k] - until[j]), j});
  std::vector<int> limits(best.size());
  for (std::size_t s = best.size(), k = points.size() - 1; s-- > 0; k = best[s][k].second)
    limits[s] = points[k];
  return limits;
}

/// Returns the seconds of each element of the net, measured in independent steps and summed over
/// all ranks.
std::vector<double> element_seconds(training& alone, train::batch_data<> const& data,
                                    MPI_Comm comm) {
  auto const& actions = alone.steps->program().actions;
  std::vector<std::vector<double>> of(actions.size());
  for (int k = 0; k < 3; ++k) {
    alone.take_turn(data, comm);
    for (std::size_t i = 0; i < actions.size(); ++i)
      of[i].push_back(alone.steps->times()[i].end - alone.steps->times()[i].start);
  }
  std::vector<double> sums(static_cast<std::size_t>(alone.steps->program().elements));
  for (std::size_t i = 0; i < actions.size(); ++i)
    if (step::computes(actions[i].kind))
      sums[static_cast<std::size_t>(actions[i].element)] += median_of(of[i]);
  sum_over_ranks(sums, comm);
  return sums;
}

/// Returns the seconds of the passes of each stage, as the median over micro-batches and turns.
pipelines::pipeline_costs measured_costs(training const& t, ashlar::mesh const& mesh,
                                         MPI_Comm comm) {
  auto const ranks = static_cast<std::size_t>(mesh.ranks());
  std::vector<double> all(2 * ranks);
  all[2 * static_cast<std::size_t>(mesh.rank())] = median_of(t.passes.at(pipelines::pass::forward));
  all[2 * static_cast<std::size_t>(mesh.rank()) + 1] = median_of(
      t.passes.at(pipelines::pass::backward));
  sum_over_ranks(all, comm);
  pipelines::pipeline_costs costs;
  for (std::size_t s = 0; s < ranks; ++s)
    costs.push_back({all[2 * s], all[2 * s + 1] / 2, all[2 * s + 1] / 2, 0, 0});
  return costs;
}

void run(options const& o, ashlar::mpi::environment const& env) {
  ashlar::mesh const mesh(env.world(), {{"stage", env.size()}}), alone(MPI_COMM_SELF, {{"one", 1}});
  auto const net = net_of(o);
  search::problem const problem = nn::describe<float>(
      net, nn::token_batch{o.batch, o.context, o.micro_batches});
  int const tokens = o.batch * o.context * o.micro_batches;
  train::batch_data<> data;
  for (int i = 0; i < tokens; ++i) {
    data.inputs.push_back(i * 7 % 256);
    data.targets.push_back((i * 7 + 7) % 256);
  }
  auto const chosen = search::data_parallel(problem, {{"stage", 1}}, mesh.machine());
  auto own = chosen;
  own.mesh = alone.topology();
  training independent("independent", nn::place<float>(net, alone, own, 1),
                       train::overlap::as_planned);
  auto const limits = balanced_limits(problem, element_seconds(independent, data, env.world()),
                                      env.size());
  auto const staged = [&](char const* name, pipelines::schedule const& order,
                          train::overlap overlap) {
    auto plan = search::price_pipeline(problem, chosen, limits,
                                       std::vector<int>(limits.size() - 1, 0), 0, o.micro_batches,
                                       mesh.machine());
    plan.order = order;
    return training(name, nn::place<float>(net, mesh, plan, 1), overlap);
  };
  auto const order = pipelines::one_f_one_b(env.size(), o.micro_batches);
  auto plain = staged("1f1b", order, train::overlap::as_planned);
  auto eager = staged("eager", pipelines::eager(env.size(), o.micro_batches),
                      train::overlap::as_planned);
  auto waiting = staged("waiting", order, train::overlap::none);
  training* const all[] = {&plain, &eager, &waiting, &independent};
  for (auto* t : all) {
    t->take_turn(data, env.world());
    t->seconds.clear(), t->bubbles.clear(), t->tails.clear(), t->passes.clear();
  }
  others_share const others(env.world());
  for (int round = 0; round < o.how.most_rounds; ++round)
    for (auto* t : all) t->take_turn(data, env.world());
  double const used = others.percent();

  csv_file table(mesh.rank() == 0 ? o.csv : std::string(), heading);
  auto const name = "gpt " + std::to_string(o.layers) + "x" + std::to_string(o.d_model);
  if (mesh.rank() == 0) {
    std::printf("%d stages of %s, cut at", env.size(), name.c_str());
    for (std::size_t s = 1; s + 1 < limits.size(); ++s) std::printf(" %d", limits[s]);
    std::printf(" of %d; %d micro-batches of %d tokens; others used %.1f %% of the cores\n",
                problem.size(), o.micro_batches, o.batch * o.context, used);
  }
  for (auto* t : all) {
    bool const is_alone = t == &independent;
    double const rate = tokens * (is_alone ? env.size() : 1) / median_of(t->seconds);
    auto scaled = ratios(independent.seconds, t->seconds);
    for (auto& r : scaled) r /= is_alone ? 1 : env.size();
    auto const costs = is_alone ? pipelines::pipeline_costs()
                                : measured_costs(*t, mesh, env.world());
    double of_replay = 0, bubble = 0;
    if (!is_alone) {
      auto const replayed = pipelines::replay(
          t == &eager ? pipelines::eager(env.size(), o.micro_batches) : order, costs);
      double const whole = replayed.seconds + median_of(t->tails);
      of_replay = whole / median_of(t->seconds);
      bubble = pipelines::bubble_of(replayed) * replayed.seconds / whole;
    }
    if (mesh.rank() != 0) continue;
    auto const of = [&](training const& other) {
      return is_alone ? 0 : median_of(ratios(other.seconds, t->seconds));
    };
    std::printf("%-12s %8.0f tokens/s  %.3f of independent  %.3f of waiting  %.3f of 1f1b  "
                "%.3f of replay  bubble %.1f %%, replayed %.1f %%",
                t->name.c_str(), rate, median_of(scaled), of(waiting), of(plain), of_replay,
                100 * median_of(t->bubbles), 100 * bubble);
    for (auto const& c : costs)
      std::printf("  F %.2f B %.2f ms", 1e3 * c.forward, 1e3 * (c.all() - c.forward));
    std::printf("\n");
    table.row({std::to_string(env.size()), name, t->name, number(rate, "%.0f"),
               number(median_of(scaled)), number(of(waiting)), number(of(plain)), number(of_replay),
               number(median_of(t->bubbles)), number(bubble), others_text(used, "%.1f")});
  }
}

}  // namespace

int main(int argc, char** argv) {
  ashlar::mpi::environment env(argc, argv);
  options o;
  CLI::App app("Measures training in pipeline stages, beside independent trainings.");
  add_to(app, o, "training");
  app.add_option("--layers", o.layers, "transformer blocks")->capture_default_str();
  app.add_option("--d-model", o.d_model, "features of a token")->capture_default_str();
  app.add_option("--heads", o.heads, "attention heads")->capture_default_str();
  app.add_option("--context", o.context, "tokens in a sequence")->capture_default_str();
  app.add_option("--batch", o.batch, "sequences in a micro-batch")->capture_default_str();
  app.add_option("--micro-batches", o.micro_batches, "micro-batches in a step")
      ->capture_default_str();
  if (auto const status = parse(app, o, argc, argv, env.rank())) return *status;
  run(o, env);
}
