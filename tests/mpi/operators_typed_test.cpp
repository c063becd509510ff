// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 4

// Tests that each operator gives the same on typed tensors and on tensors whose placements are
// run-time values: the same placement, which the type of the typed result states, and the same
// bits. One operand may have fewer dims than the other, and may stand on either side.

#include <doctest/doctest.h>
#include <support/placed.hpp>

#include <ashlar/tensor/along_dim.hpp>
#include <ashlar/tensor/cast.hpp>
#include <ashlar/tensor/compare.hpp>
#include <ashlar/tensor/concat.hpp>
#include <ashlar/tensor/dot.hpp>
#include <ashlar/tensor/einsum.hpp>
#include <ashlar/tensor/extremum.hpp>
#include <ashlar/tensor/functions.hpp>
#include <ashlar/tensor/gather.hpp>
#include <ashlar/tensor/in_place.hpp>
#include <ashlar/tensor/map.hpp>
#include <ashlar/tensor/matmul.hpp>
#include <ashlar/tensor/matvec.hpp>
#include <ashlar/tensor/mean.hpp>
#include <ashlar/tensor/merge_axes.hpp>
#include <ashlar/tensor/pattern.hpp>
#include <ashlar/tensor/permute.hpp>
#include <ashlar/tensor/rows.hpp>
#include <ashlar/tensor/slice.hpp>
#include <ashlar/tensor/split_axis.hpp>
#include <ashlar/tensor/split_into.hpp>
#include <ashlar/tensor/where.hpp>

