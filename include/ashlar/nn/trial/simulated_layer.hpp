// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A layer placed on all ranks of a mesh within one process, for nn::verify. The passes run for one
// rank after the other, on shards of whole tensors. The class layer_node runs them, as in training.
// Between the parts of a forward pass, simulated_layer redistributes the layer's statistics. Before
// the forward pass it gives x its halo: the elements of other ranks that the layer's windows read.
// After the backward pass it adds up the halos of dx. A judge compares the results of the passes
// with the right values (judge.hpp):
//
//   whole_values const& judge(pass, what, shards, placement)    returns the right values of the
//                                                               tensor
//   void judge.total(sum)                                       gets the loss, or the losses of a
//                                                               router, summed over the ranks
//
// After every pass of a rank, simulated_layer checks that the pass has not written to an input or
// outside of a shard, and that each result has the extents that the spec states and the placement
// that the signature row states.

#include <array>
#include <cstring>
#include <memory>

#include <ashlar/comm/fake_rank.hpp>
#include <ashlar/nn/mixture_log.hpp>
#include <ashlar/nn/trial/data.hpp>

namespace ashlar::nn::detail {

/// The value of every element of the gradient sums before a pass. Because it is not zero, the sums
/// show afterwards whether the pass added to them or overwrote them.
inline constexpr double held_before = 0.5;

class simulated_layer {
  using node = element_node<device::host::processor>;
  using run = execution<device::host::processor>;

 public:
  /// `lies` has the placements of the layer's tensors. `ranks` has one simulated mesh per rank.
  /// `where` names this trial in error messages. `layer` must outlive this object.
  simulated_layer(trial_layer const& layer, step::layer_choice const& lies,
                  std::vector<mesh> const& ranks, std::string where)
      : layer_(layer), lies_(lies), ranks_(ranks), where_(std::move(where)), on_(ranks.size()),
        totals_(ranks.size()), logs_(ranks.size()) {
    for (auto const& m : ranks_) nodes_.push_back(layer.place(m, lies));
  }

  /// Gives each rank its shards of the tensors in `data`, for the passes to read.
  void give(trial_data const& data) {
    given_.assign(on_.size(), {});
    dy_ = data.dy;
    for (std::size_t r = 0; r < on_.size(); ++r) {
      on_[r].values.clear();
      on_[r].values.resize(static_cast<std::size_t>(dx_slot() + 1));
      on_[r].pass = {true, 9, 3};
      on_[r].pass.mixtures = &logs_[r];
      auto const whole = placement::all_broadcast(ranks_[r].axes());
      put(r, 0, layer_.input, data.x, lies_.x,
          step::halo_layout_of(layer_.spec, lies_.x, mesh_of(r)), data.routes);
      for (int k = 0; k < parameters(); ++k)
        put(r, 1 + k, layer_.values, data.parameters[static_cast<std::size_t>(k)],
            lies_.parameters[k].use);
      if (layer_.spec.context.rank() > 0) {
        on_[r].context = host_tensor(ranks_[r], data.context.extents, whole, layer_.values);
        cut(data.context, on_[r].context);
      }
      if (layer_.is_loss) {
        host_tensor const targets(ranks_[r], data.targets.extents, whole, layer_.targets);
        cut(data.targets, targets);
        on_[r].batch = {targets, 1, &totals_[r]};
      } else if (!step::routes_tokens(layer_.spec)) {
        put(r, dy_slot(), layer_.values, dy_, lies_.dy, {}, data.routes);
      }
    }
  }

