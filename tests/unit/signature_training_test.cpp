// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Checks that every row is valid in the training tables of linear layers, maps, transposes, layer
// norm, attention, embedding and cross-entropy. The forward operator, each backward operator and
// the gradients of the parameters are checked separately with naive kernels. For the linear layer,
// no valid row may be missing from the table.

#include <doctest/doctest.h>
#include <support/combinations.hpp>
#include <support/naive_cross_entropy.hpp>

#include <ashlar/signature/training_row.hpp>

using namespace ashlar_test;
using ashlar::broadcast, ashlar::partial, ashlar::split;

namespace {

std::string text(ashlar::training_row const& r) {
  std::string t = "x " + ashlar::to_string(r.x) + " y " + ashlar::to_string(r.y) + " dy " +
                  ashlar::to_string(r.dy) + " dx " + ashlar::to_string(r.dx);
  for (int i = 0; i < r.use.size(); ++i)
    t += " use " + ashlar::to_string(r.use[i]) + " grad " + ashlar::to_string(r.grad[i]);
  return t;
}

void check_part(char const* part, ashlar::training_row const& row, operation const& op,
                std::vector<axis_placement> const& in, axis_placement const& out) {
  INFO(text(row));
  for (int p : {2, 3}) CHECK_MESSAGE(proves(op, p, in, out), part, " at p = ", p);
}

void check_distinct(ashlar::training_table const& table) {
  std::set<std::string> seen;
  for (auto const& row : table) {
    CHECK_MESSAGE(seen.insert(text(row)).second, "twice: ", text(row));
    for (auto const& use : row.use) CHECK((!use.is_partial() || use.op == reduction::sum));
  }
}

double scaled(double x) { return -3 * x; }
double times_slope(double dy, double x) { return dy * 2 * x; }
double times_step(double dy, double x) { return x > 0 ? dy : 0; }

}  // namespace

TEST_CASE("each row of a linear layer's training table holds in all its parts") {
  struct {
    std::string_view x, w, y;
  } const forms[] = {{"bsd", "df", "bsf"}, {"mk", "kn", "mn"}, {"mk", "nk", "mn"}};
  for (auto const& f : forms) {
    std::string_view const bias = f.y.substr(f.y.size() - 1);
    auto const table = ashlar::linear_training_rows(f.x, f.w, f.y, bias);
    check_distinct(table);
    for (auto const& row : table) {
      check_part("y", row, contraction(f.x, f.w, f.y), {row.x, row.use[0]}, row.y);
      check_part("y + bias", row, binary(f.y, bias, sum), {row.y, row.use[1]}, row.y);
      check_part("dx", row, contraction(f.y, f.w, f.x), {row.dy, row.use[0]}, row.dx);
      check_part("dw", row, contraction(f.x, f.y, f.w), {row.x, row.dy}, row.grad[0]);
      check_part("dbias", row, sum_to(f.y, bias), {row.dy}, row.grad[1]);
      CHECK(is_gradient_of(row.dy, row.y));
      CHECK(is_gradient_of(row.dx, row.x));
      CHECK(is_gradient_of(row.grad[0], row.use[0]));
      CHECK(is_gradient_of(row.grad[1], row.use[1]));
    }
  }
}

TEST_CASE("a linear layer's training table has every row of the join") {
  struct {
    std::string_view x, w, y;
  } const forms[] = {{"bsd", "df", "bsf"}, {"mk", "kn", "mn"}};
  for (auto const& f : forms) {
    auto const y = holding_rows(contraction(f.x, f.w, f.y), 3);
    auto const dx = holding_rows(contraction(f.y, f.w, f.x), 3);
    auto const dw = holding_rows(contraction(f.x, f.y, f.w), 3);
    auto role = [](std::string_view letters) {
      std::vector<axis_placement> all;
      for (auto const& p : all_placements(static_cast<int>(letters.size()), 1)) all.push_back(p[0]);
      return all;
    };
    row_set joined;
    auto const of_x = role(f.x), of_w = role(f.w), of_y = role(f.y);
    for (auto const& [x, w, out, d_out, d_in, d_w] :
         all_combinations(of_x, of_w, of_y, of_y, of_x, of_w))
      if (!w.is_partial() && y.contains(row_text({x, w}, out)) &&
          dx.contains(row_text({d_out, w}, d_in)) && dw.contains(row_text({x, d_out}, d_w)) &&
          is_gradient_of(d_out, out) && is_gradient_of(d_in, x) && is_gradient_of(d_w, w))
        joined.insert(text({x, out, d_out, d_in, {w}, {d_w}}));
    row_set claimed;
    for (auto const& row : ashlar::linear_training_rows(f.x, f.w, f.y, ""))
      claimed.insert(text(row));
    CHECK(claimed == joined);
    // The table has the same number of rows with a bias.
    CHECK(ashlar::linear_training_rows(f.x, f.w, f.y, f.y.substr(f.y.size() - 1)).size() ==
          static_cast<int>(joined.size()));
  }
}

