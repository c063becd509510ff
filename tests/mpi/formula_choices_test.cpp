// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 4

// Tests the gradients of `where`, take_rows, concat and cumulative_sum. Values are compared with
// plain loops, and gradients with plain loops or finite differences. Also tests which operands are
// refused. Random programs with these operators are in formula_gradient_test.cpp.

#include <numeric>

#include <doctest/doctest.h>
#include <support/apart.hpp>
#include <support/message_of.hpp>
#include <support/placed.hpp>
#include <support/slope_along.hpp>

#include <ashlar/tensor/factory.hpp>
#include <ashlar/tensor/gather.hpp>
#include <ashlar/tensor/gradient.hpp>
#include <ashlar/tensor/redistribute.hpp>

namespace ashlar_test {

using namespace ashlar::placements;
using ashlar::placement, ashlar::sbp;

TEST_CASE("masks and numbers of rows may be integers, and have the gradient 0") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const table = ashlar::normal<double>(m, {5, 4}, sbp<B>{}, {.seed = 1});
  std::vector<std::int32_t> const numbers{4, 0, 4, 2, 1, 4, 0, 2};
  auto const ids = ashlar::full<std::int32_t>(m, {4, 2}, sbp<S<0>>{}, 0);
  for (std::int64_t i = 0; i < ids.local_elements(); ++i)
    ids.data()[i] = numbers[static_cast<std::size_t>(2 * ids.local_box()[0].begin + i)];
  auto const rows = [](auto t, auto i) { return 3 * take_rows(t, i); };
  auto const [y, dtable, dids] = ashlar::gradient(rows)(table, ids);
  static_assert(std::is_same_v<decltype(y), ashlar::tensor<double, 3, sbp<S<0>>> const>);
  static_assert(std::is_same_v<decltype(dtable), ashlar::tensor<double, 2, sbp<P>> const>);
  static_assert(std::is_same_v<decltype(dids), ashlar::tensor<double, 2, sbp<S<0>>> const>);
  auto const all = ashlar::to_full(table);
  std::vector<double> taken, uses(20);
  for (auto const id : numbers)
    for (std::size_t c = 0; c < 4; ++c) {
      taken.push_back(3 * all[4 * static_cast<std::size_t>(id) + c]);
      uses[4 * static_cast<std::size_t>(id) + c] += 3;
    }
  CHECK(ashlar::to_full(y) == taken);
  CHECK(ashlar::to_full(dtable | ashlar::to<B>) == uses);
  CHECK(ashlar::to_full(dids) == std::vector<double>(8));

  auto const mask = ids | ashlar::to<B>;
  auto const x = ashlar::normal<double>(m, {4, 2}, sbp<P>{}, {.seed = 2});
  auto const [z, dx, dmask] = ashlar::gradient([](auto u, auto n) { return where(n, 2 * u, -u); })(
      x, mask);
  static_assert(std::is_same_v<decltype(z), ashlar::tensor<double, 2, sbp<P>> const>);
  auto const full_x = ashlar::to_full(x);
  std::vector<double> chosen, slopes;
  for (std::size_t i = 0; i < 8; ++i) {
    slopes.push_back(numbers[i] != 0 ? 2 : -1);
    chosen.push_back(slopes.back() * full_x[i]);
  }
  CHECK(apart(chosen, ashlar::to_full(z)) < 1e-15);
  CHECK(ashlar::to_full(dx) == slopes);
  CHECK(ashlar::to_full(dmask) == std::vector<double>(8));
  auto const whole = x | ashlar::to<B>;
  auto const [s, ds, dn] = ashlar::gradient([](auto u, auto n) {
    return where(n, 1.5, where(n, 4, u) * u) + where(n, u, 2);
  })(whole, mask);
  std::vector<double> squares, steep;
  for (std::size_t i = 0; i < 8; ++i) {
    squares.push_back(numbers[i] != 0 ? 1.5 + full_x[i] : full_x[i] * full_x[i] + 2);
    steep.push_back(numbers[i] != 0 ? 1 : 2 * full_x[i]);
  }
  CHECK(apart(squares, ashlar::to_full(s)) < 1e-14);
  CHECK(apart(steep, ashlar::to_full(ds)) < 1e-14);
  CHECK(ashlar::to_full(dn) == std::vector<double>(8));

