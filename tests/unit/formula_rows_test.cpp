// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// A training row is one possible combination of placements of a layer's tensors, parameters and
// gradients. Compares the training rows of the library's layers that are written by hand with those
// of formulas for the same layers. Also checks everything else that follows from a formula: errors,
// costs, and the values that are kept for the backward pass.

#include <algorithm>
#include <set>
#include <string>

#include <doctest/doctest.h>
#include <support/formula_layers.hpp>
#include <support/message_of.hpp>

#include <ashlar/nn/activation.hpp>
#include <ashlar/nn/formula_join.hpp>
#include <ashlar/nn/layer_norm.hpp>
#include <ashlar/nn/linear.hpp>
#include <ashlar/nn/rms_norm.hpp>
#include <ashlar/nn/swiglu.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;
using ashlar::broadcast, ashlar::partial, ashlar::split;

std::string text(ashlar::training_row const& r) {
  std::string t = "x " + ashlar::to_string(r.x) + " y " + ashlar::to_string(r.y) + " dy " +
                  ashlar::to_string(r.dy) + " dx " + ashlar::to_string(r.dx);
  for (int i = 0; i < r.use.size(); ++i)
    t += " use " + ashlar::to_string(r.use[i]) + " grad " + ashlar::to_string(r.grad[i]);
  return t;
}
std::set<std::string> rows_of(ashlar::training_table const& table) {
  std::set<std::string> rows;
  for (auto const& row : table) CHECK(rows.insert(text(row)).second);
  return rows;
}

constexpr auto gain_of = [](auto x, auto gain) { return x * gain; };
constexpr auto product = [](auto x, auto w) { return matmul(x, w); };
constexpr auto product_and_bias = [](auto x, auto w, auto bias) { return matmul(x, w) + bias; };
constexpr auto zero = nn::all_equal(0);

}  // namespace

TEST_CASE("a product has the rows of the linear layer, with and without bias") {
  for (auto const& x : {ashlar::shape{6, 4}, ashlar::shape{2, 3, 4}, ashlar::shape{2, 3, 5, 4}}) {
    CHECK(rows_of(nn::formula("f", product, nn::weight("w", {4, 7})).spec(x).rows) ==
          rows_of(nn::linear(4, 7, false).spec(x).rows));
    CHECK(rows_of(nn::formula("f", product_and_bias, nn::weight("w", {4, 7}),
                              nn::weight("b", {7}, zero))
                      .spec(x)
                      .rows) == rows_of(nn::linear(4, 7).spec(x).rows));
  }
}

TEST_CASE("functions have the rows of the activations") {
  for (auto const& x : {ashlar::shape{6, 4}, ashlar::shape{2, 3, 4}}) {
    auto const hand = rows_of(nn::gelu().spec(x).rows);
    CHECK(rows_of(nn::formula("f", [](auto u) { return gelu(u); }).spec(x).rows) == hand);
    CHECK(rows_of(nn::formula("f", [](auto u) { return relu(u); }).spec(x).rows) == hand);
    CHECK(rows_of(nn::formula("f", [](auto u) { return silu(u); }).spec(x).rows) == hand);
    CHECK(rows_of(nn::formula("f", [](auto u) { return 1 / (1 + exp(-u)); }).spec(x).rows) == hand);
  }
}

TEST_CASE("joins by hand have the rows of their formulas") {
  auto const join_rows = [](auto const& function, ashlar::shape const& x) {
    return rows_of(nn::formula("join", function).join_spec(x).rows);
  };
  for (auto const& x : {ashlar::shape{6, 4}, ashlar::shape{2, 3, 4}}) {
    ashlar::step::layer_spec by_hand;
    by_hand.x = by_hand.y = x;
    nn::join::multiply.describe(by_hand);
    auto const factors = rows_of(by_hand.rows);
    CHECK(join_rows([](auto u, auto v) { return u * v; }, x) == factors);
    CHECK(join_rows([](auto u, auto v) { return silu(u) * v; }, x) == factors);
    auto const addends = rows_of(ashlar::independent_training_rows(x.rank()));
    CHECK(join_rows([](auto u, auto v) { return u + v; }, x) == addends);
    CHECK(join_rows([](auto u, auto v) { return 2 * u - v / 3; }, x) == addends);
    CHECK(join_rows([](auto u, auto v) { return u / (1 + v * v); }, x) == factors);
  }
  ashlar::step::layer_spec end;
  end.x = {6, 4};
  end.y = {6, 8};
  nn::join::concat<1>.describe(end);
  CHECK(join_rows([](auto u, auto v) { return concat<1>(u, v); }, {6, 4}) == rows_of(end.rows));
}

