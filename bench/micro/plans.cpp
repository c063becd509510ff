// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Measures how long a rank takes to plan redistributions and matrix products. Nothing is
// communicated. N is the number of mesh axes, which have extent 2 each.
//
//   plan/lookup                  finds the plan of a redistribution in the cache of the mesh, as
//                                every repeated redistribution does
//   plan/redistribution/axes:N   plans a redistribution, without the cache
//   plan/matmul/axes:N           plans a matrix product whose operands and result have given
//                                placements
//   plan/layouts/axes:N          chooses the placements of the three matrices of a product

#include "suite.hpp"

namespace {

using namespace ashlar_bench::micro;
using ashlar::machines::workstation;

ashlar::topology axes_of_two(int axes) {
  ashlar::topology t;
  char name[] = "a";
  for (int i = 0; i < axes; ++i, ++name[0]) t.axis.push_back({name, 2});
  return t;
}

/// Returns the placement in which all axes split the dimension `dim`, in the order of the axes.
ashlar::placement split_on_all(ashlar::topology const& t, int dim) {
  auto p = ashlar::placement::all_broadcast(t.axes());
  for (int a = 0; a < t.axes(); ++a) p = p.with_split(a, dim);
  return p;
}

work look_up(team const& ranks) {
  auto const mesh = ranks.line();
  ashlar::placement const from{ashlar::split(0)}, to{ashlar::split(1)};
  return {[=] { (void)mesh.prepared({1024, 1024}, 4, from, to); }};
}

family const plans([](suite& all) {
  all.add("plan/lookup", look_up);
  for (int const axes : {1, 2, 3, 4}) {
    auto const t = axes_of_two(axes);
    std::string const last = "/axes:" + std::to_string(axes);
    auto const rows = split_on_all(t, 0), columns = split_on_all(t, 1);
    all.add("plan/redistribution" + last, [=](team const&) -> work {
      return {[=] {
        (void)ashlar::plan_redistribution({1024, 1024}, 4, rows, columns, t, workstation);
      }};
    });
    if (axes > 3) continue;
    all.add("plan/matmul" + last, [=](team const&) -> work {
      return {[=] {
        (void)ashlar::plan_matmul({1024, 1024}, rows, {1024, 1024}, rows, false, false, rows, 4, t,
                                  workstation);
      }};
    });
    all.add("plan/layouts" + last, [=](team const&) -> work {
      return {[=] { (void)ashlar::plan_matmul_layouts(1024, 1024, 1024, t, 4, workstation); }};
    });
  }
});

}  // namespace