  auto const other = ashlar::full<std::int32_t>(m, {2}, sbp<B>{}, 5);
  CHECK(message_of([&] { ashlar::gradient(rows)(table, other); }) ==
        "gradient: take_rows: id 5 is no row of the table of 5 rows, which count from 0.");
  CHECK(message_of([] {
          ashlar::formulas::detail::row_numbers<float>({}, nullptr, 0, (std::int64_t(1) << 31) + 1);
        }) ==
        "formula: take_rows: the table has 2147483649 rows, but row numbers have 32 bits. Use at "
        "most 2147483648 rows.");
  auto const large = ashlar::full<std::int32_t>(m, {4}, sbp<B>{}, (1 << 24) + 1);
  auto const single = ashlar::full<float>(m, {4}, sbp<B>{}, 1.0f);
  CHECK(message_of([&] {
          ashlar::gradient([](auto u, auto v) { return u * v; })(single, large);
        }).find("gradient: the integer 16777217 of ") == 0);
}

TEST_CASE("concat and cumulative_sum of three dims: values, and finite differences") {
  auto const f = [](auto u, auto v) {
    return tanh(cumulative_sum<1>(concat<1>(u, v, 2 * u)) * cumulative_sum<2>(concat<1>(v, u, u)));
  };
  ashlar::mesh const alone(MPI_COMM_SELF, {{"gpu", 1}});
  auto const make = [](ashlar::mesh const& m, placement const& p) {
    return std::pair{ashlar::normal<double>(m, {2, 3, 4}, p, {.seed = 1}),
                     ashlar::normal<double>(m, {2, 2, 4}, p, {.seed = 2})};
  };
  auto const operands = make(alone, placement::all_broadcast(1));
  auto const &u = operands.first, &v = operands.second;
  auto const [y, du, dv] = ashlar::gradient(f)(u, v);
  auto const at = [](ashlar::tensor<double, 3> const& t, std::int64_t i, std::int64_t j,
                     std::int64_t k) {
    return t.data()[(i * t.extents()[1] + j) * t.extents()[2] + k];
  };
  for (std::int64_t i = 0; i < 2; ++i)
    for (std::int64_t j = 0; j < 8; ++j)
      for (std::int64_t k = 0; k < 4; ++k) {
        double down = 0, along = 0;
        for (std::int64_t b = 0; b <= j; ++b)
          down += b < 3 ? at(u, i, b, k) : b < 5 ? at(v, i, b - 3, k) : 2 * at(u, i, b - 5, k);
        for (std::int64_t c = 0; c <= k; ++c)
          along += j < 2 ? at(v, i, j, c) : at(u, i, (j - 2) % 3, c);
        CHECK(at(y, i, j, k) == doctest::Approx(std::tanh(down * along)).epsilon(1e-13));
      }
  auto const slopes_of = [&](ashlar::tensor<double, 3> const& moved) {
    std::vector<double> slopes;
    for (double& value : moved.local())
      slopes.push_back(slope_along(value, 1e-3, [&] {
        auto const all = ashlar::to_full(std::get<0>(ashlar::gradient(f)(u, v)));
        return std::accumulate(all.begin(), all.end(), 0.0);
      }));
    return slopes;
  };
  CHECK(apart(ashlar::to_full(du), slopes_of(u)) < 1e-7);
  CHECK(apart(ashlar::to_full(dv), slopes_of(v)) < 1e-7);

  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  for (auto const& p : {placement{ashlar::split(0)}, placement{ashlar::broadcast()}}) {
    auto const [a, b] = make(m, p);
    auto const [c, da, db] = ashlar::gradient(f)(a, b);
    CHECK(da.placement() == p);
    CHECK(apart(ashlar::to_full(y), ashlar::to_full(c)) < 1e-13);
    CHECK(apart(ashlar::to_full(du), ashlar::to_full(da)) < 1e-13);
    CHECK(apart(ashlar::to_full(dv), ashlar::to_full(db)) < 1e-13);
  }
  auto const columns = make(m, {ashlar::split(2)});
  CHECK(message_of([&] { ashlar::gradient(f)(columns.first, columns.second); }) ==
        "gradient: cumulative_sum of 2x8x4 [S(2)] needs communication along axis gpu. Redistribute "
        "the operands of the function so that each operator is local.");
  auto const joined = [](auto s, auto t) { return concat<2>(s, t); };
  auto const rows = make(m, {ashlar::split(0)});
  CHECK(message_of([&] { ashlar::gradient(joined)(rows.first, rows.second); }) ==
        "gradient: concat along dim 2 of 2x3x4 and 2x2x4: only the extents of the joined dim may "
        "differ.");
}

}  // namespace ashlar_test
