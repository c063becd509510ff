// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2

// Tests that nn::verify accepts layers that are written as formulas. The signature rows and the
// passes of a formula follow from the same operators. nn::verify tries every row on several meshes
// with uneven and empty shards, and compares the gradients with finite differences. So this tests
// the adjoint and the signature table of every operator.

#include <doctest/doctest.h>
#include <support/message_of.hpp>

#include <ashlar/comm/mpi/environment.hpp>
#include <ashlar/nn/rms_norm.hpp>
#include <ashlar/nn/swiglu.hpp>
#include <ashlar/nn/verify.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;

/// Returns the message of nn::verify about a layer. The trials are divided among the ranks.
template <class Layer, int Rank>
std::string fault_of(Layer const& layer, std::int64_t const (&x)[Rank]) {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  ashlar::mesh const m(MPI_COMM_WORLD, {{"rank", ranks}});
  return message_of([&] { nn::verify(layer, x, m); });
}
constexpr char const* nothing = "nothing was thrown";

}  // namespace

TEST_CASE("nn::verify finds nothing wrong with the formulas of the library") {
  CHECK(fault_of(nn::swiglu(5, 7), {4, 5}) == nothing);
  CHECK(fault_of(nn::rms_norm(5), {3, 4, 5}) == nothing);
}

TEST_CASE("nn::verify finds nothing wrong with functions and numbers") {
  auto const functions = nn::formula(
      "functions",
      [](auto x, auto w) {
        auto const u = 2 / (sigmoid(x) + 1) - x / w + exp(-x) * tanh(x);
        auto const v = sqrt(x * x + 1) * log(2 + x * x) - abs(x) + erf(x);
        return u / 3 - pow(x * x + 1, 1.5) + v * rsqrt(1 + x * x) - relu(x) + gelu(x) - silu(w);
      },
      nn::weight("w", {5}, nn::all_equal(1)));
  CHECK(fault_of(functions, {4, 5}) == nothing);
}

TEST_CASE("nn::verify finds nothing wrong with sums, repeated operands and several uses") {
  // `products` is the sum of an elementwise product. In the backward pass, the adjoint of this sum
  // must be repeated along the summed dim, because the adjoints of both factors need it. Other
  // operands are repeated along the same dim.
  auto const sums = nn::formula(
      "sums",
      [](auto x, auto w, auto column, auto one) {
        auto const products = sum(matmul(x * x, w * w) * matmul(x, w), -1);
        auto const means = mean(matmul(x, w), -1) + sum(matmul(x, w) + column, 0) * one;
        return products * x + sum(means, 1) - (sum(x, 0) - column * x) / (2 + column * column);
      },
      nn::weight("w", {5, 3}), nn::weight("column", {4, 1}), nn::weight("one", {1, 1}));
  CHECK(fault_of(sums, {4, 5}) == nothing);
}

TEST_CASE("nn::verify finds nothing wrong with products of batches of matrices") {
  auto const batches = nn::formula(
      "batches", [](auto x, auto w) { return matmul(matmul(x, w), x) + matmul(x, w) * 2; },
      nn::weight("w", {2, 3, 3}));
  CHECK(fault_of(batches, {2, 3, 3}) == nothing);
}

TEST_CASE("nn::verify finds nothing wrong with softmax, maxima and minima") {
  auto const softmaxes = nn::formula(
      "softmaxes", [](auto x, auto w) { return softmax(x * w) + softmax(x, 0) * w; },
      nn::weight("w", {5}, nn::all_equal(1)));
  CHECK(fault_of(softmaxes, {4, 5}) == nothing);
  auto const extrema = nn::formula("extrema", [](auto x) {
    return (x - max(x, -1)) / (1 + exp(max(x, 0, 2) - min(x, 1, 2))) * mean(x, 1, 2);
  });
  CHECK(fault_of(extrema, {3, 4, 5}) == nothing);
}

