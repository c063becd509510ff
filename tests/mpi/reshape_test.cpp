// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4 6 8

// Tests reshapes, slices and concatenations on every placement. Each operation must be correct
// without communication, or be rejected with a message that advises another placement. If the
// operand is redistributed to exactly this placement, the operation must succeed.

#include <cstdint>
#include <limits>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/placed.hpp>

#include <ashlar/comm/no_communication.hpp>
#include <ashlar/tensor/concat.hpp>
#include <ashlar/tensor/gather.hpp>
#include <ashlar/tensor/merge_axes.hpp>
#include <ashlar/tensor/slice.hpp>
#include <ashlar/tensor/split_axis.hpp>

namespace ashlar_test {
namespace {

using namespace ashlar::placements;
using ashlar::reduction;
using ashlar::sbp;
using ashlar::shape;

dense with_extents(dense x, index extents) {
  x.extents = std::move(extents);
  return x;
}

dense sliced(dense const& x, int dim, int begin, int size) {
  std::vector<std::vector<int>> items;
  for (int d = 0; d < x.rank(); ++d) {
    items.emplace_back(static_cast<std::size_t>(d == dim ? size : x.extent(d)));
    std::iota(items.back().begin(), items.back().end(), d == dim ? begin : 0);
  }
  return cut(x, items);
}

/// Returns the placement in brackets that follows the text `before` in a message.
placement advised(std::string const& message, std::string const& before) {
  auto const begin = message.find(before + "[");
  REQUIRE_MESSAGE(begin != std::string::npos, message);
  auto const from = begin + before.size();
  return ashlar::parse_placement(message.substr(from, message.find(']', from) + 1 - from));
}

struct tally {
  int local = 0, refused = 0;
};

/// Checks that operation(x) gives `truth`. If the operation is rejected, redistributes x as the
/// message advises and tries again.
template <class X, class Operation>
void check(X const& x, std::string const& name, dense const& truth, Operation operation,
           tally& seen) {
  bool done = false;
  auto const message = message_of([&] {
    ashlar::no_communication const forbidden(x.mesh());
    auto const y = operation(x);
    done = true;
    CHECK(y.placement().has_partial() == x.placement().has_partial());
    CHECK(wrong_with(y, truth) == "");
  });
  ++(done ? seen.local : seen.refused);
  if (done) return;
  CHECK_MESSAGE(message.starts_with(name + ": "), message);
  CHECK_MESSAGE(has(message, describe(x)), message);
  CHECK_MESSAGE(has(message, "would have to move between ranks. "), message);
  auto const moved = redistribute(x, advised(message, "Redistribute it to "));
  ashlar::no_communication const forbidden(x.mesh());
  CHECK_MESSAGE(wrong_with(operation(moved), truth) == "", message);
}

template <int From, int To>
void reshape_everywhere(ashlar::mesh const& m, index const& from, std::int64_t const (&to)[To],
                        tally& seen, std::vector<reduction> const& partials = {reduction::sum}) {
  auto const a = seeded_integers(from);
  auto const b = with_extents(a, index(to, to + To));
  for (auto const& p : all_placements(From, m.axes(), partials)) {
    auto const x = placed<float, From>(m, a, p);
    check(
        x, "reshape", b, [&](auto const& t) { return reshape(t, to); }, seen);
    auto const q = reshape_placement(x.extents(), ashlar::detail::shape_of(to), m.topology(), p);
    if (!q) continue;
    auto const y = reshape(x, to);
    CHECK(y.placement() == *q);
    CHECK(y.data() == x.data());
  }
}

}  // namespace

TEST_CASE("reshapes on every placement") {
  int const n = world_size();
  tally seen;
  for (auto const& m : all_meshes()) {
    reshape_everywhere<2, 1>(m, {n, 6}, {6 * n}, seen);
    reshape_everywhere<2, 1>(m, {n + 1, 2}, {2 * (n + 1)}, seen);
    reshape_everywhere<1, 2>(m, {4 * n}, {2 * n, 2}, seen);
    reshape_everywhere<1, 2>(m, {7 * (n + 1)}, {n + 1, 7}, seen);
    reshape_everywhere<1, 2>(m, {0}, {5, 0}, seen);
    reshape_everywhere<1, 1>(m, {1}, {1}, seen);
    reshape_everywhere<2, 2>(m, {12, 8}, {16, 6}, seen);
    if (m.axes() == 3) continue;
    reshape_everywhere<2, 3>(m, {1, n}, {n, 1, 1}, seen);
    reshape_everywhere<2, 3>(m, {4, 6}, {2, 2, 6}, seen, {reduction::max});
    reshape_everywhere<3, 2>(m, {2, 3, 4}, {6, 4}, seen, {reduction::min});
    reshape_everywhere<3, 2>(m, {2, 1, n}, {2 * n, 1}, seen, {});
  }
  CHECK(seen.local > 0);
  CHECK((seen.refused > 0) == (n > 1));
}

TEST_CASE("typed reshapes have the requested placement, or the error says what to do") {
  int const n = world_size();
  ashlar::mesh const m(MPI_COMM_WORLD, {{"one", 1}, {"gpu", n}});
  auto const a = seeded_integers({2 * n, 6});
  auto const x =
      placed<float, 2>(m, a, {ashlar::broadcast(), ashlar::split(0)}).as_static<sbp<B, S<0>>>();
  auto const y = ashlar::reshape<sbp<B, S<0>>>(x, {n, 2, 6});
  static_assert(std::same_as<decltype(y), ashlar::tensor<float, 3, sbp<B, S<0>>> const>);
  CHECK(y.data() == x.data());
  CHECK(wrong_with(y, with_extents(a, {n, 2, 6})) == "");
  // Along an axis of extent 1, a split is the same as a replication.
  CHECK(wrong_with(ashlar::reshape<sbp<S<1>, S<0>>>(x, {n, 2, 6}), with_extents(a, {n, 2, 6})) ==
        "");
  CHECK(wrong_with(ashlar::reshape<sbp<B, S<0>>>(x.as_dynamic(), {12 * n}),
                   with_extents(a, {12 * n})) == "");
  if (n == 1) return;

  // Without communication, the result would have another placement. The message names this
  // placement.
  auto message = message_of([&] { ashlar::reshape<sbp<B, S<0>>>(x, {1, 2 * n, 6}); });
  CHECK_MESSAGE(has(message, "reshape: " + describe(x) + " to 1x" + std::to_string(2 * n) +
                                 "x6 as [B,S(0)]: elements would have to move between ranks. "),
                message);
  CHECK_MESSAGE(has(message, "Nothing moves if the result has placement [B,S(1)]: reshape it to "
                             "that placement, and redistribute that to [B,S(0)]."),
                message);
  // With another placement of the operand, the operation would succeed. The message names this
  // placement.
  auto const columns = placed<float, 2>(m, a, {ashlar::broadcast(), ashlar::split(1)});
  message = message_of([&] { ashlar::reshape<sbp<B, S<0>>>(columns, {12 * n}); });
  CHECK_MESSAGE(has(message, "Redistribute it to [B,S(0)] first."), message);
  // No placement of the operand gives the requested placement of the result without communication.
  // The message advises two redistributions, one before the reshape and one after it.
  auto const uneven = placed<float, 2>(m, seeded_integers({n + 1, 5 * n}),
                                       {ashlar::broadcast(), ashlar::split(0)});
  message = message_of([&] { ashlar::reshape<sbp<B, S<0>>>(uneven, {5 * n * (n + 1)}); });
  CHECK_MESSAGE(has(message, "first; the result then has placement ["), message);
  CHECK_MESSAGE(has(message, ", and redistribute that to [B,S(0)]."), message);
}

TEST_CASE("the message of tensor/README.md") {
  if (world_size() != 4) return;
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", 4}});
  auto const x = placed<float, 2>(m, seeded_integers({12, 8}), {ashlar::split(1)});
  CHECK(message_of([&] {
          ashlar::reshape(x, {16, 6});
        }) == "reshape: tensor 12x8 [S(1)]@gpu=4 to 16x6: elements would have to move between "
              "ranks. Redistribute it to [S(0)] first; the result then has placement [S(0)].");
}

TEST_CASE("reshapes that are wrong whatever the placement") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const x = placed<float, 2>(m, seeded_integers({4, 6}), {ashlar::broadcast()});
  CHECK(has(message_of([&] {
              ashlar::reshape(x, {5, 5});
            }),
            "reshape: " + describe(x) + " to 5x5: 24 elements do not fill 25."));
  CHECK(has(message_of([&] { ashlar::reshape(x, {-4, -6}); }), "negative extent"));
  CHECK(has(message_of([&] {
              ashlar::split_axis<0>(x, {3, 2});
            }),
            "split_axis: " + describe(x) + ": dim 0 does not split into 3x2."));
  CHECK(has(message_of([&] { ashlar::reshape<sbp<B, B>>(x, {24}); }), "wrong number of axes"));
}

