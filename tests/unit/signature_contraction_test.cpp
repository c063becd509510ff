// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Checks the signature tables of contractions against all possible rows (support/role_prover.hpp).
// Each row of a table must be valid, and no valid row may be missing.

#include <tuple>

#include <doctest/doctest.h>
#include <support/check_table.hpp>
#include <support/naive_kernels.hpp>

#include <ashlar/signature/contraction.hpp>
#include <ashlar/signature/einsum.hpp>

using namespace ashlar_test;

TEST_CASE("products of a matrix and a vector have the rows that hold and no others") {
  check_table(ashlar::matvec_signatures(false), {contraction("mk", "k", "m")});
  check_table(ashlar::matvec_signatures(false, true), {contraction("km", "k", "m")});
  check_table(ashlar::matvec_signatures(true), {contraction("k", "kn", "n")});
  check_table(ashlar::matvec_signatures(true, true), {contraction("k", "nk", "n")});
}

TEST_CASE("for matmul exactly six rows hold") {
  CHECK(rows_of(ashlar::matmul_signatures()) == row_set{"B,B -> B", "S(0),B -> S(0)",
                                                        "B,S(1) -> S(1)", "S(1),S(0) -> P",
                                                        "P,B -> P", "B,P -> P"});
  check_table(ashlar::matmul_signatures(), {contraction("mk", "kn", "mn")});
}

TEST_CASE("matmul with a transposed operand has the rows that hold and no others") {
  check_table(ashlar::matmul_signatures(true, false), {contraction("km", "kn", "mn")});
  check_table(ashlar::matmul_signatures(false, true), {contraction("mk", "nk", "mn")});
  check_table(ashlar::matmul_signatures(true, true), {contraction("km", "nk", "mn")});
}

TEST_CASE("batched matmul has the rows that hold and no others") {
  check_table(ashlar::batched_matmul_signatures(), {contraction("bmk", "bkn", "bmn")});
  check_table(ashlar::batched_matmul_signatures(true, false), {contraction("bkm", "bkn", "bmn")});
  check_table(ashlar::batched_matmul_signatures(false, true), {contraction("bmk", "bnk", "bmn")});
  check_table(ashlar::batched_matmul_signatures(true, true), {contraction("bkm", "bnk", "bmn")});
}

TEST_CASE("a linear layer and its two gradients have the rows that hold and no others") {
  check_table(ashlar::contraction_signatures("bsd", "df", "bsf"),
              {contraction("bsd", "df", "bsf")});
  check_table(ashlar::contraction_signatures("bsf", "df", "bsd"),
              {contraction("bsf", "df", "bsd")});
  check_table(ashlar::contraction_signatures("bsd", "bsf", "df"),
              {contraction("bsd", "bsf", "df")});
}

TEST_CASE("a matrix and a vector, and an inner and an outer product, follow the same rule") {
  check_table(ashlar::contraction_signatures("mk", "k", "m"), {contraction("mk", "k", "m")});
  check_table(ashlar::contraction_signatures("k", "k", ""), {contraction("k", "k", "")});
  check_table(ashlar::contraction_signatures("m", "n", "mn"), {contraction("m", "n", "mn")});
}

TEST_CASE("an einsum of one operand has the rows that hold and no others") {
  for (auto const& [x, out] : {std::pair{"mn", "nm"}, {"mn", "n"}, {"mn", ""}, {"bsd", "db"}})
    check_table(ashlar::einsum_signatures(x, out), {sum_to(x, out)});
}

TEST_CASE("letters that only one operand has are summed: the rows that hold and no others") {
  for (auto const& [a, b, c] : {std::tuple{"mj", "kn", "n"}, {"ab", "cba", "c"}, {"mn", "mn", "m"}})
    check_table(ashlar::contraction_signatures(a, b, c), {contraction(a, b, c)});
}

TEST_CASE("the prover refutes wrong rows: a forgotten gather, a partial value through a square") {
  auto const matmul = contraction("mk", "kn", "mn");
  using ashlar::broadcast, ashlar::partial, ashlar::split;
  CHECK(proves(matmul, 3, {split(1, 0), split(0, 0)}, partial()));
  CHECK_FALSE(proves(matmul, 3, {split(1, 0), split(0, 0)}, broadcast()));
  CHECK_FALSE(proves(matmul, 3, {partial(), partial()}, partial()));
  CHECK_FALSE(proves(matmul, 3, {split(0, 0), split(1, 0)}, split(0, 0)));
  CHECK_FALSE(proves(map(2, [](double x) { return x * x; }), 2, {partial()}, partial()));
  CHECK_FALSE(proves(map(2, [](double x) { return std::abs(x); }), 2, {partial()}, partial()));
}
