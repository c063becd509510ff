// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#include "peers.hpp"

#include <algorithm>
#include <memory>

#include "values.hpp"
#ifdef ASHLAR_BENCH_SCALAPACK
#include "../support/scalapack.hpp"
#endif
#ifdef ASHLAR_BENCH_COSTA
#include <costa/grid2grid/transform.hpp>
#include <costa/layout.hpp>
#endif

namespace ashlar_bench {
namespace {

#if defined(ASHLAR_BENCH_SCALAPACK) || defined(ASHLAR_BENCH_COSTA)
/// The input and output shards of a program of another library.
struct peer_state {
  std::vector<double> input, output;
  peer_state(ashlar::mesh const& m, ashlar::shape const& extents, ashlar::placement const& from,
             ashlar::placement const& to, double const* data)
      : input(data, data + local_box(extents, m.topology(), from, m.coordinate()).elements()),
        output(static_cast<std::size_t>(
            local_box(extents, m.topology(), to, m.coordinate()).elements())) {}
};

bool applies(block_grid const& from, block_grid const& to) {
  return from.rows() > 0 && to.rows() > 0;
}
#endif

}  // namespace

block_grid grid_of(ashlar::topology const& t, ashlar::shape const& extents,
                   ashlar::placement const& p) {
  block_grid grid;
  if (extents.rank() != 2) return {};
  std::vector<ashlar::box> boxes;
  for (int r = 0; r < t.ranks(); ++r) {
    boxes.push_back(local_box(extents, t, p, t.coordinates_of(r)));
    auto const& b = boxes.back();
    if (b.elements() != boxes[0].elements()) return {};
    grid.row_begins.push_back(static_cast<int>(b[0].begin));
    grid.column_begins.push_back(static_cast<int>(b[1].begin));
  }
  for (auto* begins : {&grid.row_begins, &grid.column_begins}) {
    std::sort(begins->begin(), begins->end());
    begins->erase(std::unique(begins->begin(), begins->end()), begins->end());
  }
  std::size_t const rows = grid.row_begins.size(), columns = grid.column_begins.size();
  if (rows * columns != boxes.size() || p.has_partial()) return {};
  grid.owners.assign(boxes.size(), -1);
  for (std::size_t r = 0; r < boxes.size(); ++r) {
    auto const index = [](std::vector<int> const& begins, std::int64_t begin) {
      return static_cast<std::size_t>(
          std::lower_bound(begins.begin(), begins.end(), static_cast<int>(begin)) - begins.begin());
    };
    std::size_t const at = index(grid.row_begins, boxes[r][0].begin) * columns +
                           index(grid.column_begins, boxes[r][1].begin);
    grid.owners[at] = static_cast<int>(r);
  }
  if (std::count(grid.owners.begin(), grid.owners.end(), -1) > 0) return {};
  grid.row_begins.push_back(static_cast<int>(extents[0]));
  grid.column_begins.push_back(static_cast<int>(extents[1]));
  return grid;
}

#ifdef ASHLAR_BENCH_SCALAPACK
std::vector<contestant> scalapack_copy(ashlar::mesh const& m, ashlar::shape const& extents,
                                       ashlar::placement const& from, ashlar::placement const& to,
                                       double const* input) {
  block_grid const before = grid_of(m.topology(), extents, from);
  block_grid const after = grid_of(m.topology(), extents, to);
  if (!applies(before, after)) return {};
  // ScaLAPACK reads our row-major matrix as a column-major matrix, and so gets the transpose:
  // ScaLAPACK's rows are our columns.
  auto const grid = [](block_grid const& g) {
    std::vector<int> ranks;
    for (int i = 0; i < g.rows(); ++i)
      for (int j = 0; j < g.columns(); ++j)
        ranks.push_back(g.owners[static_cast<std::size_t>(i * g.columns() + j)]);
    return blacs_grid(ranks, g.columns(), g.rows());
  };
  struct state : peer_state {
    using peer_state::peer_state;
    std::unique_ptr<blacs_grid> from, to, all;
    blacs_matrix a, b;
  };
  auto s = std::make_shared<state>(m, extents, from, to, input);
  s->from = std::make_unique<blacs_grid>(grid(before));
  s->to = std::make_unique<blacs_grid>(grid(after));
  s->all = std::make_unique<blacs_grid>(m.ranks(), 1);
  int const rows = static_cast<int>(extents[1]), columns = static_cast<int>(extents[0]);
  s->a = blacs_matrix(*s->from, rows, columns, before.column_begins[1], before.row_begins[1]);
  s->b = blacs_matrix(*s->to, rows, columns, after.column_begins[1], after.row_begins[1]);
  return {{"ScaLAPACK pdgemr2d", role::peer,
           [s, rows, columns] {
             Cpdgemr2d(rows, columns, s->input.data(), 1, 1, s->a.descriptor.data(),
                       s->output.data(), 1, 1, s->b.descriptor.data(), s->all->context());
           },
           [s, m, extents, to] { return holds_totals(m, extents, to, 1, s->output.data()); }}};
}
#else
std::vector<contestant> scalapack_copy(ashlar::mesh const&, ashlar::shape const&,
                                       ashlar::placement const&, ashlar::placement const&,
                                       double const*) {
  return {};
}
#endif

#ifdef ASHLAR_BENCH_COSTA
std::vector<contestant> costa_transform(ashlar::mesh const& m, ashlar::shape const& extents,
                                        ashlar::placement const& from, ashlar::placement const& to,
                                        double const* input) {
  block_grid const before = grid_of(m.topology(), extents, from);
  block_grid const after = grid_of(m.topology(), extents, to);
  if (!applies(before, after)) return {};
  struct state : peer_state {
    using peer_state::peer_state;
    std::unique_ptr<costa::grid_layout<double>> from, to;
  };
  auto s = std::make_shared<state>(m, extents, from, to, input);
  auto const layout = [&](block_grid const& g, double* data) {
    int const at = static_cast<int>(std::find(g.owners.begin(), g.owners.end(), m.rank()) -
                                    g.owners.begin());
    costa::block_t const mine{data, g.column_begins[1], at / g.columns(), at % g.columns()};
    return std::make_unique<costa::grid_layout<double>>(
        costa::custom_layout<double>(g.rows(), g.columns(), g.row_begins.data(),
                                     g.column_begins.data(), g.owners.data(), 1, &mine, 'R'));
  };
  s->from = layout(before, s->input.data());
  s->to = layout(after, s->output.data());
  return {{"COSTA", role::peer, [s] { costa::transform<double>(*s->from, *s->to, MPI_COMM_WORLD); },
           [s, m, extents, to] { return holds_totals(m, extents, to, 1, s->output.data()); }}};
}
#else
std::vector<contestant> costa_transform(ashlar::mesh const&, ashlar::shape const&,
                                        ashlar::placement const&, ashlar::placement const&,
                                        double const*) {
  return {};
}
#endif

}  // namespace ashlar_bench
