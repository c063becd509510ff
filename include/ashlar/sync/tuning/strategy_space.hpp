// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The space of strategies that `tune` searches, as data. A candidate is a point of the space:
//
//   for each parameter    one of its strategies (sync/strategies.hpp), and its owner if this
//                         strategy has one
//   for the whole step    how gradients are divided into buckets (step/bucket_rule.hpp)
//
// A tied parameter counts once. Layouts and numbers of micro-batches are those of the plan from
// which the space was made. Gradients are tensors, not rows.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <ashlar/machine/fingerprint.hpp>
#include <ashlar/support/fnv_hash.hpp>
#include <ashlar/sync/deal_owners.hpp>
#include <ashlar/sync/strategies.hpp>
#include <ashlar/sync/tuning/candidate.hpp>

namespace ashlar::sync {

/// A parameter of a space, with the strategies that it can have.
struct tuned_parameter {
  int element = 0, index = 0;
  shape extents;
  double bytes = 0;                                  ///< bytes of its whole gradient
  std::vector<search::parameter_choice> strategies;  ///< the first one is all-reduce
};

/// Returns a hash of the names, extents and ties of a net's parameters. Unlike search::hash, it
/// does not depend on the batch, so it is equal on clusters of different sizes.
template <int N>
constexpr std::uint64_t parameters_hash(search::basic_problem<N> const& net) {
  std::uint64_t h = empty_fnv;
  auto const mix = [&](std::uint64_t value) { h = fnv_with_bytes(h, value); };
  for (int i = 0; i < net.size(); ++i)
    for (auto const& p : net.spec(i).parameters) {
      for (char const c : p.name.text)
        if (c != '\0') mix(static_cast<std::uint64_t>(c));
      for (int d = 0; d < p.extents.rank(); ++d) mix(static_cast<std::uint64_t>(p.extents[d]));
      mix(static_cast<std::uint64_t>(p.tie));
    }
  return h;
}

class strategy_space {
 public:
  /// Makes the space of plan `chosen` of `net`, to be priced on machine `m`. The strategies of a
  /// parameter may also have one of `wires`. Throws ashlar::error if `chosen` is a plan of another
  /// net, keeps gradients in rows or has wires, or if its gradients cannot have one of `wires`.
  strategy_space(search::problem net, search::plan chosen, ashlar::machine const& m,
                 wire_list const& wires = lossless)
      : net_(std::move(net)), start_(std::move(chosen)), machine_(m) {
    check_plan_of("sync::tune", net_, start_);
    if (search::has_rows(start_))
      throw error("sync::tune", "chooses strategies of gradients as tensors, but the plan keeps "
                                "some in rows. Tune a plan without rows, and apply sync::rows to "
                                "one table of the result with sync::pinned.");
    if (search::has_wires(start_))
      throw error("sync::tune",
                  "chooses the wires of gradients itself, but the plan has some. Tune "
                  "a plan without wires, and permit them in the options.");
    detail::check_wires("sync::tune", net_, start_, wires);
    net_.interleaved = start_.interleaved;
    for (int i = 0; i < net_.size(); ++i)
      for (int k = 0; k < start_[i].parameters.size(); ++k) {
        auto const& spec = net_.spec(i).parameters[k];
        if (spec.tie == search::tie_role::later) continue;
        auto const& now = start_[i].parameters[k];
        parameters_.push_back({i, k, spec.extents,
                               double(spec.extents.elements()) * net_.accumulation_size,
                               sync::strategies(now, spec.extents, start_.mesh, wires)});
        for (auto const& s : parameters_.back().strategies) list_owners(s);
        add_to_group(static_cast<int>(parameters_.size()) - 1);
      }
  }

  search::problem const& net() const { return net_; }
  search::plan const& start() const { return start_; }
  topology const& mesh() const { return start_.mesh; }
  ashlar::machine const& machine() const { return machine_; }
  std::vector<tuned_parameter> const& parameters() const { return parameters_; }
  std::size_t size() const { return parameters_.size(); }
  /// Returns the groups of equal parameters, such as those of all blocks of a net. A group has the
  /// numbers of its parameters.
  std::vector<std::vector<int>> const& groups() const { return groups_; }

  /// Returns the ranks that can be the owner under strategy `s`. Ranks with the same coordinates on
  /// the axes that are owned under `s` count as one owner, and the first of them is listed. Expects
  /// a strategy of this space that has an owner.
  std::vector<int> const& owners(search::parameter_choice const& s) const {
    return owners_[owned_axes(s.updated_at())];
  }

  /// Returns the rank in owners(s) that counts as the same owner as `rank`, or -1 if there is none.
  int first_owner(search::parameter_choice const& s, int rank) const {
    auto const axes = owned_axes(s.updated_at());
    if (axes == 0 || rank < 0 || rank >= start_.mesh.ranks()) return -1;
    int const k = detail::owner_number(start_.mesh.coordinates_of(rank), axes, start_.mesh);
    return k < 0 ? -1 : owners_[axes][static_cast<std::size_t>(k)];
  }

