// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4 5 6 7 8

// Tests redistributions of random tensors between random placements on random meshes. The shards of
// the result must equal those of the naive definition of placements (support/naive_placement.hpp),
// and partial addends must be reduced exactly once. A round trip must be the identity, and the
// source must stay unchanged. The planned, recorded and counted bytes must agree
// (support/traffic_check.hpp).

#include <doctest/doctest.h>
#include <support/placement_cases.hpp>
#include <support/shared_property.hpp>
#include <support/step_census.hpp>
#include <support/traffic_check.hpp>

#include <ashlar/tensor/gather.hpp>
#include <ashlar/tensor/redistribute.hpp>

namespace ashlar_test {
namespace {

using ashlar::element_type;

struct move_case {
  mesh_case mesh;
  element_type type = element_type::f32;
  index extents;
  placement from, to;
  int seed = 0;

  friend std::ostream& operator<<(std::ostream& out, move_case const& c) {
    char const* const names[] = {"float", "double", "int32", "int64", "bfloat16"};
    return out << names[static_cast<int>(c.type)] << ' ' << to_string(to_shape(c.extents)) << ' '
               << to_string(c.from) << " -> " << to_string(c.to) << " @" << c.mesh
               << ", values of seed " << c.seed;
  }
};

rc::Gen<move_case> moves() {
  return rc::gen::exec([] {
    move_case c;
    c.mesh = *meshes();
    c.type = any_of<element_type>({element_type::f32, element_type::f64, element_type::i32,
                                   element_type::i64, element_type::bf16});
    int const rank = *between(1, 4), axes = c.mesh.topology.axes();
    c.extents = draw_extents(rank);
    auto const op = draw_reduction();
    // On four axes, both placements use the same reduction, because planning between different
    // reductions would take seconds.
    bool const same = axes == 4 || *between(0, 3) > 0;
    c.from = draw_placement(rank, axes, op, &c.mesh.topology);
    c.to = draw_placement(rank, axes, same ? op : draw_reduction(), &c.mesh.topology);
    c.seed = *between(0, 999);
    return c;
  });
}

step_census moves_tried;

template <class T, int Rank>
std::string try_move(move_case const& c) {
  auto const& m = mesh_of(c.mesh);
  std::mt19937 random(static_cast<unsigned>(c.seed));
  dense const x = random_integers(random, c.extents);
  auto const source = placed<T, Rank>(m, x, c.from, static_cast<unsigned>(c.seed));
  std::vector<T> const before(source.local_addends().begin(), source.local_addends().end());
  auto const& plan = m.plan(source.extents(), sizeof(T), c.from, c.to);
  moves_tried.add(plan, m.topology());

  traffic_check traffic(m, c.mesh.on);
  auto const there = redistribute(source, c.to);
  std::string wrong = traffic.difference(predicted(m, plan));
  if (!(there.placement() == c.to)) wrong += " the result has another placement;";
  if (auto const text = wrong_with(there, x); !text.empty()) wrong += " there: " + text + ";";

  auto const& way_back = m.plan(source.extents(), sizeof(T), c.to, c.from);
  moves_tried.add(way_back, m.topology());
  traffic.clear();
  auto const back = redistribute(there, c.from);
  wrong += traffic.difference(predicted(m, way_back));
  if (auto const text = wrong_with(back, x); !text.empty()) wrong += " and back: " + text + ";";
  if (!std::equal(before.begin(), before.end(), source.local_addends().begin(),
                  source.local_addends().end()))
    wrong += " the source has changed;";

  auto const full = to_full(there);
  if (!std::equal(full.begin(), full.end(), x.values.begin(), x.values.end(),
                  [](T a, double b) { return static_cast<double>(a) == b; }))
    wrong += " the gathered and reduced tensor is different;";
  return wrong;
}

template <class T>
std::string try_ranks(move_case const& c) {
  switch (c.extents.size()) {
    case 1: return try_move<T, 1>(c);
    case 2: return try_move<T, 2>(c);
    case 3: return try_move<T, 3>(c);
    default: return try_move<T, 4>(c);
  }
}

std::string try_any_move(move_case const& c) {
  switch (c.type) {
    case element_type::f32: return try_ranks<float>(c);
    case element_type::f64: return try_ranks<double>(c);
    case element_type::i32: return try_ranks<std::int32_t>(c);
    case element_type::i64: return try_ranks<std::int64_t>(c);
    default: return try_ranks<ashlar::bfloat16>(c);
  }
}

bool is_prime(int n) {
  for (int d = 2; d < n; ++d)
    if (n % d == 0) return false;
  return n > 1;
}

}  // namespace

TEST_CASE("redistribution of any tensor to any placement, and back") {
  if (!for_all("redistribute", 250, moves(), try_any_move)) return;
  CHECK(mpi_traffic::balanced());

  using ashlar::collective;
  if (world_rank() == 0) MESSAGE(moves_tried.text());
  for (auto const kind : {collective::slice, collective::zero_pad})
    CHECK(moves_tried.steps(kind) > 0);
  if (world_size() == 1) return;
  for (auto const kind : {collective::all_gather, collective::reduce_scatter,
                          collective::all_reduce, collective::all_to_all}) {
    CAPTURE(to_string(kind));
    CHECK(moves_tried.among_ranks(kind) > 0);
  }
  // A permute needs two axes of extent above 1. A mesh with a prime number of ranks has only one
  // such axis.
  if (!is_prime(world_size())) CHECK(moves_tried.among_ranks(collective::permute) > 0);
}

}  // namespace ashlar_test
