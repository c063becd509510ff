// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4 6 8

// Tests factories (functions that create filled tensors) and the conversions back to full arrays.
// The value of an element depends only on its global index, not on mesh or placement.

#include <sstream>
#include <utility>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/placed.hpp>

#include <ashlar/comm/communication_log.hpp>
#include <ashlar/tensor/any_tensor.hpp>
#include <ashlar/tensor/elementwise.hpp>
#include <ashlar/tensor/factory.hpp>
#include <ashlar/tensor/gather.hpp>
#include <ashlar/tensor/redistribute.hpp>

namespace ashlar_test {
namespace {

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::shape;

dense as_dense(shape const& extents, auto const& values) {
  dense x;
  for (int d = 0; d < extents.rank(); ++d) x.extents.push_back(static_cast<int>(extents[d]));
  x.values.assign(values.begin(), values.end());
  return x;
}

/// Calls make(mesh, placement), which creates a tensor of Rank dimensions, for every mesh and
/// placement. Compares each tensor with the replicated one on a mesh with one axis, and expects no
/// communication.
template <int Rank, class Make>
void same_everywhere(Make make) {
  ashlar::mesh const plain(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const whole = make(plain, placement{ashlar::broadcast()});
  dense const truth = as_dense(whole.extents(), whole.local());
  for (auto const& m : all_meshes()) {
    ashlar::communication_log const log(m);
    for (auto const op : all_reductions)
      for (auto const& p : all_placements(Rank, m.axes(), {op})) {
        if (!p.has_partial() && op != ashlar::reduction::sum) continue;
        CHECK(wrong_with(make(m, p), truth) == "");
      }
    CHECK(log.records().empty());
  }
}

}  // namespace

TEST_CASE("random values depend on the seed and the global index only") {
  int const n = world_size();
  for (shape const& s : {shape{n + 1, 5}, shape{n, 1}, shape{0, 3}, shape{2, n - 1}}) {
    same_everywhere<2>([&](auto const& m, placement const& p) {
      return ashlar::normal<float, 2>(m, s, p, {.seed = 7, .stream = 2, .mean = 3, .deviation = 2});
    });
    same_everywhere<2>([&](auto const& m, placement const& p) {
      return ashlar::uniform<double, 2>(m, s, p, {.seed = 7, .low = -1, .high = 4});
    });
  }
  same_everywhere<1>([&](auto const& m, placement const& p) {
    return ashlar::normal<double>(m, {2 * n + 1}, p, {.seed = 1});
  });
}

TEST_CASE("random values of rank 3") {
  int const n = world_size();
  auto const check_on = [&](ashlar::topology const& t, char const* text) {
    ashlar::mesh const m(MPI_COMM_WORLD, t);
    auto const p = ashlar::parse_placement(text);
    auto const whole = placement::all_broadcast(m.axes());
    auto const x = ashlar::normal<float>(m, {3, n + 1, 5}, p, {.seed = 5});
    auto const y = ashlar::normal<float>(m, {3, n + 1, 5}, whole, {.seed = 5});
    CHECK(wrong_with(x, as_dense(y.extents(), y.local())) == "");
  };
  for (auto const* text : {"S(0)", "S(1)", "S(2)", "P"}) check_on({{"gpu", n}}, text);
  for (auto const* text : {"S(2),S(1)", "S(1,1),S(1,0)", "P,S(2)"})
    check_on({{"one", 1}, {"gpu", n}}, text);
}

TEST_CASE(
    "other seeds and streams give other values, with the requested mean, deviation and bounds") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const draw = [&](ashlar::random_options o) {
    return to_full(ashlar::normal<double>(m, {40, 50}, sbp<S<0>>{}, o));
  };
  auto const x = draw({.seed = 1, .mean = 5, .deviation = 3});
  CHECK(x == draw({.seed = 1, .mean = 5, .deviation = 3}));
  CHECK(x != draw({.seed = 2, .mean = 5, .deviation = 3}));
  CHECK(x != draw({.seed = 1, .stream = 1, .mean = 5, .deviation = 3}));
  double mean = 0, variance = 0;
  for (double v : x) mean += v / double(x.size());
  for (double v : x) variance += (v - mean) * (v - mean) / double(x.size());
  CHECK(std::abs(mean - 5) < 0.3);
  CHECK(std::abs(std::sqrt(variance) - 3) < 0.2);
  for (double v :
       to_full(ashlar::uniform<double>(m, {40, 50}, sbp<S<0>>{}, {.low = -2, .high = 1})))
    CHECK_MESSAGE((v >= -2 && v < 1), v);
}

TEST_CASE("full, zeros and from_index") {
  int const n = world_size();
  same_everywhere<2>([&](auto const& m, placement const& p) {
    return ashlar::full<float>(m, {n + 1, 3}, p, -2.5f);
  });
  same_everywhere<2>([&](auto const& m, placement const& p) {
    return ashlar::zeros<std::int64_t>(m, {3, n}, p);
  });
  auto const number = [](auto i) { return static_cast<float>(10 * i[0] - i[1]); };
  same_everywhere<2>([&](auto const& m, placement const& p) {
    return ashlar::from_index<float, 2>(m, {n + 1, n + 2}, p, number);
  });
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", n}});
  auto const x = ashlar::from_index<float, 2>(m, {2, 3}, sbp<S<1>>{}, number);
  static_assert(std::same_as<decltype(x)::placement_type, sbp<S<1>>>);
  CHECK(to_full(x) == std::vector<float>{0, -1, -2, 10, 9, 8});
  auto const scalar = ashlar::from_index<double, 0>(m, {}, sbp<P>{}, [](auto) { return 4.0; });
  CHECK(to_full(scalar) == std::vector<double>{4});
}

TEST_CASE("from_full and to_full are inverse on every placement") {
  int const n = world_size();
  std::mt19937 random(2);
  auto const truth = random_integers(random, {n + 1, 3});
  std::vector<double> const values = truth.values;
  for (auto const& m : all_meshes()) {
    for (auto const& p : all_placements(2, m.axes())) {
      auto const x = ashlar::from_full<2>(m, {n + 1, 3}, p, std::span(values));
      CHECK(wrong_with(x, truth) == "");
      CHECK(to_full(x) == values);
    }
  }
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", n}});
  CHECK(message_of([&] {
          ashlar::from_full<2>(m, {2, 2}, sbp<B>{}, std::span(values));
        }) == "from_full: " + std::to_string(values.size()) + " values do not fill shape 2x2.");
}

TEST_CASE("print writes placement and values of a tensor on rank 0") {
  int const n = world_size();
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", n}});
  auto const x = ashlar::from_index<float, 2>(
      m, {2, 3}, sbp<S<0>>{}, [](auto i) { return static_cast<float>(i[0]) + 0.5f * float(i[1]); });
  std::ostringstream out, line;
  print(x, out);
  std::string const expected =
      "tensor 2x3 [S(0)]@gpu=" + std::to_string(n) +
      "\n         0        0.5          1\n         1        1.5          2\n";
  CHECK(out.str() == (m.rank() == 0 ? expected : ""));
  line << x;
  CHECK(line.str() == "tensor 2x3 [S(0)]@gpu=" + std::to_string(n));
}

TEST_CASE("impossible extents are refused") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  CHECK(has(message_of([&] { ashlar::zeros<float>(m, {3, -1}, sbp<B>{}); }), "negative extent"));
  CHECK(has(message_of([&] {
              ashlar::empty<float, 2>(m, {std::int64_t{1} << 40, std::int64_t{1} << 40}, sbp<B>{});
            }),
            "too many elements"));
  // 2^61 doubles have 2^64 bytes, which would wrap around to 0.
  CHECK(has(message_of([&] { ashlar::empty<double, 1>(m, {std::int64_t{1} << 61}, sbp<B>{}); }),
            "too many elements"));
  CHECK(has(message_of([&] {
              ashlar::empty<float, 2>(m, {3, 4, 5}, sbp<B>{});
            }),
            "shape 3x4x5 has 3 dims, but the tensor's type has 2"));
  CHECK(has(message_of([&] {
              ashlar::zeros<float>(m, {3, 3}, sbp<B, B>{});
            }),
            "wrong number of axes"));
}

