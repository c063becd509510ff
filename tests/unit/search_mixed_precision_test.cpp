// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the search on a GPT in bfloat16. Gradients of parameters and statistics move in float, all
// other tensors in bfloat16. The search must find the optimum over all choices. The test computes
// the cost of every redistribution separately, with the element size of its tensor.

#include <doctest/doctest.h>
#include <support/relative.hpp>

#include <ashlar/mesh/text.hpp>
#include <ashlar/nn/describe.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/search/by_roles.hpp>
#include <ashlar/search/optimal.hpp>
#include <ashlar/search/search_on_mesh.hpp>

namespace nn = ashlar::nn;
namespace search = ashlar::search;

namespace {

/// Computes the least seconds of a training step by dynamic programming over all choices, for a
/// chain of layers with residuals that are not nested.
class brute_force {
 public:
  brute_force(search::problem const& net, ashlar::topology const& t, ashlar::machine const& m)
      : net_(net), mesh_(t), machine_(m) {
    for (int i = 0; i < net.size(); ++i) {
      choices_.push_back(layer_choices(net.spec(i), t));
      own_.emplace_back();
      for (auto const& c : choices_.back()) own_.back().push_back(own(i, c));
    }
    for (int i = 0; i + 1 < net.size(); ++i) between_.push_back(boundary(i));
  }

  double seconds() const {
    std::vector<double> value;
    for (auto const& c : choices_[0])
      value.push_back(net_.micro_batches * move(net_.spec(0).x, 2,
                                                ashlar::placement::all_broadcast(mesh_.axes()),
                                                c.x) +
                      own(0, c));
    for (int i = 0; i + 1 < net_.size();) {
      if (net_[i].kind != search::element_kind::residual_begin) {
        value = next(i, value);
        ++i;
        continue;
      }
      int const end = net_[i].partner;
      for (std::size_t r = 0; r < value.size(); ++r) {
        std::vector<double> within(value.size(), 1e300);
        within[r] = value[r];
        for (int k = i; k < end; ++k) within = next(k, within);
        value[r] = within[r];
      }
      i = end;
    }
    return *std::min_element(value.begin(), value.end());
  }

 private:
  double move(ashlar::shape const& s, int size, ashlar::placement const& from,
              ashlar::placement const& to) const {
    return from == to ? 0 : plan_redistribution(s, size, from, to, mesh_, machine_).seconds;
  }

  double own(int i, search::layer_choice const& c) const {
    auto const& spec = net_.spec(i);
    double each = work_seconds(spec, c, mesh_, machine_, 2), once = 0;
    for (int k = 0; k < spec.parameters.size(); ++k) {
      auto const& p = spec.parameters[k];
      each += (p.in_backward ? 2 : 1) *
              move(p.extents, 2, c.parameters[k].store, c.parameters[k].use);
      once += move(p.extents, 4, c.parameters[k].grad, c.parameters[k].store);
    }
    for (int k = 0; k < spec.statistics.size(); ++k)
      each += move(spec.statistics[k], 4, c.statistics[k].from, c.statistics[k].to);
    return net_.micro_batches * each + once;
  }

  std::vector<double> boundary(int i) const {
    auto const& extents = boundary_extents(net_, i);
    std::vector<double> ways;
    for (auto const& a : choices(i))
      for (auto const& b : choices(i + 1))
        ways.push_back(net_.micro_batches *
                       (move(extents, 2, a.y, b.x) + move(extents, 2, b.dx, a.dy)));
    return ways;
  }

  /// Makes a step of dynamic programming. `value` holds the least cost up to and including element
  /// i, for each choice of element i. Returns the least costs up to and including element i + 1.
  std::vector<double> next(int i, std::vector<double> const& value) const {
    auto const& costs = own_[static_cast<std::size_t>(i) + 1];
    std::vector<double> result(costs.size(), 1e300);
    auto way = between_[static_cast<std::size_t>(i)].begin();
    for (double const v : value)
      for (double& to : result) to = std::min(to, v + *way++);
    for (std::size_t k = 0; k < costs.size(); ++k) result[k] += costs[k];
    return result;
  }

  std::vector<search::layer_choice> const& choices(int i) const {
    return choices_[static_cast<std::size_t>(i)];
  }

  search::problem const& net_;
  ashlar::topology mesh_;
  ashlar::machine machine_;
  std::vector<std::vector<search::layer_choice>> choices_;
  std::vector<std::vector<double>> own_, between_;
};

template <class T>
search::problem small_gpt(int micro_batches) {
  return nn::describe<T>(nn::gpt({.layers = 1, .features = 96, .heads = 4, .vocabulary = 192}),
                         nn::token_batch{32, 64, micro_batches});
}

TEST_CASE("describing a net of bfloat16 says that it sums in float") {
  auto const net = small_gpt<ashlar::bfloat16>(1);
  CHECK(net.element_size == 2);
  CHECK(net.accumulation_size == 4);
  CHECK(small_gpt<float>(1).accumulation_size == 4);
  CHECK(small_gpt<double>(1).accumulation_size == 8);
}

TEST_CASE("the optimum of a GPT of bfloat16 is that of all choices") {
  int dearer = 0;
  for (auto const* mesh : {"gpu=2", "gpu=3", "node=2,gpu=2"})
    for (auto const& m : {ashlar::machines::workstation, ashlar::machines::gpu_cluster})
      for (int const batches : {1, 3}) {
        CAPTURE(mesh);
        CAPTURE(batches);
        auto const t = ashlar::parse_topology(mesh);
        auto const net = small_gpt<ashlar::bfloat16>(batches);
        auto const best = optimal(net, t, m);
        CHECK(best.seconds == ashlar_test::relative(brute_force(net, t, m).seconds()));
        CHECK(best.seconds == ashlar_test::relative(total_cost(net, best, m).seconds()));
        CHECK(best.memory == memory_per_rank(net, best));
        // If all elements had 2 bytes, plans that move gradients or statistics would be cheaper.
        auto all_small = net;
        all_small.accumulation_size = 2;
        dearer += total_cost(all_small, best, m).seconds() < best.seconds;
        CHECK(memory_per_rank(all_small, best) < best.memory);
      }
  CHECK(dearer > 4);
}

TEST_CASE("the optimum holds on more axes, with every search") {
  auto const m = ashlar::machines::gpu_cluster;
  auto const net = small_gpt<ashlar::bfloat16>(2);
  for (auto const* mesh : {"node=2,gpu=2,lane=2", "node=2,host=2,gpu=2"}) {
    auto const t = ashlar::parse_topology(mesh);
    search::chain_model<-1> model(net, t, m, search::any_choice{}, search::pruning::by_time);
    double const least = make_plan(model, search::chain_solver<-1>(model).path()).seconds;
    CHECK(optimal_by_roles(net, t, m).seconds == ashlar_test::relative(least));
    CHECK(optimal(net, t, m).seconds == ashlar_test::relative(least));
  }
}

}  // namespace
