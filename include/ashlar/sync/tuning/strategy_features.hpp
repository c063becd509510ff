// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// What AutoDist's rankers see of a candidate: the features of AutoDist's reference code, which are
// made from model, cluster and strategy without any prediction of a step's seconds. PS is short for
// parameter server. Transfers inside a node count only on meshes of one node. There, "other nodes"
// in the table means other ranks.
//
// Twelve totals = {transmission, overhead, latency} x {largest server, all servers, largest group,
// all groups}:
//
//                  a server's part of a variable              a group of all-reduces
//   transmission   seconds: bytes x beta x (senders +         seconds: bytes x beta
//                  receivers). Senders are the other nodes.
//                  Receivers are the other nodes, or all of
//                  their ranks if the value is read at use
//   overhead       the number of other nodes                  1
//   latency        ranks of a node                            ranks of a node
//
// 631 features of each variable, of which few are not 0:
//
//   server 16 | group 600 | compressor 3 | kind 5 | share of the bytes, bandwidth in GB/s, ranks of
//   a node | transmission, overhead, latency, is PS
//
// Strategies here, in the paper's words:
//
//   owned                            PS on that rank
//   divided along axes between       PS in equal parts, one on each rank
//   nodes, or on one node
//   divided inside nodes only        all-reduce of a part between the nodes
//   all-reduce                       all-reduce
//
// The equal parts of a variable make one vector here, with all of its servers; in the reference
// code each part has a vector of its own. If the library decides the division into buckets, groups
// are buckets of 25 MiB.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <ashlar/sync/tuning/strategy_space.hpp>
#include <ashlar/sync/tuning/trial.hpp>

namespace ashlar::sync {

/// The places of the features of one variable.
struct variable_layout {
  static constexpr int server = 0, servers = 16;
  static constexpr int group = 16, groups = 600;
  static constexpr int compressor = 616, kind = 619, share = 624, bandwidth = 625, replicas = 626,
                       transmission = 627, overhead = 628, latency = 629, is_ps = 630;
  static constexpr int size = 631;
};

/// The places and values of the features that are not 0.
using sparse_features = std::vector<std::pair<int, double>>;

struct strategy_features {
  /// [3 * k + i]: transmission, overhead or latency (i) of the largest server, of all servers, of
  /// the largest group or of all groups (k).
  strategy_totals totals{};
  std::vector<sparse_features> variables;  ///< one for each parameter of the space
};

namespace detail {

/// Computes the features of a candidate.
class feature_fold {
 public:
  feature_fold(strategy_space const& space, candidate const& c) : space_(space), c_(c) {
    auto const& t = space.mesh();
    for (auto const& a : t.axis)
      (a.tier == link_tier::inter_node ? nodes_ : ranks_per_node_) *= a.extent;
    beta_ = nodes_ > 1 ? std::max(space.machine().inter.beta, space.machine().flow)
                       : space.machine().intra.beta;
    for (auto const& p : space.parameters()) total_ += p.bytes;
  }

  strategy_features run() {
    auto const n = space_.size();
    made_.variables.resize(n);
    number_groups();
    std::vector<totals> servers(static_cast<std::size_t>(space_.mesh().ranks()));
    std::vector<totals> groups(static_cast<std::size_t>(groups_));
    for (std::size_t k = 0; k < n; ++k) {
      auto const s = space_.choice(c_, k);
      auto const part = part_of(k, s);
      totals own{part.is_ps ? transmission(part.bytes, reads_at_use(s)) : part.bytes * beta_,
                 part.is_ps ? double(others()) : 1, double(ranks_per_node_)};
      if (!part.is_ps) {
        auto& g = groups[static_cast<std::size_t>(group_[k])];
        g.transmission += own.transmission;
        g.overhead = 1;
        g.latency = own.latency;
      } else if (c_.owners[k] >= 0) {
        servers[static_cast<std::size_t>(c_.owners[k])].add(own);
      } else {
        for (auto& server : servers) server.add(own);
      }
      describe(k, s, part.is_ps, own);
    }
    set_totals(0, servers);
    set_totals(6, groups);
    return std::move(made_);
  }

 private:
  struct totals {
    double transmission = 0, overhead = 0, latency = 0;
    void add(totals const& other) {
      transmission += other.transmission;
      overhead += other.overhead;
      latency += other.latency;
    }
  };
  struct variable_part {
    bool is_ps = false;
    double bytes = 0;  ///< bytes that one server has, or that the nodes all-reduce
  };