TEST_CASE("a slice has the rows in which its dim is whole") {
  auto const cut = nn::formula("cut", [](auto x) { return slice<1>(x, 1, 2); });
  CHECK(rows_of(cut.spec({6, 4}).rows) ==
        std::set<std::string>{"x S(0) y S(0) dy S(0) dx S(0)", "x B y B dy B dx B",
                              "x B y B dy P dx P", "x P y P dy B dx B", "x P y P dy P dx P"});
  CHECK(cut.spec({6, 4}).y == ashlar::shape{6, 2});
  CHECK(cut.spec({6, 4}).saved_values == 0);
}

TEST_CASE("a formula that joins two tensors keeps what its gradients read") {
  ashlar::shape const x{6, 4};
  auto const gate = nn::formula("gate", [](auto u, auto v) { return silu(u) * v; }).join_spec(x);
  CHECK(gate.name == "gate");
  CHECK(gate.saved_values == 2 * 24);  // both operands of the product
  CHECK(gate.parameters.size() == 0);
  auto const sum = nn::formula("sum", [](auto u, auto v) { return u - 3 * v; }).join_spec(x);
  CHECK(sum.saved_values == 0);
  auto const one = nn::formula("one", [](auto u, auto v) { return silu(u) + v; }).join_spec(x);
  CHECK(one.saved_values == 24);
  auto const scores = nn::formula("scores", [](auto u, auto v) {
                        return tanh(einsum<"md,nd->mn">(u, v));
                      }).join_spec(x);
  CHECK(scores.y == ashlar::shape{6, 6});
  CHECK(scores.saved_values + (scores.saved_beside.empty() ? 0 : scores.saved_beside[0].values) ==
        2 * 24 + 36);  // both operands and the product
  // The rows of u become rows of y, and the rows of v become columns of y. So u and v cannot both
  // be split along dim 0. A split along dim 1 makes y partial, which tanh does not permit.
  std::set<std::string> rows{"x B y B dy B dx B", "x B y B dy P dx P"};
  CHECK(rows_of(scores.rows) == rows);
  CHECK(scores.couples_rows);
  auto const products = nn::formula("products", [](auto u, auto v) {
                          return einsum<"md,nd->mn">(u, v);
                        }).join_spec(x);
  rows.insert("x S(1) y P dy B dx S(1)");
  CHECK(rows_of(products.rows) == rows);
}

TEST_CASE("layers by hand have the rows of their formulas") {
  ashlar::shape const x{6, 4}, blocks{6, 3, 4};
  CHECK(rows_of(as_formula::output_embedding(4, 9).spec(x).rows) ==
        rows_of(nn::output_embedding(4, 9).spec(x).rows));
  CHECK(rows_of(as_formula::layer_norm(4).spec(blocks).rows) ==
        rows_of(nn::layer_norm(4).spec(blocks).rows));
  auto const smooth = rows_of(nn::activation<ashlar::device::silu>().spec(x).rows);
  CHECK(rows_of(as_formula::silu().spec(x).rows) == smooth);
  CHECK(rows_of(as_formula::tanh().spec(x).rows) == smooth);
  CHECK(rows_of(as_formula::sigmoid().spec(x).rows) == smooth);
  CHECK(rows_of(as_formula::flatten().spec(blocks).rows) ==
        rows_of(nn::flatten().spec(blocks).rows));
}

