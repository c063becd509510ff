// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Measures how much of a training step's communication is hidden behind its computation. Compares
// the result with the predicted timeline of the step's program (step/timeline.hpp).
//
//   mpirun -n 2 bench/overlap
//
// The program measures in three ways:
//
//   held back   Every transfer is delayed by α seconds per message and β seconds per byte, without
//               using a core (support/held_back.hpp). α and β are chosen so that communication
//               takes 0.5, 1 and 2 times as long as computation. The serial program and the program
//               with overlap take turns. The times of computations are measured in the serial
//               program. From these times and α and β, the timelines of both programs are computed
//               and compared with the measured steps.
//   asleep      Like "held back", but computations only sleep for the measured times. So other
//               processes on the same cores hardly disturb the steps, and lost time is due to the
//               library.
//   plain       Without delays: the speed of a trainer with overlap divided by the speed of a
//               trainer without. One figure is for the program optimized for this machine, one for
//               the program optimized for a slow network ("forced").
//
// With --turns K, a step has K micro-batches that take turns (step/turns.hpp).
//
// The columns of the table (a move is a redistribution in a program):
//
//   step      the time of the slowest rank from the first action of the program to its last move.
//             The norm of the gradients and the updates are not included.
//   exposed   the time spent waiting for moves to end, on the rank that computed longest
//
// Figures are medians. Gradients are not combined into buckets here, so that every delayed transfer
// belongs to exactly one move of the program.

#include <cstdio>
#include <numeric>

#include <CLI/CLI.hpp>
#include <support/nets.hpp>
#include <support/simulated_element.hpp>

#include <ashlar/ashlar.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/search/cost.hpp>
#include <ashlar/step/check.hpp>
#include <ashlar/step/overlapped.hpp>
#include <ashlar/step/timeline.hpp>

#include "../support/csv.hpp"
#include "../support/held_back.hpp"
#include "../support/options.hpp"
#include "../support/others.hpp"

namespace {

using namespace ashlar_bench;
namespace nn = ashlar::nn;
namespace step = ashlar::step;
namespace search = ashlar::search;
namespace train = ashlar::train;

struct options : measuring_options {
  options() : measuring_options{{0, 9, 9}} {}
  std::vector<std::string> nets{"mlp", "gpt"}, plans{"data", "tensor"};
  std::vector<double> ratios{0.5, 1, 2};
  int width = 512, rows = 4096, context = 128, layers = 3, turns = 1;
  double alpha = 20e-6;
  bool details = false, asleep = false;
  std::string plain;
};

char const* const heading = "ranks,net,plan,ratio,serial_s,serial_timeline_s,step_s,timeline_s,"
                            "exposed_s,timeline_exposed_s,communication_s,others";

char const* const plain_heading = "ranks,net,plan,as_planned,is_same,forced,others";

/// The times of one run of a step program.
struct walk_times {
  double seconds = 0;  ///< the time of the slowest rank
  double work = 0;     ///< the time spent in computations, on the rank that computed longest
  double exposed = 0;  ///< the time that the same rank spent waiting for redistributions
  std::vector<double> actions;
};

template <class Model, class Data>
class walked_program {
 public:
  /// If `asleep` is true, a computation only sleeps, for the seconds that `p` gives for its action.
  /// A single sleep lasts at most a millisecond. Transfers make progress between two sleeps.
  walked_program(Model& model, step::program p, Data const& data, MPI_Comm world, bool asleep)
      : model_(&model), program_(std::make_unique<step::program>(std::move(p))),
        sleepers_(asleep ? make_sleepers() : elements()),
        walker_(asleep ? walker(model.mesh(), sleepers_, *program_,
                                ashlar::element_type_of<typename Model::value_type>)
                       : model.make_executor(*program_)),
        data_(&data), world_(world) {
    walker_.record_times();
  }

