// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#include <support/combinations.hpp>
#include <support/device_operators.hpp>
#include <support/device_results.hpp>

#include <ashlar/tensor/einsum.hpp>
#include <ashlar/tensor/matvec.hpp>
#include <ashlar/tensor/permute.hpp>

namespace ashlar_test {
namespace {

/// Checks products of a matrix and a vector on every pair of placements.
template <class T>
void check_matvec(device_mesh const& m, index const& extents) {
  dense const a = small_integers(extents, 1), x = small_integers({extents[1]}, 2),
              y = small_integers({extents[0]}, 3);
  dense ax({extents[0]}), ya({extents[1]});
  for_each_index(extents, [&](index const& i) {
    ax({i[0]}) += a(i) * x({i[1]});
    ya({i[1]}) += y({i[0]}) * a(i);
  });
  operator_calls calls;
  for (auto const& [p, q] : all_combinations(all_placements(2, m.axes(), {reduction::sum}),
                                             all_placements(1, m.axes(), {reduction::sum}))) {
    auto const matrix = put<T, 2>(m, a, p);
    auto const right = put<T, 1>(m, x, q), left = put<T, 1>(m, y, q);
    calls.check("a x", ax.values, 0, [&] { return ashlar::matmul(matrix, right); });
    calls.check("y a", ya.values, 0, [&] { return ashlar::matmul(left, matrix); });
    calls.check("a^T y", ya.values, 0,
                [&] { return ashlar::matmul(ashlar::transposed(matrix), left); });
    calls.check("x a^T", ax.values, 0,
                [&] { return ashlar::matmul(right, ashlar::transposed(matrix)); });
  }
  calls.report();
}

/// Checks einsums. Those of vectors and matrices are checked on every pair of placements.
template <class T>
void check_contractions(device_mesh const& m, int rows, int columns, int inner) {
  int const batch = 2;
  dense const x = small_integers({rows, inner}, 4), w = small_integers({columns, inner}, 5),
              u = small_integers({batch, rows, inner}, 6),
              v = small_integers({batch, inner, columns}, 7);
  dense xw({rows, columns}), outer({rows, inner}), sums({rows}), uv({columns, batch, rows});
  for_each_index({rows, columns, inner}, [&](index const& i) {
    xw({i[0], i[1]}) += x({i[0], i[2]}) * w({i[1], i[2]});
    for (int b = 0; b < batch; ++b) uv({i[1], b, i[0]}) += u({b, i[0], i[2]}) * v({b, i[2], i[1]});
  });
  dense const line = small_integers({rows}, 8), other = small_integers({inner}, 9);
  for_each_index({rows, inner}, [&](index const& i) {
    outer(i) = line({i[0]}) * other({i[1]});
    sums({i[0]}) += x(i);
  });
  operator_calls calls;
  auto const vectors = all_placements(1, m.axes(), {reduction::sum});
  auto const matrices = all_placements(2, m.axes(), {reduction::sum});
  auto const batches = all_placements(3, m.axes(), {reduction::sum});
  for (auto const& [p, q] : all_combinations(vectors, vectors))
    calls.check("m,k->mk", outer.values, 0, [&, &p = p, &q = q] {
      return ashlar::einsum<"m,k->mk">(put<T, 1>(m, line, p), put<T, 1>(m, other, q));
    });
  for (auto const& p : matrices) {
    auto const a = put<T, 2>(m, x, p);
    calls.check("mk->m", sums.values, 0, [&] { return ashlar::einsum<"mk->m">(a); });
    for (auto const& q : matrices)
      calls.check("mk,nk->mn", xw.values, 0,
                  [&] { return ashlar::einsum<"mk,nk->mn">(a, put<T, 2>(m, w, q)); });
  }
  for (auto const& p : batches) {
    auto const a = put<T, 3>(m, u, p);
    // Testing all pairs of placements of batches would take long. So the right operand has only the
    // placement of the left one, or B.
    for (auto const& q : {p, placement::all_broadcast(m.axes())})
      calls.check("bmk,bkn->nbm", uv.values, 0,
                  [&] { return ashlar::einsum<"bmk,bkn->nbm">(a, put<T, 3>(m, v, q)); });
  }
  calls.report();
}

/// Checks permutations of three dims on every placement.
template <class T>
void check_orders(device_mesh const& m, index const& extents) {
  dense const x = small_integers(extents, 10);
  dense turned({extents[2], extents[0], extents[1]}), swapped({extents[0], extents[2], extents[1]});
  for_each_index(extents, [&](index const& i) {
    turned({i[2], i[0], i[1]}) = swapped({i[0], i[2], i[1]}) = x(i);
  });
  operator_calls calls;
  for (auto const& p : all_placements(3, m.axes(), {reduction::sum})) {
    auto const on = put<T, 3>(m, x, p);
    calls.check("permute<2, 0, 1>", turned.values, 0, [&] { return ashlar::permute<2, 0, 1>(on); });
    calls.check("transpose<1, 2>", swapped.values, 0, [&] { return ashlar::transpose<1, 2>(on); });
    calls.check("bmk->kbm", turned.values, 0, [&] { return ashlar::einsum<"bmk->kbm">(on); });
  }
  calls.report();
}

}  // namespace

void check_letters(device_mesh const& m) {
  check_matvec<float>(m, {5, 6});
  check_matvec<ashlar::bfloat16>(m, {3, 4});
  check_contractions<float>(m, 3, 4, 5);
  check_contractions<ashlar::bfloat16>(m, 2, 3, 4);
  check_orders<float>(m, {3, 2, 5});
  check_orders<ashlar::bfloat16>(m, {2, 5, 4});
}

}  // namespace ashlar_test
