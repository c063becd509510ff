// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Provides plans for tests of placed networks, and the collectives that a training step of a plan
// must record. There are two kinds of plans: random legal plans, and the fully replicated plan.
// Under the replicated plan each rank computes the same as a single process.

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <support/naive_placement.hpp>

#include <ashlar/comm/agreement_in_sums.hpp>
#include <ashlar/comm/communication_log.hpp>
#include <ashlar/comm/mesh.hpp>
#include <ashlar/placement/text.hpp>
#include <ashlar/search/choices.hpp>
#include <ashlar/search/cost.hpp>
#include <ashlar/step/schedule.hpp>

namespace ashlar_test {

namespace search = ashlar::search;

constexpr bool is_whole(search::layer_choice const& c) {
  auto const whole = [](ashlar::placement const& p) {
    return p == ashlar::placement::all_broadcast(p.axes());
  };
  bool all = whole(c.x) && whole(c.y) && whole(c.dy) && whole(c.dx);
  for (auto const& p : c.parameters) all = all && whole(p.use) && whole(p.grad) && whole(p.store);
  for (auto const& s : c.statistics) all = all && whole(s.from) && whole(s.to);
  return all;
}

/// Creates plans for a network on a mesh. Random plans depend only on the random generator, so
/// ranks with equal seeds get equal plans.
class plan_source {
 public:
  plan_source(search::problem const& net, ashlar::topology const& t, ashlar::machine const& m)
      : net_(net), mesh_(t), machine_(m) {
    for (auto const& spec : net_.layers)
      choices_.push_back(search::layer_choices(spec, t, search::trivial_axes::all_rows));
  }
  template <class Processor>
  plan_source(search::problem const& net, ashlar::basic_mesh<Processor> const& m)
      : plan_source(net, m.topology(), m.machine()) {}

  search::plan whole() const {
    return filled([&](int i) {
      auto const& list = choices(i);
      return *std::find_if(list.begin(), list.end(), is_whole);
    });
  }

  /// Returns a random plan. An element of a plan is a layer, or the begin or the end of a residual.
  ///
  ///   placements      random legal choices, the same for both ends of a residual
  ///   storage         one element in four stores its parameters at random placements, and updates
  ///                   half of them at other placements
  ///   recomputation   of a random number of segments
  search::plan random(std::mt19937& generator) const {
    auto const below = [&](std::size_t n) {
      return std::uniform_int_distribution<std::size_t>(0, n - 1)(generator);
    };
    int const again = static_cast<int>(below(static_cast<std::size_t>(net_.segments) + 1));
    auto const choose = [&](int i) {
      auto choice = choices(i)[below(choices(i).size())];
      if (below(4) == 0)
        for (int k = 0; k < choice.parameters.size(); ++k) {
          auto const all = all_placements(net_.spec(i).parameters[k].extents.rank(), mesh_.axes(),
                                          {});
          choice.parameters[k].store = all[below(all.size())];
          if (below(2) == 0) choice.parameters[k].set_update(all[below(all.size())]);
        }
      return choice;
    };
    return filled(choose, again);
  }

  std::vector<search::layer_choice> const& choices(int element) const {
    return choices_[static_cast<std::size_t>(net_[element].layer)];
  }

  /// Builds a plan and predicts its costs. choose(i) returns the choice of element i: a layer, the
  /// begin of a residual, or one end of a branch. The end of a residual gets the choice of its
  /// begin, and the turn of a branch the placements of the branch's ends.
  template <class Choose>
  search::plan filled(Choose choose, int recomputed = 0) const {
    search::plan plan;
    plan.recomputed = recomputed;
    plan.mesh = mesh_;
    for (int i = 0; i < net_.size(); ++i) {
      bool const end = net_[i].kind == search::element_kind::residual_end;
      bool const turn = net_[i].kind == search::element_kind::branch_turn;
      plan.choices.push_back(end    ? search::layer_choice(plan[net_[i].partner])
                             : turn ? search::layer_choice()
                                    : choose(i));
    }
    for (int i = 0; i < net_.size(); ++i) {
      if (net_[i].kind != search::element_kind::branch_turn) continue;
      int const last = net_[i].partner;
      plan.choices[static_cast<std::size_t>(i)] = turn_between(plan[net_[last].partner],
                                                               plan[last]);
    }
    for (auto const& t : net_.ties) {
      auto const first = plan[t.first].parameters[t.first_index];
      auto& later = plan.choices[static_cast<std::size_t>(t.later)].parameters[t.later_index];
      later.store = first.store;
      later.update = first.update;
    }
    search::predict(plan, net_, machine_);
    return plan;
  }