  walk_times run() {
    double loss = 0;
    model_->clear_gradients();
    auto input = model_->input_of(data_->inputs, data_->targets, 0, &loss);
    if (!sleepers_.empty()) input.data = [this](int) { return sleeping_data(); };
    model_->mesh().barrier();
    double const start = now();
    walker_.run(0, walker_.first_update(), input);
    walk_times made;
    made.seconds = now() - start;
    if (sleepers_.empty()) walker_.hand_out_gradients();
    auto const& actions = program_->actions;
    for (std::size_t i = 0; i < actions.size(); ++i) {
      auto const& span = walker_.times()[i];
      bool const works = computes(actions[i].kind) && actions[i].kind != step::action_kind::update;
      made.actions.push_back(works ? span.end - span.start : 0);
      if (actions[i].kind == step::action_kind::end_move) made.exposed += span.end - span.start;
    }
    made.work = std::accumulate(made.actions.begin(), made.actions.end(), 0.0);
    struct {
      double work;
      int rank;
    } busiest{made.work, model_->mesh().rank()};
    MPI_Allreduce(MPI_IN_PLACE, &busiest, 1, MPI_DOUBLE_INT, MPI_MAXLOC, world_);
    MPI_Bcast(&made.exposed, 1, MPI_DOUBLE, busiest.rank, world_);
    made.work = busiest.work;
    made.seconds = most_of_ranks(world_, {made.seconds})[0];
    return made;
  }

  step::program const& program() const { return *program_; }
  std::vector<step::time_span> const& times() const { return walker_.times(); }

 private:
  using processor = ashlar::device::host::processor;
  using walker = nn::executor<processor>;
  using elements = std::vector<std::unique_ptr<nn::element_node<processor>>>;

  elements make_sleepers() const {
    elements made;
    for (int i = 0; i < program_->elements; ++i)
      made.push_back(
          std::make_unique<ashlar_test::simulated_element>(model_->mesh(), *program_, i, 1e-3));
    return made;
  }
  ashlar::any_tensor<processor> sleeping_data() const {
    auto const& first = static_cast<ashlar_test::simulated_element const&>(*sleepers_.front());
    for (std::size_t v = 0; v < program_->values.size(); ++v)
      if (program_->values[v].kind == step::value_kind::data)
        return first.made(static_cast<int>(v));
    return {};
  }