namespace ashlar_test {
namespace {

using namespace ashlar::placements;
using ashlar::sbp;

template <class Sbp, int Rank>
using typed = ashlar::tensor<float, Rank, Sbp>;

template <class Sbp, int Rank>
typed<Sbp, Rank> make(ashlar::mesh const& m, index const& extents, unsigned seed) {
  return placed<float, Rank>(m, seeded_integers(extents, seed), ashlar::value_of<Sbp>, seed)
      .template as_static<Sbp>();
}

/// Checks that f of typed tensors has the placement Expected in its type, and that f of the same
/// tensors with run-time placements has the same placement and values.
template <class Expected, class F, class... X>
void alike(char const* name, F const& f, X const&... x) {
  auto const types = f(x...);
  auto const values = f(x.as_dynamic()...);
  static_assert(std::same_as<typename decltype(types)::placement_type, Expected>);
  static_assert(std::same_as<typename decltype(values)::placement_type, ashlar::dynamic>);
  CHECK_MESSAGE(types.placement() == values.placement(), name);
  CHECK_MESSAGE(types.extents() == values.extents(), name);
  CHECK_MESSAGE(ashlar::to_full(types) == ashlar::to_full(values), name);
}

/// The operands of the tests, on a mesh of two axes. The names sb, sp and bb state the placements
/// on the two axes.
struct typed_operands {
  ashlar::mesh m{MPI_COMM_WORLD,
                 {{"node", world_size() % 2 == 0 ? 2 : 1},
                  {"gpu", world_size() % 2 == 0 ? world_size() / 2 : world_size()}}};
  typed<sbp<S<0>, B>, 2> sb = make<sbp<S<0>, B>, 2>(m, {5, 3}, 1);
  typed<sbp<S<0>, P>, 2> sp = make<sbp<S<0>, P>, 2>(m, {5, 3}, 2);
  typed<sbp<B, B>, 2> bb = make<sbp<B, B>, 2>(m, {5, 3}, 3);
  typed<sbp<Pmax, B>, 2> largest = make<sbp<Pmax, B>, 2>(m, {5, 3}, 4);
  typed<sbp<B, B>, 2> weight = make<sbp<B, B>, 2>(m, {3, 4}, 5);
  typed<sbp<B, B>, 1> line = make<sbp<B, B>, 1>(m, {3}, 6);
  typed<sbp<S<0>, B>, 1> rows = make<sbp<S<0>, B>, 1>(m, {5}, 7);
  typed<sbp<S<0>, B>, 3> cube = make<sbp<S<0>, B>, 3>(m, {5, 2, 3}, 8);
  typed<sbp<S<0>, P>, 3> sums = make<sbp<S<0>, P>, 3>(m, {5, 3, 2}, 9);
};

}  // namespace

TEST_CASE("typed and run-time operators of two tensors give the same") {
  typed_operands const o;
  auto const odd = 2 * o.line + 1;
  auto const add = [](auto const& x, auto const& y) { return x + y; };
  auto const multiply = [](auto const& x, auto const& y) { return x * y; };
  auto const divide = [](auto const& x, auto const& y) { return x / y; };
  alike<sbp<S<0>, P>>("x + y", add, o.sp, o.sp);
  alike<sbp<S<0>, B>>("x + line", add, o.cube, o.line);
  alike<sbp<S<0>, B>>(
      "line - x", [](auto const& x, auto const& y) { return y - x; }, o.sb, o.line);
  alike<sbp<S<0>, P>>("x * y", multiply, o.sb, o.sp);
  alike<sbp<S<0>, P>>("line * x", multiply, o.line, o.sp);
  alike<sbp<S<0>, P>>("x / line", divide, o.sp, odd);
  alike<sbp<S<0>, B>>("line / x", divide, o.line, 2 * o.sb + 1);
  auto const changed = [](auto f) {
    return [f](auto const& x, auto const&... y) {
      auto z = x.clone();
      f(z, y...);
      return z;
    };
  };
  alike<sbp<S<0>, B>>("x += line", changed([](auto& x, auto& y) { x += y; }), o.cube, o.line);
  alike<sbp<S<0>, P>>("x -= y", changed([](auto& x, auto& y) { x -= y; }), o.sp, o.sp);
  alike<sbp<S<0>, P>>("x *= line", changed([](auto& x, auto& y) { x *= y; }), o.sp, o.line);
  alike<sbp<S<0>, P>>("x /= line", changed([](auto& x, auto& y) { x /= y; }), o.sp, odd);
  alike<sbp<S<0>, B>>("x += a", changed([](auto& x) { x += 2; }), o.sb);
  alike<sbp<S<0>, P>>("x *= a", changed([](auto& x) { x *= 2; }), o.sp);

  alike<sbp<S<0>, B>>(
      "x < line", [](auto const& x, auto const& y) { return x < y; }, o.sb, o.line);
  alike<sbp<S<0>, B>>(
      "x <= line", [](auto const& x, auto const& y) { return x <= y; }, o.cube, o.line);
  alike<sbp<S<0>, B>>(
      "x > line", [](auto const& x, auto const& y) { return x > y; }, o.sb, o.line);
  alike<sbp<S<0>, B>>(
      "line >= x", [](auto const& x, auto const& y) { return y >= x; }, o.sb, o.line);
  alike<sbp<S<0>, B>>(
      "equal", [](auto const& x, auto const& y) { return equal(y, x); }, o.sb, o.line);
  auto const larger = [](auto const& x, auto const& y) { return max(x, y); };
  alike<sbp<S<0>, B>>("max(x, line)", larger, o.cube, o.line);
  alike<sbp<Pmax, B>>("max(maxima, y)", larger, o.largest, o.bb);
  alike<sbp<Pmax, B>>(
      "min(line, maxima)", [](auto const& x, auto const& y) { return min(y, x); }, o.largest,
      o.line);
  alike<sbp<S<0>, B>>(
      "where(m, x, a)", [](auto const& x) { return where(x > 0, x, -1); }, o.sb);
  alike<sbp<Pmax, B>>(
      "where(m, maxima, y)", [](auto const& m, auto const& x) { return where(m, x, m); }, o.bb,
      o.largest);
  alike<sbp<S<0>, B>>(
      "map",
      [](auto const& x, auto const& y) {
        return ashlar::map([](float a, float b, float c) { return a * b + c; }, x, y, x);
      },
      o.sb, 2 * o.sb);
  CHECK(dot(o.sb, o.sp) == dot(o.sb.as_dynamic(), o.sp.as_dynamic()));
  CHECK(norm(o.cube) == norm(o.cube.as_dynamic()));
}

TEST_CASE("typed and run-time operators of one tensor give the same") {
  typed_operands const o;
  alike<sbp<S<0>, P>>(
      "a * x / a", [](auto const& x) { return -(3 * x) / 2; }, o.sp);
  alike<sbp<S<0>, B>>(
      "a - a / x", [](auto const& x) { return 1 - 2 / (x * x + 1); }, o.sb);
  alike<sbp<S<0>, B>>(
      "functions", [](auto const& x) { return pow(exp(x), 0.5) + tanh(x) * abs(x) - relu(x); },
      o.sb);
  alike<sbp<S<0>, B>>(
      "numbers", [](auto const& x) { return max(x, 1) + min(2, x) + (x < 1) + (0 >= x); }, o.sb);
  alike<sbp<S<0>, B>>(
      "softmax", [](auto const& x) { return softmax(x); }, o.cube);
  alike<sbp<Pmax, B>>(
      "cast", [](auto const& x) { return ashlar::cast<double>(x); }, o.largest);
  alike<sbp<S<0>, P>>(
      "sum<1>", [](auto const& x) { return ashlar::sum<1>(x); }, o.sums);
  alike<sbp<P, P>>(
      "sum", [](auto const& x) { return sum(x); }, o.sums);
  alike<sbp<P, P>>(
      "mean<2, 0>", [](auto const& x) { return ashlar::mean<2, 0>(x); }, o.sums);
  alike<sbp<Pmax, B>>(
      "max<0>", [](auto const& x) { return ashlar::max<0>(x); }, o.sb);
  alike<sbp<Pmin, B>>(
      "min", [](auto const& x) { return min(x); }, o.cube);
  alike<sbp<S<0>, B>>(
      "argmax<1>", [](auto const& x) { return ashlar::argmax<1>(x); }, o.cube);
  alike<sbp<B, B>>(
      "argmin", [](auto const& x) { return argmin(x); }, o.bb);
  alike<sbp<S<0>, P>>(
      "cumulative_sum<1>", [](auto const& x) { return ashlar::cumulative_sum<1>(x); }, o.sums);
  alike<sbp<S<1>, P>>(
      "permute<2, 0, 1>", [](auto const& x) { return ashlar::permute<2, 0, 1>(x); }, o.sums);
  alike<sbp<Pmax, B>>(
      "transpose", [](auto const& x) { return transpose(x); }, o.largest);
  alike<sbp<S<0>, P>>(
      "slice<1>", [](auto const& x) { return ashlar::slice<1>(x, 1, 2); }, o.sp);
  alike<sbp<S<0>, P>>(
      "concat<1>",
      [](auto const& x) {
        auto const parts = ashlar::split_into<1>(x, {1, 2});
        return ashlar::concat<1>(parts[1], parts[0]);
      },
      o.sp);
  alike<sbp<S<0>, P>>(
      "merge_axes<1, 2>", [](auto const& x) { return ashlar::merge_axes<1, 2>(x); }, o.sums);
  alike<sbp<S<0>, B>>(
      "split_axis<1>",
      [](auto const& x) {
        return ashlar::split_axis<1>(x, {1, 3});
      },
      o.sb);
  alike<sbp<S<0>, P>>(
      "full_like", [](auto const& x) { return full_like(x, 3) - zeros_like(x); }, o.sp);
}

TEST_CASE("typed and run-time products and rows of tables give the same") {
  typed_operands const o;
  auto const product = [](auto const& x, auto const& y) { return ashlar::matmul(x, y); };
  alike<sbp<S<0>, P>>("matmul", product, o.sp, o.weight);
  alike<sbp<S<0>, B>>("matrix times vector", product, o.sb, o.line);
  alike<sbp<P, B>>("vector times matrix", product, o.rows, o.sb);
  alike<sbp<S<0>, P>>("batched matmul", product, o.cube, o.sums);
  alike<sbp<P, P>>(
      "transposed",
      [](auto const& x, auto const& y) { return ashlar::matmul(ashlar::transposed(x), y); }, o.sb,
      o.sp);
  alike<sbp<S<0>, B>>(
      "bsd,df->bsf",
      [](auto const& x, auto const& y) { return ashlar::einsum<"bsd,df->bsf">(x, y); }, o.cube,
      o.weight);
  alike<sbp<S<1>, P>>(
      "ab,c->ca", [](auto const& x, auto const& y) { return ashlar::einsum<"ab,c->ca">(x, y); },
      o.sp, o.line);
  alike<sbp<P, B>>(
      "bsd->s", [](auto const& x) { return ashlar::einsum<"bsd->s">(x); }, o.cube);
  alike<sbp<Pmax, B>>(
      "mn->nm", [](auto const& x) { return ashlar::einsum<"mn->nm">(x); }, o.largest);
  auto const ids = ashlar::cast<std::int32_t>(abs(o.rows)) * 0 + 2;
  auto const whole = ashlar::full<std::int32_t>(o.m, {4}, sbp<B, B>{}, 1);
  auto const take = [](auto const& x, auto const& i) { return ashlar::take_rows(x, i); };
  alike<sbp<S<0>, B>>("rows of split ids", take, o.bb, ids);
  alike<sbp<P, B>>("rows of a split table", take, o.sb, whole);
  alike<sbp<Pmax, B>>("rows of maxima", take, o.largest, whole);
  alike<sbp<P, P>>(
      "add_rows",
      [](auto const& x, auto const& i, auto const& y) { return ashlar::add_rows(x, i, y); },
      make<sbp<P, P>, 2>(o.m, {5, 3}, 10), ids, o.sp);
}

}  // namespace ashlar_test