TEST_CASE("a view shares the shard and keeps it alive") {
  int const n = world_size();
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", n}});
  auto const a = seeded_integers({n, 4});
  auto x = placed<double, 2>(m, a, {ashlar::split(0)});
  auto const flat = ashlar::reshape(x, {4 * n});
  auto const rows = ashlar::slice<0>(redistribute(x, placement{ashlar::split(1)}), n - 1, 1);
  x.data()[0] += 100;
  CHECK(flat.data()[0] == x.data()[0]);
  x = {};
  CHECK(flat.local_elements() == 4);
  CHECK(wrong_with(rows, sliced(a, 0, n - 1, 1)) == "");
}

TEST_CASE("dims split and merged by name, on every placement") {
  int const n = world_size();
  tally seen;
  for (auto const& m : all_meshes()) {
    auto const a = seeded_integers({2 * n, 6});
    for (auto const& p : all_placements(2, m.axes())) {
      auto const x = placed<float, 2>(m, a, p);
      check(
          x, "split_axis", with_extents(a, {n, 2, 6}),
          [&](auto const& y) {
            return ashlar::split_axis<0>(y, {n, 2});
          },
          seen);
      check(
          x, "split_axis", with_extents(a, {2 * n, 1, 2, 3}),
          [&](auto const& y) {
            return ashlar::split_axis<1>(y, {1, 2, 3});
          },
          seen);
      check(
          x, "merge_axes", with_extents(a, {12 * n}),
          [&](auto const& y) { return ashlar::merge_axes<0>(y); }, seen);
    }
    if (m.axes() == 3) continue;
    auto const b = seeded_integers({2, n, 3});
    for (auto const& p : all_placements(3, m.axes(), {})) {
      auto const x = placed<float, 3>(m, b, p);
      check(
          x, "merge_axes", with_extents(b, {2, 3 * n}),
          [&](auto const& y) { return ashlar::merge_axes<1, 2>(y); }, seen);
      check(
          x, "merge_axes", with_extents(b, {6 * n}),
          [&](auto const& y) { return ashlar::merge_axes<0, 3>(y); }, seen);
    }
  }
  CHECK(seen.local > 0);
  CHECK((seen.refused > 0) == (n > 1));
}

