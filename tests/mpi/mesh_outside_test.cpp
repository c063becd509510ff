// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 2 3 6

// Runs one program of operators, products, reductions, gradients and redistributions on tensors of
// a part of the mesh, on every rank. On the ranks of the part, the results are those of a mesh of
// one rank. Outside of the part, shards are empty, operators compute nothing, and nothing
// communicates. The program runs with typed placements and with placements that are known at run
// time.

#include <doctest/doctest.h>
#include <support/mpi_traffic.hpp>
#include <support/placed.hpp>

#include <ashlar/tensor/along_dim.hpp>
#include <ashlar/tensor/cast.hpp>
#include <ashlar/tensor/compare.hpp>
#include <ashlar/tensor/concat.hpp>
#include <ashlar/tensor/dot.hpp>
#include <ashlar/tensor/einsum.hpp>
#include <ashlar/tensor/elementwise.hpp>
#include <ashlar/tensor/extremum.hpp>
#include <ashlar/tensor/factory.hpp>
#include <ashlar/tensor/functions.hpp>
#include <ashlar/tensor/gather.hpp>
#include <ashlar/tensor/gradient.hpp>
#include <ashlar/tensor/in_place.hpp>
#include <ashlar/tensor/map.hpp>
#include <ashlar/tensor/matmul.hpp>
#include <ashlar/tensor/matvec.hpp>
#include <ashlar/tensor/mean.hpp>
#include <ashlar/tensor/permute.hpp>
#include <ashlar/tensor/redistribute_async.hpp>
#include <ashlar/tensor/reduce.hpp>
#include <ashlar/tensor/reshape.hpp>
#include <ashlar/tensor/rows.hpp>
#include <ashlar/tensor/scalar_operators.hpp>
#include <ashlar/tensor/slice.hpp>
#include <ashlar/tensor/split_into.hpp>
#include <ashlar/tensor/where.hpp>