TEST_CASE("each row of a non-linear map's training table holds in all its parts") {
  for (std::string_view letters : {"m", "bsf"}) {
    int const rank = static_cast<int>(letters.size());
    auto const table = ashlar::nonlinear_training_rows(letters);
    check_distinct(table);
    CHECK(table.size() == rank + 2);  // a split of each dim, and x = B with dy = B or P
    for (auto const& row : table) {
      check_part("square", row, map(rank, square), {row.x}, row.y);
      check_part("relu", row, map(rank, relu), {row.x}, row.y);
      check_part("d square", row, binary(letters, letters, times_slope), {row.dy, row.x}, row.dx);
      check_part("d relu", row, binary(letters, letters, times_step), {row.dy, row.x}, row.dx);
      CHECK(is_gradient_of(row.dy, row.y));
      CHECK(is_gradient_of(row.dx, row.x));
    }
  }
}

TEST_CASE("each row of an independent map's training table holds in all its parts") {
  for (int rank : {1, 3}) {
    auto const table = ashlar::independent_training_rows(rank);
    check_distinct(table);
    CHECK(table.size() == rank + 4);  // splits of each dim, and 2 x 2 rows: B or P for y and for dx
    for (auto const& row : table) {
      check_part("y", row, map(rank, scaled), {row.x}, row.y);
      check_part("dx", row, map(rank, scaled), {row.dy}, row.dx);
      CHECK(is_gradient_of(row.dy, row.y));
      CHECK(is_gradient_of(row.dx, row.x));
    }
  }
}

TEST_CASE("each row of a transpose's training table holds in all its parts") {
  auto const table = ashlar::transpose_training_rows({0, 2, 3, 1});
  check_distinct(table);
  CHECK(table.size() == 8);  // splits of each dim, and 2 x 2 rows: B or P for y and for dx
  for (auto const& row : table) {
    check_part("y", row, transpose({0, 2, 3, 1}), {row.x}, row.y);
    check_part("dx", row, transpose({0, 3, 1, 2}), {row.dy}, row.dx);
    CHECK(is_gradient_of(row.dy, row.y));
    CHECK(is_gradient_of(row.dx, row.x));
  }
}

TEST_CASE("each row of layer norm's training table holds in all its parts") {
  for (int rank : {1, 2, 3}) {
    auto const table = ashlar::layer_norm_training_rows(rank);
    check_distinct(table);
    CHECK(table.size() == rank + 1);
    for (auto const& row : table) {
      check_part("y", row, layer_norm(rank, 0), {row.x, row.use[0], row.use[1]}, row.y);
      check_part("dx", row, layer_norm(rank, 1), {row.x, row.use[0], row.dy}, row.dx);
      check_part("dgain", row, layer_norm(rank, 2), {row.x, row.use[0], row.dy}, row.grad[0]);
      check_part("dbias", row, layer_norm(rank, 3), {row.x, row.use[0], row.dy}, row.grad[1]);
    }
  }
}

TEST_CASE("each row of attention's training table holds in all its parts") {
  auto const table = ashlar::attention_training_rows();
  check_distinct(table);
  CHECK(table.size() == 4);
  for (auto const& row : table) {
    check_part("y", row, attention(0), {row.x}, row.y);
    check_part("dx", row, attention(1), {row.x, row.dy}, row.dx);
    check_part("dx, not causal", row, attention(1, false), {row.x, row.dy}, row.dx);
  }
}