TEST_CASE("operators that move dims say where they split") {
  // In the row that is counted below, the heads of both weights are split. In this row, x is whole
  // and y is a partial sum.
  auto const heads = nn::formula(
      "heads",
      [](auto x, auto in, auto out) {
        return einsum<"bshe,hed->bsd">(softmax(einsum<"bsd,dhe->bshe">(x, in)), out);
      },
      nn::weight("in", {4, 2, 3}), nn::weight("out", {2, 3, 4}));
  auto const rows = rows_of(heads.spec({2, 3, 4}).rows);
  auto const b = broadcast(), p = partial();
  CHECK(rows.count(text({b, p, b, p, {split(1, 0), split(0, 0)}, {split(1, 0), split(0, 0)}})) ==
        1);
  auto const turned = nn::formula("f", [](auto x) { return permute<1, 0>(x); }).spec({4, 5});
  CHECK(turned.y == ashlar::shape{5, 4});
  CHECK(rows_of(turned.rows).count(text({split(0, 0), split(1, 0), split(1, 0), split(0, 0)})) ==
        1);
  CHECK(nn::formula("f", [](auto x) { return softmax(x, 0); }).why_not({4, 5}, split(0)) ==
        "f with x S(0): softmax of 5x4 S(1) needs communication.");
  CHECK(nn::formula("f", [](auto x) { return max(x, -1); }).why_not({4, 5}, split(1)) ==
        "f with x S(1): max of 4x5 S(1) needs communication.");
  CHECK(nn::formula("f", [](auto x) {
          return split_dim(x, 1, {3, 2});
        }).why_not({4, 6}, split(1)) == "f with x S(1): reshape of 4x6 S(1) needs communication.");
}

TEST_CASE("a map without parameters that is linear has the rows of the identity") {
  auto const linear = nn::formula("f", [](auto u) { return -(2 * u) / 3 + u; });
  CHECK(rows_of(linear.spec({4, 5, 6}).rows) == rows_of(ashlar::independent_training_rows(3)));
  auto const identity = nn::formula("f", [](auto u) { return u; });
  CHECK(rows_of(identity.spec({4, 5, 6}).rows) == rows_of(ashlar::independent_training_rows(3)));
}

TEST_CASE("a weight that is used twice has the rows of one use") {
  // All uses of a weight read it at the same placement, and all addends of its gradient have the
  // same placement.
  auto const reused = nn::formula(
      "f", [](auto x, auto w) { return matmul(x, w * w) + matmul(x, w); }, nn::weight("w", {4, 6}));
  CHECK(rows_of(reused.spec({5, 4}).rows) == rows_of(nn::linear(4, 6, false).spec({5, 4}).rows));
}

TEST_CASE("rms_norm has the rows of layer norm without the bias") {
  for (auto const& x : {ashlar::shape{6, 4}, ashlar::shape{2, 3, 4}}) {
    auto hand = nn::layer_norm(4).spec(x).rows;
    for (auto& row : hand) row.use.pop_back(), row.grad.pop_back();
    CHECK(rows_of(nn::rms_norm(4).spec(x).rows) == rows_of(hand));
  }
}

TEST_CASE("a gain has the rows that hands write, and two more") {
  auto const rows = rows_of(
      nn::formula("gain", gain_of, nn::weight("g", {5}, nn::all_equal(1))).spec({3, 4, 5}).rows);
  std::set<std::string> expected;
  auto const add = [&](ashlar::training_row const& row) { expected.insert(text(row)); };
  auto const b = broadcast(), p = partial(), f = split(2, 0);
  for (int d : {0, 1}) add({split(d, 0), split(d, 0), split(d, 0), split(d, 0), {b}, {p}});
  add({f, f, f, f, {split(0, 0)}, {split(0, 0)}});
  add({b, b, b, b, {b}, {b}});
  // Gains in layers that are written by hand lack the next two rows. The first row keeps a partial
  // gradient partial, and the second row keeps a partial input partial.
  add({b, b, p, p, {b}, {p}});
  add({p, p, b, b, {b}, {p}});
  CHECK(rows == expected);
}

TEST_CASE("swiglu may split its rows, its features and its hidden features") {
  auto const rows = rows_of(nn::swiglu(4, 6).spec({5, 4}).rows);
  std::set<std::string> expected;
  auto const add = [&](ashlar::training_row const& row) { expected.insert(text(row)); };
  auto const b = broadcast(), p = partial(), s0 = split(0, 0), s1 = split(1, 0);
  add({b, b, b, b, {b, b, b}, {b, b, b}});
  add({b, b, p, p, {b, b, b}, {p, p, p}});
  add({s0, s0, s0, s0, {b, b, b}, {p, p, p}});
  add({b, p, b, p, {s1, s1, s0}, {s1, s1, s0}});
  CHECK(rows == expected);
}

