// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Measures the algorithms of all-gather, reduce-scatter and all-reduce on the ranks of this run,
// and writes a table of the fastest ones. A program uses the table if ASHLAR_COLLECTIVES names the
// file (comm/mpi/algorithm_file.hpp):
//
//   mpirun -n 8 bench/tune_collectives table.txt        takes about a minute
//   mpirun -n 8 bench/tune_collectives table.txt 1.5 1KiB,64KiB,16MiB
//                                                       seconds per measurement, and sizes
//   ASHLAR_COLLECTIVES=table.txt mpirun -n 8 program
//
// This benchmark measures groups of 2, 4, 8, … consecutive ranks, and of all ranks. On several
// nodes it also measures groups with one rank of each node. All groups run at once, as on a mesh.
// The pairwise algorithm is chosen unless another one is more than 5 % faster. Elements are double.
// MPI's own reductions add in an order of their own, so they are measured only for groups of two,
// where the order does not matter (algorithm_table.hpp). All transfers use messages, even between
// ranks that share memory. The time of the blocking MPI call is printed for comparison.

#include <cstdio>
#include <iostream>
#include <sstream>

#include <ashlar/comm/mpi/algorithm_file.hpp>
#include <ashlar/comm/mpi/environment.hpp>
#include <ashlar/comm/mpi/message_transfer.hpp>
#include <ashlar/support/whole_file.hpp>

#include "support/csv.hpp"
#include "support/nodes.hpp"
#include "support/sizes.hpp"
#include "support/trials.hpp"

namespace {

using namespace ashlar_bench;
using namespace ashlar::mpi;
using ashlar::collective;
using ashlar::element_type;

/// A way to divide all ranks into groups of equal size.
struct grouping {
  int members;
  spread where;
  int color, key;  // the arguments of MPI_Comm_split on this rank
};

/// Returns the groupings to measure: groups of consecutive ranks, and on several nodes groups with
/// one rank of each node. Collective.
std::vector<grouping> groupings(MPI_Comm world) {
  int rank = 0, ranks = 0;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &ranks);
  int const on_node = ranks_per_node(world, "tune_collectives");
  std::vector<grouping> all;
  for (int m = 2; m <= ranks; m = 2 * m > ranks && m < ranks ? ranks : 2 * m) {
    if (ranks % m != 0 || (on_node % m != 0 && m % on_node != 0)) continue;
    spread const where = m <= on_node   ? spread::one_node
                         : on_node == 1 ? spread::one_per_node
                                        : spread::several_per_node;
    all.push_back({m, where, rank / m, rank});
  }
  int const nodes = ranks / on_node;
  if (on_node > 1 && nodes > 1) all.push_back({nodes, spread::one_per_node, rank % on_node, rank});
  return all;
}

/// Returns the transfer that member `index` of a group of `members` ranks makes in the collective
/// `kind` on a one-dimensional array of `elements` elements.
ashlar::transfer flat_transfer(collective kind, std::int64_t elements, int members, int index) {
  ashlar::topology const t{{"x", members}};
  auto const whole = ashlar::placement::all_broadcast(1);
  auto const split = whole.with_split(0, 0), sums = whole.with(0, ashlar::partial());
  ashlar::redistribution_step const s{kind,
                                      {0},
                                      kind == collective::all_gather ? split : sums,
                                      kind == collective::reduce_scatter ? split : whole};
  return make_transfer(s, {elements}, t, t.coordinates_of(index));
}

struct measured {
  algorithm use;
  timing time;
};

template <class T>
class tuned_case {
 public:
  tuned_case(MPI_Comm comm, grouping const& g, collective kind, std::int64_t bytes)
      : comm_(comm), kind_(kind), elements_(bytes / std::int64_t(sizeof(T))) {
    int index = 0;
    MPI_Comm_rank(comm, &index);
    what_ = flat_transfer(kind, elements_, g.members, index);
    facts_ = {kind,    ashlar::element_type_of<T>, ashlar::reduction::sum, g.members, bytes,
              g.where, lies_in_runs(what_)};
    source_.assign(static_cast<std::size_t>(what_.from.elements()), T(1));
    target_.assign(static_cast<std::size_t>(what_.to.elements()), T(0));
    for (auto const& b : what_.sends) counts_.push_back(static_cast<int>(b.elements));
    for (auto const& b : what_.receives) {
      got_.push_back(static_cast<int>(b.elements));
      offsets_.push_back(static_cast<int>(b.target_offset));
    }
  }
  exchange_facts const& facts() const { return facts_; }

  /// Measures all algorithms that support this transfer. Returns their times, the pairwise
  /// algorithm first. Sets `bare` to the median time of the bare MPI call. Collective.
  std::vector<measured> run(effort const& how, double& bare) {
    std::vector<contestant> all;
    std::vector<algorithm> taken;
    for (auto const a : ashlar::mpi::all_algorithms) {
      if (!may_carry(a, facts_)) continue;
      taken.push_back(a);
      all.push_back(
          {to_string(a), role::ours, [this, a] { carry(a); }, [this] { return right(); }});
    }
    all.push_back({"MPI", role::bare, [this] { call(); }, [this] { return right(); }});
    check(MPI_COMM_WORLD, all, to_string(kind_));
    auto const times = measure(MPI_COMM_WORLD, all, how);
    std::vector<measured> result;
    for (std::size_t i = 0; i < taken.size(); ++i) result.push_back({taken[i], times[i]});
    bare = times.back().median;
    return result;
  }