  Model* model_;
  std::unique_ptr<step::program> program_;
  elements sleepers_;  // sleeping replacements of the elements; empty if the model computes
  walker walker_;
  Data const* data_;
  MPI_Comm world_;
};

double median_of_walks(std::vector<walk_times> const& walks, double walk_times::*what) {
  std::vector<double> all;
  for (auto const& w : walks) all.push_back(w.*what);
  return median_of(all);
}

/// Returns the seconds of each action: the median over several runs, then the maximum over the
/// ranks. The seconds are scaled so that their sum is the median of the total computing time of a
/// run. An unscaled sum would be too small, because medians of single actions ignore disturbances.
std::vector<double> work_of(std::vector<walk_times> const& walks, MPI_Comm world) {
  std::vector<double> work;
  for (std::size_t i = 0; i < walks.front().actions.size(); ++i) {
    std::vector<double> all;
    for (auto const& w : walks) all.push_back(w.actions[i]);
    work.push_back(median_of(all));
  }
  work = most_of_ranks(world, work);
  double const sum = std::accumulate(work.begin(), work.end(), 0.0);
  for (double& w : work) w *= median_of_walks(walks, &walk_times::work) / sum;
  return work;
}

/// Returns the model's program with `work` as the seconds of its actions.
template <class Model>
step::program measured(Model const& model, std::vector<double> const& work) {
  auto p = model.program();
  for (std::size_t i = 0; i < work.size(); ++i) p.actions[i].seconds = work[i];
  return p;
}

/// Returns `p` with the seconds of its computations replaced by the seconds of the same
/// computations in `serial`.
step::program with_work_of(step::program const& serial, step::program p) {
  for (auto& a : p.actions)
    for (auto const& s : serial.actions)
      if (computes(a.kind) && s.kind == a.kind && s.element == a.element && s.part == a.part &&
          s.micro_batch == a.micro_batch)
        a.seconds = s.seconds;
  return p;
}

/// Returns the machine `m` with the given α, and with the β for which the communication of the
/// program takes `seconds`. α is reduced if it alone would make the communication take more than a
/// tenth of `seconds`.
ashlar::machine network_for(step::program const& p, ashlar::machine m, double alpha,
                            double seconds) {
  auto const communication = [&](double a, double b) {
    m.intra = m.inter = {a, b};
    return step::timeline_of(p, m).communication;
  };
  double const messages = communication(1, 0), bytes = communication(0, 1);
  alpha = std::min(alpha, 0.1 * seconds / messages);
  m.intra = m.inter = {alpha, (seconds - alpha * messages) / bytes};
  return m;
}

/// Prints the measured and (in parentheses) the predicted times of the actions.
void print_details(step::program const& p, step::timeline const& when,
                   std::vector<step::time_span> const& times, walk_times const& last) {
  for (std::size_t i = 0; i < p.actions.size(); ++i) {
    auto const& a = p.actions[i];
    if (a.kind == step::action_kind::release || a.kind == step::action_kind::update) continue;
    std::printf("  %4zu %-15s element %2d move %3d  at %8.2f (%8.2f) ms for %7.2f (%7.2f) ms\n", i,
                to_string(a.kind), a.element, a.move, 1e3 * times[i].start,
                1e3 * when.actions[i].start, 1e3 * (times[i].end - times[i].start),
                1e3 * (when.actions[i].end - when.actions[i].start));
  }
  std::printf("  step %.2f (%.2f) ms\n", 1e3 * last.seconds, 1e3 * when.seconds);
}

/// Measures one case, and writes a row of the table. A case is a net, a training plan, and a ratio
/// of communication time to computation time. On entry, `first_work` holds the seconds of the
/// model's actions, from which the network and the optimization passes are chosen. On return, it
/// holds the seconds measured here.
template <class Model, class Data>
void measure_held_back(std::string const& net, std::string const& plan, double ratio, Model& model,
                       Data const& data, std::vector<double>& first_work, MPI_Comm world,
                       options const& o, csv_file& csv) {
  auto const& m = model.mesh();
  auto guess = measured(model, first_work);
  double const work = step::timeline_of(guess, m.machine()).work;
  auto const network = network_for(guess, m.machine(), o.alpha, ratio * work);
  auto const before = m.machine();
  m.set_machine(network);
  // Builds the program again: the redistributions may be planned differently on this network.
  guess = measured(model, first_work);
  step::overlap_options how;
  how.buckets = false;
  auto const passes = step::overlapped(guess, network, how);
  walked_program serial(model, guess, data, world, o.asleep),
      overlapped(model, passes.made, data, world, o.asleep);
  others_share const others(world);
  std::vector<walk_times> in_order, together;
  {
    auto const slow = held_back(m);
    (void)serial.run();
    (void)overlapped.run();
    for (int round = 0; round < o.how.least_rounds; ++round) {
      in_order.push_back(serial.run());
      together.push_back(overlapped.run());
    }
  }
  double const busy = others.percent();
  auto const now_measured = measured(model, first_work = work_of(in_order, world));
  auto const serial_when = step::timeline_of(now_measured, network);
  auto const when = step::timeline_of(with_work_of(now_measured, passes.made), network);
  m.set_machine(before);
  if (m.rank() != 0) return;
  double const step_seconds = median_of_walks(together, &walk_times::seconds);
  double const exposed = median_of_walks(together, &walk_times::exposed);
  double const serial_seconds = median_of_walks(in_order, &walk_times::seconds);
  std::printf("%-4s %-7s %4.1f  %8.2f %8.2f %5.2f  %8.2f %8.2f %5.2f  %8.2f %8.2f %5.2f  %5.2f\n",
              net.c_str(), plan.c_str(), when.communication / when.work, 1e3 * serial_seconds,
              1e3 * serial_when.seconds, serial_seconds / serial_when.seconds, 1e3 * step_seconds,
              1e3 * when.seconds, step_seconds / when.seconds, 1e3 * exposed, 1e3 * when.exposed,
              exposed / when.exposed, serial_seconds / step_seconds);
  if (o.details) print_details(overlapped.program(), when, overlapped.times(), together.back());
  std::fflush(stdout);
  csv.row({std::to_string(m.ranks()), net, plan, number(ratio, "%.1f"),
           number(serial_seconds, "%.6f"), number(serial_when.seconds, "%.6f"),
           number(step_seconds, "%.6f"), number(when.seconds, "%.6f"), number(exposed, "%.6f"),
           number(when.exposed, "%.6f"), number(when.communication, "%.6f"), others_text(busy)});
}

/// Measures how much faster training is with overlap than without, if no transfer is delayed.
template <class Net, class Data>
void measure_plain(std::string const& net, Net const& layers, search::plan const& plan,
                   std::string const& plan_name, Data const& data, ashlar::mesh const& m,
                   MPI_Comm world, options const& o, csv_file& csv) {
  auto const usual = m.machine();
  auto first = nn::place<float>(layers, m, plan, 7);
  auto const p = first.program();
  // On the network `slow`, communication takes as long as computation, so overlap saves much time.
  auto const slow = network_for(p, usual, 1e-9, step::timeline_of(p, usual).work);
  auto second = nn::place<float>(layers, m, plan, 7), third = nn::place<float>(layers, m, plan, 7);
  train::trainer planned(first, train::adam_w{.lr = 1e-4});
  train::trainer none(second, train::adam_w{.lr = 1e-4}, {.overlap = train::overlap::none});
  m.set_machine(slow);
  train::trainer forced(third, train::adam_w{.lr = 1e-4});
  m.set_machine(usual);
  std::vector<double> rates[3];
  others_share const others(world);
  for (int round = 0; round <= 2 * o.how.least_rounds; ++round) {
    double const measured[] = {planned.step(data).tokens_per_second,
                               none.step(data).tokens_per_second,
                               forced.step(data).tokens_per_second};
    if (round == 0) continue;
    for (int k = 0; k < 3; ++k) rates[k].push_back(measured[k]);
  }
  double const busy = others.percent();
  if (m.rank() != 0) return;
  double const as_planned = median_of(rates[0]) / median_of(rates[1]);
  double const is_forced = median_of(rates[2]) / median_of(rates[1]);
  bool const same = planned.program() == none.program();
  std::printf("%-4s %-7s rows/s with overlap over without: as planned %.3f%s, forced %.3f%s\n",
              net.c_str(), plan_name.c_str(), as_planned, same ? " (the same program)" : "",
              is_forced, forced.program() == none.program() ? " (the same program)" : "");
  std::fflush(stdout);
  csv.row({std::to_string(m.ranks()), net, plan_name, number(as_planned), same ? "yes" : "no",
           number(is_forced), others_text(busy)});
}

template <class Net, class Batch>
void measure(std::string const& name, Net const& net, Batch const& batch, ashlar::mesh const& m,
             MPI_Comm world, options const& o, csv_file& csv, csv_file* plain) {
  using input = std::conditional_t<nn::takes_tokens<Net>(), std::int32_t, float>;
  auto problem = search::any_length(nn::describe<float>(net, batch));
  problem.interleaved = o.turns;
  auto const random = ashlar_test::random_batch<input>(batch, 64, 64, 1);
  train::batch_data<input, std::int32_t> const data{random.inputs, random.targets};
  for (auto const& plan_name : o.plans) {
    auto plan = plan_name == "data" ? search::data_parallel(problem, m.topology(), m.machine())
                                    : search::tensor_parallel(problem, m.topology(), m.machine());
    search::predict(plan, problem, m.machine());
    if (plain != nullptr) {
      if (o.asleep) continue;
      measure_plain(name, net, plan, plan_name, data, m, world, o, *plain);
      continue;
    }
    auto model = nn::place<float>(net, m, plan, 7);
    walked_program once(model, model.program(), data, world, false);
    (void)once.run();
    std::vector<walk_times> walks;
    for (int i = 0; i < 3; ++i) walks.push_back(once.run());
    auto work = work_of(walks, world);
    for (double const ratio : o.ratios)
      measure_held_back(name, plan_name, ratio, model, data, work, world, o, csv);
  }
}

}  // namespace