  /// Runs all parts of the forward pass.
  template <class Judge>
  void forward(Judge& judge) {
    totals_.assign(on_.size(), 0);
    for (auto& log : logs_) log.told.clear();
    int const statistics = layer_.statistics;
    for (int part = 0; part <= statistics; ++part) {
      step::action a;
      a.part = part;
      a.reads.push_back(0);
      for (int k = 0; k < parameters(); ++k) a.reads.push_back(1 + k);
      for (int k = 0; k < part; ++k) a.reads.push_back(moved_slot(k));
      a.makes.push_back(part < statistics ? made_slot(part) : y_slot());
      if (part == statistics) a.makes.push_back(saved_slot());
      auto const pass = "forward" + (statistics == 0 ? "" : "<" + std::to_string(part) + ">");
      compute(a, pass);
      if (part < statistics) move_statistic(part, pass, judge);
    }
    if (layer_.is_loss) {
      double sum = 0;
      for (double const share : totals_) sum += share;
      judge.total(sum);
    } else {
      auto const y = made(y_slot(), "y", layer_.spec.y, lies_.y);
      judge("forward", "y", y, lies_.y);
      if (step::routes_tokens(layer_.spec)) end_of_router(y, judge);
    }
  }

  /// Runs each backward pass that the layer has, except weight_gradient if the spec says that the
  /// backward pass is whole. Training never runs weight_gradient of such a layer.
  template <class Judge>
  void backward(Judge& judge) {
    if (layer_.has_backward) gradients(step::action_kind::backward, "backward", judge);
    if (layer_.has_weight_gradient && layer_.spec.backward != step::backward_form::whole)
      gradients(step::action_kind::weight_gradient, "weight_gradient", judge);
    if (layer_.has_input_gradient)
      gradients(step::action_kind::input_gradient, "input_gradient", judge);
  }

  /// Returns the name by which the judge knows the gradient of parameter k.
  static std::string gradient_name(step::layer_spec const& spec, int k) {
    return std::string("the gradient of ") + spec.parameters[k].name.text;
  }

 private:
  // Slot 0 holds x, and the next slots hold the parameters. The functions below return the indices
  // of the other slots.
  int parameters() const { return layer_.spec.parameters.size(); }
  int moved_slot(int k) const { return 1 + parameters() + k; }
  int made_slot(int k) const { return moved_slot(layer_.statistics) + k; }
  int y_slot() const { return made_slot(layer_.statistics); }
  int saved_slot() const { return y_slot() + 1; }
  int dy_slot() const { return y_slot() + 2; }
  int dx_slot() const { return y_slot() + 3; }

  topology const& mesh_of(std::size_t r) const { return ranks_[r].topology(); }

  /// Gives a rank its part of a tensor: its shard, with a halo if the tensor has one. A routed
  /// tensor needs `routes`.
  void put(std::size_t r, int slot, element_type type, whole_values const& whole,
           placement const& p, halo_layout const& halo = {},
           std::shared_ptr<routing const> const& routes = nullptr) {
    auto const t = whole.extents.is_routed()
                       ? ashlar::detail::new_routed(
                             ranks_[r], whole.extents, p,
                             rows_in(routes, whole.extents, ranks_[r].local_box(whole.extents, p)),
                             type)
                   : halo.has_halo()
                       ? host_tensor::with_box(ranks_[r], whole.extents, p,
                                               halo.read_box(mesh_of(r), ranks_[r].coordinate()),
                                               type)
                       : host_tensor(ranks_[r], whole.extents, p, type);
    cut(whole, t);
    on_[r].set(slot, t);
    given_[r].emplace_back(t, shard_values(t));
  }

  /// Gives the judge the losses of a router. Gives each rank its dy, which has the same rows as y.
  template <class Judge>
  void end_of_router(std::vector<host_tensor> const& y, Judge& judge) {
    double sum = 0;
    for (std::size_t r = 0; r < on_.size(); ++r) {
      sum += logs_[r].sums().balance_loss + logs_[r].sums().z_loss;
      put(r, dy_slot(), layer_.values, dy_, lies_.dy, {}, rows_of_tensor(y[r]).routes);
    }
    judge.total(sum);
  }

  [[noreturn]] void refuse(std::size_t rank, std::string const& pass,
                           std::string const& what) const {
    auto const on = ranks_.size() == 1 ? "" : " on rank " + std::to_string(rank);
    throw error("nn::verify", where_ + ": " + pass + on + " " + what);
  }

