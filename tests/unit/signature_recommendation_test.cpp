// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Checks the signature tables of the layers of recommendation models against all possible rows
// (support/role_prover.hpp). Also checks each operator of their training rows: the forward pass, dx
// and the gradients of the parameters.

#include <doctest/doctest.h>
#include <support/check_table.hpp>

#include <ashlar/signature/recommendation.hpp>

using namespace ashlar_test;
using ashlar::broadcast, ashlar::partial, ashlar::split;

namespace {

int few(extent_source& extents) { return std::min(extents(), 4); }

/// Returns one of two operations on embedding tables, chosen by `result`. As in the library, an id
/// outside the rows that the rank holds gives a zero vector.
///
///   0    looks up ids [batch, tables] in values [tables, rows, d]
///   1    computes the gradient of the values from (ids, dy, values)
operation tables(int result) {
  return {[=](extent_source& extents) {
            int const b = few(extents), t = few(extents), d = few(extents), rows = extents(1);
            std::vector<dense> operands{random_integers(extents.random, {b, t}, 0, rows - 1)};
            if (result == 1) operands.push_back(random_integers(extents.random, {b, t, d}));
            operands.push_back(random_integers(extents.random, {t, rows, d}));
            return operands;
          },
          [=](pieces const& x) -> std::optional<dense> {
            auto const last = x.operand.size() - 1;
            dense const &ids = x[0], &values = x[last];
            index const e{ids.extent(0), ids.extent(1), values.extent(2)};
            if (values.extent(0) != e[1] || (result == 1 && x[1].extents != e)) return {};
            dense out(result == 0 ? e : values.extents);
            for_each_index(e, [&](index const& i) {
              int const row = static_cast<int>(ids({i[0], i[1]})) - x.begin[last][1];
              if (row < 0 || row >= values.extent(1)) return;
              if (result == 0) out(i) = values({i[1], row, i[2]});
              else out({i[1], row, i[2]}) += x[1](i);
            });
            return out;
          }};
}

/// Returns the interaction of x [batch, n, d] or its gradient, chosen by `result`. A row of y has
/// the d elements of the first of n vectors, and then the dot product of each pair of vectors. If d
/// is split, a rank has only some of the d columns, and writes them at their global positions, as
/// in the library. The operand v is a vector of the full extent d. Only its extent is read.
///
///   0    computes y from (x, v)
///   1    computes dx from (dy, x, v)
operation interacting(int result) {
  return {[=](extent_source& extents) {
            int const b = few(extents), n = std::max(2, few(extents)), d = extents();
            std::vector<dense> operands;
            if (result == 1)
              operands.push_back(random_integers(extents.random, {b, d + n * (n - 1) / 2}));
            operands.push_back(random_integers(extents.random, {b, n, d}));
            operands.push_back(dense({d}));
            return operands;
          },
          [=](pieces const& p) -> std::optional<dense> {
            auto const at_x = static_cast<std::size_t>(result);
            dense const& x = p[at_x];
            int const n = x.extent(1), kept = p[at_x + 1].extent(0), first = p.begin[at_x][2];
            index const y{x.extent(0), kept + n * (n - 1) / 2};
            if (first + x.extent(2) > kept || (result == 1 && p[0].extents != y)) return {};
            dense out(result == 0 ? y : x.extents);
            for_each_index({x.extent(0), n, n, x.extent(2)}, [&](index const& i) {
              int const b = i[0], left = i[1], right = i[2], c = i[3];
              if (left == 0 && right == 0) {
                if (result == 0) out({b, first + c}) = x({b, 0, c});
                else out({b, 0, c}) += p[0]({b, first + c});
              }
              if (right >= left) return;
              int const pair = kept + left * (left - 1) / 2 + right;
              if (result == 0) out({b, pair}) += x({b, left, c}) * x({b, right, c});
              if (result == 0) return;
              out({b, left, c}) += p[0]({b, pair}) * x({b, right, c});
              out({b, right, c}) += p[0]({b, pair}) * x({b, left, c});
            });
            return out;
          }};
}

/// Returns the valid rows in which the last operand is replicated. The operation reads only an
/// extent of this operand and none of its values, so the operand's entry is removed from the rows.
row_set without_last_operand(operation const& op, int p) {
  row_set rows;
  for (auto const& row : holding_rows(op, p)) {
    auto const arrow = row.find(" -> "), comma = row.rfind(',', arrow);
    if (row.substr(comma + 1, arrow - comma - 1) == "B")
      rows.insert(row.substr(0, comma) + row.substr(arrow));
  }
  return rows;
}

/// Returns one result of a bottom MLP, chosen by `result`: y (0), dx (1), or the gradient of a
/// weight (2, 3). Two linear layers with relu between them compute one vector from the features of
/// a sample. y has this vector in front of the n vectors of x. The last row of a weight is the
/// bias. The features are split by samples or replicated. The operands are
///
///   x           [b, n, d]
///   features    [b, k]
///   weights     of the two layers
///   dy          read only by the gradients
operation bottom_mlp(int result) {
  return {[=](extent_source& extents) {
            auto& random = extents.random;
            int const b = few(extents), n = few(extents), d = few(extents), k = 2, h = 3;
            return std::vector{random_integers(random, {b, n, d}),
                               random_integers(random, {b, k}, -3, 3),
                               random_integers(random, {k + 1, h}, -3, 3),
                               random_integers(random, {h + 1, d}, -3, 3),
                               random_integers(random, {b, n + 1, d}, -3, 3)};
          },
          [=](pieces const& p) -> std::optional<dense> {
            dense const &x = p[0], &in = p[1], &w = p[2], &v = p[3], &dy = p[4];
            int const b = x.extent(0), n = x.extent(1), d = x.extent(2), k = in.extent(1);
            int const h = w.extent(1);
            index const y{b, n + 1, d};
            if (in.extent(0) != b || w.extent(0) != k + 1 || v.extents != index{h + 1, d} ||
                dy.extents != y)
              return {};
            dense out(y), dx(x.extents), dw(w.extents), dv(v.extents);
            for_each_index(x.extents, [&](index const& i) {
              out({i[0], i[1] + 1, i[2]}) = x(i);
              dx(i) = dy({i[0], i[1] + 1, i[2]});
            });
            for (int s = 0; s < b; ++s) {
              std::vector<double> hidden;
              for (int j = 0; j < h; ++j) {
                double sum = w({k, j});
                for (int a = 0; a < k; ++a) sum += in({s, a}) * w({a, j});
                hidden.push_back(std::max(sum, 0.0));
              }
              for (int j = 0; j <= h; ++j) {
                double const value = j < h ? hidden[static_cast<std::size_t>(j)] : 1;
                double slope = 0;
                for (int c = 0; c < d; ++c) {
                  out({s, 0, c}) += value * v({j, c});
                  dv({j, c}) += value * dy({s, 0, c});
                  slope += dy({s, 0, c}) * v({j, c});
                }
                for (int a = 0; a <= k && j < h && value > 0; ++a)
                  dw({a, j}) += (a < k ? in({s, a}) : 1) * slope;
              }
            }
            return result == 0 ? out : result == 1 ? dx : result == 2 ? dw : dv;
          }};
}

}  // namespace

