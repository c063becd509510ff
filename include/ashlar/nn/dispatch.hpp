// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The first layer of a mixture of experts: routes each token to `chosen` of the experts. It
// computes for a token x:
//
//   logits   = x router        summed in accumulation_t, in the order of the features
//   p        = softmax(logits)
//   experts  = the `chosen` experts with the largest p; among equal p, those with lower numbers
//   row      = (x, p of the expert), one row for each of the token's experts
//
// The result is a routed tensor [tokens.., experts, features + 1]. The last feature of a row is its
// gate, which the experts apply. The choices are a statistic of the layer: a tensor that the plan
// redistributes between two parts of the forward pass (layer.hpp). The plan gathers it, so that
// every rank gets the choices of all tokens (layout/routing.hpp): `chosen` numbers per token, and
// with a capacity also their probabilities. So each rank knows which rows will travel, and no
// messages are needed to count these rows.
//
// The gradient of the balance loss is added to the gradient of the probabilities, and the gradient
// of the z-loss to the gradient of the logits (moe_options.hpp). Both losses depend only on the
// logits and on how many tokens of the whole micro-batch chose each expert, so they depend neither
// on the mesh nor on the plan. The report of a step lists both losses apart from the loss of the
// net.
//
// A balance loss over a group of several micro-batches (moe_options::balance_over) is known only
// when all of them have taken their forward passes. So the backward pass of one micro-batch reads
// the loads of the experts in the other micro-batches from the log (mixture_log.hpp). Because of
// layer_spec::turns_together, the program runs the forward passes of a group before its backward
// passes.

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include <ashlar/nn/layer.hpp>
#include <ashlar/nn/router_losses.hpp>
#include <ashlar/nn/routes.hpp>
#include <ashlar/signature/routed.hpp>
#include <ashlar/tensor/routed.hpp>

namespace ashlar::nn {

/// Routes tokens x [tokens.., features] to experts. Communicates: all ranks get the choices of all
/// tokens.
class dispatch {
 public:
  using parameters = ranks<2>;
  template <int XRank>
  static constexpr int y_rank = XRank + 1;
  template <int XRank>
  using statistics = ranks<XRank, XRank>;

  /// Throws ashlar::error if the options are invalid: see check() in moe_options.hpp.
  constexpr dispatch(std::int64_t features, moe_options const& o) : features_(features), o_(o) {
    nn::check(o);
  }

  constexpr search::layer_spec spec(shape const& x) const {
    int const r = x.rank();
    if (r < 2 || r >= max_rank || x[r - 1] != features_ || x.is_routed())
      throw error("nn::dispatch", "the input is " + to_string(x) + " but must be [tokens.., " +
                                      std::to_string(features_) + "].");
    search::layer_spec s;
    s.name = "dispatch";
    s.x = x;
    shape probabilities = x, choices = x, experts = x;
    experts[r - 1] = o_.experts;
    probabilities[r - 1] = width();
    choices[r - 1] = numbers_of_choices(o_);
    s.y = experts;
    s.y.extent.push_back(features_ + 1);
    s.y.chosen = o_.chosen;
    s.y.fullest = thousandths(o_.imbalance);
    s.statistics = {probabilities, choices};
    s.parameters.push_back({"router", {features_, o_.experts}, true});
    s.rows = dispatch_training_rows(r);
    s.couples_samples = o_.capacity < dropless;  // all tokens of a micro-batch compete for it
    s.turns_together = o_.balance_over;
    auto const values = static_cast<double>(x.elements());
    auto const rows = static_cast<double>(s.y.elements());
    s.forward_flops = 2 * values * o_.experts;
    s.backward_flops = 2 * s.forward_flops;
    s.forward_values = 2 * rows;
    s.backward_values = 2 * rows + values;
    s.saved_values = values + static_cast<double>(probabilities.elements());
    auto const tokens = values / static_cast<double>(features_);
    s.temporary_values = values + tokens * o_.experts;  // gradients of x and of the logits
    return s;
  }

  initial_values initial(int) const {
    return normal_deviates(1 / std::sqrt(static_cast<double>(features_)));
  }

  /// Part 0 computes the probabilities, and part 1 the choices of this rank's tokens. Then the plan
  /// gives every rank the choices of all tokens, and part 2 makes the rows.
  template <int Part, class Call>
  auto forward(Call const& c) const {
    if constexpr (Part == 0) return probabilities(c);
    else if constexpr (Part == 1) return choices(c);
    else return rows(c);
  }

