// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Checks the signature tables of comparisons, maxima and minima of two tensors, `where`,
// conversions, indices of extrema, cumulative sums and rows of tables against all possible rows
// (support/role_prover.hpp): each row must be valid, and no valid row may be missing.

#include <algorithm>
#include <tuple>

#include <doctest/doctest.h>
#include <support/check_table.hpp>
#include <support/naive_kernels.hpp>

#include <ashlar/signature/along_dim.hpp>
#include <ashlar/signature/rows.hpp>
#include <ashlar/signature/selection.hpp>
#include <ashlar/support/bfloat16.hpp>

using namespace ashlar_test;

namespace {

double less(double x, double y) { return x < y; }
double less_equal(double x, double y) { return x <= y; }
double equal(double x, double y) { return x == y; }
double larger(double x, double y) { return std::max(x, y); }
double smaller(double x, double y) { return std::min(x, y); }
double at_least_two(double x) { return std::max(x, 2.0); }
double at_most_minus_one(double x) { return std::min(x, -1.0); }
double same(double x) { return x; }
double rounded(double x) { return 4 * std::nearbyint(x / 4); }
double truncated(double x) { return std::trunc(x / 3); }
double wrapped(double x) { return x - 8 * std::floor((x + 4) / 8); }

operation where(std::string_view mask, std::string_view x, std::string_view y,
                std::string_view out) {
  return {lettered_operands({mask, x, y}), [=](pieces const& parts) {
            return einsum({mask, x, y}, out, parts,
                          [](auto const& v) { return v[0] > 0 ? v[1] : v[2]; });
          }};
}
double kept_or_two(double mask, double x) { return mask > 0 ? x : 2; }
double two_or_kept(double mask, double x) { return mask > 0 ? 2 : x; }

/// Returns the operation whose result is the first index of the largest element along dim `dim`.
operation index_of_largest(int rank, int dim) {
  return {[=](extent_source& extents) {
            index e;
            for (int d = 0; d < rank; ++d) e.push_back(extents(d == dim ? 1 : 0));
            return std::vector{random_integers(extents.random, e, -3, 3)};
          },
          [=](pieces const& x) -> std::optional<dense> {
            if (x[0].extent(dim) == 0) return {};
            dense const best = reduced_over(x[0], dim, reduction::max);
            dense y(best.extents, -1);
            for_each_index(x[0].extents, [&](index i) {
              double const v = x[0](i);
              int const at = i[static_cast<std::size_t>(dim)];
              i.erase(i.begin() + dim);
              if (y(i) < 0 && v == best(i)) y(i) = at;
            });
            return y;
          }};
}

/// Returns the operation whose result is the first index of the largest of all elements, counted in
/// row-major order.
operation index_of_largest_of_all(int rank) {
  return {[=](extent_source& extents) {
            index e;
            for (int d = 0; d < rank; ++d) e.push_back(extents(1));
            return std::vector{random_integers(extents.random, e, -3, 3)};
          },
          [=](pieces const& x) -> std::optional<dense> {
            auto const& all = x[0].values;
            if (all.empty()) return {};
            return dense(
                {}, static_cast<double>(std::max_element(all.begin(), all.end()) - all.begin()));
          }};
}

operation cumulative_sum(int rank, int dim) {
  return {[=](extent_source& extents) {
            return std::vector{random_integers(extents.random, dims(extents, rank))};
          },
          [=](pieces const& x) -> std::optional<dense> {
            dense y = x[0];
            for_each_index(y.extents, [&](index const& i) {
              index before = i;
              if (before[static_cast<std::size_t>(dim)]-- > 0) y(i) += y(before);
            });
            return y;
          }};
}

std::vector<dense> table_and_ids(extent_source& extents, int table_dims, int id_dims) {
  index e = dims(extents, table_dims);
  e[0] = std::max(e[0], 1);
  return {random_integers(extents.random, e),
          random_integers(extents.random, dims(extents, id_dims), 0, e[0] - 1)};
}
index rows_extents(dense const& table, dense const& ids) {
  index e = ids.extents;
  e.insert(e.end(), table.extents.begin() + 1, table.extents.end());
  return e;
}
/// x holds a shard of a table, and ids. i is an index into the rows that the ids select. Returns
/// the index of the same element in the shard, or an empty index if the shard does not have this
/// row.
index place_in_table(pieces const& x, index const& i) {
  auto const split = i.begin() + x[1].rank();
  int const row = static_cast<int>(x[1]({i.begin(), split})) - x.begin[0][0];
  if (row < 0 || row >= x[0].extent(0)) return {};
  index at{row};
  at.insert(at.end(), split, i.end());
  return at;
}

operation take_rows(int table_dims, int id_dims) {
  return {[=](extent_source& extents) { return table_and_ids(extents, table_dims, id_dims); },
          [](pieces const& x) -> std::optional<dense> {
            dense y(rows_extents(x[0], x[1]));
            for_each_index(y.extents, [&](index const& i) {
              auto const at = place_in_table(x, i);
              if (!at.empty()) y(i) = x[0](at);
            });
            return y;
          }};
}

operation add_rows(int table_dims, int id_dims) {
  return {[=](extent_source& extents) {
            auto operands = table_and_ids(extents, table_dims, id_dims);
            operands.push_back(
                random_integers(extents.random, rows_extents(operands[0], operands[1])));
            return operands;
          },
          [](pieces const& x) -> std::optional<dense> {
            if (x[2].extents != rows_extents(x[0], x[1])) return {};
            dense y = x[0];
            for_each_index(x[2].extents, [&](index const& i) {
              auto const at = place_in_table(x, i);
              if (!at.empty()) y(at) += x[2](i);
            });
            return y;
          }};
}

}  // namespace

