// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Checks the training tables of a mixture of experts by trying all rows. Each row of a table must
// be valid in the forward pass and in all gradients, and no valid row may be missing. A routed
// tensor is represented by a dense tensor that is 0 where a token has not chosen an expert.
// Functions of integers replace softmax and gelu, so results are exact.

#include <doctest/doctest.h>
#include <support/check_table.hpp>
#include <support/combinations.hpp>
#include <support/naive_kernels.hpp>
#include <support/role_prover.hpp>

#include <ashlar/signature/routed.hpp>

using namespace ashlar_test;
using ashlar::broadcast, ashlar::partial, ashlar::split;

namespace {

/// The operations of a layer: its forward pass, which reads x and the parameters, and its
/// gradients, which also read dy.
struct parts {
  operation y, dx;
  std::vector<operation> parameters;
};

std::string text_of(std::vector<axis_placement> const& roles) {
  std::string text;
  for (auto const& r : roles) text += " " + ashlar::to_string(r);
  return text;
}

std::vector<axis_placement> sums_of(int rank) {
  std::vector<axis_placement> all{broadcast(), partial()};
  for (int d = 0; d < rank; ++d) all.push_back(split(d, 0));
  return all;
}

/// Returns the texts of all valid rows. Tries only rows without partial parameters in which the
/// placement of each gradient fits the placement of its value.
row_set rows_that_hold(parts const& layer, int x_rank, int y_rank, std::vector<int> const& ranks) {
  row_set rows;
  std::vector<std::vector<axis_placement>> uses{{}};  // each has one placement per parameter
  for (int const rank : ranks) {
    std::vector<std::vector<axis_placement>> longer;
    for (auto const& before : uses)
      for (auto const& r : sums_of(rank))
        if (!r.is_partial()) {
          longer.push_back(before);
          longer.back().push_back(r);
        }
    uses = longer;
  }
  auto const holds = [](operation const& op, std::vector<axis_placement> const& in,
                        axis_placement const& out) {
    return proves(op, 2, in, out) && proves(op, 3, in, out);
  };
  for (auto const& x : sums_of(x_rank))
    for (auto const& use : uses) {
      std::vector<axis_placement> in{x};
      in.insert(in.end(), use.begin(), use.end());
      for (auto const& y : sums_of(y_rank)) {
        if (!holds(layer.y, in, y)) continue;
        for (auto const& dy : sums_of(y_rank)) {
          if (!is_gradient_of(dy, y)) continue;
          auto with_dy = in;
          with_dy.push_back(dy);
          for (auto const& dx : sums_of(x_rank)) {
            if (!is_gradient_of(dx, x) || !holds(layer.dx, with_dy, dx)) continue;
            std::vector<std::vector<axis_placement>> found{{x, y, dy, dx}};
            for (std::size_t k = 0; k < use.size(); ++k) {
              std::vector<std::vector<axis_placement>> longer;
              for (auto const& grad : sums_of(ranks[k]))
                if (is_gradient_of(grad, use[k]) && holds(layer.parameters[k], with_dy, grad))
                  for (auto row : found) {
                    row.push_back(use[k]);
                    row.push_back(grad);
                    longer.push_back(row);
                  }
              found = longer;
            }
            for (auto const& row : found) rows.insert(text_of(row));
          }
        }
      }
    }
  return rows;
}

row_set rows_of(ashlar::training_table const& table) {
  row_set rows;
  for (auto const& r : table) {
    std::vector<axis_placement> all{r.x, r.y, r.dy, r.dx};
    for (int k = 0; k < r.use.size(); ++k) {
      all.push_back(r.use[k]);
      all.push_back(r.grad[k]);
    }
    CHECK(rows.insert(text_of(all)).second);
  }
  return rows;
}

/// Returns a router on tokens [t, d] with a weight [d, experts]. Each token goes to the expert with
/// the largest logit. The gate is the square of this logit. If `result` is 0, the operation
/// computes the routed rows r [t, experts, d + 1]. If it is 1 or 2, it computes the gradient of x
/// or of the weight.
operation router(int result) {
  return {
      [=](extent_source& extents) {
        int const t = extents(), d = extents(), experts = extents(1);
        std::vector all{random_integers(extents.random, {t, d}),
                        random_integers(extents.random, {d, experts})};
        if (result > 0) all.push_back(random_integers(extents.random, {t, experts, d + 1}));
        return all;
      },
      [=](pieces const& p) -> std::optional<dense> {
        auto const &x = p[0], &w = p[1];
        int const t = x.extent(0), d = x.extent(1), experts = w.extent(1);
        if (w.extent(0) != d || experts == 0) return {};
        if (result > 0 && p[2].extents != index{t, experts, d + 1}) return {};
        dense made(result == 0 ? index{t, experts, d + 1} : result == 1 ? x.extents : w.extents);
        for (int i = 0; i < t; ++i) {
          int best = 0;
          double most = 0;
          for (int e = 0; e < experts; ++e) {
            double logit = 0;
            for (int k = 0; k < d; ++k) logit += x({i, k}) * w({k, e});
            if (e == 0 || logit > most) {
              most = logit;
              best = e;
            }
          }
          double const slope = result > 0 ? p[2]({i, best, d}) * 2 * most : 0;
          if (result == 0) made({i, best, d}) = most * most;
          for (int k = 0; k < d; ++k) {
            if (result == 0) made({i, best, k}) = x({i, k});
            if (result == 1) made({i, k}) = p[2]({i, best, k}) + slope * w({k, best});
            if (result == 2) made({k, best}) += slope * x({i, k});
          }
        }
        return made;
      }};
}

/// Returns experts with weights [e, d, f] and [e, f, d] and a square between the two products. They
/// read rows [t, e, d + 1], whose last element is the gate. If `result` is 0, the operation
/// computes y [t, e, d]. If it is 1, 2 or 3, it computes the gradient of x or of one of the
/// weights.
operation squaring_experts(int result) {
  return {
      [=](extent_source& extents) {
        int const t = extents(), e = extents(), d = extents(), f = extents();
        std::vector all{random_integers(extents.random, {t, e, d + 1}),
                        random_integers(extents.random, {e, d, f}),
                        random_integers(extents.random, {e, f, d})};
        if (result > 0) all.push_back(random_integers(extents.random, {t, e, d}));
        return all;
      },
      [=](pieces const& p) -> std::optional<dense> {
        auto const &x = p[0], &in = p[1], &out = p[2];
        int const t = x.extent(0), experts = x.extent(1), d = in.extent(1), f = in.extent(2);
        if (x.extent(2) != d + 1 || in.extent(0) != experts || out.extents != index{experts, f, d})
          return {};
        if (result > 0 && p[3].extents != index{t, experts, d}) return {};
        dense made(result == 0   ? index{t, experts, d}
                   : result == 1 ? x.extents
                   : result == 2 ? in.extents
                                 : out.extents);
        for (int i = 0; i < t; ++i)
          for (int e = 0; e < experts; ++e) {
            double const gate = x({i, e, d});
            for (int h = 0; h < f; ++h) {
              double sum = 0, back = 0;
              for (int k = 0; k < d; ++k) sum += x({i, e, k}) * in({e, k, h});
              for (int k = 0; k < d && result > 0; ++k) {
                back += p[3]({i, e, k}) * out({e, h, k});
                if (result == 1) made({i, e, d}) += p[3]({i, e, k}) * sum * sum * out({e, h, k});
                if (result == 3) made({e, h, k}) += gate * p[3]({i, e, k}) * sum * sum;
              }
              for (int k = 0; k < d; ++k) {
                if (result == 0) made({i, e, k}) += gate * sum * sum * out({e, h, k});
                if (result == 1) made({i, e, k}) += gate * back * 2 * sum * in({e, k, h});
                if (result == 2) made({e, k, h}) += gate * back * 2 * sum * x({i, e, k});
              }
            }
          }
        return made;
      }};
}

}  // namespace

