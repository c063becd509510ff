// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#include "cases.hpp"

#include <optional>

namespace ashlar_bench {
namespace {

using namespace ashlar::placements;
using ashlar::sbp;

using programs = std::vector<named_program>;
using call = mpi_call;

template <int Rank, class From, class To>
subject make_subject(ashlar::mesh const& m, ashlar::shape const& extents) {
  struct state {
    ashlar::tensor<double, Rank, ashlar::canonical<From>> x;
    ashlar::tensor<double, Rank> dynamic_x;
    std::optional<ashlar::tensor<double, Rank>> y;
    std::optional<ashlar::tensor<double, Rank, ashlar::canonical<To>>> typed_y;
    ashlar::placement to = ashlar::value_of<To>;
  };
  auto s = std::make_shared<state>();
  s->x = ashlar::empty<double, Rank>(m, extents, From{});
  s->dynamic_x = s->x.as_dynamic();
  subject made;
  made.input = s->x.data();
  made.run = [p = s.get()] {
    p->y.reset();
    p->y = ashlar::redistribute(p->dynamic_x, p->to);
  };
  made.run_typed = [p = s.get()] {
    p->typed_y.reset();
    p->typed_y = ashlar::redistribute(p->x, To{});
  };
  made.result = [p = s.get()] { return p->y->data(); };
  made.typed_result = [p = s.get()] { return p->typed_y->data(); };
  made.keep = s;
  return made;
}

template <int Rank, class From, class To>
redistribution_case make_case(std::string name, std::string group, ashlar::topology const& mesh,
                              programs beside) {
  return {std::move(name),
          std::move(group),
          mesh,
          Rank,
          ashlar::value_of<From>,
          ashlar::value_of<To>,
          std::move(beside),
          make_subject<Rank, From, To>};
}

/// Returns a stage of an MPI program: the call `c` in groups along `axes`. After the stage, the
/// tensor has the placement `to`.
bare_stage one(call c, std::vector<int> axes, std::string to) {
  return {c, std::move(axes), std::move(to)};
}

programs all_gather(std::vector<int> axes, std::string const& to) {
  return {{"MPI_Allgather", {one(call::allgather, std::move(axes), to)}}};
}
programs reduce_scatter(std::vector<int> const& axes, std::string const& to) {
  return {{"MPI_Reduce_scatter_block", {one(call::reduce_scatter_block, axes, to)}},
          {"MPI_Reduce_scatter", {one(call::reduce_scatter, axes, to)}}};
}
programs all_reduce(std::vector<int> axes, std::string const& to) {
  return {{"MPI_Allreduce", {one(call::allreduce, std::move(axes), to)}}};
}
programs all_to_all(std::vector<int> axes, std::string const& to) {
  return {{"MPI_Alltoall", {one(call::alltoall, std::move(axes), to)}}};
}
programs send_recv(std::vector<int> axes, std::string const& to) {
  return {{"MPI_Sendrecv", {one(call::sendrecv, std::move(axes), to)}}};
}

void add_steps(std::vector<redistribution_case>& list, int ranks) {
  ashlar::topology const line{{"x", ranks}};
  auto const step = "step";
  list.push_back(
      make_case<2, sbp<S<0>>, sbp<B>>("all-gather dim 0", step, line, all_gather({0}, "B")));
  list.push_back(
      make_case<2, sbp<S<1>>, sbp<B>>("all-gather dim 1", step, line, all_gather({0}, "B")));
  list.push_back(make_case<2, sbp<P>, sbp<S<0>>>("reduce-scatter dim 0", step, line,
                                                 reduce_scatter({0}, "S(0)")));
  list.push_back(make_case<2, sbp<P>, sbp<S<1>>>("reduce-scatter dim 1", step, line,
                                                 reduce_scatter({0}, "S(1)")));
  list.push_back(make_case<2, sbp<P>, sbp<B>>("all-reduce", step, line, all_reduce({0}, "B")));
  list.push_back(
      make_case<2, sbp<S<0>>, sbp<S<1>>>("all-to-all 0 to 1", step, line, all_to_all({0}, "S(1)")));
  list.push_back(
      make_case<2, sbp<S<1>>, sbp<S<0>>>("all-to-all 1 to 0", step, line, all_to_all({0}, "S(0)")));
  list.push_back(make_case<3, sbp<S<0>>, sbp<S<2>>>("all-to-all 0 to 2 of 3", step, line,
                                                    all_to_all({0}, "S(2)")));
  list.push_back(make_case<3, sbp<S<1>>, sbp<S<2>>>("all-to-all 1 to 2 of 3", step, line,
                                                    all_to_all({0}, "S(2)")));
  list.push_back(make_case<3, sbp<S<2>>, sbp<S<0>>>("all-to-all 2 to 0 of 3", step, line,
                                                    all_to_all({0}, "S(0)")));
  if (ranks == 4) {
    ashlar::topology const square{{"x", 2}, {"y", 2}};
    list.push_back(make_case<2, sbp<S<0>, B>, sbp<B, S<0>>>("permute", step, square,
                                                            send_recv({0, 1}, "B,S(0)")));
    list.push_back(make_case<2, sbp<S<0, 0>, S<0, 1>>, sbp<S<0, 1>, S<0, 0>>>(
        "permute of order", step, square, send_recv({0, 1}, "S(0,1),S(0,0)")));
  }
  if (ranks == 8) {
    ashlar::topology const cube{{"x", 2}, {"y", 2}, {"z", 2}};
    list.push_back(make_case<2, sbp<S<0>, B, B>, sbp<B, S<0>, B>>("permute", step, cube,
                                                                  send_recv({0, 1}, "B,S(0),B")));
    list.push_back(make_case<2, sbp<S<0, 0>, S<0, 1>, B>, sbp<S<0, 1>, S<0, 0>, B>>(
        "permute of order", step, cube, send_recv({0, 1}, "S(0,1),S(0,0),B")));
  }
}

/// Adds the cases of the group "plan", which are redistributions of 2-D blocks and panels on the
/// grid x by y. A communicator along both axes contains all ranks, in the order of MPI_COMM_WORLD.
void add_plans(std::vector<redistribution_case>& list, int ranks) {
  ashlar::topology const grid{{"x", 2}, {"y", ranks / 2}};
  auto const plan = "plan";
  std::vector<int> const both{0, 1};
  auto const exchange_axes = [&](std::string const& to) {
    return ranks == 4 ? send_recv(both, to) : all_to_all(both, to);
  };
  list.push_back(make_case<2, sbp<S<0>, S<1>>, sbp<B, B>>(
      "2-D blocks to whole", plan, grid,
      {{"MPI_Allgather", {one(call::allgather, both, "B,B")}},
       {"MPI_Allgather twice",
        {one(call::allgather, {1}, "S(0),B"), one(call::allgather, {0}, "B,B")}}}));
  list.push_back(make_case<2, sbp<S<0>, S<1>>, sbp<S<0>, B>>("2-D blocks to row panels", plan, grid,
                                                             all_gather({1}, "S(0),B")));
  list.push_back(make_case<2, sbp<S<0>, S<1>>, sbp<B, S<1>>>("2-D blocks to column panels", plan,
                                                             grid, all_gather({0}, "B,S(1)")));
  list.push_back(make_case<2, sbp<S<0>, S<1>>, sbp<S<0>, S<0>>>("2-D blocks to rows", plan, grid,
                                                                all_to_all({1}, "S(0),S(0)")));
  list.push_back(make_case<2, sbp<S<0>, S<0>>, sbp<S<0>, S<1>>>("rows to 2-D blocks", plan, grid,
                                                                all_to_all({1}, "S(0),S(1)")));
  list.push_back(make_case<2, sbp<S<0>, S<0>>, sbp<S<1>, S<1>>>(
      "rows to columns on two axes", plan, grid, all_to_all(both, "S(1),S(1)")));
  list.push_back(make_case<2, sbp<S<0>, S<1>>, sbp<S<1>, S<0>>>(
      "2-D blocks to blocks on exchanged axes", plan, grid, exchange_axes("S(1),S(0)")));
  list.push_back(make_case<2, sbp<S<0, 0>, S<0, 1>>, sbp<S<0, 1>, S<0, 0>>>(
      "order change", plan, grid, exchange_axes("S(0,1),S(0,0)")));
  list.push_back(make_case<2, sbp<B, S<0>>, sbp<S<0>, B>>(
      "rows along one axis to rows along the other", plan, grid,
      ranks == 4 ? send_recv(both, "S(0),B") : all_gather({1}, "S(0),B")));
  list.push_back(make_case<2, sbp<P, P>, sbp<S<0>, B>>(
      "sums to row panels", plan, grid,
      {{"MPI_Reduce_scatter + MPI_Allreduce",
        {one(call::reduce_scatter, {0}, "S(0),P"), one(call::allreduce, {1}, "S(0),B")}},
       {"MPI_Reduce_scatter + MPI_Allgather",
        {one(call::reduce_scatter, both, "S(0),S(0)"), one(call::allgather, {1}, "S(0),B")}},
       {"MPI_Reduce_scatter_block + MPI_Allgather",
        {one(call::reduce_scatter_block, both, "S(0),S(0)"),
         one(call::allgather, {1}, "S(0),B")}}}));
  list.push_back(make_case<2, sbp<P, P>, sbp<B, B>>(
      "all-reduce on two axes", plan, grid,
      {{"MPI_Allreduce", {one(call::allreduce, both, "B,B")}},
       {"MPI_Reduce_scatter + MPI_Allreduce + MPI_Allgather",
        {one(call::reduce_scatter, {1}, "P,S(0)"), one(call::allreduce, {0}, "B,S(0)"),
         one(call::allgather, {1}, "B,B")}}}));
  list.push_back(make_case<2, sbp<P, S<1>>, sbp<S<0>, S<1>>>(
      "sums of column panels to 2-D blocks", plan, grid, reduce_scatter({0}, "S(0),S(1)")));
  list.push_back(make_case<2, sbp<P, S<0>>, sbp<S<1>, B>>(
      "sums of row panels to column panels", plan, grid,
      {{"MPI_Reduce_scatter + MPI_Allgather",
        {one(call::reduce_scatter, {0}, "S(1),S(0)"), one(call::allgather, {1}, "S(1),B")}},
       {"MPI_Reduce_scatter_block + MPI_Allgather",
        {one(call::reduce_scatter_block, {0}, "S(1),S(0)"),
         one(call::allgather, {1}, "S(1),B")}}}));
}

}  // namespace

std::vector<redistribution_case> all_cases(int ranks) {
  std::vector<redistribution_case> list;
  add_steps(list, ranks);
  if (ranks == 4 || ranks == 8) add_plans(list, ranks);
  return list;
}

}  // namespace ashlar_bench