TEST_CASE("typed splits and merges of dims have the right placements") {
  int const n = world_size();
  ashlar::mesh const m(MPI_COMM_WORLD, {{"one", 1}, {"gpu", n}});
  auto const a = seeded_integers({2 * n, 6, n});
  auto const x =
      placed<float, 3>(m, a, {ashlar::split(2), ashlar::split(0)}).as_static<sbp<S<2>, S<0>>>();
  auto const heads = ashlar::split_axis<0>(x, {n, 2});
  static_assert(std::same_as<decltype(heads)::placement_type, sbp<S<3>, S<0>>>);
  CHECK(wrong_with(heads, with_extents(a, {n, 2, 6, n})) == "");
  auto const back = ashlar::merge_axes<0>(heads);
  static_assert(std::same_as<decltype(back)::placement_type, sbp<S<2>, S<0>>>);
  CHECK(wrong_with(back, a) == "");
  if (n == 1) return;
  auto const message = message_of([&] { ashlar::split_axis<0>(x, {1, 2 * n}); });
  CHECK_MESSAGE(has(message, "split_axis: "), message);
  CHECK_MESSAGE(has(message, "Nothing moves if the result has placement [S(3),S(1)]"), message);
}

TEST_CASE("owned tensors are refused, and owned results too") {
  int const n = world_size();
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", n}});
  auto const whole = placed<float, 2>(m, seeded_integers({4, 6}), {ashlar::broadcast()});
  auto const x = redistribute(whole, placement{ashlar::owned(n - 1)});
  auto const refused = [&](std::string const& name, auto const& operation) {
    CHECK(has(message_of(operation),
              name + ": an owned operand has its values on one rank of an axis"));
  };
  refused("slice", [&] { ashlar::slice<0>(x, 0, 2); });
  refused("slice", [&] { ashlar::slice<1>(x, 0, 6); });
  refused("concat", [&] { ashlar::concat<1>(x, x); });
  refused("reshape", [&] { ashlar::reshape(x, {24}); });
  refused("reshape", [&] { ashlar::reshape<sbp<B>>(x, {4, 6}); });
  refused("merge_axes", [&] { ashlar::merge_axes<0>(x); });
  refused("split_axis", [&] { ashlar::split_axis<0>(x, {2, 2}); });
  CHECK(has(message_of([&] { ashlar::reshape<sbp<O<0>>>(whole, {24}); }),
            "reshape: the result cannot be at [O(0)]"));
}

