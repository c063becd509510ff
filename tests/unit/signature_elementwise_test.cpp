// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Checks the signature tables of elementwise operators, transposes, reductions and softmax against
// all possible rows (support/role_prover.hpp). Each row of a table must be valid, and no valid row
// may be missing. If a table is for a class of functions, a row must be valid for all functions of
// the class.

#include <tuple>

#include <doctest/doctest.h>
#include <support/check_table.hpp>
#include <support/naive_kernels.hpp>

#include <ashlar/signature/elementwise.hpp>

using namespace ashlar_test;

namespace {

double magnitude(double x) { return std::abs(x); }
double falling(double x) { return x > 0 ? -x : -2 * x; }
double shifted(double x) { return x + 1; }
double negative(double x) { return -x; }
double tripled(double x) { return 3 * x; }
double lifted(double x) { return x - 2.5; }
double subtracted_from(double x) { return 4 - x; }
double divided_into(double x) { return 12 / (x == 0 ? 5 : x); }
double halved(double x) { return x / -2; }
double quotient(double x, double y) { return x / (y == 0 ? 5 : y); }
double gelu(double x) { return x * std::erfc(-x / std::sqrt(2.0)) / 2; }

}  // namespace

TEST_CASE("a linear map passes splits and partial sums") {
  for (int rank : {1, 2, 3})
    check_table(ashlar::linear_map_signatures(rank),
                {map(rank, negative), map(rank, tripled), map(rank, halved)});
}

TEST_CASE("a non-linear map passes splits and never a partial value") {
  for (int rank : {1, 2, 3})
    check_table(ashlar::nonlinear_map_signatures(rank),
                {map(rank, square), map(rank, relu), map(rank, magnitude), map(rank, falling),
                 map(rank, shifted), map(rank, lifted), map(rank, subtracted_from),
                 map(rank, divided_into, 1e-12), map(rank, gelu, 1e-12), map(rank, negative)});
}

TEST_CASE("monotone maps would pass maxima, and are excluded: the table serves every function") {
  // The excluded rows are valid for these functions: relu and x + 1 map P(max) to P(max), and
  // negation maps P(max) to P(min). The tables omit these rows, because they are not valid for all
  // functions that use the tables.
  for (auto op : {map(1, relu), map(1, shifted)})
    check_table(ashlar::nonlinear_map_signatures(1), {op},
                {"P(max) -> P(max)", "P(min) -> P(min)"});
  check_table(ashlar::linear_map_signatures(1), {map(1, negative)},
              {"P(max) -> P(min)", "P(min) -> P(max)"});
}

TEST_CASE("a sum of two tensors has the rows that hold and no others") {
  check_table(ashlar::add_signatures("m", "m"), {binary("m", "m", sum)});
  check_table(ashlar::add_signatures("mn", "mn"), {binary("mn", "mn", sum)});
  CHECK_FALSE(rows_of(ashlar::add_signatures("mn", "mn")).contains("P,B -> P"));
}

TEST_CASE("a sum with a repeated operand has the rows that hold and no others") {
  check_table(ashlar::add_signatures("bsf", "f"), {binary("bsf", "f", sum)});
  check_table(ashlar::add_signatures("bsf", "sf"), {binary("bsf", "sf", sum)});
  check_table(ashlar::add_signatures("mn", "m"), {binary("mn", "m", sum)});
}

namespace {

/// Returns the operation that sums a tensor over the letters of `from` that `to` lacks. Each letter
/// '1' of `to` is a dim of extent 1.
operation sum_keeping(std::string_view from, std::string_view to) {
  return {lettered_operands({from}), [=](pieces const& x) -> std::optional<dense> {
            std::string letters;
            for (char const letter : to)
              if (letter != '1') letters += letter;
            auto const sums = einsum({from}, letters, x, [](auto const& v) { return v[0]; });
            if (!sums) return {};
            index e;
            std::size_t next = 0;
            for (char const letter : to) e.push_back(letter == '1' ? 1 : sums->extents[next++]);
            dense result(e);
            result.values = sums->values;
            return result;
          }};
}

double second(double, double y) { return y; }

/// Checks the table of x repeated to the extents of `out` against all rows that hold, except those
/// with maxima or minima. The kernel has one more operand, in front of x, with the extents of the
/// result. Its values do not matter. Its placement says how the result is split.
void check_repeats(std::string_view x, std::string_view out) {
  row_set claimed;
  for (auto const& row : ashlar::repeat_signatures(x, out))
    for (auto const& like : roles(static_cast<int>(out.size())))
      if (like[0].is_split() ? like[0] == row.out : !row.out.is_split())
        claimed.insert(row_text({like[0], row.in[0]}, row.out));
  auto const of_sums = [](row_set rows) {
    std::erase_if(rows, [](std::string const& row) { return row.find("P(m") != row.npos; });
    return rows;
  };
  auto const holding = holding_rows(binary(out, x, second), 3);
  CHECK(difference(of_sums(claimed), of_sums(holding)) == "");
  CHECK(difference(of_sums(holding), of_sums(claimed)) == "");
}

}  // namespace

TEST_CASE("a sum over several dims has the rows that hold and no others") {
  check_table(ashlar::sum_signatures("bsf", "f"), {sum_to("bsf", "f")});
  check_table(ashlar::sum_signatures("mn", ""), {sum_to("mn", "")});
  check_table(ashlar::sum_signatures("mn", "m1"), {sum_keeping("mn", "m1")});
  check_table(ashlar::sum_signatures("mn", "1n"), {sum_keeping("mn", "1n")});
}

