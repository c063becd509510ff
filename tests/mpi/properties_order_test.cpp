// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4 5 6 7 8

// Tests that sums of arbitrary floating-point numbers are bitwise reproducible. Each rank alone
// simulates the plan of all ranks, and adds in the library's canonical order (support/replay.hpp).
// Its shard must have the bits of this simulation, with messages and with shared memory. Matrix
// products must have the same bits on both transports. Transfers must move the planned bytes.

#include <cmath>
#include <cstring>

#include <doctest/doctest.h>
#include <support/placement_cases.hpp>
#include <support/replay.hpp>
#include <support/shared_property.hpp>
#include <support/traffic_check.hpp>

#include <ashlar/tensor/matmul.hpp>

namespace ashlar_test {
namespace {

struct order_case {
  mesh_case mesh;
  bool in_double = false;
  index extents;
  placement from, to;
  int seed = 0;

  friend std::ostream& operator<<(std::ostream& out, order_case const& c) {
    return out << (c.in_double ? "double " : "float ") << to_string(to_shape(c.extents)) << ' '
               << to_string(c.from) << " -> " << to_string(c.to) << " @" << c.mesh
               << ", values of seed " << c.seed;
  }
};

rc::Gen<order_case> cases() {
  return rc::gen::exec([] {
    order_case c;
    c.mesh = *meshes(3);
    c.in_double = *between(0, 1) == 1;
    int const rank = *between(1, 3), axes = c.mesh.topology.axes();
    c.extents = draw_extents(rank);
    c.from = draw_placement(rank, axes, reduction::sum);
    c.to = draw_placement(rank, axes, reduction::sum);
    c.seed = *between(0, 999);
    return c;
  });
}

/// Returns element i of an addend: a random number between -1 and 1, multiplied by a random power
/// of two from 2^-8 to 2^8.
template <class T>
T number(int seed, index const& addend, int i) {
  std::mt19937 random(static_cast<unsigned>(seed * 7919 + i));
  for (int a : addend) random.seed(static_cast<unsigned>(random()) + static_cast<unsigned>(a));
  double const mantissa = std::uniform_real_distribution<double>(-1, 1)(random);
  return static_cast<T>(std::ldexp(mantissa, uniform(random, -8, 8)));
}

template <class T, int Rank>
ashlar::tensor<T, Rank> numbers(ashlar::mesh const& m, order_case const& c) {
  naive_mesh const ranks(m.topology());
  index const here = to_index(m.coordinate(), m.axes());
  auto const items = held(c.extents, c.from, ranks, here);
  index counts;
  for (auto const& list : items) counts.push_back(static_cast<int>(list.size()));
  ashlar::tensor<T, Rank> t(m, to_shape(c.extents), c.from);
  T* out = t.data();
  for_each_index(counts, [&](index const& at) {
    int flat = 0;
    for (std::size_t d = 0; d < at.size(); ++d)
      flat = flat * c.extents[d] + items[d][static_cast<std::size_t>(at[d])];
    *out++ = number<T>(c.seed, addend_of(c.from, here), flat);
  });
  return t;
}

template <class T>
bool equal_bits(std::span<T const> x, std::span<T const> y) {
  return x.size() == y.size() &&
         (x.empty() || std::memcmp(x.data(), y.data(), x.size_bytes()) == 0);
}

/// Redistributes `source` to c.to. If the moved bytes are not those of the plan, appends a
/// description to `wrong`.
template <class Tensor>
Tensor moved(Tensor const& source, order_case const& c, transport on, std::string& wrong) {
  auto const& m = source.mesh();
  traffic_check const traffic(m, on);
  auto const result = redistribute(source, c.to);
  wrong += traffic.difference(predicted(m, plan_redistribution(source, c.to).plan));
  return result;
}

template <class T, int Rank>
std::string try_order(order_case const& c) {
  auto on = c.mesh;
  on.on = transport::messages;
  auto const m = mesh_of(on);
  std::string wrong;
  auto const source = numbers<T, Rank>(m, c);
  auto const result = moved(source, c, on.on, wrong);

  basic_replay<T> one_process(c.extents, m.topology());
  one_process.start_with(c.from, [&](index const& a, int i) { return number<T>(c.seed, a, i); });
  for (auto const& s : m.plan(source.extents(), sizeof(T), c.from, c.to).steps) one_process.run(s);
  auto const expected = one_process.shard(m.rank());
  if (!equal_bits<T>(result.local_addends(), expected))
    wrong += " other bits than in the canonical order;";
  if (!equal_bits<T>(redistribute(source, c.to).local_addends(), result.local_addends()))
    wrong += " other bits the second time;";

  on.on = transport::shared_memory;
  auto const in_memory = mesh_of(on);
  auto const direct = moved(numbers<T, Rank>(in_memory, c), c, on.on, wrong);
  if (!equal_bits<T>(direct.local_addends(), result.local_addends()))
    wrong += " other bits in shared memory than on messages;";
  return wrong;
}

std::string try_any_order(order_case const& c) {
  switch (static_cast<int>(c.extents.size())) {
    case 1: return c.in_double ? try_order<double, 1>(c) : try_order<float, 1>(c);
    case 2: return c.in_double ? try_order<double, 2>(c) : try_order<float, 2>(c);
    default: return c.in_double ? try_order<double, 3>(c) : try_order<float, 3>(c);
  }
}

/// Computes a product with messages and with shared memory, and compares the bits. The first
/// operand has placement c.from, the second operand and the result have placement c.to.
std::string try_product_order(order_case const& c) {
  std::string wrong;
  auto const product = [&](transport t) {
    auto on = c.mesh;
    on.on = t;
    auto const m = mesh_of(on);
    auto a = c, b = c;
    a.extents = {c.extents[0], 5};
    b.extents = {5, c.extents[1]};
    b.from = c.to;
    b.seed = c.seed + 1;
    auto const x = numbers<double, 2>(m, a), w = numbers<double, 2>(m, b);
    traffic_check const traffic(m, t);
    auto const result = matmul(x, w, c.to);
    wrong += traffic.difference(predicted(m, plan_matmul(x, w, c.to)));
    return result;
  };
  if (!equal_bits<double>(product(transport::messages).local_addends(),
                          product(transport::shared_memory).local_addends()))
    wrong += " other bits in shared memory than on messages";
  return wrong;
}

rc::Gen<order_case> product_cases() {
  return rc::gen::exec([] {
    order_case c;
    c.mesh = *meshes(3);
    int const axes = c.mesh.topology.axes();
    c.extents = draw_extents(2);
    c.from = draw_placement(2, axes, reduction::sum);
    c.to = draw_placement(2, axes, reduction::sum);
    c.seed = *between(0, 999);
    return c;
  });
}

}  // namespace

TEST_CASE("sums have the bits of the canonical order, on messages and in shared memory") {
  for_all("order of reduction", 150, cases(), try_any_order);
}

TEST_CASE("products have the same bits on messages and in shared memory") {
  for_all("products on both transports", 80, product_cases(), try_product_order);
}

}  // namespace ashlar_test