TEST_CASE("slices of every dim, on every placement") {
  int const n = world_size();
  tally seen;
  for (auto const& m : all_meshes()) {
    index const extents{n + 1, 5};
    auto const a = seeded_integers(extents);
    for (auto const op : {reduction::sum, reduction::max})
      for (auto const& p : all_placements(2, m.axes(), {op})) {
        auto const x = placed<float, 2>(m, a, p);
        for (auto const& [begin, size] : {std::pair(0, n + 1), {0, 1}, {1, n}, {n, 1}, {1, 0}})
          check(
              x, "slice", sliced(a, 0, begin, size),
              [b = begin, s = size](auto const& y) { return ashlar::slice<0>(y, b, s); }, seen);
        for (auto const& [begin, size] : {std::pair(0, 5), {0, 1}, {1, 3}, {5, 0}})
          check(
              x, "slice", sliced(a, 1, begin, size),
              [b = begin, s = size](auto const& y) { return ashlar::slice<1>(y, b, s); }, seen);
        if (x.placement().split_count(0) == 0)
          CHECK(ashlar::slice<0>(x, 1, n).data() == x.data() + x.local_size(1));
      }
  }
  CHECK(seen.local > 0);
  CHECK((seen.refused > 0) == (n > 1));
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", n}});
  auto const x = placed<float, 2>(m, seeded_integers({4, 6}), {ashlar::split(1)});
  for (auto const& [begin, size] : {std::pair(-1, 2), {3, 2}, {0, -1}, {5, 0}})
    CHECK(has(message_of([&, b = begin, s = size] { ashlar::slice<0>(x, b, s); }),
              "of dim 0 of " + describe(x) + ": the range is not within 0 and 4."));
  CHECK(has(message_of([&] { ashlar::slice<0>(x, 1, std::numeric_limits<std::int64_t>::max()); }),
            "[1, 1 + 9223372036854775807) of dim 0 of "));
  auto const typed = ashlar::slice<0>(x.as_static<sbp<S<1>>>(), 1, 2);
  static_assert(std::same_as<decltype(typed)::placement_type, sbp<S<1>>>);
}

TEST_CASE("concatenations along every dim, on every placement") {
  int const n = world_size();
  int local = 0, refused = 0;
  for (auto const& m : all_meshes()) {
    auto const whole = seeded_integers({2 * n + 1, 4});
    auto const run = [&](auto dim, std::vector<std::pair<int, int>> const& ranges,
                         placement const& p) {
      std::vector<ashlar::tensor<float, 2>> parts;
      for (auto const& [begin, size] : ranges)
        parts.push_back(placed<float, 2>(m, sliced(whole, dim, begin, size), p));
      bool done = false;
      auto const message = message_of([&] {
        ashlar::no_communication const forbidden(m);
        auto const y = ashlar::concat<dim>(parts);
        done = true;
        CHECK(y.placement() == p);
        CHECK(wrong_with(y, whole) == "");
      });
      ++(done ? local : refused);
      if (done) return;
      CHECK_MESSAGE(has(message, "concat: along dim "), message);
      CHECK_MESSAGE(has(message, describe(parts.back())), message);
      auto const q = advised(message, "Redistribute them to ");
      for (auto& x : parts) x = redistribute(x, q);
      ashlar::no_communication const forbidden(m);
      CHECK(wrong_with(ashlar::concat<dim>(parts), whole) == "");
    };
    for (auto const op : {reduction::sum, reduction::max})
      for (auto const& p : all_placements(2, m.axes(), {op})) {
        std::integral_constant<int, 0> const rows;
        std::integral_constant<int, 1> const columns;
        run(rows, {{0, n}, {n, n + 1}}, p);
        run(rows, {{0, 1}, {1, 0}, {1, 2 * n}}, p);
        run(rows, {{0, 0}, {0, 2 * n + 1}}, p);
        run(columns, {{0, 1}, {1, 1}, {2, 2}}, p);
        run(columns, {{0, 4}}, p);
      }
  }
  CHECK(local > 0);
  CHECK((refused > 0) == (n > 1));
}

TEST_CASE("concatenations of tensors that do not fit") {
  int const n = world_size();
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", n}}), other(MPI_COMM_WORLD, {{"gpu", n}});
  auto const a = seeded_integers({4, 6});
  auto const x = placed<float, 2>(m, a, {ashlar::split(1)});
  auto const said = [](auto const&... parts) {
    return message_of([&] { ashlar::concat<0>(parts...); });
  };
  CHECK(has(said(x, placed<float, 2>(m, a, {ashlar::partial()})),
            "Their placements differ. Redistribute them to one placement, such as [S(1)], first."));
  CHECK(has(said(x, placed<float, 2>(m, seeded_integers({4, 5}), {ashlar::split(1)})),
            "Only the extents of the joined dim may differ."));
  CHECK(has(said(x, placed<float, 2>(other, a, {ashlar::split(1)})), "different meshes"));
  CHECK(has(message_of([] { ashlar::concat<0>(std::vector<ashlar::tensor<float, 2>>{}); }),
            "concat: no tensors were given."));
  auto const typed = x.as_static<sbp<S<1>>>();
  auto const y = ashlar::concat<0>(typed, typed, typed);
  static_assert(std::same_as<decltype(y)::placement_type, sbp<S<1>>>);
  CHECK(y.extents() == shape{12, 6});
}

}  // namespace ashlar_test
