// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Checks the gradients of a network in double precision, in two ways:
//
//   one process       compares the backward pass with finite differences of the forward pass, for
//                     every element of every parameter
//   random plans      compares the loss and all gathered gradients with those of one process
//
// The finite differences use five points with step h. Their error is about h^4 + ε / h, where ε is
// the machine precision. Each rank computes the finite differences of some of the elements.

#include <doctest/doctest.h>
#include <support/nets.hpp>
#include <support/placed.hpp>
#include <support/plans.hpp>

namespace ashlar_test {

/// Checks the gradients of one network. As the reference, every rank holds an unsharded copy of the
/// network, with the same parameters and the same data.
template <class Net, class Batch>
class gradient_check {
 public:
  using input = std::conditional_t<ashlar::nn::takes_tokens<Net>(), std::int32_t, double>;

  gradient_check(Net const& net, Batch const& batch, int vocabulary, int classes, int ignored = 5)
      : net_(net), problem_(any_length(ashlar::nn::describe<double>(net, batch))),
        alone_(MPI_COMM_SELF, {{"gpu", 1}}),
        model_(ashlar::nn::place<double>(net, alone_, whole_plan(alone_), 7)),
        data_(data_for<input>(net, batch, vocabulary, classes, 3, ignored)) {
    initial_ = values_of(model_);
    values_ = initial_;
    disturb(values_, 11);
    set_values(model_, values_);
    loss_ = accumulate_step(model_, data_, true);
    model_.synchronize();
    gradients_ = gradients_of(model_);
  }

  /// Compares the backward pass of the unsharded network with finite differences. For each
  /// gradient, the largest error of an element is divided by the largest element. Returns the
  /// maximum of these quotients. Communicates.
  double error_of_backward() {
    double const h = 1e-4;
    whole_parameters numeric;
    int turn = 0;
    model_.for_each_parameter([&](auto& p) {
      std::vector<double> slopes;
      auto const shards = p.template shards<double>();
      for (auto& v : std::span(shards.value, static_cast<std::size_t>(shards.elements))) {
        double slope = 0;
        if (turn++ % world_size() == world_rank()) {
          double const before = v;
          auto const at = [&](double offset) {
            v = before + offset;
            return accumulate_step(model_, data_, true);
          };
          slope = (at(-2 * h) - 8 * at(-h) + 8 * at(h) - at(2 * h)) / (12 * h);
          v = before;
        }
        slopes.push_back(slope);
      }
      MPI_Allreduce(MPI_IN_PLACE, slopes.data(), static_cast<int>(slopes.size()), MPI_DOUBLE,
                    MPI_SUM, MPI_COMM_WORLD);
      numeric.push_back(slopes);
    });
    return difference(numeric, gradients_);
  }

  /// Compares the network under `plan` with the unsharded network: initial parameters, loss and
  /// gradients. Returns a description of the differences, or an empty text. Communicates.
  std::string wrong_with(ashlar::mesh const& m, search::plan const& plan) const {
    auto model = ashlar::nn::place<double>(net_, m, plan, 7);
    std::string text;
    if (values_of(model) != initial_) text += "the initial parameters depend on the plan\n";
    set_values(model, values_);
    double const loss = accumulate_step(model, data_);
    if (!near(loss, loss_, 1e-11))
      text += "loss " + std::to_string(loss) + ", not " + std::to_string(loss_) + '\n';
    double const apart = difference(gradients_of(model), gradients_);
    if (!(apart < 1e-10)) text += "gradients differ by " + std::to_string(apart) + '\n';
    return text.empty() ? text : text + describe(problem_, plan);
  }

  /// Checks the backward pass against finite differences, and `count` random plans on each mesh of
  /// MPI_COMM_WORLD against the unsharded network.
  void run(int count) {
    CHECK(error_of_backward() < 1e-7);
    unsigned seed = 0;
    for (auto const& t : topologies(world_size())) {
      ashlar::mesh const m(MPI_COMM_WORLD, t,
                           ++seed % 2 ? ashlar::machines::workstation : bandwidth_bound);
      plan_source const plans(problem_, m);
      std::mt19937 random(seed);
      for (int i = 0; i < count; ++i) {
        auto const wrong = wrong_with(m, plans.random(random));
        CHECK_MESSAGE(wrong == "", wrong);
      }
    }
  }

  search::problem const& problem() const { return problem_; }

 private:
  using model_type = decltype(ashlar::nn::place<double>(std::declval<Net const&>(),
                                                        std::declval<ashlar::mesh const&>(),
                                                        std::declval<search::plan const&>(), 7));

  search::plan whole_plan(ashlar::mesh const& m) const { return plan_source(problem_, m).whole(); }

  Net net_;
  search::problem problem_;
  ashlar::mesh alone_;
  model_type model_;
  ashlar::train::batch_data<input, typename targets_of<Net>::type> data_;
  whole_parameters initial_, values_, gradients_;
  double loss_ = 0;
};

}  // namespace ashlar_test