TEST_CASE("the table of dispatch has the rows that hold") {
  auto const table = ashlar::dispatch_training_rows(2);
  auto const right = rows_that_hold({router(0), router(1), {router(2)}}, 2, 3, {2});
  auto const claimed = rows_of(table);
  CHECK_MESSAGE(claimed == right, "missing:\n", difference(right, claimed), "wrong:\n",
                difference(claimed, right));
  for (auto const& r : table) {
    REQUIRE(r.stat.size() == 2);
    CHECK(same_role(r.stat[0].from, r.x));
    CHECK(same_role(r.stat[0].to, r.x));
    CHECK(same_role(r.stat[1].from, r.x));
    CHECK(r.stat[1].to.is_broadcast());
  }
}

TEST_CASE("the table of experts has the rows that hold") {
  auto const right = rows_that_hold(
      {squaring_experts(0), squaring_experts(1), {squaring_experts(2), squaring_experts(3)}}, 3, 3,
      {3, 3});
  auto const claimed = rows_of(ashlar::experts_training_rows(3));
  CHECK_MESSAGE(claimed == right, "missing:\n", difference(right, claimed), "wrong:\n",
                difference(claimed, right));
}

TEST_CASE("the tables of typed rows hold") {
  check_table(ashlar::routed_matmul_signatures(), {contraction("ted", "edf", "tef")});
  auto const dispatches = ashlar::dispatch_signatures();
  CHECK(dispatches.size() == 4);
  for (auto const& row : dispatches) {
    auto const routes = row.in[0].is_split() && row.in[0].dim == 0 ? row.in[0] : broadcast();
    check_part("dispatch", contraction("te", "td", "ted"), {routes, row.in[0]}, row.out);
  }
}

TEST_CASE("the table of combine has the rows that hold") {
  auto const forward = sum_to("ted", "td");
  auto const backward = contraction("te", "td", "ted");  // dx is made from the routes and dy
  row_set right;
  for (auto const& [x, y, dy, dx] :
       all_combinations(sums_of(3), sums_of(2), sums_of(2), sums_of(3))) {
    auto const routes = dx.is_split() && dx.dim < 2 ? dx : broadcast();
    if (!is_gradient_of(dy, y) || !is_gradient_of(dx, x)) continue;
    bool holds = true;
    for (int p : {2, 3})
      holds = holds && proves(forward, p, {x}, y) && proves(backward, p, {routes, dy}, dx);
    if (holds) right.insert(text_of({x, y, dy, dx}));
  }
  auto const claimed = rows_of(ashlar::combine_training_rows(3));
  CHECK_MESSAGE(claimed == right, "missing:\n", difference(right, claimed), "wrong:\n",
                difference(claimed, right));
}