  void compute(step::action const& a, std::string const& pass) {
    for (std::size_t r = 0; r < on_.size(); ++r) {
      try {
        nodes_[r]->compute(a, on_[r]);
      } catch (std::exception const& e) {
        refuse(r, pass, std::string("throws: ") + e.what());
      }
      if (!ranks_[r].memory().guarded()->are_intact())
        refuse(r, pass,
               "writes outside the shards that it was given or made. Loop over the extents of "
               "the shard that you write to: local_elements() or local_size(dim).");
      for (auto const& [tensor, values] : given_[r])
        if (shard_values(tensor) != values)
          refuse(r, pass, "writes into one of its inputs, which other passes read too.");
    }
  }

  /// Returns the tensors that all ranks have stored in a slot. Throws if their extents or
  /// placements are not `extents` and `p`.
  std::vector<host_tensor> made(int slot, std::string const& what, shape const& extents,
                                placement const& p) const {
    std::vector<host_tensor> all;
    for (std::size_t r = 0; r < on_.size(); ++r) {
      all.push_back(on_[r].tensor(slot));
      std::string wrong;
      if (all.back().empty() || !(all.back().extents() == extents))
        wrong = "extents " + to_string(extents) + " that the spec says";
      else if (!(all.back().placement() == p)) wrong = "placement that the row says";
      if (!wrong.empty())
        refuse(r, what,
               "does not have the " + wrong +
                   ". Make it with make_y(), make_dx() or make_statistic<K>().");
    }
    return all;
  }

  template <class Judge>
  void move_statistic(int k, std::string const& pass, Judge& judge) {
    auto const what = "statistic " + std::to_string(k);
    auto const& [from, to] = lies_.statistics[k];
    auto const whole = judge(pass, what, made(made_slot(k), what, layer_.spec.statistics[k], from),
                             from);
    for (std::size_t r = 0; r < on_.size(); ++r) put(r, moved_slot(k), layer_.sums, whole, to);
  }

  template <class Judge>
  void gradients(step::action_kind kind, std::string const& pass, Judge& judge) {
    step::action a;
    a.kind = kind;
    if (!layer_.is_loss) a.reads.push_back(dy_slot());
    a.reads.push_back(saved_slot());
    bool const makes_dx = kind != step::action_kind::weight_gradient;
    if (makes_dx) {
      for (int k = 0; k < parameters(); ++k)
        if (layer_.spec.parameters[k].in_backward) a.reads.push_back(1 + k);
      a.makes.push_back(dx_slot());
    }
    for (std::size_t r = 0; r < on_.size(); ++r)
      for (int k = 0; k < parameters(); ++k) add_to_sum(r, k, held_before, false);
    compute(a, pass);
    if (makes_dx) {
      auto dx = made(dx_slot(), "dx", layer_.spec.x, lies_.dx);
      auto const halo = step::halo_layout_of(layer_.spec, lies_.dx, mesh_of(0));
      judge(pass, "dx", halo.has_halo() ? halos_added(dx, halo) : dx, lies_.dx);
    }
    if (kind == step::action_kind::input_gradient) return;
    for (int k = 0; k < parameters(); ++k) {
      std::vector<host_tensor> sums;
      for (std::size_t r = 0; r < on_.size(); ++r) {
        add_to_sum(r, k, -held_before, true);
        sums.push_back(nodes_[r]->parameters()[static_cast<std::size_t>(k)].sum());
      }
      judge(pass, gradient_name(layer_.spec, k), sums, lies_.parameters[k].grad);
    }
  }
  void add_to_sum(std::size_t r, int k, double value, bool to_what_is_there) {
    auto const sum = nodes_[r]->parameters()[static_cast<std::size_t>(k)].sum();
    auto values = shard_values(sum);
    for (auto& v : values) v = to_what_is_there ? v + value : value;
    set_shard(sum, values);
  }

  trial_layer const& layer_;
  step::layer_choice lies_;
  std::vector<mesh> ranks_;
  std::string where_;
  std::vector<std::unique_ptr<node>> nodes_;
  std::vector<run> on_;
  std::vector<double> totals_;
  std::vector<mixture_log> logs_;
  whole_values dy_;
  std::vector<std::vector<std::pair<host_tensor, std::vector<double>>>> given_;
};

}  // namespace ashlar::nn::detail