  /// Returns the strategy of parameter number `k` under a candidate, with its owner.
  search::parameter_choice choice(candidate const& c, std::size_t k) const {
    auto made = parameters_[k].strategies[static_cast<std::size_t>(c.picks[k])];
    if (!made.updated_at().has_owned()) return made;
    auto const place = start_.mesh.coordinates_of(c.owners[k]);
    placement at = made.updated_at();
    for (int a = 0; a < at.axes(); ++a)
      if (at[a].is_owned()) at = at.with(a, owned(place[static_cast<std::size_t>(a)]));
    (made.is_updated_apart() ? made.update : made.store) = at;
    return made;
  }

  /// Returns the plan of a candidate of this space, with the costs of a step in which nothing
  /// overlaps. Communicates nothing.
  search::plan plan_of(candidate const& c) const {
    std::size_t next = 0;
    return changed_plan("sync::tune", net_, start_, machine_,
                        [&](search::parameter_choice& p, shape const&) { p = choice(c, next++); });
  }

  /// Returns the candidate whose plan is `chosen`. Throws ashlar::error if a parameter has a
  /// strategy that is not in the space.
  candidate candidate_of(search::plan const& chosen,
                         search::bucket_rule const& division = {}) const {
    candidate made{{}, {}, division};
    for (auto const& p : parameters_) {
      auto const& wanted = chosen[p.element].parameters[p.index];
      int pick = -1, owner = -1;
      for (std::size_t s = 0; s < p.strategies.size() && pick < 0; ++s) {
        auto const& it = p.strategies[s];
        if (it.wire == wanted.wire && without_owner(it.store) == without_owner(wanted.store) &&
            without_owner(it.updated_at()) == without_owner(wanted.updated_at()))
          pick = static_cast<int>(s);
      }
      if (pick < 0)
        throw error("sync::tune", "the plan gives a parameter a strategy that is not one of "
                                  "sync::strategies. Apply a builder first.");
      if (wanted.updated_at().has_owned())
        owner = start_.mesh.rank_of(fullest_rank(wanted.updated_at()));
      made.picks.push_back(pick);
      made.owners.push_back(owner);
    }
    return made;
  }

  /// Returns why a candidate is not one of this space, or null if it is one.
  char const* fault(candidate const& c) const {
    if (c.picks.size() != size() || c.owners.size() != size())
      return "the numbers of its strategies and owners are not the number of parameters.";
    for (std::size_t k = 0; k < size(); ++k) {
      auto const& all = parameters_[k].strategies;
      if (c.picks[k] < 0 || c.picks[k] >= static_cast<int>(all.size()))
        return "a parameter has no strategy of that number.";
      auto const& s = all[static_cast<std::size_t>(c.picks[k])];
      bool const has_owner = s.updated_at().has_owned();
      if (has_owner ? c.owners[k] < 0 || first_owner(s, c.owners[k]) != c.owners[k]
                    : c.owners[k] != -1)
        return "an owner is not a rank that can be one, or the strategy has no owner.";
    }
    return nullptr;
  }

  /// Returns a hash that distinguishes this space from those of other nets, meshes, layouts,
  /// strategies and machines, and of steps with or without overlap.
  std::uint64_t hash() const {
    std::uint64_t h = search::fingerprint(start_);
    auto const mix = [&](std::uint64_t value) { h = fnv_with(h, value); };
    mix(fingerprint(machine_));
    mix(net_.overlap);
    for (auto const& a : start_.mesh.axis) {
      mix(static_cast<std::uint64_t>(a.extent));
      mix(static_cast<std::uint64_t>(a.tier));
    }
    for (auto const& p : parameters_)
      for (auto const& s : p.strategies) {
        for (placement const& at : {s.store, s.updated_at()}) mix(code_of(at));
        for (char const c : to_string(s.wire) + ";") mix(static_cast<std::uint64_t>(c));
      }
    return h;
  }

 private:
  static placement without_owner(placement at) {
    for (int a = 0; a < at.axes(); ++a)
      if (at[a].is_owned()) at = at.with(a, owned(0));
    return at;
  }

  static unsigned owned_axes(placement const& at) {
    unsigned axes = 0;
    for (int a = 0; a < at.axes(); ++a)
      if (at[a].is_owned()) axes |= 1u << a;
    return axes;
  }

  /// Fills in the list of owners_ for the axes along which strategy `s` has an owner.
  void list_owners(search::parameter_choice const& s) {
    auto const axes = owned_axes(s.updated_at());
    auto& list = owners_[axes];
    if (axes == 0 || !list.empty()) return;
    list.assign(static_cast<std::size_t>(detail::number_of_owners(axes, start_.mesh)), -1);
    for (int r = start_.mesh.ranks(); r-- > 0;)
      if (int const k = detail::owner_number(start_.mesh.coordinates_of(r), axes, start_.mesh);
          k >= 0)
        list[static_cast<std::size_t>(k)] = r;
  }

  void add_to_group(int number) {
    auto const& p = parameters_[static_cast<std::size_t>(number)];
    for (auto& g : groups_) {
      auto const& first = parameters_[static_cast<std::size_t>(g[0])];
      if (first.extents == p.extents && first.strategies == p.strategies) {
        g.push_back(number);
        return;
      }
    }
    groups_.push_back({number});
  }

  search::problem net_;
  search::plan start_;
  ashlar::machine machine_;
  std::vector<tuned_parameter> parameters_;
  std::vector<std::vector<int>> groups_;
  // Indexed by sets of axes, in which bit a stands for axis a: the ranks that can be owners.
  std::array<std::vector<int>, 1u << max_axes> owners_;
};

}  // namespace ashlar::sync
