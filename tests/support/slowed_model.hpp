// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A model that computes correct values and also takes the simulated time that the cost model
// predicts. Before an element of the net computes, it sleeps for the seconds of its action in the
// step's program. Everything else is as in nn::place, and a train::trainer trains the model
// unchanged. In a simulator in which only sleeps and messages take time, the computations of a step
// thus take the seconds that follow from the machine's flops.
//
//   slow_work const how{.piece = 1e-4};
//   auto model = place_slowed<float>(net, mesh, plan, 7, how);

#include <algorithm>

#include <support/simulated_element.hpp>

#include <ashlar/nn/place.hpp>

namespace ashlar_test {

struct slow_work {
  /// The longest time in seconds that an element sleeps before transfers progress again.
  double piece = 1e-3;
  /// If this number of experts is above 0, the routes of all tokens are replaced by even routes.
  /// Token i of a rank goes to `chosen` experts: i · chosen, i · chosen + 1, ..., modulo this
  /// number. If a rank's number of tokens times `chosen` is a multiple of this number, the rank
  /// sends equally many rows to each expert, as the cost model assumes.
  int even_experts = 0;
};

class slowed_element final : public ashlar::nn::element_node<ashlar::device::host::processor> {
  using processor = ashlar::device::host::processor;
  using element = ashlar::nn::element_node<processor>;

 public:
  /// `how` must outlive this object.
  slowed_element(std::unique_ptr<element> inner, slow_work const& how)
      : inner_(std::move(inner)), how_(how) {
    std::swap(parameters_, inner_->parameters());
  }

  void compute(ashlar::step::action const& a, ashlar::nn::execution<processor>& on) override {
    for (double rest = a.seconds; rest > 0; rest -= how_.piece) {
      sleep_for(std::min(rest, how_.piece));
      ashlar::device::host::between_blocks();
    }
    // The parameters belong to this element. The inner element borrows them while it computes.
    std::swap(parameters_, inner_->parameters());
    inner_->compute(a, on);
    std::swap(parameters_, inner_->parameters());
    bool const routes = std::string_view(inner_->name()) == "dispatch" && a.part == 1 &&
                        (a.kind == ashlar::step::action_kind::forward ||
                         a.kind == ashlar::step::action_kind::recompute);
    if (routes && how_.even_experts > 0) even_out(on.tensor(a.makes[0]));
  }
  bool reads_context() const override { return inner_->reads_context(); }
  char const* name() const override { return inner_->name(); }

 private:
  /// Replaces this rank's choices of experts, a tensor [.., chosen], by even routes.
  void even_out(ashlar::any_tensor<processor> const& choices) const {
    std::int64_t const chosen = choices.extents()[choices.extents().rank() - 1];
    auto* const own = choices.data_as<float>();
    for (std::int64_t i = 0; i < choices.local_elements(); ++i)
      own[i] = static_cast<float>(i % how_.even_experts);
    for (std::int64_t i = 0; i < choices.local_elements(); i += chosen)
      std::sort(own + i, own + i + chosen);
  }

  std::unique_ptr<element> inner_;
  slow_work const& how_;
};

/// Places a net as nn::place does, but every element also sleeps for the seconds of its actions.
/// `how` must outlive the model.
template <class T, class Net>
auto place_slowed(Net const& net, ashlar::mesh const& m, ashlar::search::plan const& plan,
                  std::uint64_t seed, slow_work const& how) {
  namespace nn = ashlar::nn;
  using processor = ashlar::device::host::processor;
  auto problem = nn::detail::checked_problem<T>(net, m, plan, seed, plan.mesh);
  auto built = nn::detail::builder_for<Net>(m, seed);
  auto const whole = nn::with_loss(net);
  using whole_net = std::remove_const_t<decltype(whole)>;
  constexpr int x_rank = nn::input_rank<whole_net>();
  using input =
      std::conditional_t<nn::takes_tokens<whole_net>(), std::int32_t, ashlar::accumulation_t<T>>;
  built.ties = problem.ties;
  nn::place_part<T, x_rank>(whole, built, plan.input, nn::run_time_cursor<processor>{&plan, 0});
  for (auto& node : built.nodes) node = std::make_unique<slowed_element>(std::move(node), how);
  return nn::model<T, processor, input, x_rank, nn::output_rank<whole_net, x_rank>(),
                   typename nn::loss_of<whole_net>::type>(m, m, {}, std::move(problem), plan, seed,
                                                          std::move(built.nodes),
                                                          [](std::span<input const>) {});
}

}  // namespace ashlar_test