 private:
  search::problem const& net_;
  ashlar::topology mesh_;
  ashlar::machine machine_;
  std::vector<std::vector<search::layer_choice>> choices_;  // by layer of the network
};

template <class Processor>
void append_records(std::vector<ashlar::collective_record>& records,
                    search::scheduled_move const& move, ashlar::basic_mesh<Processor> const& m) {
  for (auto const& s : move.plan.steps)
    if (communicates(s.kind))
      records.push_back({s.carried_by(), s.axes,
                         step_traffic(s, move.plan.extents, m.topology(), m.coordinate()).elements *
                             s.unit_bytes(move.plan.element_size)});
}

/// Returns the record of an all-reduce of `n` numbers of 8 bytes on the whole mesh.
template <class Processor>
ashlar::collective_record record_of_sums(std::int64_t n, ashlar::basic_mesh<Processor> const& m) {
  ashlar::collective_record sums;
  sums.kind = ashlar::collective::all_reduce;
  for (int a = 0; a < m.axes(); ++a) sums.axes.push_back(static_cast<signed char>(a));
  std::int64_t const p = m.ranks(), r = m.rank();
  std::int64_t const block = n / p + (r < n % p ? 1 : 0);
  sums.received_bytes = ((p - 1) * block + (n - block)) * 8;
  return sums;
}

/// Returns the collectives that this rank must record until the gradients of a training step are
/// synchronized: those of each micro-batch, then the synchronization.
template <class Processor>
std::vector<ashlar::collective_record>
records_of_gradients(search::problem const& net, search::plan const& plan,
                     ashlar::basic_mesh<Processor> const& m) {
  auto const moves = search::schedule(net, plan, m.machine());
  std::vector<ashlar::collective_record> records;
  for (int batch = 0; batch < net.micro_batches; ++batch)
    for (auto const& move : moves)
      if (search::repeats(move.phase)) append_records(records, move, m);
  for (auto const& move : moves)
    if (move.phase == search::phase::synchronize) append_records(records, move, m);
  return records;
}

/// Returns the collectives that this rank must record in a training step. First come those of
/// records_of_gradients. Then comes the trainer's all-reduce of the loss and the gradient norms,
/// and then the redistributions of parameters whose updates have other placements than their
/// storage. In the checked mode, a final all-reduce compares the hashes of all parameters, and of
/// their stored copies, between all ranks.
template <class Processor>
std::vector<ashlar::collective_record> expected_records(search::problem const& net,
                                                        search::plan const& plan,
                                                        ashlar::basic_mesh<Processor> const& m) {
  auto records = records_of_gradients(net, plan, m);
  std::int64_t parameters = 0;
  for (int i = 0; i < net.size(); ++i) parameters += net.spec(i).parameters.size();
  parameters -= net.ties.size();
  // The numbers that the trainer sums over all ranks: the loss, the addends by which ranks notice
  // that their batches differ (comm/agreement_in_sums.hpp), and one squared norm per parameter.
  auto const sums = 1 + static_cast<std::int64_t>(ashlar::agreement_addends) + parameters;
  records.push_back(record_of_sums(sums, m));
  std::int64_t hashes = parameters;
  for (auto const& move : search::schedule(net, plan, m.machine()))
    if (move.phase == search::phase::renew) append_records(records, move, m);
  for (int i = 0; i < net.size(); ++i)
    for (int k = 0; k < net.spec(i).parameters.size(); ++k)
      hashes += plan[i].parameters[k].is_updated_apart() &&
                net.spec(i).parameters[k].tie != search::tie_role::later;
  if (m.is_checked()) records.push_back(record_of_sums(hashes * m.ranks(), m));
  return records;
}

inline std::string describe(std::vector<ashlar::collective_record> const& records,
                            ashlar::topology const& t) {
  std::string text;
  for (auto const& r : records)
    text += std::string(to_string(r.kind)) + " along " + to_string(r.axes, t) + ", " +
            std::to_string(r.received_bytes) + " B\n";
  return text;
}

/// Describes a plan, one line for each layer ("linear: x … y … | use … grad …"), so that a failure
/// can be reproduced by hand.
inline std::string describe(search::problem const& net, search::plan const& plan) {
  std::string text = to_string(plan.mesh) + ", " + std::to_string(plan.recomputed) +
                     " segments recomputed\n";
  for (int i = 0; i < plan.size(); ++i) {
    auto const& c = plan[i];
    text += "  " + std::to_string(i) + ' ' + net.spec(i).name.text + ": x " + to_string(c.x) +
            " y " + to_string(c.y) + " dy " + to_string(c.dy) + " dx " + to_string(c.dx);
    for (auto const& p : c.parameters)
      text += " | use " + to_string(p.use) + " grad " + to_string(p.grad) + " store " +
              to_string(p.store) +
              (p.is_updated_apart() ? " update " + to_string(p.update) : std::string());
    text += '\n';
  }
  return text;
}

}  // namespace ashlar_test