TEST_CASE("no row splits a tensor while every rank repeats products that cost much") {
  // If only the columns of the last product are split, no communication is needed, but every rank
  // computes the whole first product.
  auto const mlp = nn::formula(
      "mlp", [](auto x, auto a, auto b) { return matmul(gelu(matmul(x, a)), b); },
      nn::weight("a", {4, 6}), nn::weight("b", {6, 4}));
  int splits = 0;
  for (auto const& row : mlp.spec({5, 4}).rows) {
    CHECK(!row.y.is_split_of(1));
    splits += row.x.is_split() || row.use[0].is_split() || row.use[1].is_split();
  }
  // One training row splits the rows of x, and another splits the hidden features.
  CHECK(splits == 2);
  // If rows are split, every rank computes the whole product of the two weights. If there are many
  // rows, this costs little compared with the product of x.
  auto const low_rank = nn::formula(
      "low_rank", [](auto x, auto w, auto a, auto b) { return matmul(x, w + matmul(a, b)); },
      nn::weight("w", {64, 64}), nn::weight("a", {64, 2}), nn::weight("b", {2, 64}));
  auto const splits_rows = [&](std::int64_t rows) {
    bool any = false;
    for (auto const& row : low_rank.spec({rows, 64}).rows) any = any || row.x.is_split_of(0);
    return any;
  };
  CHECK(splits_rows(512));
  CHECK(low_rank.why_not({512, 64}, split(0)) == "");
  CHECK(!splits_rows(4));
  CHECK(
      low_rank.why_not({4, 64}, split(0)) ==
      "low_rank with x S(0): matmul of 64x2 and 2x64 would be repeated on every rank, which takes "
      "too long.");
  CHECK(!low_rank.spec({4, 64}).couples_rows);
}

TEST_CASE("a formula couples the rows of a batch if it is not local where they are split") {
  auto const centered = nn::formula("f", [](auto x) { return x - mean(x, 0); });
  CHECK(centered.spec({4, 5}).couples_rows);
  CHECK(nn::formula("f", [](auto x) { return sum(x, 0); }).spec({4, 5}).couples_rows);
  CHECK(!nn::formula("f", [](auto x) { return x - mean(x, 1); }).spec({4, 5}).couples_rows);
  CHECK(!nn::swiglu(4, 6).spec({5, 4}).couples_rows);
  CHECK(!nn::rms_norm(4).spec({5, 3, 4}).couples_rows);
}

TEST_CASE("a bias is read as a partial sum only where what it is added to is partial") {
  auto const mlp = nn::formula(
      "mlp",
      [](auto x, auto a, auto b, auto c, auto d) { return matmul(gelu(matmul(x, a) + b), c) + d; },
      nn::weight("a", {4, 6}), nn::weight("b", {6}, zero), nn::weight("c", {6, 5}),
      nn::weight("d", {5}, zero));
  int partial_biases = 0;
  for (auto const& row : mlp.spec({5, 4}).rows) {
    for (int k : {0, 1, 2}) CHECK(!row.use[k].is_partial());
    partial_biases += row.use[3].is_partial();
    CHECK(row.use[3].is_partial() == row.y.is_partial());
  }
  CHECK(partial_biases == 1);
}

TEST_CASE("a formula can be described in a constant expression") {
  constexpr auto layer = nn::swiglu(4, 6);
  constexpr auto spec = layer.spec({5, 4});
  static_assert(spec.y == ashlar::shape{5, 4} && spec.rows.size() == 4);
  static_assert(nn::rms_norm(8).spec({2, 3, 8}).rows.size() == 4);
}