TEST_CASE("tables may be split by samples, tables, rows and columns, and no other row holds") {
  check_table(ashlar::embedding_tables_signatures(), {tables(0)},
              {"B,P(max) -> P(max)", "B,P(min) -> P(min)"});
}

TEST_CASE("the interaction and its gradient have the rows that hold") {
  for (int p : {2, 3}) {
    CHECK(without_last_operand(interacting(0), p) == rows_of(ashlar::interaction_signatures()));
    CHECK(without_last_operand(interacting(1), p) ==
          rows_of(ashlar::interaction_gradient_signatures()));
  }
}

TEST_CASE("each row of the tables' training table holds in all its parts") {
  auto const table = ashlar::embedding_tables_training_rows();
  CHECK(table.size() == 6);
  for (auto const& row : table) {
    check_part("y", tables(0), {row.x, row.use[0]}, row.y);
    check_part("dvalues", tables(1), {row.x, row.dy, row.use[0]}, row.grad[0]);
    CHECK(row.dx.is_broadcast());
  }
}

TEST_CASE("each row of the interaction's training table holds in all its parts") {
  auto const table = ashlar::interaction_training_rows();
  CHECK(table.size() == 4);
  for (auto const& row : table) {
    check_part("y", interacting(0), {row.x, broadcast()}, row.y);
    check_part("dx", interacting(1), {row.dy, row.x, broadcast()}, row.dx);
  }
}

TEST_CASE("each row of the bottom MLP's training table holds in all its parts") {
  auto const table = ashlar::bottom_mlp_training_rows(2);
  CHECK(table.size() == 4);
  for (auto const& row : table) {
    auto const features = row.x.is_split_of(0) ? row.x : broadcast();
    auto const zeros = row.y;  // the placement of dy, which y does not read
    check_part("y", bottom_mlp(0), {row.x, features, row.use[0], row.use[1], zeros}, row.y);
    check_part("dx", bottom_mlp(1), {row.x, features, row.use[0], row.use[1], row.dy}, row.dx);
    check_part("dw", bottom_mlp(2), {row.x, features, row.use[0], row.use[1], row.dy}, row.grad[0]);
    check_part("dv", bottom_mlp(3), {row.x, features, row.use[0], row.use[1], row.dy}, row.grad[1]);
  }
}