TEST_CASE("a comparison passes splits and nothing partial") {
  for (auto const& [x, y, out] :
       {std::tuple{"m", "m", "m"}, {"mn", "mn", "mn"}, {"mn", "n", "mn"}, {"m", "n", "mn"}})
    check_table(ashlar::alike_signatures(x, y, out),
                {of_two(x, y, out, less), of_two(x, y, out, less_equal), of_two(x, y, out, equal)});
}

TEST_CASE("the larger and the smaller of two tensors pass maxima and minima, and no sums") {
  for (auto const& [x, y, out] : {std::tuple{"mn", "mn", "mn"}, {"mn", "n", "mn"}}) {
    check_table(ashlar::extremum_signatures(x, y, out, reduction::max),
                {of_two(x, y, out, larger)});
    check_table(ashlar::extremum_signatures(x, y, out, reduction::min),
                {of_two(x, y, out, smaller)});
  }
}

TEST_CASE("the larger and the smaller of a tensor and a number pass maxima and minima") {
  for (int const rank : {1, 2})
    check_table(ashlar::monotone_map_signatures(rank),
                {map(rank, at_least_two), map(rank, at_most_minus_one)});
}

TEST_CASE("where passes splits, and what is partial in both values") {
  for (char const* const all : {"m", "mn"})
    check_table(ashlar::where_signatures(all, all, all, all), {where(all, all, all, all)});
  check_table(ashlar::where_signatures("n", "mn", "mn", "mn"), {where("n", "mn", "mn", "mn")});
  check_table(ashlar::where_signatures("mn", "n", "m", "mn"), {where("mn", "n", "m", "mn")});
}

TEST_CASE("where with a number passes splits, and maxima and minima") {
  for (auto const& [mask, x] : {std::pair{"mn", "mn"}, {"n", "mn"}, {"mn", "n"}})
    check_table(ashlar::where_number_signatures(mask, x, "mn"),
                {of_two(mask, x, "mn", kept_or_two), of_two(mask, x, "mn", two_or_kept)});
}

TEST_CASE("a conversion passes sums if it is exact, and maxima if it keeps the order") {
  using ashlar::cast_kind;
  using ashlar::cast_kind_of;
  for (int const rank : {1, 2}) {
    check_table(ashlar::cast_signatures(rank, cast_kind::exact), {map(rank, same)});
    check_table(ashlar::cast_signatures(rank, cast_kind::monotone),
                {map(rank, rounded), map(rank, truncated)});
    check_table(ashlar::cast_signatures(rank, cast_kind::other), {map(rank, wrapped)});
  }
  static_assert(cast_kind_of<float, double>() == cast_kind::exact);
  static_assert(cast_kind_of<ashlar::bfloat16, float>() == cast_kind::exact);
  static_assert(cast_kind_of<double, float>() == cast_kind::monotone);
  static_assert(cast_kind_of<float, ashlar::bfloat16>() == cast_kind::monotone);
  static_assert(cast_kind_of<std::int32_t, float>() == cast_kind::monotone);
  static_assert(cast_kind_of<std::int32_t, std::int64_t>() == cast_kind::monotone);
  static_assert(cast_kind_of<std::int64_t, std::int32_t>() == cast_kind::other);
  static_assert(cast_kind_of<float, std::int32_t>() == cast_kind::other);
}

TEST_CASE("the index of an extremum needs whole lines") {
  for (int const rank : {1, 2, 3})
    for (int dim = 0; dim < rank; ++dim)
      check_table(ashlar::index_of_extremum_signatures(rank, dim), {index_of_largest(rank, dim)});
  for (int const rank : {1, 2})
    check_table(ashlar::index_of_extremum_signatures(), {index_of_largest_of_all(rank)});
}

TEST_CASE("a cumulative sum needs whole lines and passes sums") {
  for (int const rank : {1, 2, 3})
    for (int dim = 0; dim < rank; ++dim)
      check_table(ashlar::cumulative_sum_signatures(rank, dim), {cumulative_sum(rank, dim)});
}

TEST_CASE("rows that are taken from a table have the rows that hold and no others") {
  check_table(ashlar::take_rows_signatures(1, 1), {take_rows(1, 1)});
  check_table(ashlar::take_rows_signatures(2, 1), {take_rows(2, 1)});
  check_table(ashlar::take_rows_signatures(3, 2), {take_rows(3, 2)});
}

TEST_CASE(
    "rows that are added to a table have the rows that hold, except those of tables of maxima") {
  // The excluded rows are valid for the numbers of this test, but not for integers of a fixed
  // width. There, a partial maximum may contain the least integer, which means "no value". The sum
  // of the least integer and another integer would be taken for a value.
  for (auto const& [table_dims, id_dims] : {std::pair{1, 1}, {2, 1}, {2, 2}})
    check_table(ashlar::add_rows_signatures(table_dims, id_dims), {add_rows(table_dims, id_dims)},
                {"P(max),B,B -> P(max)", "P(min),B,B -> P(min)"});
}
