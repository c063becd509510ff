// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4 5 6 7 8

// Compares redistributions between static placements, which are types, with redistributions between
// the same placements as run-time values. Plans, exchanged bytes and resulting bits must be equal.
// The meshes and extents are random. Each of them is tested with all ordered pairs from a list of
// placements. Products of tensors are compared in the same way.

#include <cstring>

#include <doctest/doctest.h>
#include <support/placement_cases.hpp>
#include <support/shared_property.hpp>
#include <support/traffic_check.hpp>

#include <ashlar/tensor/matmul.hpp>
#include <ashlar/tensor/redistribute.hpp>

namespace ashlar_test {
namespace {

using namespace ashlar::placements;
using ashlar::sbp;

template <class... Placements>
struct list {
  template <class Visit>
  static void for_each(Visit visit) {
    (visit(Placements{}), ...);
  }
};

using on_one_axis = list<sbp<B>, sbp<S<0>>, sbp<S<2>>, sbp<P>>;
using on_two_axes = list<sbp<B, S<2>>, sbp<S<1>, S<0>>, sbp<S<0>, S<0>>, sbp<S<0, 1>, S<0, 0>>,
                         sbp<P, S<0>>, sbp<P, P>>;
using on_three_axes =
    list<sbp<B, P, S<0>>, sbp<S<1>, S<0>, S<1>>, sbp<S<1, 1>, B, S<1, 0>>, sbp<P, S<2>, P>>;

struct typed_case {
  mesh_case mesh;
  index extents;
  int seed = 0;

  friend std::ostream& operator<<(std::ostream& out, typed_case const& c) {
    return out << to_string(to_shape(c.extents)) << " @" << c.mesh << ", values of seed " << c.seed;
  }
};

rc::Gen<typed_case> cases(int least_axes, int most_axes, int rank) {
  return rc::gen::exec([=] {
    typed_case c;
    c.mesh = *meshes(most_axes, least_axes);
    c.extents = draw_extents(rank);
    c.seed = *between(0, 999);
    return c;
  });
}

template <class X, class Y>
bool same_bits(X const& x, Y const& y) {
  return x.local_elements() == y.local_elements() &&
         (x.local_elements() == 0 ||
          std::memcmp(x.data(), y.data(), x.local_addends().size_bytes()) == 0);
}

template <class From, class To>
std::string compare(typed_case const& c, From, To to) {
  auto const& m = mesh_of(c.mesh);
  std::mt19937 random(static_cast<unsigned>(c.seed));
  dense const x = random_integers(random, c.extents);
  auto const source = placed<double, 3>(m, x, ashlar::value_of<From>);
  auto const typed_source = source.template as_static<From>();
  auto const plan = plan_redistribution(source, ashlar::value_of<To>).plan;
  std::string wrong;
  if (!(plan_redistribution(typed_source, to).plan == plan)) wrong += " the plans differ;";
  if (!(plan == plan_redistribution(to_shape(c.extents), sizeof(double), ashlar::value_of<From>,
                                    ashlar::value_of<To>, m.topology(), m.machine())))
    wrong += " the plan is not the planner's;";

  traffic_check traffic(m, c.mesh.on);
  auto const by_value = redistribute(source, ashlar::value_of<To>);
  wrong += traffic.difference(predicted(m, plan));
  traffic.clear();
  auto const by_type = redistribute(typed_source, to);
  static_assert(
      std::same_as<decltype(by_type), ashlar::tensor<double, 3, ashlar::canonical<To>> const>);
  wrong += traffic.difference(predicted(m, plan));
  traffic.clear();
  auto const half_typed = redistribute(source, to);
  wrong += traffic.difference(predicted(m, plan));

  if (!same_bits(by_type, by_value) || !same_bits(half_typed, by_value))
    wrong += " the data differ;";
  if (auto const text = wrong_with(by_type, x); !text.empty()) wrong += " typed: " + text + ";";
  auto const back = redistribute(by_type, From{});
  static_assert(std::same_as<typename decltype(back)::placement_type, ashlar::canonical<From>>);
  return wrong + wrong_with(back, x);
}

template <class List>
std::string try_pairs(typed_case const& c) {
  std::string wrong;
  List::for_each([&](auto from) {
    List::for_each([&](auto to) {
      if (auto const text = compare(c, from, to); !text.empty())
        wrong += to_string(as_value(from)) + " -> " + to_string(as_value(to)) + ":" + text + '\n';
    });
  });
  return wrong;
}

std::string try_any_pairs(typed_case const& c) {
  switch (c.mesh.topology.axes()) {
    case 1: return try_pairs<on_one_axis>(c);
    case 2: return try_pairs<on_two_axes>(c);
    default: return try_pairs<on_three_axes>(c);
  }
}

template <class A, class B, class Result>
std::string compare_products(typed_case const& c, A, B, Result result) {
  auto const& m = mesh_of(c.mesh);
  int const rows = c.extents[0], k = c.extents[1], columns = c.extents[2];
  std::mt19937 random(static_cast<unsigned>(c.seed));
  auto const a = placed<float, 2>(m, random_integers(random, {rows, k}), ashlar::value_of<A>);
  auto const b = placed<float, 2>(m, random_integers(random, {k, columns}), ashlar::value_of<B>);
  auto const typed_a = a.template as_static<A>();
  auto const typed_b = b.template as_static<B>();
  auto const plan = plan_matmul(a, b, ashlar::value_of<Result>);
  std::string wrong;
  traffic_check traffic(m, c.mesh.on);
  auto const by_value = matmul(a, b, ashlar::value_of<Result>);
  wrong += traffic.difference(predicted(m, plan));
  traffic.clear();
  auto const by_type = ashlar::matmul<Result>(typed_a, typed_b);
  static_assert(
      std::same_as<decltype(by_type), ashlar::tensor<float, 2, ashlar::canonical<Result>> const>);
  wrong += traffic.difference(predicted(m, plan));
  if (!(predicted(m, plan_matmul(typed_a, typed_b, result)) == predicted(m, plan)))
    wrong += " the plans differ;";
  return same_bits(by_type, by_value) ? wrong : wrong + " the data differ;";
}

std::string try_products(typed_case const& c) {
  std::string wrong;
  list<sbp<S<0>, S<1>>, sbp<P, B>>::for_each([&](auto a) {
    list<sbp<S<1>, S<1>>, sbp<B, S<0>>>::for_each([&](auto b) {
      list<sbp<S<0>, S<1>>, sbp<S<0, 1>, S<0, 0>>, sbp<B, P>>::for_each(
          [&](auto result) { wrong += compare_products(c, a, b, result); });
    });
  });
  return wrong;
}

}  // namespace

TEST_CASE("typed placements and values of them: one plan, one result") {
  for_all("typed redistribution", 40, cases(1, 3, 3), try_any_pairs);
}

TEST_CASE("products of typed tensors to typed placements, and of values") {
  for_all("typed products", 20, cases(2, 2, 3), try_products);
}

}  // namespace ashlar_test
