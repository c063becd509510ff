// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Measures each kind of redistribution step, by a redistribution whose plan is this one step. A
// benchmark is named step/KIND/CASE/bytes:N, where the whole tensor of double has N bytes.
// bench/redistribute compares most of these steps with MPI, on the same tensors.
//
// The mesh is a line of all ranks. For permutations it is the grid of all ranks that is closest to
// a square. A redistribution is left out if the redistribution's plan on this mesh is not a single
// step of that kind. For example, there is no permutation on the grid of a prime number of ranks.

#include <algorithm>
#include <memory>
#include <optional>

#include "../redistribute/values.hpp"
#include "../support/extents.hpp"
#include "bandwidth.hpp"

namespace {

using namespace ashlar_bench;
using namespace ashlar_bench::micro;

struct move {
  char const* name;
  ashlar::collective kind;
  ashlar::topology mesh;
  ashlar::placement from, to;
};

std::vector<move> moves(int ranks) {
  using enum ashlar::collective;
  int const grid_x = grid_rows(ranks);
  ashlar::topology const line{{"x", ranks}}, grid{{"x", grid_x}, {"y", ranks / grid_x}};
  ashlar::placement const b{ashlar::broadcast()}, p{ashlar::partial()}, rows{ashlar::split(0)},
      columns{ashlar::split(1)};
  std::vector<move> all{{"dim:0", all_gather, line, rows, b},
                        {"dim:1", all_gather, line, columns, b},
                        {"dim:0", reduce_scatter, line, p, rows},
                        {"dim:1", reduce_scatter, line, p, columns},
                        {"whole", all_reduce, line, p, b},
                        {"dims:0to1", all_to_all, line, rows, columns},
                        {"dims:1to0", all_to_all, line, columns, rows},
                        {"dim:0", slice, line, b, rows},
                        {"dim:1", slice, line, b, columns},
                        {"from:S", zero_pad, line, rows, p},
                        {"from:B", zero_pad, line, b, p}};
  if (ranks > 1 && grid.extent(0) > 1) {
    all.push_back({"of:SS",
                   permute,
                   grid,
                   {ashlar::split(0), ashlar::split(1)},
                   {ashlar::split(1), ashlar::split(0)}});
    all.push_back({"of:SB",
                   permute,
                   grid,
                   {ashlar::split(0), ashlar::broadcast()},
                   {ashlar::broadcast(), ashlar::split(0)}});
  }
  return all;
}

/// The tensor x that a benchmark redistributes, and the result y.
struct moved_tensor {
  ashlar::tensor<double, 2> x;
  std::optional<ashlar::tensor<double, 2>> y;
};

work prepare(move const& m, ashlar::redistribution_plan const& plan, team const& ranks) {
  ashlar::mesh const mesh = ranks.on(m.mesh);
  int const addends = m.mesh.group_size(partial_axes(m.from));
  auto const moved = std::make_shared<moved_tensor>();
  moved->x = ashlar::empty<double, 2>(mesh, plan.extents, m.from);
  fill(mesh, plan.extents, m.from, addends, moved->x.data());
  work w;
  w.run = [moved, to = m.to] {
    moved->y.reset();
    moved->y = ashlar::redistribute(moved->x, to);
  };
  w.per_run = counts_of(plan.steps[0], plan.extents, m.mesh, sizeof(double));
  w.is_right = [moved, mesh, addends] {
    auto const everywhere = ashlar::placement::all_broadcast(mesh.axes());
    auto const whole = ashlar::redistribute(*moved->y, everywhere);
    return holds_totals(mesh, whole.extents(), everywhere, addends, whole.data());
  };
  w.in_turns = true;
  return w;
}

family const steps([](suite& all) {
  for (auto const& m : moves(all.ranks()))
    for (std::int64_t const bytes : {4 << 10, 64 << 10, 1 << 20, 16 << 20}) {
      auto const plan = ashlar::plan_redistribution(extents_of(2, bytes), sizeof(double), m.from,
                                                    m.to, m.mesh, ashlar::machines::workstation);
      if (plan.steps.size() != 1 || plan.steps[0].kind != m.kind) continue;
      std::string kind = to_string(m.kind);
      std::replace(kind.begin(), kind.end(), '-', '_');
      all.add("step/" + kind + "/" + m.name + "/bytes:" + std::to_string(bytes),
              [m, plan](team const& ranks) { return prepare(m, plan, ranks); });
    }
});

}  // namespace