  static bool reads_at_use(search::parameter_choice const& s) {
    return !s.is_updated_apart() && !(s.store == stored_as_used(s));
  }
  int others() const { return nodes_ > 1 ? nodes_ - 1 : ranks_per_node_ - 1; }

  double transmission(double bytes, bool at_use) const {
    int const readers = nodes_ > 1 && at_use ? others() * ranks_per_node_ : others();
    return bytes * beta_ * double(others() + readers);
  }

  variable_part part_of(std::size_t k, search::parameter_choice const& s) const {
    auto const& t = space_.mesh();
    placement const at = s.updated_at(), whole = stored_as_used(s);
    variable_part part{at.has_owned(), space_.parameters()[k].bytes};
    for (int a = 0; a < at.axes(); ++a) {
      if (at[a] == whole[a] || at[a].is_owned()) continue;
      part.bytes /= t.extent(a);
      part.is_ps = part.is_ps || nodes_ == 1 || t.axis[a].tier == link_tier::inter_node;
    }
    return part;
  }

  /// Numbers the buckets of all-reduces. Begins with the last parameter, since its gradient is made
  /// first.
  void number_groups() {
    auto rule = c_.division;
    bool const by_number = rule.kind == search::bucketing::by_number;
    if (rule.kind == search::bucketing::best) rule.size = 25 << 20;
    group_.assign(space_.size(), 0);
    double held = 0;
    std::int64_t count = 0;
    for (std::size_t k = space_.size(); k-- > 0;) {
      auto const part = part_of(k, space_.choice(c_, k));
      if (part.is_ps) continue;
      group_[k] = groups_;
      held += part.bytes;
      ++count;
      std::int64_t const most = rule.closed_at(groups_ == 0);
      if (by_number ? count < most : held < double(most)) continue;
      ++groups_;
      held = 0;
      count = 0;
    }
    groups_ += count > 0 ? 1 : 0;
  }

  void describe(std::size_t k, search::parameter_choice const& s, bool is_ps, totals const& own) {
    using at = variable_layout;
    auto& f = made_.variables[k];
    auto const set = [&](int place, double value) {
      if (value != 0) f.emplace_back(place, value);
    };
    int const ranks = static_cast<int>(space_.mesh().ranks());
    if (is_ps && c_.owners[k] >= 0) set(at::server + c_.owners[k] % at::servers, 1);
    else if (is_ps)
      for (int r = 0; r < std::min(ranks, at::servers); ++r) set(at::server + r, 1.0 / ranks);
    if (!is_ps) set(at::group + std::min(group_[k], at::groups - 1), 1);
    set(at::compressor + (s.wire.is_exact() ? 0 : s.wire.in_blocks() ? 2 : 1), 1);
    // The reference's kinds: PS of dense and of sparse gradients, each also with local copies, and
    // all-reduce. Gradients are dense here.
    set(at::kind + (!is_ps ? 4 : reads_at_use(s) ? 0 : 2), 1);
    set(at::share, space_.parameters()[k].bytes / total_);
    set(at::bandwidth, beta_ > 0 ? 1e-9 / beta_ : 0);  // 0 stands for links that take no time
    set(at::replicas, ranks_per_node_);
    set(at::transmission, own.transmission);
    set(at::overhead, own.overhead);
    set(at::latency, own.latency);
    set(at::is_ps, is_ps ? 1 : 0);
  }

  void set_totals(std::size_t first, std::vector<totals> const& all) {
    totals most, sum;
    for (auto const& it : all) {
      if (it.transmission > most.transmission) most = it;
      sum.add(it);
    }
    std::size_t next = first;
    for (auto const& it : {most, sum})
      for (double const value : {it.transmission, it.overhead, it.latency})
        made_.totals[next++] = value;
  }

  strategy_space const& space_;
  candidate const& c_;
  int nodes_ = 1, ranks_per_node_ = 1;
  double beta_ = 0, total_ = 0;
  std::vector<int> group_;  // the bucket of each parameter that is all-reduced
  int groups_ = 0;
  strategy_features made_;
};

}  // namespace detail

/// Returns the features of a candidate of the space, with the rates of the space's machine. Source:
/// the ranker of AutoDist's reference code (branches autosync-inference and autosync_simulator).
inline strategy_features features_of(strategy_space const& space, candidate const& c) {
  return detail::feature_fold(space, c).run();
}

/// Returns the seconds that AutoDist's simulator gives a candidate before any trial: the sum of the
/// transmissions of all servers and groups.
inline double transmission_seconds(strategy_features const& f) { return f.totals[3] + f.totals[9]; }

}  // namespace ashlar::sync
