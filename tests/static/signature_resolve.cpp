// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Checks that signature tables can be evaluated in constant expressions: which operands need no
// communication, how the result is placed, and which operands are refused. The tests
// tests/unit/signature_* check that the tables are right.

#include <ashlar/placement/tags.hpp>
#include <ashlar/signature/training_row.hpp>

using namespace ashlar::placements;
using ashlar::resolve, ashlar::sbp, ashlar::value_of;

namespace {

template <class X, class W, class Y>
constexpr bool matmul_gives() {
  return resolve(ashlar::matmul_signatures(), nullptr, value_of<X>, value_of<W>) == value_of<Y>;
}
template <class X, class W>
constexpr int matmul_fails_on() {
  int axis = -1;
  return resolve(ashlar::matmul_signatures(), &axis, value_of<X>, value_of<W>) ? -1 : axis;
}

}  // namespace

// None of these products needs communication. The first one is the example of the README.
static_assert(matmul_gives<sbp<S<0>, B>, sbp<B, S<1>>, sbp<S<0>, S<1>>>());
static_assert(matmul_gives<sbp<S<1>, S<0>>, sbp<S<0>, B>, sbp<P, S<0>>>());
static_assert(matmul_gives<sbp<P, B>, sbp<B, S<1>>, sbp<P, S<1>>>());

// These operands are refused. The number is that of the mesh axis on which they do not fit.
static_assert(matmul_fails_on<sbp<S<0>, S<1>>, sbp<B, S<1>>>() == 1);
static_assert(matmul_fails_on<sbp<P, B>, sbp<P, B>>() == 0);
static_assert(matmul_fails_on<sbp<B, S<1>>, sbp<B, B>>() == 1);

// Both operands must have the same shard order of the contracted dimension. The result takes over
// the shard orders of the other dimensions.
static_assert(matmul_gives<sbp<S<1>, S<1>>, sbp<S<0>, S<0>>, sbp<P, P>>());
static_assert(matmul_gives<sbp<S<1, 1>, S<1, 0>>, sbp<S<0, 1>, S<0, 0>>, sbp<P, P>>());
static_assert(matmul_fails_on<sbp<S<1>, S<1>>, sbp<S<0, 1>, S<0, 0>>>() >= 0);
static_assert(matmul_gives<sbp<S<0, 1>, S<0, 0>>, sbp<B, B>, sbp<S<0, 1>, S<0, 0>>>());

// Linear maps allow a partial operand, and non-linear maps refuse it. An addition refuses a partial
// sum together with a B operand, and a partial maximum together with a partial minimum. It allows a
// partial maximum together with a B operand.
static_assert(!resolve(ashlar::nonlinear_map_signatures(2), nullptr, value_of<sbp<S<0>, P>>));
static_assert(resolve(ashlar::linear_map_signatures(2), nullptr, value_of<sbp<S<0>, P>>) ==
              value_of<sbp<S<0>, P>>);
static_assert(!resolve(ashlar::add_signatures("m", "m"), nullptr, value_of<sbp<P, B>>,
                       value_of<sbp<B, B>>));
static_assert(!resolve(ashlar::add_signatures("m", "m"), nullptr, value_of<sbp<Pmax, B>>,
                       value_of<sbp<B, Pmin>>));
static_assert(resolve(ashlar::add_signatures("m", "m"), nullptr, value_of<sbp<Pmax, S<0>>>,
                      value_of<sbp<B, S<0>>>) == value_of<sbp<Pmax, S<0>>>);

// The tables themselves are constant expressions.
static_assert(ashlar::matmul_signatures().size() == 6);
static_assert(ashlar::linear_training_rows("bsd", "df", "bsf", "f").size() > 0);
static_assert(ashlar::layer_norm_training_rows(3).size() == 4);
static_assert(ashlar::cross_entropy_training_rows(3).size() == 4);
static_assert(ashlar::embedding_training_rows(true).size() == 6);