namespace ashlar_test {
namespace {

using results = std::vector<std::vector<double>>;

/// Runs the program on tensors of m, whose placements along its only axis are `rows`, `columns` and
/// `copies`. Returns all results. On ranks outside m, checks that the results are empty.
template <class Rows, class Columns, class Copies>
results ran(ashlar::mesh const& m, Rows const& rows, Columns const& columns, Copies const& copies) {
  results all;
  auto const keep = [&](auto const& t) {
    if (!m.is_here()) CHECK(t.local_elements() == 0);
    auto const values = ashlar::to_full(t);
    if (!m.is_here()) CHECK(values.empty());
    all.emplace_back(values.begin(), values.end());
  };
  auto const number = [&](double n) {
    if (!m.is_here()) CHECK(n == 0);
    all.push_back({n});
  };
  auto const value = [](double scale) {
    return [scale](auto const& i) {
      double v = scale;
      for (auto const k : i) v = 0.5 * v + double(k % 5) - scale;
      return v;
    };
  };
  auto const x = ashlar::from_index<double, 2>(m, ashlar::shape{7, 6}, rows, value(1));
  auto const y = ashlar::from_index<double, 2>(m, ashlar::shape{7, 6}, rows, value(2));
  auto const w = ashlar::from_index<double, 2>(m, ashlar::shape{6, 5}, columns, value(3));
  auto const bias = ashlar::from_index<double, 1>(m, ashlar::shape{6}, copies, value(4));
  auto const vector = ashlar::from_index<double, 1>(m, ashlar::shape{7}, rows, value(5));
  auto const ids = ashlar::from_index<std::int32_t, 1>(
      m, ashlar::shape{4}, copies,
      [](auto const& i) { return static_cast<std::int32_t>(5 - i[0]); });

  keep(x + y);
  keep(x * y - 2 * x);
  keep(x + bias);
  keep(exp(-abs(x)));
  keep(map(x, [](double v) { return v * v; }));
  keep(where(x < y, x, y));
  keep(max(x, y));
  keep(ashlar::cast<float>(x));
  auto z = x.clone();
  z += y;
  z *= 3;
  keep(z);

  keep(ashlar::sum<0>(x));
  keep(ashlar::sum<1>(x));
  keep(ashlar::sum(x));
  keep(ashlar::max(x));
  keep(ashlar::min<0, 1>(x));
  keep(ashlar::sum(vector));
  keep(ashlar::mean(x));
  keep(ashlar::mean<0>(x));
  keep(ashlar::argmax<1>(x));
  keep(ashlar::argmin<0>(bias));
  keep(ashlar::argmax(redistribute(x, copies)));
  keep(ashlar::argmin(bias));
  keep(ashlar::cumulative_sum<1>(x));
  number(ashlar::dot(x, y));
  number(ashlar::norm(x));
  number(ashlar::item(redistribute(ashlar::sum(x), copies)));

  keep(ashlar::matmul(redistribute(x, copies), w));
  keep(ashlar::matmul(x, w, rows));
  keep(ashlar::matmul(redistribute(x, columns), redistribute(w, rows)));
  keep(ashlar::matmul(x, bias));
  keep(ashlar::einsum<"mk,kn->mn">(x, redistribute(w, copies)));
  keep(ashlar::einsum<"mk->k">(x));

  keep(ashlar::transpose(x));
  keep(ashlar::permute<1, 0>(x));
  keep(ashlar::reshape(redistribute(x, copies), {3, 14}));
  keep(ashlar::slice<1>(x, 1, 4));
  keep(ashlar::concat<1>(ashlar::split_into<1>(x, {2, 1, 3})));
  keep(ashlar::take_rows(redistribute(x, copies), ids));
  keep(ashlar::add_rows(redistribute(x, copies), ids,
                        ashlar::take_rows(redistribute(y, copies), ids)));

  // A sum over all dims has one element even if its operand has none. On a rank outside m, the
  // gradients of such a sum must nevertheless take no temporary memory.
  auto const whole_w = redistribute(w, copies);
  m.memory().reset_peak();
  auto const [all_sum, dx, dw] = ashlar::gradient([](auto u, auto v) {
    return sum(matmul(slice<1>(u, 1, 4), slice<0>(v, 1, 4)), 0, 1);
  })(x, whole_w);
  if (!m.is_here()) CHECK(m.memory().peak_bytes() == m.memory().bytes_in_use());
  keep(all_sum);
  keep(dx);
  keep(dw);

  keep(redistribute(x, columns));
  auto moving = redistribute_async(x, columns);
  keep(moving.wait());
  return all;
}

/// Compares the results on the part's ranks with those on a mesh of one rank, and checks that the
/// other ranks make no MPI calls.
template <class... Placements>
void compare(ashlar::mesh const& part, Placements const&... p) {
  mpi_traffic::listen();
  auto const found = ran(part, p...);
  mpi_traffic::stop();
  if (!part.is_here()) {
    CHECK(mpi_traffic::calls.empty());
    return;
  }
  auto const wanted = ran(ashlar::mesh(MPI_COMM_SELF, {{"gpu", 1}}), p...);
  REQUIRE(found.size() == wanted.size());
  for (std::size_t k = 0; k < found.size(); ++k) {
    CAPTURE(k);
    REQUIRE(found[k].size() == wanted[k].size());
    for (std::size_t i = 0; i < found[k].size(); ++i) CHECK(close(found[k][i], wanted[k][i], 1e-9));
  }
}

}  // namespace

TEST_CASE("a program of operators runs on every rank, and computes on the ranks of its part") {
  using namespace ashlar::placements;
  int const n = world_size();
  for (auto const on : {transport::shared_memory, transport::messages}) {
    auto const whole = mesh_on(on, {{"gpu", n}});
    for (auto const& ranks : {std::vector{n - 1}, std::vector{n / 2, 0}}) {
      if (ranks.size() == 2 && n == 2) continue;
      auto const part = whole.part(ranks, {{"gpu", static_cast<int>(ranks.size())}});
      compare(part, ashlar::sbp<S<0>>{}, ashlar::sbp<S<1>>{}, ashlar::sbp<B>{});
      compare(part, placement::all_broadcast(1).with_split(0, 0),
              placement::all_broadcast(1).with_split(0, 1), placement::all_broadcast(1));
    }
    CHECK(ashlar::to_full(ashlar::full<float>(whole, {n}, ashlar::sbp<S<0>>{}, 1)).size() ==
          static_cast<std::size_t>(n));
  }
}

}  // namespace ashlar_test