namespace {

/// Returns the gradient of an embedding table from ids [b, s] and dy [b, s, d]. The third operand
/// is the table. A rank reads only the extents of its shard of the table, and the index of the
/// first row of this shard.
operation embedding_gradient() {
  return {[](extent_source& extents) {
            int const b = extents(), s = extents(), d = extents(), vocabulary = extents(1);
            return std::vector{random_integers(extents.random, {b, s}, 0, vocabulary - 1),
                               random_integers(extents.random, {b, s, d}), dense({vocabulary, d})};
          },
          [](pieces const& x) -> std::optional<dense> {
            if (x[1].extents != index{x[0].extent(0), x[0].extent(1), x[2].extent(1)}) return {};
            dense gradient(x[2].extents);
            for_each_index(x[1].extents, [&](index const& i) {
              int const row = static_cast<int>(x[0]({i[0], i[1]})) - x.begin[2][0];
              if (row >= 0 && row < x[2].extent(0)) gradient({row, i[2]}) += x[1](i);
            });
            return gradient;
          }};
}

}  // namespace

TEST_CASE("each row of embedding's training table holds in all its parts") {
  for (bool positions : {false, true}) {
    auto const table = ashlar::embedding_training_rows(positions);
    check_distinct(table);
    CHECK(table.size() == 6);
    for (auto const& row : table) {
      check_part("y", row, embedding(2), {row.x, row.use[0]}, row.y);
      check_part("dtable", row, embedding_gradient(), {row.x, row.dy, row.use[0]}, row.grad[0]);
      CHECK(is_gradient_of(row.dy, row.y));
      CHECK(is_gradient_of(row.grad[0], row.use[0]));
      CHECK(row.dx.is_broadcast());
      if (!positions) continue;
      // The next two checks hold only if there are as many positions as elements of a sequence, as
      // here. Otherwise positions and sequences would be split at different places.
      check_part("y + positions", row, binary("bsd", "sd", sum), {row.y, row.use[1]}, row.y);
      check_part("dpositions", row, sum_to("bsd", "sd"), {row.dy}, row.grad[1]);
      CHECK(is_gradient_of(row.grad[1], row.use[1]));
    }
  }
}

namespace {

/// Returns the gradient of the logits from (logits, statistics, targets). The statistic of a row is
/// log(sum of exp(logit)).
operation gradient_from_statistics(int rank) {
  return {[=](extent_source& extents) {
            auto operands = logits_and_targets(rank)(extents);
            dense statistics = operands[1];
            for_each_row(operands[0], [&](index const& row, auto at) {
              double total = 0;
              for (int k = 0; k < operands[0].extents.back(); ++k)
                total += std::exp(operands[0](at(k)));
              statistics(row) = std::log(total);
            });
            return std::vector{operands[0], statistics, operands[1]};
          },
          [](pieces const& x) -> std::optional<dense> {
            auto const row_extents = rows_of_logits(x[0]);
            if (x[1].extents != row_extents || x[2].extents != row_extents) return {};
            dense gradient(x[0].extents);
            for_each_row(x[0], [&](index const& row, auto at) {
              for (int k = 0; k < x[0].extents.back(); ++k)
                gradient(at(k)) = std::exp(x[0](at(k)) - x[1](row)) -
                                  (k + x.begin[0].back() == static_cast<int>(x[2](row)));
            });
            return gradient;
          },
          1e-9};
}

}  // namespace

TEST_CASE("each row of cross-entropy's training table holds in all its parts") {
  for (int rank : {2, 3}) {
    auto const table = ashlar::cross_entropy_training_rows(rank);
    check_distinct(table);
    CHECK(table.size() == rank + 1);
    for (auto const& row : table) {
      bool const by_class = row.x.is_split_of(rank - 1);
      auto const targets = by_class ? broadcast() : row.x;
      REQUIRE(row.stat.size() == 2);
      auto const [maxima, sums] = std::pair{row.stat[0], row.stat[1]};
      // Checks the statistics that each rank computes, which have placement `from`, and the
      // operators that read them after their redistribution to `to`.
      check_part("maxima", row, reduce(rank, {rank - 1}, reduction::max), {row.x}, maxima.from);
      check_part("sums", row, shifted_exponentials(rank), {row.x, maxima.to}, sums.from);
      check_part("targets", row, target_logits(rank), {row.x, targets}, sums.from);
      check_part("dx", row, gradient_from_statistics(rank), {row.x, sums.to, targets}, row.dx);
      CHECK(row.dy.is_broadcast());
      if (by_class) {
        CHECK(maxima.from == partial(reduction::max));
        CHECK(row.y.is_broadcast());  // computed by every rank from replicated sums
      } else {
        check_part("y", row, cross_entropy(rank), {row.x, targets}, row.y);
        check_part("dx whole", row, cross_entropy_gradient(rank), {row.x, targets, row.dy}, row.dx);
      }
    }
  }
}
