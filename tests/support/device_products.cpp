// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#include <support/combinations.hpp>
#include <support/dense_product.hpp>
#include <support/device_operators.hpp>
#include <support/device_results.hpp>

#include <ashlar/tensor/elementwise.hpp>
#include <ashlar/tensor/matmul.hpp>
#include <ashlar/tensor/reduce.hpp>

namespace ashlar_test {
namespace {

/// Checks products under combinations of three placements: of a, of b and of the product. Only
/// every `one_in`-th combination is checked. mnk holds the extents m, n and k. Some combinations
/// have transposed operands. In some, the product is computed in panels along m, n or k.
template <class T, int Rank>
void try_products(device_mesh const& m, index const& mnk, int one_in) {
  using ashlar::matmul;
  using ashlar::transposed;
  operator_calls calls("matmul: no plan of ");  // how the refusal of a number of panels begins
  int n = 0, turn = 0;
  int const batch = 3;
  auto const matrix = [&](int rows, int columns) {
    return Rank == 3 ? index{batch, rows, columns} : index{rows, columns};
  };
  auto const all = all_placements(Rank, m.axes(), {reduction::sum});
  for (auto const& [p, q, r] : all_combinations(all, all, all)) {
    if (n++ % one_in != 0) continue;
    ++turn;
    bool const ta = turn % 2 == 0,
               tb = turn % 3 == 0 && (!ta || (Rank == 2 && std::is_same_v<T, float>));
    dense const a = small_integers(ta ? matrix(mnk[2], mnk[0]) : matrix(mnk[0], mnk[2]), 4),
                b = small_integers(tb ? matrix(mnk[1], mnk[2]) : matrix(mnk[2], mnk[1]), 5);
    auto const expected = product(a, b, ta, tb).values;
    auto const x = put<T, Rank>(m, a, p), w = put<T, Rank>(m, b, q);
    char const letters[] = {0, 'm', 'n', 'k'};
    ashlar::matmul_options wanted{m.machine().memory};
    wanted.stream = letters[turn % 4];
    if (wanted.stream != 0) wanted.panels = 2 + turn % 3;
    calls.check(wanted.stream == 0 ? "whole products" : "products in panels", expected, 0,
                [&, &r = r] {
                  if constexpr (Rank == 2 && std::is_same_v<T, float>)
                    if (ta && tb) return matmul(transposed(x), transposed(w), r, wanted);
                  if (ta) return matmul(transposed(x), w, r, wanted);
                  if (tb) return matmul(x, transposed(w), r, wanted);
                  return matmul(x, w, r, wanted);
                });
  }
  calls.report();
}

}  // namespace

void check_products(device_mesh const& m) {
  int const one_in = m.axes() == 1 ? 1 : 61;
  try_products<float, 2>(m, {6, 8, 10}, one_in);
  try_products<float, 2>(m, {5, 3, 1}, 2 * one_in);
  try_products<float, 2>(m, {34, 40, 24}, 7 * one_in);
  try_products<float, 3>(m, {4, 3, 6}, 7 * one_in);
  try_products<ashlar::bfloat16, 2>(m, {7, 4, 5}, 3 * one_in);
}

/// Checks tensors with static placements: a product without communication, one that needs a
/// redistribution, and expressions as users write them.
void check_typed_operators(device_mesh const& m) {
  using namespace ashlar::placements;
  using ashlar::sbp;
  dense const a = small_integers({6, 8}, 6), b = small_integers({8, 10}, 7);
  auto const x = put<float, 2>(m, a, {ashlar::split(0)}).template as_static<sbp<S<0>>>();
  auto const w = put<float, 2>(m, b, {ashlar::broadcast()}).template as_static<sbp<B>>();
  auto const expected = product(a, b, false, false).values;
  auto const y = ashlar::matmul(x, w);
  CHECK(distance_to(y, expected) == 0);
  CHECK(distance_to(ashlar::matmul<sbp<B>>(x | ashlar::to<S<1>>, w), expected) == 0);
  CHECK(distance_to(gelu(y) + y, mapped(expected, [](double v) {
                      return v + ashlar::device::gelu::value(v);
                    })) < 1e-5);
  double total = 0;
  for (double const v : expected) total += v;
  CHECK(distance_to(ashlar::sum(y) | ashlar::to<B>, {total}) == 0);
  CHECK(ashlar::local_values(x).size() == static_cast<std::size_t>(x.local_elements()));
}

}  // namespace ashlar_test