TEST_CASE("costs and kept values follow from the operators") {
  auto const linear = nn::formula("f", product, nn::weight("w", {4, 7})).spec({6, 4});
  auto const hand = nn::linear(4, 7, false).spec({6, 4});
  CHECK(linear.forward_flops == hand.forward_flops);
  CHECK(linear.backward_flops == hand.backward_flops);
  CHECK(linear.gradient_flops == hand.gradient_flops);
  CHECK(linear.saved_values == hand.saved_values);
  CHECK(linear.backward == hand.backward);
  CHECK(linear.forward_values == hand.forward_values);
  CHECK(linear.backward_values == hand.backward_values);
  CHECK(linear.gradient_values == hand.gradient_values);
  CHECK(linear.gemm == hand.gemm);
  // The layer first writes the bias to y, and then adds the product to y.
  auto const bias_added = nn::formula("f", product_and_bias, nn::weight("w", {4, 7}),
                                      nn::weight("b", {7}, zero))
                              .spec({2, 6, 4});
  CHECK(bias_added.forward_values == nn::linear(4, 7).spec({2, 6, 4}).forward_values);
  CHECK(bias_added.gemm == nn::linear(4, 7).spec({2, 6, 4}).gemm);
  auto const gelu = nn::formula("f", [](auto u) { return ashlar::formulas::gelu(u); });
  CHECK(gelu.spec({6, 4}).forward_values == nn::gelu().spec({6, 4}).forward_values);
  CHECK(gelu.spec({6, 4}).backward_values == nn::gelu().spec({6, 4}).backward_values);
  // swiglu keeps x and both products of 5x6, and its backward pass computes the gated product
  // again. The gradients of its weights read other weights, so they are not computed separately
  // from dx.
  auto const swiglu = nn::swiglu(4, 6).spec({5, 4});
  CHECK(swiglu.saved_values == 5 * 4 + 2 * 5 * 6);
  CHECK(swiglu.backward == ashlar::search::backward_form::whole);
  CHECK(swiglu.forward_flops == 3 * 2 * 5 * 4 * 6);
  CHECK(swiglu.backward_flops == 2 * swiglu.forward_flops);
  CHECK(!swiglu.gemm.known());  // the hidden features are no dim of x or y
  CHECK(swiglu.saved_beside.empty());
  // rms_norm keeps x and one number for each row of x.
  CHECK(nn::rms_norm(4).spec({5, 4}).saved_values == 5 * 4 + 5);
  // The backward pass of a bias needs no value of the forward pass, so nothing is kept.
  auto const bias = nn::formula(
      "f", [](auto x, auto b) { return x + b; }, nn::weight("b", {4}, zero));
  CHECK(bias.spec({5, 4}).saved_values == 0);
}

TEST_CASE("what is not split like x counts with what it is split with") {
  // If the features of x are split, the product of x is partial, and every rank holds an addend
  // that is as large as the whole product.
  auto const gated = nn::formula(
                         "f", [](auto x, auto w, auto g) { return matmul(x, w) * g; },
                         nn::weight("w", {4, 7}), nn::weight("g", {7}, zero))
                         .spec({5, 4});
  CHECK(gated.saved_values == 5 * 4);
  REQUIRE(gated.saved_beside.size() == 1);
  CHECK(gated.saved_beside[0] == ashlar::search::saved_values_beside{5 * 7, 1});
  // If rows of x are split, every rank has the whole sum of weights. The backward pass computes
  // this sum again from the kept product of two weights. Every rank has this whole product, too.
  auto const low_rank =
      nn::formula(
          "f", [](auto x, auto w, auto a, auto b) { return matmul(x, w + matmul(a, b)); },
          nn::weight("w", {4, 7}), nn::weight("a", {4, 1}), nn::weight("b", {1, 7}))
          .spec({500, 4});
  CHECK(low_rank.saved_values == 500 * 4);
  REQUIRE(low_rank.saved_beside.size() == 1);
  CHECK(low_rank.saved_beside[0].values == 4 * 7);
  CHECK((low_rank.saved_beside[0].dims & 1u) == 0);
  CHECK(low_rank.workspace_values >= 4 * 7);
}

TEST_CASE("a formula says which operator needs communication, and where the operands lie") {
  CHECK(nn::rms_norm(4).why_not({5, 4}, split(1)) ==
        "rms_norm with x S(1): u + a of 5x1 P needs communication.");
  CHECK(nn::rms_norm(4).why_not({5, 4}, partial()) ==
        "rms_norm with x P: u * v of 5x4 P and 5x4 P needs communication.");
  CHECK(nn::swiglu(4, 6).why_not({5, 4}, split(1)) ==
        "swiglu with x S(1): silu of 5x6 P needs communication.");
  CHECK(nn::swiglu(4, 6).why_not({5, 4}, split(0)) == "");
  // All operators are local, but the gradient of x would not have the placement of x.
  CHECK(nn::formula("f", [](auto x) { return sum(x, -1); }).why_not({4, 1}, split(1)) ==
        "f with x S(1): the gradient of x would be P and not S(1), which needs communication.");
}

