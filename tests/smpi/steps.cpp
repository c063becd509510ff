// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Runs every kind of redistribution step along every choice of axes on a flat network. The
// simulated time must agree with the prediction of the cost model within 3 %, both if latencies
// dominate (machine workstation) and if bytes dominate (machine bandwidth).
//
// run: a=4,b=4 workstation 512 512
// run: a=4,b=4,c=4 workstation 256 256
// run: a=3,b=5,c=7 workstation 210 315
// thorough: a=16,b=16 workstation 256 256
// run: a=4,b=4 bandwidth 251 509
// run: a=4,b=4,c=4 bandwidth 256 256
// run: a=3,b=5,c=7 bandwidth 210 315

#include <smpi/timed_moves.hpp>

namespace {

using namespace ashlar_test;
using ashlar::axis_list;
using ashlar::placement;

/// Returns the placement `p` with its entries for `axes` replaced by `role`: a split, broadcast or
/// partial.
placement on(placement p, axis_list const& axes, ashlar::axis_placement role) {
  for (auto const a : axes) p = role.is_split() ? p.with_split(a, role.dim) : p.with(a, role);
  return p;
}

/// Returns redistributions of every kind along each choice of axes. On the other axes the tensor is
/// either replicated or split along dim 1. If the tensor is replicated on these axes, the planner
/// may use them for a faster plan of several steps. If the tensor is split there, the planner
/// cannot use them, so that a redistribution along one axis is a single step.
std::vector<move> single_moves(ashlar::topology const& t) {
  auto const whole = placement::all_broadcast(t.axes());
  std::vector<move> all;
  for (unsigned bits = 1; bits < 1u << t.axes(); ++bits) {
    axis_list axes, others;
    for (int a = 0; a < t.axes(); ++a)
      (bits >> a & 1u ? axes : others).push_back(static_cast<signed char>(a));
    auto const beside_splits = on(whole, others, ashlar::split(1));
    for (auto const& beside : {whole, beside_splits}) {
      auto const rows = on(beside, axes, ashlar::split(0)),
                 columns = on(beside, axes, ashlar::split(1));
      auto const sums = on(beside, axes, ashlar::partial());
      for (auto const& [from, to] : {move{rows, beside}, move{columns, beside}, move{sums, rows},
                                     move{sums, columns}, move{sums, beside}, move{rows, columns}})
        all.push_back({from, to});
      if (beside == beside_splits) break;
    }
  }
  for (signed char a = 0; a < t.axes(); ++a)
    for (auto b = static_cast<signed char>(a + 1); b < t.axes(); ++b) {
      auto const first = on(whole, {a}, ashlar::split(0)),
                 second = on(whole, {b}, ashlar::split(0));
      if (t.extent(a) == t.extent(b)) {
        all.push_back({first, second});
        all.push_back({first.with_split(b, 1), second.with_split(a, 1)});
      } else {
        all.push_back({first.with_split(b, 0), second.with_split(a, 0)});
      }
    }
  return all;
}

/// Returns whether some plan consists of a single step of this kind.
bool has_alone(std::vector<timed_move> const& timed, ashlar::collective kind) {
  return std::any_of(timed.begin(), timed.end(), [kind](timed_move const& it) {
    return it.plan.steps.size() == 1 && it.plan.steps[0].kind == kind;
  });
}

int run(int argc, char** argv) {
  ashlar::mpi::environment env(argc, argv);
  arguments const given(argc, argv);
  ashlar::mesh const m(env.world(), given.topology, given.machine);
  verdict all;
  auto const timed = time_moves(m, {given.number(0), given.number(1)}, single_moves(m.topology()),
                                all);
  check_times(timed, m, all);
  using enum ashlar::collective;
  for (auto const kind : {all_gather, reduce_scatter, all_reduce, all_to_all, permute}) {
    if (kind == permute && m.topology().extent(0) != m.topology().extent(1)) continue;
    all.check(has_alone(timed, kind), std::string("no plan is one ") + to_string(kind));
  }
  return all.exit_code();
}

}  // namespace

int main(int argc, char** argv) { return run(argc, argv); }