TEST_CASE("nn::verify finds nothing wrong with dims that change places") {
  auto const moved = nn::formula(
      "moved",
      [](auto x, auto w) {
        auto const turned = permute<1, 2, 0>(x) * 2 + transpose<0, 1>(permute<2, 1, 0>(x));
        return permute<2, 0, 1>(turned) + matmul(x, transpose(w));
      },
      nn::weight("w", {4, 4}));
  CHECK(fault_of(moved, {2, 3, 4}) == nothing);
  auto const parts = nn::formula("parts", [](auto x) {
    auto const four = split_dim(x, -1, {2, 3});
    return flatten<1, 2>(transpose<1, 2>(four * sum(four, 2)));
  });
  CHECK(fault_of(parts, {3, 4, 6}) == nothing);
}

TEST_CASE("nn::verify finds nothing wrong with elements that are joined, summed up and chosen") {
  auto const joined = nn::formula(
      "joined",
      [](auto x, auto w, auto more) {
        return cumulative_sum<1>(concat<1>(x * w, more)) *
               concat<1>(more, cumulative_sum<0>(x) + more * 0.5, 2 * more);
      },
      nn::weight("w", {2}, nn::all_equal(1)), nn::weight("more", {4, 2}));
  auto const widened = nn::formula(
      "widened", [](auto x, auto more) { return concat<1>(x, more, x) * concat<1>(more, x, more); },
      nn::weight("more", {4, 2}));
  CHECK(fault_of(widened, {4, 2}) == nothing);
  CHECK(message_of([&] { joined.spec({4, 2}); }).find("joined: u * v of 4x4 and 4x6") == 0);
  auto const chosen = nn::formula(
      "chosen",
      [](auto x, auto table, auto mask) {
        auto const rows = take_rows(table, where(relu(x), 1, x - x));
        return einsum<"abc,ab->ac">(rows, cumulative_sum<1>(where(mask, x * x, 3)));
      },
      nn::weight("table", {3, 4}), nn::weight("mask", {5}, nn::all_equal(1)));
  CHECK(fault_of(chosen, {4, 5}) == nothing);
}

TEST_CASE("nn::verify finds nothing wrong with elements that are cut out") {
  auto const fused = nn::formula(
      "fused",
      [](auto x, auto w) {
        auto const both = matmul(x, w);
        return silu(slice<1>(both, 0, 3)) * slice<1>(both, 3, 3);
      },
      nn::weight("w", {4, 6}));
  CHECK(fault_of(fused, {5, 4}) == nothing);
  auto const cut = nn::formula("cut", [](auto x) {
    return slice<1>(x, 1, 3) * exp(slice<1>(x, 0, 3)) + slice<1>(2 * x, 2, 3);
  });
  CHECK(fault_of(cut, {2, 5, 3}) == nothing);
  auto const rows = nn::formula(
      "rows", [](auto x, auto w) { return x + slice<0>(w, 1, 1) / 2; }, nn::weight("w", {3, 4}));
  CHECK(fault_of(rows, {5, 4}) == nothing);
  auto const beyond = nn::formula("beyond", [](auto x) { return slice<1>(x, 3, 2); });
  CHECK(message_of([&] {
          beyond.spec({5, 4});
        }) ==
        "beyond: slice of 5x4: the range [3, 3 + 2) of dim 1 is empty or not within 0 and 4.");
}

TEST_CASE("nn::verify finds nothing wrong with attention by letters") {
  auto const attention = nn::formula(
      "attention",
      [](auto x, auto query, auto key, auto out) {
        auto const q = einsum<"bsd,dhe->bhse">(x, query), k = einsum<"btd,dhe->bhte">(x, key);
        auto const read = softmax(einsum<"bhse,bhte->bhst">(q, k) / 2);
        return einsum<"bshe,hed->bsd">(einsum<"bhst,bhte->bshe">(read, k), out);
      },
      nn::weight("query", {4, 2, 3}), nn::weight("key", {4, 2, 3}), nn::weight("out", {2, 3, 4}));
  CHECK(fault_of(attention, {2, 3, 4}) == nothing);
}

TEST_CASE("nn::verify finds nothing wrong with formulas that compute little") {
  CHECK(fault_of(nn::formula("identity", [](auto x) { return x; }), {4, 5}) == nothing);
  CHECK(fault_of(nn::formula("softmax", [](auto x) { return exp(x) / sum(exp(x), -1); }), {4, 5}) ==
        nothing);
}

}  // namespace ashlar_test