  template <class Call>
  auto backward(Call const& c) const {
    using A = typename Call::accumulated;
    using T = typename Call::value_type;
    auto const& x = c.template kept<0>();
    auto const& p = c.template kept<1>();
    router_losses losses = c.template kept<2>();
    if (waits(losses.at) && losses.tokens > 0) add_loss_of_group(losses, p);
    auto const router = c.template parameter<0>();
    auto const sum = c.template gradient<0>();
    auto const& rows = rows_of(c.dy());
    auto dx = c.make_dx();
    std::int64_t const tokens = detail::local_rows_of(x), d = features_, n = o_.experts;
    buffer<A> gradient(c.memory(), tokens * d), logits(c.memory(), tokens * n);
    std::fill_n(gradient.data(), tokens * d, A(0));
    for (std::int64_t t = 0; t < tokens; ++t)
      for (std::int64_t e = 0; e < n; ++e)
        logits.data()[t * n + e] = A(losses.by_probability[static_cast<std::size_t>(e)]);
    for_each_row(rows, [&](std::int64_t row, std::int64_t e, std::int64_t t) {
      T const* const of_row = c.dy().data() + row * (d + 1);
      for (std::int64_t i = 0; i < d; ++i) gradient.data()[t * d + i] += A(of_row[i]);
      logits.data()[t * n + e] += A(of_row[d]);
    });
    for (std::int64_t t = 0; t < tokens; ++t) {
      A* const of_logits = logits.data() + t * n;
      A const* const own = p.data() + t * width();
      A mean = 0;
      for (std::int64_t e = 0; e < n; ++e) mean += own[e] * of_logits[e];
      if (o_.z_loss > 0) mean -= A(losses.by_square) * 2 * own[n];
      for (std::int64_t e = 0; e < n; ++e) of_logits[e] = own[e] * (of_logits[e] - mean);
      for (std::int64_t i = 0; i < d; ++i) {
        A const value = A(x.data()[t * d + i]);
        A more = 0;
        for (std::int64_t e = 0; e < n; ++e) {
          sum.data()[i * n + e] += value * of_logits[e];
          more += A(router.data()[i * n + e]) * of_logits[e];
        }
        dx.data()[t * d + i] = static_cast<T>(gradient.data()[t * d + i] + more);
      }
    }
    return dx;
  }

 private:
  /// Calls visit(row, expert, token) for each row of this rank. The three arguments are the index
  /// of the row among this rank's rows, the number of the expert among all experts, and the index
  /// of the token among this rank's tokens.
  template <class Visit>
  static void for_each_row(routed_rows const& rows, Visit const& visit) {
    auto const experts = rows.experts();
    for (std::int64_t e = 0; e < experts.size; ++e)
      for (auto r = rows.first[static_cast<std::size_t>(e)];
           r < rows.first[static_cast<std::size_t>(e) + 1]; ++r)
        visit(r, experts.begin + e, rows.place[static_cast<std::size_t>(r)]);
  }

  template <class Call>
  auto probabilities(Call const& c) const {
    using A = typename Call::accumulated;
    auto const router = c.template parameter<0>();
    auto p = c.template make_statistic<0>();
    std::int64_t const tokens = detail::local_rows_of(c.x()), n = o_.experts;
    for (std::int64_t t = 0; t < tokens; ++t) {
      A* const own = p.data() + t * width();
      std::fill_n(own, n, A(0));
      for (std::int64_t i = 0; i < features_; ++i) {
        A const value = A(c.x().data()[t * features_ + i]);
        for (std::int64_t e = 0; e < n; ++e) own[e] += value * A(router.data()[i * n + e]);
      }
      A const most = *std::max_element(own, own + n);
      A sum = 0;
      for (std::int64_t e = 0; e < n; ++e) sum += own[e] = std::exp(own[e] - most);
      for (std::int64_t e = 0; e < n; ++e) own[e] /= sum;
      if (o_.z_loss > 0) own[n] = most + std::log(sum);
    }
    return p;
  }
  template <class Call>
  auto choices(Call const& c) const {
    auto const p = c.template statistic<0>();
    auto made = c.template make_statistic<1>();
    std::int64_t const tokens = detail::local_rows_of(p);
    for (std::int64_t t = 0; t < tokens; ++t)
      choose(o_, p.data() + t * width(), made.data() + t * numbers_of_choices(o_));
    return made;
  }
  template <class Call>
  auto rows(Call const& c) const {
    using T = typename Call::value_type;
    auto const p = c.template statistic<0>();
    auto const all = c.template statistic<1>();
    auto const made_routes = routes_of(c, all);
    auto y = make_routed<decltype(c.make_y())>(c.mesh(), c.spec().y, as_value(c.at().y()),
                                               made_routes.routes);
    std::int64_t const d = features_;
    for_each_row(rows_of(y), [&](std::int64_t row, std::int64_t e, std::int64_t t) {
      T* const made_row = y.data() + row * (d + 1);
      std::copy_n(c.x().data() + t * d, d, made_row);
      made_row[d] = static_cast<T>(p.data()[t * width() + e]);
    });
    return made(y, c.x(), p, losses_of(c, p, made_routes));
  }