TEST_CASE("a repeated tensor has the rows that hold and no others") {
  check_repeats("m", "mn");
  check_repeats("n", "mn");
  check_repeats("mn", "mn");
}

TEST_CASE("a product of two tensors has the rows that hold and no others") {
  check_table(ashlar::multiply_signatures("mn", "mn"), {binary("mn", "mn", product)});
  check_table(ashlar::multiply_signatures("bsf", "f"), {binary("bsf", "f", product)});
  check_table(ashlar::multiply_signatures("mn", "m"), {binary("mn", "m", product)});
}

TEST_CASE("operators of two repeated operands have the rows that hold and no others") {
  for (auto const& [x, y, out] :
       {std::tuple{"n", "mn", "mn"}, {"m", "n", "mn"}, {"mk", "nk", "mnk"}, {"mk", "n", "mnk"}}) {
    check_table(ashlar::add_signatures(x, y, out), {of_two(x, y, out, sum)});
    check_table(ashlar::multiply_signatures(x, y, out), {of_two(x, y, out, product)});
    auto quotients = of_two(x, y, out, quotient);
    quotients.tolerance = 1e-12;
    check_table(ashlar::divide_signatures(x, y, out), {quotients});
  }
}

TEST_CASE("a repeated dim of extent 1 is in no row, and the dims after it keep their numbers") {
  auto const rows = rows_of(ashlar::add_signatures("1b", "ab", "ab"));
  CHECK(rows.contains("B,S(0) -> S(0)"));
  CHECK(rows.contains("S(1),S(1) -> S(1)"));
  CHECK_FALSE(rows.contains("S(0),S(0) -> S(0)"));
}

TEST_CASE("a quotient of two tensors has the rows that hold and no others") {
  for (char const* const letters : {"m", "mn", "mnk"}) {
    auto op = binary(letters, letters, quotient);
    op.tolerance = 1e-12;
    check_table(ashlar::divide_signatures(letters, letters), {op});
  }
  auto op = binary("mn", "m", quotient);
  op.tolerance = 1e-12;
  check_table(ashlar::divide_signatures("mn", "m"), {op});
}

TEST_CASE(
    "an operator in place has the rows whose result lies as the first operand, and no others") {
  // The excluded rows are valid, but their result does not have the placement of the first operand.
  auto quotients = binary("mn", "mn", quotient);
  quotients.tolerance = 1e-12;
  check_table(ashlar::in_place_signatures(ashlar::multiply_signatures("mn", "mn")),
              {binary("mn", "mn", product)}, {"B,P -> P"});
  check_table(ashlar::in_place_signatures(ashlar::divide_signatures("mn", "mn")), {quotients});
  check_table(ashlar::in_place_signatures(ashlar::add_signatures("mn", "mn")),
              {binary("mn", "mn", sum)}, {"B,P(max) -> P(max)", "B,P(min) -> P(min)"});
}

TEST_CASE("an inner product has the rows that hold and no others") {
  for (char const* const letters : {"m", "mn", "mnk"})
    check_table(ashlar::dot_signatures(letters), {contraction(letters, letters, "")});
}

TEST_CASE("a sum of squares has the rows that hold and no others") {
  for (int const rank : {1, 2, 3}) {
    std::string_view const letters = std::string_view("mnk").substr(0,
                                                                    static_cast<std::size_t>(rank));
    operation const squares{lettered_operands({letters}), [=](pieces const& x) {
                              return einsum({letters}, "", x,
                                            [](auto const& v) { return v[0] * v[0]; });
                            }};
    check_table(ashlar::sum_of_squares_signatures(rank), {squares});
  }
}

TEST_CASE("a function of alike operands has the rows that hold for every function and no others") {
  check_table(ashlar::alike_signatures(1), {binary("m", "m", sum), binary("m", "m", product)});
  check_table(ashlar::alike_signatures(2), {binary("mn", "mn", sum), binary("mn", "mn", product)});
}

TEST_CASE("a transpose moves splits and passes every partial value") {
  check_table(ashlar::transpose_signatures({1, 0}), {transpose({1, 0})});
  check_table(ashlar::transpose_signatures({1, 2, 0}), {transpose({1, 2, 0})});
  check_table(ashlar::transpose_signatures({2, 0, 1}), {transpose({2, 0, 1})});
  check_table(ashlar::transpose_signatures({0, 2, 1}), {transpose({0, 2, 1})});
}

TEST_CASE("a reduction over any dims has the rows that hold and no others") {
  for (auto op : {reduction::sum, reduction::max, reduction::min})
    for (int rank : {1, 2, 3})
      for (unsigned chosen = 1; chosen < 1u << rank; ++chosen) {
        CAPTURE(rank);
        CAPTURE(chosen);
        ashlar::inplace_vector<int, ashlar::max_rank> dims;
        for (int d = 0; d < rank; ++d)
          if ((chosen >> d & 1u) != 0) dims.push_back(d);
        check_table(ashlar::reduce_signatures(rank, dims, op),
                    {reduce(rank, index(dims.begin(), dims.end()), op)});
      }
}

TEST_CASE("softmax may be split along every dim except its own") {
  for (int rank : {1, 2, 3})
    for (int dim = 0; dim < rank; ++dim)
      check_table(ashlar::softmax_signatures(rank, dim), {softmax(rank, dim)});
}
