// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4

// Tests redistributions that name axes of the mesh. All placements of the tensor are tried, and all
// new placements of one named axis. The values and the placements of the other axes must stay, and
// the result must equal that of a redistribution that lists the placements of all axes. Wrong names
// must be refused.

#include <doctest/doctest.h>
#include <support/combinations.hpp>
#include <support/message_of.hpp>
#include <support/placed.hpp>

#include <ashlar/tensor/named_axes.hpp>

namespace ashlar_test {
namespace {

using namespace ashlar::placements;
using ashlar::reduction;
using ashlar::sbp;

std::vector<ashlar::axis_placement> const roles_of_a_matrix{ashlar::broadcast(), ashlar::split(0),
                                                            ashlar::split(1), ashlar::partial()};

}  // namespace

TEST_CASE("a named axis changes and the others stay") {
  auto const a = seeded_integers({world_size() + 1, 5});
  for (auto const& m : all_meshes())
    for (auto const& p : all_placements(2, m.axes(), {reduction::sum})) {
      auto const x = placed<float, 2>(m, a, p);
      for (int axis = 0; axis < m.axes(); ++axis)
        for (auto const& role : roles_of_a_matrix) {
          auto const y = ashlar::redistribute(x, {{m.topology().axis[axis].name, role}});
          CHECK(wrong_with(y, a) == "");
          CHECK(ashlar::same_role(y.placement()[axis], role));
          for (int b = 0; b < m.axes(); ++b)
            if (b != axis) CHECK(ashlar::same_role(y.placement()[b], p[b]));
          if (!p.is_canonical()) continue;
          CHECK(y.placement().is_canonical());
          ashlar::placement written = p;  // the new placement, stated for all axes
          written.axis[axis] = role;
          for (auto& each : written.axis) each.depth = -1;
          written.resolve_order();
          for (auto& each : written.axis)
            if (!each.is_split()) each.depth = 0;
          CHECK(y.placement() == written);
        }
    }
}

TEST_CASE("types of named axes give the same") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"one", 1}, {"gpu", world_size()}});
  auto const a = seeded_integers({world_size() + 1, 3});
  auto const d = placed<float, 2>(m, a, {ashlar::split(1), ashlar::split(0)});
  auto const x = d.as_static<sbp<S<1>, S<0>>>();
  auto const y = x | ashlar::to<on<"gpu", B>>;
  static_assert(std::same_as<decltype(y), ashlar::tensor<float, 2> const>);
  CHECK(y.placement() == ashlar::placement{ashlar::split(1), ashlar::broadcast()});
  CHECK(wrong_with(y, a) == "");

  using axes = mesh_axes<"one", "gpu">;
  auto const z = x | ashlar::to<axes, on<"gpu", S<1>>>;
  static_assert(std::same_as<decltype(z)::placement_type, sbp<S<1>, S<1>>>);
  CHECK(wrong_with(z, a) == "");
  auto const both = x | ashlar::to<axes, on<"gpu", B>, on<"one", S<0>>>;
  static_assert(std::same_as<decltype(both)::placement_type, sbp<S<0>, B>>);
  CHECK(wrong_with(both, a) == "");
  auto const none = x | ashlar::to<axes>;
  static_assert(std::same_as<decltype(none), decltype(x)>);
  CHECK(none.data() == x.data());
  auto const e = d | ashlar::to<axes, on<"gpu", S<1>>>;
  CHECK(e.placement() == z.placement());
  // If the new placement states a depth, the axis gets this depth in the shard order.
  auto const outer = x | ashlar::to<axes, on<"gpu", S<1, 0>>>;
  static_assert(std::same_as<decltype(outer)::placement_type, sbp<S<1, 1>, S<1, 0>>>);
  CHECK(wrong_with(outer, a) == "");
  auto const plan = ashlar::plan_redistribution(x, {{"gpu", ashlar::broadcast()}});
  CHECK(plan.plan.to == y.placement());
}

TEST_CASE("wrong names of axes are refused") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"one", 1}, {"gpu", world_size()}});
  auto const x = placed<float, 2>(m, seeded_integers({4, 3}),
                                  {ashlar::broadcast(), ashlar::split(0)});
  auto const unknown = message_of([&] { x | ashlar::to<on<"tp", B>>; });
  CHECK_MESSAGE(has(unknown, "\"tp\" on mesh one=1,gpu="), unknown);
  CHECK_MESSAGE(has(unknown, "the mesh has no axis of this name."), unknown);
  auto const twice = message_of([&] {
    ashlar::redistribute(x, {{"gpu", ashlar::split(0)}, {"gpu", ashlar::split(1)}});
  });
  CHECK_MESSAGE(has(twice, "an axis is named twice."), twice);
  auto const dim = message_of([&] { ashlar::redistribute(x, {{"gpu", ashlar::split(2)}}); });
  CHECK_MESSAGE(has(dim, "split of a dimension the tensor does not have."), dim);
  auto const depth = message_of([&] { ashlar::redistribute(x, {{"one", ashlar::split(0, 2)}}); });
  CHECK_MESSAGE(has(depth, "shard depths of a dimension"), depth);
  auto const far = message_of([&] { ashlar::redistribute(x, {{"one", ashlar::split(7)}}); });
  CHECK_MESSAGE(has(far, "split of a dimension the tensor does not have."), far);
  auto const other = message_of([&] { x | ashlar::to<mesh_axes<"gpu", "one">, on<"gpu", B>>; });
  CHECK_MESSAGE(has(other, "mesh_axes<...> does not have the names of mesh one=1,gpu="), other);
}

}  // namespace ashlar_test