  /// Returns the routes of all tokens. If the log has given routes for this pass (route_book.hpp),
  /// returns these, otherwise the routes that the router chooses.
  template <class Call, class Choices>
  routes_and_loads routes_of(Call const& c, Choices const& all) const {
    auto* const log = c.pass().training ? c.pass().mixtures : nullptr;
    mixture_pass const here{c.pass().number, c.pass().element};
    if (log != nullptr)
      if (auto const given = log->given.find(here); given != log->given.end()) {
        if (log->records && !c.pass().is_recomputed) log->recorded[here] = given->second;
        return given->second;
      }
    // In a pipeline no rank may throw here, because ranks of other parts of the mesh would wait for
    // it. So in a pipeline the fault of a router is either noted in the log or ignored.
    bool const goes_on = log != nullptr && log->notes_faults;
    std::optional<std::int64_t> fault;
    auto chosen = routes_from(o_, all.data(), detail::local_rows_of(all),
                              goes_on || c.mesh().ranks() < c.mesh().whole().ranks() ? &fault
                                                                                     : nullptr);
    if (log == nullptr || c.pass().is_recomputed) return chosen;
    if (goes_on && fault) {
      if (!log->fault || here < log->fault->first) log->fault = {here, *fault};
      if (c.mesh().rank() == 0) log->told[here].faults += 1;
    }
    if (log->records && !fault) log->recorded[here] = chosen;
    return chosen;
  }

  /// Returns whether the balance loss of a micro-batch is known only after the forward passes of
  /// other micro-batches. A step of one micro-batch has no others.
  bool waits(nn::pass const& p) const { return o_.balance_over > 1 && p.micro_batches > 1; }

  /// Returns the derivatives of the losses, and adds this rank's share of the losses to the report.
  template <class Call, class Probabilities>
  router_losses losses_of(Call const& c, Probabilities const& p,
                          routes_and_loads const& of_all) const {
    auto const& routes = *of_all.routes;
    router_losses made{std::vector<double>(static_cast<std::size_t>(o_.experts)),
                       0,
                       routes.tokens,
                       true,
                       true,
                       c.pass()};
    if (routes.tokens == 0) return made;
    auto const x = as_value(c.at().x()), dx = as_value(c.at().dx());
    for (int a = 0; a < x.axes(); ++a) {
      if (c.mesh().coordinate()[static_cast<std::size_t>(a)] == 0) continue;
      made.adds_gradients = made.adds_gradients && !dx[a].is_partial();
      made.adds_losses = made.adds_losses && x[a].is_split();
    }
    if (!waits(c.pass())) made.by_probability = slopes_of(o_, of_all.chosen_by, 1, made);
    made.by_square = o_.z_loss * made.share();
    if (auto* const log = c.pass().mixtures;
        log != nullptr && c.pass().training && !c.pass().is_recomputed) {
      mixture_pass const here{c.pass().number, c.pass().element};
      if (waits(c.pass())) log->loads[here] = of_all.chosen_by;
      auto& told = log->told[here];
      if (made.adds_losses) {
        told.balance_loss += balance_loss_of(made, p);
        told.z_loss += z_loss_of(made, p);
      }
      if (c.mesh().rank() == 0) {
        told.routes += static_cast<double>(routes.tokens) * o_.chosen;
        told.dropped += static_cast<double>(
            std::count(routes.expert.begin(), routes.expert.end(), -1));
      }
    }
    made.keep_once();
    return made;
  }
  /// Fills in the derivatives of a balance loss over a group of micro-batches, and adds this rank's
  /// share of this loss to the report.
  template <class Probabilities>
  void add_loss_of_group(router_losses& losses, Probabilities const& p) const {
    losses.by_probability = slopes_of_group(o_, losses);
    auto const& at = losses.at;
    if (losses.adds_losses)
      at.mixtures->told[{at.number, at.element}].balance_loss += balance_loss_of(losses, p);
    losses.keep_once();
  }
  template <class Probabilities>
  double balance_loss_of(router_losses const& losses, Probabilities const& p) const {
    double sum = 0;
    for (std::int64_t t = 0; t < detail::local_rows_of(p); ++t)
      for (std::int64_t e = 0; e < o_.experts; ++e)
        sum += losses.by_probability[static_cast<std::size_t>(e)] *
               double(p.data()[t * width() + e]);
    return sum;
  }
  template <class Probabilities>
  double z_loss_of(router_losses const& losses, Probabilities const& p) const {
    double sum = 0;
    for (std::int64_t t = 0; o_.z_loss > 0 && t < detail::local_rows_of(p); ++t) {
      auto const of_token = double(p.data()[t * width() + o_.experts]);
      sum += losses.by_square * of_token * of_token;
    }
    return sum;
  }

  /// Returns the number of values per token in the first statistic: one probability per expert, and
  /// with a z-loss also log(Σ exp(logit)).
  constexpr std::int64_t width() const { return o_.experts + (o_.z_loss > 0 ? 1 : 0); }

  std::int64_t features_;
  moe_options o_;
};

}  // namespace ashlar::nn