TEST_CASE("formulas that cannot be right are refused") {
  auto const refuses = [](auto const& layer, ashlar::shape const& x, std::string const& sentence) {
    CHECK(message_of([&] { layer.spec(x); }) == sentence);
  };
  refuses(nn::swiglu(4, 6), {5, 3},
          "swiglu: matmul of 5x3 and 4x6: the last extent of the first must be the last but one of "
          "the second, and the dims of a batch must be equal.");
  refuses(nn::formula("f", gain_of, nn::weight("g", {4}, zero)), {5, 3},
          "f: u * v of 5x3 and 4: the extents of dim 1 differ and neither is 1. Dims are matched "
          "from the last one on.");
  refuses(nn::rms_norm(8), {5, 1}, "rms_norm: dim 1 of 5x1 must have the extent 8.");
  refuses(nn::rms_norm(1), {5, 4}, "rms_norm: dim 1 of 5x4 must have the extent 1.");
  refuses(nn::formula("f", [](auto x) { return sum(x, 0, -2); }), {5, 3},
          "f: sum over dim -2 of a tensor 5x3, which is named twice.");
  refuses(nn::formula("f", [](auto x) { return permute<1, 1>(x); }), {5, 3},
          "f: permute names each dim of 5x3 once: permute<1, 0>(u) for a tensor of two dims.");
  refuses(nn::formula("f",
                      [](auto x) {
                        return split_dim(x, 1, {2, 2});
                      }),
          {5, 3},
          "f: split_dim cannot divide dim 1 of 5x3 into 2x2: the product must be its extent, and a "
          "tensor has at most 5 dims.");
  refuses(nn::formula("f", [](auto x) { return einsum<"abc->cba">(x); }), {5, 3},
          "f: einsum names 3 dims as abc of a tensor 5x3.");
  refuses(nn::formula("f", [](auto x) { return einsum<"ab,bc->ac">(x, x); }), {5, 3},
          "f: einsum of 5x3 and 5x3: the extents of letter b differ.");
  refuses(nn::formula("f", [](auto x) { return sum(x, 2); }), {5, 3},
          "f: sum over dim 2 of a tensor 5x3. Dims count from 0, and from the last one with -1.");
  refuses(nn::formula(
              "f", [](auto x, auto) { return x; }, nn::weight("g", {4}, zero)),
          {5, 4},
          "f: the formula does not use weight g of extents 4. Remove it from the function's "
          "parameters.");
  refuses(
      nn::formula(
          "f", [](auto, auto g) { return exp(g); }, nn::weight("g", {4}, zero)),
      {5, 4},
      "f: the formula does not use x of extents 5x4. Remove it from the function's parameters.");
  refuses(nn::formula("f",
                      [](auto x) {
                        for (int i = 0; i < 80; ++i) x = exp(x);
                        return x;
                      }),
          {5, 4},
          "f: the formula and its gradient have more than 128 operators. Divide it into several "
          "formulas in an nn::chain.");
}

TEST_CASE("operators may be named with their namespace, as in programs with tensors") {
  constexpr auto plain = nn::formula(
      "plain", [](auto x, auto w) { return softmax(tanh(matmul(x, w)) + mean(x, -1)) * sum(w, 0); },
      nn::weight("w", {4, 4}));
  constexpr auto qualified = nn::formula(
      "qualified",
      [](auto x, auto w) {
        return ashlar::softmax(ashlar::tanh(ashlar::matmul(x, w)) + ashlar::mean(x, -1)) *
               ashlar::sum(w, 0);
      },
      nn::weight("w", {4, 4}));
  auto const one = plain.spec({2, 4}), other = qualified.spec({2, 4});
  CHECK(rows_of(one.rows) == rows_of(other.rows));
  CHECK(one.backward_flops == other.backward_flops);
}

}  // namespace ashlar_test