int main(int argc, char** argv) {
  ashlar::mpi::environment env(argc, argv);
  options o;
  CLI::App app{
      "Measures how much communication of a step overlaps with computation, and compares it with "
      "the timeline"};
  app.add_option("--nets", o.nets, "mlp, gpt")
      ->delimiter(',')
      ->check(CLI::IsMember({"mlp", "gpt"}));
  app.add_option("--plans", o.plans, "data, tensor")
      ->delimiter(',')
      ->check(CLI::IsMember({"data", "tensor"}));
  app.add_option("--ratios", o.ratios, "ratios of communication to work")->delimiter(',');
  app.add_option("--width", o.width, "features of the nets")->check(CLI::Range(64, 8192));
  app.add_option("--rows", o.rows, "rows of the perceptron's batch, and tokens of the GPT")
      ->check(CLI::Range(64, 1 << 20));
  app.add_option("--layers", o.layers, "blocks of the GPT, middle layers of the perceptron")
      ->check(CLI::Range(1, 64));
  app.add_option("--turns", o.turns, "micro-batches of a step, which take turns")
      ->check(CLI::Range(1, 64));
  app.add_option("--rounds", o.how.least_rounds, "runs of each program, in turns")
      ->check(CLI::PositiveNumber);
  app.add_option("--alpha", o.alpha, "seconds of a message")->check(CLI::PositiveNumber);
  app.add_flag("--asleep", o.asleep,
               "computations only sleep for their time, and nothing is trained");
  app.add_flag("--details", o.details, "print the last run with overlap, action by action");
  app.add_option("--csv", o.csv, "append the table to this file");
  app.add_option("--plain", o.plain,
                 "append the figures of runs without added delays to this file");
  if (auto const ended = parse(app, o, argc, argv, env.rank())) return *ended;
  ashlar::mesh const m(env.world(), {{"gpu", env.size()}});
  csv_file csv(env.rank() == 0 ? o.csv : "", heading);
  csv_file plain_csv(env.rank() == 0 ? o.plain : "", plain_heading);
  int const d = o.width;
  auto const mlp = nn::chain(nn::linear(d, 2 * d), nn::gelu(),
                             nn::repeat(o.layers, nn::chain(nn::linear(2 * d, 2 * d), nn::gelu())),
                             nn::linear(2 * d, 64));
  auto const gpt = nn::chain(nn::embedding(64, d), nn::repeat(o.layers, nn::gpt_block(d, 8)),
                             nn::layer_norm(d), nn::linear(d, 64));
  nn::feature_batch const features{o.rows / o.turns, d, o.turns};
  nn::token_batch const tokens{o.rows / o.context / o.turns, o.context, o.turns};
  for (bool const plain : {false, true}) {
    if (env.rank() == 0)
      std::printf(plain ? "\nNothing held back, %d ranks\n"
                        : "Held back, %d ranks: ms, by the timeline, ratio\n"
                          "net  plan    comm  serial                   step                     "
                          "exposed                  serial\n"
                          "            /work                                                    "
                          "                         /step\n",
                  env.size());
    for (auto const& net : o.nets)
      if (net == "mlp")
        measure(net, mlp, features, m, env.world(), o, csv, plain ? &plain_csv : nullptr);
      else measure(net, gpt, tokens, m, env.world(), o, csv, plain ? &plain_csv : nullptr);
  }
}
