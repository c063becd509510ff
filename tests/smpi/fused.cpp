// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Runs a redistribution step along all axes of a mesh whose nodes have several ranks. Compares the
// simulated time with the time that machine/link.hpp predicts. Plans seldom contain such steps. In
// such a step, some messages of a rank stay in its node. The other messages leave the node through
// a link that the ranks of the node share.
//
// run: node=4,gpu=4 gpu_cluster 64 64
// run: node=8,gpu=2 gpu_cluster 512 256
// run: node=2,gpu=8 gpu_cluster 64 64
// run: node=2,gpu=8 bandwidth 256 256
// run: node=2,x=2,gpu=4 gpu_cluster 64 64
// run: node=8,gpu=8 gpu_cluster 256 256

#include <smpi/timed_moves.hpp>

int main(int argc, char** argv) {
  using namespace ashlar_test;
  using enum ashlar::collective;
  ashlar::mpi::environment env(argc, argv);
  arguments const given(argc, argv);
  auto const& t = given.topology;
  ashlar::mesh const m(env.world(), t, given.machine);
  verdict all;

  auto const whole = ashlar::placement::all_broadcast(t.axes());
  auto rows = whole, columns = whole, sums = whole;
  ashlar::axis_list axes;
  for (signed char a = 0; a < t.axes(); ++a) {
    axes.push_back(a);
    rows = rows.with_split(a, 0);
    columns = columns.with_split(a, 1);
    sums = sums.with(a, ashlar::partial());
  }
  ashlar::redistribution_step const steps[] = {
      {all_gather, axes, rows, whole},    {all_gather, axes, columns, whole},
      {reduce_scatter, axes, sums, rows}, {reduce_scatter, axes, sums, columns},
      {all_reduce, axes, sums, whole},    {all_to_all, axes, rows, columns}};
  std::vector<ashlar::redistribution_plan> plans;
  for (auto const& s : steps) {
    ashlar::redistribution_plan plan;
    plan.extents = {given.number(0), given.number(1)};
    plan.element_size = sizeof(float);
    plan.from = s.from;
    plan.to = s.to;
    plan.steps.push_back(s);
    plans.push_back(plan);
  }
  check_times(time_plans(m, plans, all), m, all);
  return all.exit_code();
}
