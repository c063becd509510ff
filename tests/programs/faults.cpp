// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Trains a small net on 4 ranks. Rank 2 commits the fault that the first argument names. If the
// argument begins with stage_, the net trains in two pipeline stages. If it begins with stale_, the
// net trains with stale parameters. A fault in the middle of a step (inner_throw, inner_kill) is
// committed by the rank that the second argument names. If the first argument is save, the second
// argument is the folder of the checkpoint. tests/scripts/faults.sh runs this program and says what
// each fault must cause.

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <thread>

#include <ashlar/checkpoint/training.hpp>
#include <ashlar/comm/long_work.hpp>
#include <ashlar/comm/operation_label.hpp>
#include <ashlar/nn.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/search/price_pipeline.hpp>
#include <ashlar/sync/owners.hpp>
#include <ashlar/tensor.hpp>
#include <ashlar/tensor/routed.hpp>
#include <ashlar/train.hpp>

namespace {

using namespace ashlar::placements;
namespace nn = ashlar::nn;

template <class T = float>
void gather(ashlar::mesh const& m, std::int64_t rows = 64) {
  ashlar::operation_label const named(m, "a table");
  (void)(ashlar::full<T>(m, {rows, 64}, ashlar::sbp<S<0>, B>{}, 1) | ashlar::to<B, B>);
}

/// Calls collectives, with the fault `how` on the rank where `is_faulty` is true.
void call_collectives(ashlar::mesh const& m, std::string const& how, bool is_faulty) {
  if (how == "missed" && is_faulty) return;
  if (how == "doubled" && is_faulty) gather(m);
  if (how == "order" && is_faulty) {
    m.barrier();
    gather(m);
  } else if (how == "type" && is_faulty) {
    gather<double>(m);
    m.barrier();
  } else if (how == "placement" && is_faulty) {
    (void)(ashlar::full<float>(m, {64, 64}, ashlar::sbp<S<0>, B>{}, 1) | ashlar::to<S<1>, B>);
    m.barrier();
  } else {
    gather(m, how == "extents" && is_faulty ? 32 : 64);
    m.barrier();
  }
}

/// Makes a routed tensor of 4 tokens that all go to the expert of rank 2. Rank 2 does not have
/// enough memory for their rows.
void fill_one_expert(ashlar::mesh const& m) {
  auto const routes = std::make_shared<ashlar::routing>(ashlar::routing{4, 4, 1, {2, 2, 2, 2}});
  ashlar::shape extents{4, 4, std::int64_t{1} << 44};
  extents.chosen = 1;
  (void)ashlar::make_routed<ashlar::tensor<float, 3>>(m, extents,
                                                      ashlar::parse_placement("S(1),S(1)"), routes);
}

/// A fault in the middle of a training step.
struct fault_in_pass {
  std::string how;
  int pass;        ///< the backward pass (from 0) in which this rank commits the fault; -1: none
  int passes = 0;  ///< the number of backward passes that this rank has begun
};

/// A relu whose backward pass commits a fault.
class faulty_relu : public nn::relu {
 public:
  explicit faulty_relu(fault_in_pass& fault) : fault_(&fault) {}

  template <class Call>
  auto backward(Call const& c) const {
    if (fault_->passes++ == fault_->pass) {
      if (fault_->how == "throw")
        throw ashlar::error("faulty_relu", "its backward pass has failed");
      std::raise(SIGKILL);
    }
    return nn::relu::backward(c);
  }

