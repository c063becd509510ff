// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4 6 8

// The central promise, on random legal plans of nets that have every layer: each training step has
// the loss of a process alone, and sends what search::schedule says, collective by collective.

#include <doctest/doctest.h>
#include <support/nets.hpp>
#include <support/placed.hpp>
#include <support/plans.hpp>

#include <ashlar/nn/gpt.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;
namespace train = ashlar::train;

/// A net with its data and the losses of the whole plan, and what is wrong with other plans of it.
template <class Net, class Batch>
class trial {
 public:
  using input = std::conditional_t<nn::takes_tokens<Net>(), std::int32_t, double>;

  trial(Net const& net, Batch const& batch, ashlar::mesh const& m, int vocabulary, int classes)
      : net_(net), mesh_(m), problem_(any_length(nn::describe<double>(net, batch))),
        plans_(problem_, m.topology(), m.machine()) {
    for (unsigned step = 0; step < 3; ++step)
      data_.push_back(random_batch<input>(batch, vocabulary, classes, step, 5));
    losses_ = run(plans_.whole());
  }

  search::problem const& problem() const { return problem_; }
  plan_source const& plans() const { return plans_; }

  std::string wrong_with(search::plan const& plan) {
    auto const losses = run(plan);
    std::string text;
    for (std::size_t i = 0; i < losses.size(); ++i)
      if (!near(losses[i], losses_[i], 1e-9))
        text += "loss " + std::to_string(losses[i]) + " at step " + std::to_string(i) + ", not " +
                std::to_string(losses_[i]) + '\n';
    auto const expected = expected_records(problem_, plan, mesh_);
    for (auto const& records : records_)
      if (!(records == expected)) {
        text += "sent\n" + describe(records, mesh_.topology()) + "but planned\n" +
                describe(expected, mesh_.topology());
        break;
      }
    return text.empty() ? text : text + describe(problem_, plan);
  }

 private:
  std::vector<double> run(search::plan const& plan) {
    auto model = nn::place<double>(net_, mesh_, plan, 7);
    train::trainer trainer(model, train::sgd{.lr = 0.3, .momentum = 0.5, .weight_decay = 0.01},
                           {.clip = 0.8});
    std::vector<double> losses;
    records_.clear();
    for (auto const& data : data_) {
      ashlar::communication_log const log(mesh_);
      losses.push_back(trainer.step(data).loss);
      records_.push_back(log.records());
    }
    return losses;
  }

  Net net_;
  ashlar::mesh mesh_;
  search::problem problem_;
  plan_source plans_;
  std::vector<train::batch_data<input>> data_;
  std::vector<double> losses_;
  std::vector<std::vector<ashlar::collective_record>> records_;
};

/// `count` random plans on each mesh of the world, priced by two machines.
template <class Net, class Batch>
void try_random_plans(Net const& net, Batch const& batch, int vocabulary, int classes, int count) {
  unsigned seed = 0;
  for (auto const& t : topologies(world_size()))
    for (auto const& machine : {ashlar::machines::workstation, bandwidth_bound}) {
      ashlar::mesh const m(MPI_COMM_WORLD, t, machine);
      trial<Net, Batch> it(net, batch, m, vocabulary, classes);
      std::mt19937 random(++seed);
      for (int i = 0; i < count; ++i) {
        auto const wrong = it.wrong_with(it.plans().random(random));
        CHECK_MESSAGE(wrong == "", wrong);
      }
    }
}

}  // namespace

TEST_CASE("random plans of a perceptron") {
  auto const net = nn::chain(nn::linear(6, 10), nn::gelu(), nn::dropout(0.2),
                             nn::residual(nn::linear(10, 10)), nn::layer_norm(10), nn::relu(),
                             nn::linear(10, 7, false));
  try_random_plans(net, nn::feature_batch{5, 6, 2}, 0, 7, 20);
}

TEST_CASE("random plans of a GPT") {
  auto const net = nn::chain(nn::embedding(11, 6), nn::repeat(2, nn::gpt_block(6, 3, 0.1)),
                             nn::layer_norm(6), nn::linear(6, 11));
  try_random_plans(net, nn::token_batch{3, 5, 2}, 11, 11, 10);
}

}  // namespace ashlar_test
