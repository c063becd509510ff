// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4

// Tests tensors of bfloat16 and of integers. An operator on bfloat16 computes in float and rounds
// once. The expected bits therefore come from the same operator on float tensors, rounded once.

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <vector>

#include <doctest/doctest.h>
#include <support/combinations.hpp>
#include <support/message_of.hpp>
#include <support/placed.hpp>
#include <support/traffic_check.hpp>

#include <ashlar/layout/split.hpp>
#include <ashlar/tensor/elementwise.hpp>
#include <ashlar/tensor/factory.hpp>
#include <ashlar/tensor/gather.hpp>
#include <ashlar/tensor/matmul.hpp>
#include <ashlar/tensor/reduce.hpp>

namespace ashlar_test {
namespace {

using namespace ashlar::placements;
using ashlar::bfloat16;
using ashlar::reduction;
using ashlar::sbp;

/// Rounds the numbers of both lists to bfloat16. Returns whether the rounded lists have the same
/// bits.
template <class X, class Y>
bool same_bits(X const& x, Y const& y) {
  if (x.size() != y.size()) return false;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (bfloat16(static_cast<float>(x[i])).bits() != bfloat16(static_cast<float>(y[i])).bits())
      return false;
  return true;
}

/// Returns a float tensor with the values of a bfloat16 tensor.
template <class Tensor>
auto widened(Tensor const& x) {
  ashlar::tensor<float, Tensor::rank, typename Tensor::placement_type> y(x.mesh(), x.extents(),
                                                                         x.placement());
  for (std::size_t i = 0; i < x.local_addends().size(); ++i)
    y.data()[i] = static_cast<float>(x.local_addends()[i]);
  return y;
}

ashlar::mesh ranks_in_line(transport on = transport::shared_memory) {
  return mesh_on(on, {{"gpu", world_size()}});
}

}  // namespace

TEST_CASE("factories_round_what_they_make_of_floats") {
  auto const m = ranks_in_line();
  sbp<S<0>> const p;
  auto const check = [](auto const& stored, auto const& wide) {
    CHECK(same_bits(stored.local_addends(), wide.local_addends()));
  };
  check(ashlar::full<bfloat16>(m, {5, 3}, p, 1.01f), ashlar::full<float>(m, {5, 3}, p, 1.01f));
  check(ashlar::zeros<bfloat16>(m, {5, 3}, p), ashlar::zeros<float>(m, {5, 3}, p));
  ashlar::random_options const o{3, 4, 0.3, 2.5, -7, 11};
  check(ashlar::normal<bfloat16>(m, {50, 31}, p, o), ashlar::normal<float>(m, {50, 31}, p, o));
  // Numbers just below 11, the excluded end of the range, would be rounded to 11 in bfloat16. The
  // factory returns the largest bfloat16 below 11 instead, which is 10.9375.
  check(ashlar::uniform<bfloat16>(m, {50, 31}, p, o),
        map(ashlar::uniform<float>(m, {50, 31}, p, o),
            [](float v) { return v < 10.9375f ? v : 10.9375f; }));
  auto const value = [](auto const& i) { return 0.1f * static_cast<float>(i[0] * 7 + i[1]); };
  check(ashlar::from_index<bfloat16, 2>(m, {{5, 3}}, p, value),
        ashlar::from_index<float, 2>(m, {{5, 3}}, p, value));
  std::vector<bfloat16> const values(15, bfloat16(2.5f));
  auto const full = ashlar::from_full<2>(m, {{5, 3}}, p, std::span(values));
  CHECK(ashlar::to_full(full) == values);
  std::ostringstream text;
  ashlar::print(full, text);
  if (world_rank() == 0) CHECK(text.str().find("2.5        2.5") != std::string::npos);
}

TEST_CASE("element_wise_operators_compute_in_float_and_round_once") {
  auto const m = ranks_in_line();
  auto const x = ashlar::normal<bfloat16>(m, {33, 17}, sbp<S<0>>{}, {1});
  auto const y = ashlar::normal<bfloat16>(m, {33, 17}, sbp<S<0>>{}, {2});
  auto const a = widened(x), b = widened(y);
  CHECK(same_bits((x + y).local_addends(), (a + b).local_addends()));
  CHECK(same_bits((x - y).local_addends(), (a - b).local_addends()));
  CHECK(same_bits((x * y).local_addends(), (a * b).local_addends()));
  CHECK(same_bits((1.7f * x).local_addends(), (1.7f * a).local_addends()));
  CHECK(same_bits(relu(x).local_addends(), relu(a).local_addends()));
  CHECK(same_bits(gelu(x).local_addends(), gelu(a).local_addends()));
  CHECK(same_bits(softmax(x).local_addends(), softmax(a).local_addends()));
  auto const f = [](float v) { return v * v + 0.3f; };
  CHECK(same_bits(ashlar::map(x, f).local_addends(), ashlar::map(a, f).local_addends()));
}

TEST_CASE("reductions_over_dims_accumulate_in_float") {
  auto const m = ranks_in_line();
  auto const x = ashlar::normal<bfloat16>(m, {40, 300}, sbp<S<0>>{}, {1});
  auto const a = widened(x);
  CHECK(same_bits(ashlar::sum<0>(x).local_addends(), ashlar::sum<0>(a).local_addends()));
  CHECK(same_bits(ashlar::sum<1>(x).local_addends(), ashlar::sum<1>(a).local_addends()));
  CHECK(same_bits(ashlar::max<0>(x).local_addends(), ashlar::max<0>(a).local_addends()));
  CHECK(same_bits(ashlar::min<1>(x).local_addends(), ashlar::min<1>(a).local_addends()));
  CHECK(same_bits(ashlar::sum(x).local_addends(), ashlar::sum(a).local_addends()));
  CHECK(same_bits(ashlar::transpose(x).local_addends(), ashlar::transpose(a).local_addends()));
  auto const ones = ashlar::full<bfloat16>(m, {2, 600}, sbp<B>{}, 1.0f);
  CHECK(static_cast<float>(ashlar::sum(ones).local_addends()[0]) == 1200.0f);
}

namespace {

dense product_of(dense const& a, dense const& b) {
  int const m = a.extents[0], k = a.extents[1], n = b.extents[1];
  dense product({m, n});
  for_each_index({m, n, k}, [&](index const& i) {
    product({i[0], i[1]}) += a({i[0], i[2]}) * b({i[2], i[1]});
  });
  return product;
}

}  // namespace

TEST_CASE("a_local_product_is_rounded_once") {
  auto const m = ranks_in_line();
  std::mt19937 random(3);
  dense const a = random_integers(random, {11, 29}), b = random_integers(random, {29, 7});
  auto const expected = product_of(a, b);
  for (auto const& p : all_placements(2, 1, {})) {
    if (p[0].is_split_of(1)) continue;  // the product would sum over a split dimension
    auto const x = placed<bfloat16, 2>(m, a, p);
    auto const w = placed<bfloat16, 2>(m, b, ashlar::placement::all_broadcast(1));
    CHECK(same_bits(ashlar::to_full(ashlar::matmul(x, w)), expected.values));
  }
}

// If the inner dimension is split, the addends of the product are rounded to bfloat16 before they
// are summed. The result is then exact only if all sums are small integers, as here.
TEST_CASE("products_that_bfloat16_can_represent_are_exact_with_every_plan") {
  std::mt19937 random(3);
  dense const a = random_integers(random, {11, 29}, -2, 2);
  dense const b = random_integers(random, {29, 7}, -2, 2);
  auto const expected = product_of(a, b);
  auto const ends = all_placements(2, 1, {});
  for (auto const on : {transport::shared_memory, transport::messages}) {
    auto const m = ranks_in_line(on);
    for (auto const& [p, q, r] : all_combinations(ends, ends, all_placements(2, 1))) {
      auto const x = placed<bfloat16, 2>(m, a, p), w = placed<bfloat16, 2>(m, b, q);
      CHECK(same_bits(ashlar::to_full(counted_matmul(x, w, r, on)), expected.values));
    }
  }
}

TEST_CASE("redistributions_keep_every_bit") {
  for (auto const on : {transport::shared_memory, transport::messages})
    for (auto const& m : all_meshes_on(on)) {
      auto const x = ashlar::normal<bfloat16>(m, {7, 5},
                                              ashlar::placement::all_broadcast(m.axes()));
      std::vector<bfloat16> const values(x.local_addends().begin(), x.local_addends().end());
      auto const states = all_placements(2, m.axes(), {});
      for (auto const& [p, q] : all_combinations(states, states)) {
        auto const there = counted_redistribute(counted_redistribute(x, p, on), q, on);
        CHECK(ashlar::to_full(there) == values);
      }
    }
}

TEST_CASE_TEMPLATE("integer_valued_partials_are_reduced_exactly", T, bfloat16, std::int32_t,
                   std::int64_t) {
  for (auto const on : {transport::shared_memory, transport::messages})
    for (auto const& m : all_meshes_on(on)) {
      std::mt19937 random(5);
      dense const a = random_integers(random, {7, 5});
      for (auto const op : {reduction::sum, reduction::max, reduction::min})
        for (auto const& p : all_placements(2, m.axes(), {op})) {
          auto const x = placed<T, 2>(m, a, p);
          for (auto const& q : all_placements(2, m.axes(), {}))
            CHECK(wrong_with(counted_redistribute(x, q, on), a) == "");
        }
    }
}

TEST_CASE("a_partial_of_bfloat16_becomes_its_float_sum_rounded_once") {
  int const p = world_size();
  for (auto const on : {transport::shared_memory, transport::messages}) {
    auto const m = ranks_in_line(on);
    for (std::int64_t const n : {0, 1, 2, 7, 64, 1001}) {
      ashlar::tensor<bfloat16, 1, sbp<P>> x(m, {n}, ashlar::placement{{ashlar::partial()}});
      auto const addend = [](int rank, std::int64_t i) {
        return bfloat16(ashlar::device::normal<float>(9, static_cast<std::uint64_t>(rank), i));
      };
      for (std::int64_t i = 0; i < n; ++i) x.data()[i] = addend(world_rank(), i);
      // Member j of the group sums block j. Member j starts with the addend of member j + 1, and
      // adds its own addend last.
      std::vector<bfloat16> expected;
      for (int j = 0; j < p; ++j) {
        auto const part = ashlar::balanced_part({0, n}, p, j);
        for (std::int64_t i = part.begin; i < part.begin + part.size; ++i) {
          float sum = static_cast<float>(addend((j + 1) % p, i));
          for (int s = 2; s <= p; ++s) sum += static_cast<float>(addend((j + s) % p, i));
          expected.push_back(p == 1 ? addend(0, i) : bfloat16(sum));
        }
      }
      CHECK(same_bits(ashlar::to_full(counted_redistribute(x, sbp<B>{}, on)), expected));
      CHECK(same_bits(ashlar::to_full(counted_redistribute(x, sbp<S<0>>{}, on)), expected));
    }
  }
}

TEST_CASE_TEMPLATE("integers_are_added_scaled_and_reduced", T, std::int32_t, std::int64_t) {
  auto const m = ranks_in_line();
  dense x({6, 4}), z({6, 4}), sums({4}), maxima({6});
  for_each_index({6, 4}, [&](index const& i) {
    double const v = x(i) = 3 * i[0] - 5 * i[1];
    z(i) = 3 * v + 2 * v - std::max(v, 0.0);
    sums({i[1]}) += v;
    maxima({i[0]}) = i[1] == 0 ? v : std::max(maxima({i[0]}), v);
  });
  for (auto const& p : all_placements(2, 1, {})) {
    auto const a = placed<T, 2>(m, x, p);
    auto const two = ashlar::full<T>(m, {6, 4}, p, 2);
    CHECK(wrong_with(T(3) * a + two * a - relu(a), z) == "");
    CHECK(wrong_with(ashlar::sum<0>(a), sums) == "");
    CHECK(wrong_with(ashlar::max<1>(a), maxima) == "");
    CHECK(wrong_with(ashlar::transpose(ashlar::transpose(a)), x) == "");
  }
}

}  // namespace ashlar_test