 private:
  fault_in_pass* fault_;
};

/// Returns a plan of two stages along the axis "node". Within a stage, the plan is data-parallel.
ashlar::search::pipeline_plan two_stages(ashlar::search::problem const& problem,
                                         ashlar::mesh const& m) {
  ashlar::topology const stage{{"node", 1}, {"gpu", 2}};
  auto const placed = ashlar::search::data_parallel(problem, stage, m.machine());
  return ashlar::search::price_pipeline(problem, placed, {0, 2, problem.size()}, {0, 0}, 0,
                                        problem.micro_batches, m.machine());
}

/// Trains a net in two pipeline stages. Rank `rank` commits the fault `how` in the backward pass of
/// micro-batch 1 of step 3, while sends and receives of this rank are under way. Steps and
/// micro-batches are counted from 0.
void train_with_fault_in_pass(ashlar::mesh const& m, std::string const& how, int rank) {
  constexpr int micro_batches = 4;
  fault_in_pass fault{how, m.rank() == rank ? 3 * micro_batches + 1 : -1};
  auto const net = nn::chain(nn::linear(12, 16), faulty_relu(fault), nn::linear(16, 16),
                             faulty_relu(fault), nn::linear(16, 8));
  auto const problem = any_length(nn::describe(net, nn::feature_batch{12, 12, micro_batches}));
  auto model = nn::place<float>(net, m, two_stages(problem, m), 1);
  ashlar::train::trainer trainer(model, ashlar::train::adam_w{.lr = 1e-3});
  ashlar::train::batch_data<float> batch;
  batch.inputs.resize(std::size_t{12} * 12 * micro_batches, 0.5f);
  batch.targets.resize(std::size_t{12} * micro_batches, 3);
  for (int step = 0; step < 6; ++step) trainer.step(batch);
  if (m.rank() == 0) std::printf("done\n");
}

void train(ashlar::mesh const& m, std::string how, std::string const& folder) {
  bool const is_faulty = m.rank() == 2;
  bool const in_stages = how.starts_with("stage_");
  bool const is_stale = how.starts_with("stale_");
  if (in_stages || is_stale) how.erase(0, 6);
  if (how == "machine") {
    auto machine = m.machine();
    machine.memory += is_faulty ? 1 : 0;
    m.set_machine(machine);
  }
  auto const net = nn::chain(nn::linear(12, 16), nn::relu(), nn::linear(16, 8));
  auto const problem = any_length(nn::describe(net, nn::feature_batch{12, 12, 2}));
  auto plan = ashlar::search::data_parallel(problem, m.topology(), m.machine());
  if (how == "plan" && is_faulty)
    plan = ashlar::search::tensor_parallel(problem, m.topology(), m.machine());
  if (is_stale) plan = ashlar::sync::owners{.staleness = 1}(problem, plan, m.machine());
  std::uint64_t const seed = how == "seed" && is_faulty ? 2 : 1;
  auto model = in_stages ? nn::place<float>(net, m, two_stages(problem, m), seed)
                         : nn::place<float>(net, m, plan, seed);
  ashlar::train::trainer trainer(model, ashlar::train::adam_w{.lr = 1e-3});
  ashlar::train::batch_data<float> batch;
  batch.inputs.resize(24 * 12, 0.5f);
  batch.targets.resize(24, 3);
  for (int step = 0; step < 6 || how == "endless"; ++step) {
    if (how == "endless" && step == 3 && m.rank() == 0)
      std::printf("training\n"), std::fflush(stdout);
    if (step == 3 && is_faulty) {
      if (how == "throw") throw ashlar::error("reader", "the file of this rank has ended");
      if (how == "kill") std::raise(SIGKILL);
      if (how == "stop") std::raise(SIGSTOP);
      if (how == "leave") return;
      if (how == "crash") std::abort();
      if (how == "batch") batch.targets[5] = 1;
      if (how == "memory") (void)ashlar::full<float>(m, {1 << 24, 1 << 24}, ashlar::sbp<B, B>{}, 1);
      if (how == "nan")
        model.for_each_parameter([](auto& p) {
          *p.template shards<float>().value = std::numeric_limits<float>::quiet_NaN();
        });
      if (how == "work") {  // lasts longer than ASHLAR_TIMEOUT, which long_work permits
        ashlar::long_work const noted(m, "reads the data");
        std::this_thread::sleep_for(
            std::chrono::duration<double>(1.8 * std::atof(std::getenv("ASHLAR_TIMEOUT"))));
      }
      if (how == "slow") std::this_thread::sleep_for(std::chrono::milliseconds(600));
    }
    if (step == 3 && how == "experts") fill_one_expert(m);
    if (step == 3 && !in_stages && !is_stale) call_collectives(m, how, is_faulty);
    trainer.step(batch);
    if (how == "save" && step == 3) ashlar::checkpoint::save(folder, trainer);
  }
  if (m.rank() == 0) std::printf("done\n");
}

}  // namespace

int main(int argc, char** argv) {
  ashlar::mpi::environment env(argc, argv);
  std::string const how = argc > 1 ? argv[1] : "none", more = argc > 2 ? argv[2] : "";
  ashlar::mesh const m(env.world(), how.starts_with("stale_")
                                        ? ashlar::topology{{"node", 4}}
                                        : ashlar::topology{{"node", 2}, {"gpu", 2}});
  if (how.starts_with("inner_")) train_with_fault_in_pass(m, how.substr(6), std::stoi(more));
  else train(m, how, more);
}