 private:
  void carry(algorithm use) {
    message_transfer(what_, {source_.data(), ashlar::element_type_of<T>},
                     {target_.data(), ashlar::element_type_of<T>}, comm_, memory_, use)
        .wait();
  }
  void call() {
    auto const type = datatype_of(ashlar::element_type_of<T>);
    int const n = static_cast<int>(source_.size());
    if (kind_ == collective::all_gather)
      MPI_Allgatherv(source_.data(), n, type, target_.data(), got_.data(), offsets_.data(), type,
                     comm_);
    else if (kind_ == collective::reduce_scatter)
      MPI_Reduce_scatter(source_.data(), target_.data(), counts_.data(), type, MPI_SUM, comm_);
    else MPI_Allreduce(source_.data(), target_.data(), n, type, MPI_SUM, comm_);
  }
  bool right() {
    T const expected = facts_.reduces() ? static_cast<T>(facts_.members) : T(1);
    bool all = true;
    for (T& v : target_) {
      all = all && v == expected;
      v = T(0);
    }
    return all;
  }

  MPI_Comm comm_;
  collective kind_;
  std::int64_t elements_;
  ashlar::transfer what_;
  exchange_facts facts_;
  ashlar::arena memory_;
  std::vector<T> source_, target_;
  std::vector<int> counts_, got_, offsets_;
};

/// Returns whether a is more than 5 % faster than b in two figures: in the median, which is the
/// typical time, and in the least time, which other processes disturb least.
bool is_faster(timing const& a, timing const& b) {
  return a.median < 0.95 * b.median && a.least < 0.95 * b.least;
}

/// Measures one case and prints the times. Adds a row to the table only if the table does not
/// already choose the fastest algorithm for this case.
template <class T>
void tune(MPI_Comm comm, grouping const& g, collective kind, std::int64_t bytes, effort const& how,
          ashlar::mpi::algorithm_table& table) {
  tuned_case<T> one(comm, g, kind, bytes);
  double bare = 0;
  auto const times = one.run(how, bare);
  measured best = times[0];
  for (auto const& t : times)
    if (is_faster(t.time, best.time)) best = t;
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    std::printf("%-14s %7d %9s %-16s %10.1f", to_string(kind), g.members, size_text(bytes).c_str(),
                to_string(g.where), 1e6 * times[0].time.median);
    for (auto const a : all_algorithms) {
      if (a == algorithm::pairwise) continue;
      double ratio = 0;
      for (auto const& t : times)
        if (t.use == a) ratio = times[0].time.median / t.time.median;
      std::printf(" %8s", number(ratio, "%.2f").c_str());
    }
    std::printf(" %8.2f   %s\n", times[0].time.median / bare, to_string(best.use));
    std::fflush(stdout);
  }
  if (choose(table, one.facts()) != best.use)
    table.push_back({kind, g.members, bytes, g.where, best.use});
}

/// Prints the heading of the table, which has a column for each algorithm.
void print_head(int ranks) {
  std::printf(
      "%d ranks. Pairwise in microseconds, then how many times as fast the other algorithms and "
      "the bare MPI call are.\n%-14s %7s %9s %-16s %10s",
      ranks, "kind", "members", "bytes", "nodes", "pairwise");
  for (auto const a : all_algorithms)
    if (a != algorithm::pairwise) std::printf(" %8s", to_string(a));
  std::printf(" %8s   %s\n", "MPI", "taken");
}

void run(int argc, char** argv) {
  environment env(argc, argv);
  if (argc < 2 || argc > 4)
    throw std::runtime_error("Usage: mpirun -n RANKS tune_collectives FILE [SECONDS [SIZES]]");
  effort how;
  how.budget = argc > 2 ? std::stod(argv[2]) : 0.3;
  std::vector<std::int64_t> sizes;
  std::istringstream list(argc > 3 ? argv[3] : "1KiB,8KiB,64KiB,256KiB,1MiB,4MiB,16MiB,64MiB");
  for (std::string size; std::getline(list, size, ',');) sizes.push_back(parse_size(size));

  if (env.rank() == 0) print_head(env.size());
  algorithm_table table;
  for (auto const& g : groupings(env.world())) {
    MPI_Comm comm;
    MPI_Comm_split(env.world(), g.color, g.key, &comm);
    for (auto const kind : ashlar::mpi::tunable_collectives)
      for (auto const bytes : sizes) tune<double>(comm, g, kind, bytes, how, table);
    MPI_Comm_free(&comm);
  }
  if (env.rank() == 0) {
    ashlar::write_whole(argv[1],
                        "# Made by bench/tune_collectives on " + std::to_string(env.size()) +
                            " ranks.\n" + to_string(table),
                        "tune_collectives");
    std::cout << table.size() << " rows in " << argv[1] << '\n';
  }
}

}  // namespace

int main(int argc, char** argv) {
  run(argc, argv);
  return 0;
}