TEST_CASE("a default-constructed tensor says that it has no mesh") {
  ashlar::tensor<float, 1> const nothing;
  CHECK(nothing.empty());
  auto const said = "tensor: a default-constructed or moved-from tensor has no mesh and no values.";
  CHECK(has(message_of([&] { nothing.mesh(); }), said));
  CHECK(has(message_of([&] { nothing.clone(); }), said));
  CHECK(has(message_of([&] { redistribute(nothing, ashlar::placement::all_broadcast(1)); }), said));
  CHECK(has(message_of([&] { nothing + nothing; }), said));
  CHECK(
      has(message_of([&] { ashlar::any_tensor<ashlar::device::host::processor>().mesh(); }), said));
}

TEST_CASE("a moved-from tensor says that it has no mesh") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const said = "tensor: a default-constructed or moved-from tensor has no mesh and no values.";
  auto x = ashlar::full<float>(m, {4}, sbp<B>{}, 3);
  auto y = std::move(x);
  CHECK(x.empty());
  CHECK(has(message_of([&] { x.mesh(); }), said));
  CHECK(has(message_of([&] { x.clone(); }), said));
  CHECK(has(message_of([&] { x.local(); }), said));
  CHECK(has(message_of([&] { x + x; }), said));
  x = std::move(y);  // a tensor can be assigned to it
  CHECK((x.mesh() == m));
  CHECK(x.local()[3] == 3);
  CHECK(has(message_of([&] { y.mesh(); }), said));

  ashlar::any_tensor a = x;
  auto const b = std::move(a);
  CHECK(a.empty());
  CHECK(has(message_of([&] { a.mesh(); }), said));
  CHECK((b.mesh() == m));
}

TEST_CASE("values of a partial tensor are refused, addends are given") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const x = ashlar::full<float>(m, {4}, ashlar::placement{ashlar::partial()}, 3);
  for (auto const& text : {message_of([&] { x.as_dynamic().local(); }),
                           message_of([&] { ashlar::local_values(x.as_dynamic()); })})
    CHECK(has(text, "local: the shard of the partial tensor 4 [P] has addends, not values."));
  CHECK(x.local_addends().size() == 4);
  auto const sum = x.as_dynamic() | ashlar::to<B>;
  CHECK(sum.local()[0] == 3);
}

}  // namespace ashlar_test
