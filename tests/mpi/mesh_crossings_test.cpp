// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 8
// thorough: ASHLAR_CROSSINGS=all 5 6 7 8

// Moves a matrix from four ranks, a mesh of 2 x 2, to other ranks and back. The other ranks are a
// mesh of 2 x 2, 1 x 3, 1 x 2 or 1 x 1. All 18 placements of a matrix on two axes are tried on both
// sides. Shards are made and compared by a naive definition of placements
// (support/naive_placement.hpp), and the addends of partial tensors differ and have both signs. For
// each move, the plan, the communication log and the MPI calls must agree on the bytes that a rank
// receives. By default, one pair of placements in three is tried, each with one element type and
// one size, which differ between pairs. With ASHLAR_CROSSINGS=all, one pair in three is tried with
// all element types and sizes, also between nodes and in many chunks. With ASHLAR_CROSSINGS=each,
// every pair is tried in this way.

#include <cstring>
#include <type_traits>

#include <doctest/doctest.h>
#include <support/crossing_traffic.hpp>
#include <support/message_of.hpp>
#include <support/placed.hpp>
#include <support/wants_all.hpp>

#include <ashlar/tensor/cross_mesh.hpp>
#include <ashlar/tensor/factory.hpp>
#include <ashlar/tensor/gather.hpp>
#include <ashlar/tensor/reduce.hpp>

namespace ashlar_test {
namespace {

/// Says which pairs of placements are tried, and with which tensors and meshes.
struct extent_of_test {
  bool each_pair = false;  ///< if false, one pair in three is tried
  bool all = false;        ///< all element types and sizes, between nodes and in many chunks
};

extent_of_test wanted_crossings() {
  auto const wanted = wanted_cases("ASHLAR_CROSSINGS");
  return {wanted == "each", wanted == "each" || wanted == "all"};
}

/// A mesh, and two parts of it without common ranks.
struct two_parts {
  ashlar::mesh whole, a, b;
};

/// Returns placed<T, 2>(part, x, p) (support/placed.hpp). On ranks outside of the part, the result
/// has no elements.
template <class T>
ashlar::tensor<T, 2> placed_on(ashlar::mesh const& part, dense const& x, placement const& p) {
  if (part.is_here()) return placed<T, 2>(part, x, p);
  return {part, to_shape(x.extents), p};
}

/// Compares y, which may be on a part of the mesh, with the values of x. Returns a description of
/// the difference, or an empty text.
template <class T>
std::string difference(ashlar::tensor<T, 2> const& y, dense const& x, double tolerance) {
  if (!y.mesh().is_here()) return y.local_elements() == 0 ? "" : "elements outside of the mesh";
  if (!y.placement().has_partial()) return wrong_with(y, x, tolerance);
  auto const full = ashlar::to_full(y);
  if (full.size() != x.values.size()) return "wrong number of elements";
  for (std::size_t i = 0; i < full.size(); ++i)
    if (!close(static_cast<double>(full[i]), x.values[i], tolerance))
      return "element " + std::to_string(i) + " is " + std::to_string(static_cast<double>(full[i]));
  return "";
}

template <class T>
bool same_bits(ashlar::tensor<T, 2> const& x, ashlar::tensor<T, 2> const& y) {
  auto const bytes = static_cast<std::size_t>(x.local_elements()) * sizeof(T);
  return x.local_elements() == y.local_elements() &&
         (bytes == 0 || std::memcmp(x.data(), y.data(), bytes) == 0);
}

/// Moves a tensor to placement p on another part, and counts the bytes. If the counts do not agree,
/// adds a description to `wrong`. Adds the bytes that this rank copied from other ranks to
/// `through_memory`.
template <class T>
ashlar::tensor<T, 2> counted_move(transport on, ashlar::tensor<T, 2> const& x,
                                  ashlar::mesh const& target, placement const& p,
                                  std::string& wrong, std::int64_t& through_memory) {
  ashlar::tensor<T, 2> y(target, x.extents(), p);
  wrong += wrong_traffic(
      on, plan_redistribution(x, target, p), x.mesh(), target,
      [&] { y = redistribute(x, target, p); }, &through_memory);
  return y;
}

/// Moves a matrix from placement p on part `a` to placement q on part `b` and back, by both
/// transports. Returns a description of what is wrong, or an empty text. Adds the bytes that this
/// rank copied from other ranks to `through_memory`.
template <class T>
std::string wrong_way(two_parts const (&on)[2], index const& extents, placement const& p,
                      placement const& q, std::int64_t& through_memory) {
  // Integers and bfloat16 get whole numbers, whose sums are exact. Floats and doubles get other
  // numbers, whose sums show the order of the addends in their bits.
  bool const exact = std::is_integral_v<T> || std::is_same_v<T, ashlar::bfloat16>;
  double const tolerance = exact ? 0 : std::is_same_v<T, float> ? 1e-5 : 1e-14;
  std::mt19937 random(5);
  dense x(extents);
  for (auto& v : x.values) v = uniform(random, -50, 50) * (exact ? 1 : 0.7);
  std::vector<ashlar::tensor<T, 2>> there, back;
  std::string bytes;
  for (auto const by : {transport::messages, transport::shared_memory}) {
    auto const& parts = on[by == transport::messages ? 0 : 1];
    auto const sent = placed_on<T>(parts.a, x, p);
    there.push_back(counted_move(by, sent, parts.b, q, bytes, through_memory));
    back.push_back(counted_move(by, there.back(), parts.a, p, bytes, through_memory));
    for (auto const* t : {&there.back(), &back.back()})
      if (auto const wrong = difference(*t, x, tolerance); !wrong.empty()) return wrong;
    if (!p.has_partial() && !q.has_partial() && !same_bits(sent, back.back()))
      return "there and back is another matrix";
  }
  if (!same_bits(there[0], there[1]) || !same_bits(back[0], back[1]))
    return "the bits differ between the transports";
  return bytes;
}

/// Calls wrong_way with the element type of number `type`, from 0 to 3.
std::string wrong_way(int type, two_parts const (&on)[2], index const& extents, placement const& p,
                      placement const& q, std::int64_t& through_memory) {
  switch (type) {
    case 0: return wrong_way<float>(on, extents, p, q, through_memory);
    case 1: return wrong_way<double>(on, extents, p, q, through_memory);
    case 2: return wrong_way<ashlar::bfloat16>(on, extents, p, q, through_memory);
    default: return wrong_way<std::int32_t>(on, extents, p, q, through_memory);
  }
}

/// Tries every pair of placements, or one pair in three, which `turn` selects. A pair is tried with
/// one element type and one shape, which depend on its number, or with all types and shapes.
void cross_all_pairs(two_parts const (&on)[2], extent_of_test const& wanted, std::size_t turn) {
  auto const [each_pair, all] = wanted;
  std::vector<index> const sizes{{5, 7}, {3, 1}, {0, 2}, {2, 9}};
  auto const placements = all_placements(2, 2);
  REQUIRE(placements.size() == 18);
  std::size_t k = 0, tried = 0;
  std::int64_t through_memory = 0;
  for (auto const& p : placements) {
    for (auto const& q : placements) {
      // Ranks outside of both parts only wait at the barriers. The barriers are frequent, so that
      // no wait is so long that the watchdog (comm/watch/watchdog.hpp) ends the test.
      if (all || k % placements.size() == 0) on[0].whole.barrier();
      // Unless each_pair is set, each of the four pairs of parts is tested with one in three pairs
      // of placements. Each placement of either side is in six of these pairs.
      bool const is_tried = each_pair || (k + k / 18 + turn) % 3 == 0;
      for (std::size_t size = 0; size < sizes.size() && is_tried; ++size)
        for (int type = 0; type < 4; ++type) {
          if (!all && (k + k / 18 + static_cast<std::size_t>(type)) % 4 != 0) continue;
          if (!all && (k / 4 + size) % 4 != 0) continue;
          ++tried;
          auto const& extents = sizes[size];
          auto const wrong = wrong_way(type, on, extents, p, q, through_memory);
          INFO(to_string(p), " to ", to_string(q), ", extents ", extents[0], " and ", extents[1],
               ", type ", type);
          CHECK(wrong == "");
        }
      ++k;
    }
  }
  CHECK(tried == placements.size() * placements.size() / (each_pair ? 1 : 3) * (all ? 16 : 1));
  CHECK(through_memory == 0);  // such small tensors are always sent as messages
}

}  // namespace

TEST_CASE(
    "every pair of placements on two axes crosses from 2 x 2 ranks to 4, 3, 2 and 1, and back") {
  int const n = world_size();
  auto const wanted = wanted_crossings();
  bool const all = wanted.all;
  std::vector<ashlar::topology> wholes{{{"rank", n}}};
  if (all && n % 4 == 0) wholes.push_back({{"node", 2}, {"gpu", n / 2}});
  for (auto const& whole : wholes)
    for (auto const& machine : {ashlar::machines::workstation, bandwidth_bound}) {
      if (!all && machine == bandwidth_bound) continue;
      ashlar::mesh const meshes[]{mesh_on(transport::messages, whole, machine),
                                  mesh_on(transport::shared_memory, whole, machine)};
      for (int others = std::min(4, n - 4); others > 0; --others) {
        std::vector<int> ranks;
        for (int r = 0; r < others; ++r) ranks.push_back(4 + r);
        int const rows = others == 4 ? 2 : 1;
        auto const parts = [&](ashlar::mesh const& m) {
          return two_parts{m, m.part({0, 1, 2, 3}, {{"node", 2}, {"gpu", 2}}),
                           m.part(ranks, {{"node", rows}, {"gpu", others / rows}})};
        };
        two_parts const on[]{parts(meshes[0]), parts(meshes[1])};
        cross_all_pairs(on, wanted, static_cast<std::size_t>(others));
      }
    }
}

TEST_CASE("larger tensors of each element type cross in shared memory, with the planned bytes") {
  int const n = world_size();
  if (n != 8) return;  // the test needs two meshes of 2 x 2 ranks
  std::vector<ashlar::mesh> const meshes{mesh_on(transport::messages, {{"rank", n}}),
                                         mesh_on(transport::shared_memory, {{"rank", n}})};
  auto const parts = [](ashlar::mesh const& m) {
    ashlar::topology const axes({{"node", 2}, {"gpu", 2}});
    return two_parts{m, m.part({0, 1, 2, 3}, axes), m.part({4, 5, 6, 7}, axes)};
  };
  two_parts const on[]{parts(meshes[0]), parts(meshes[1])};
  auto const placements = all_placements(2, 2);
  std::int64_t through_memory = 0;
  for (std::size_t k = 0; k < placements.size(); ++k)
    for (int type = 0; type < 4; ++type) {
      auto const &p = placements[k], &q = placements[(5 * k + 7) % placements.size()];
      INFO(to_string(p), " to ", to_string(q), ", type ", type);
      CHECK(wrong_way(type, on, {96, 97}, p, q, through_memory) == "");
    }
  CHECK(through_memory > 0);
}

TEST_CASE("a tensor crosses by the strategy that the caller names, with the same values") {
  int const n = world_size();
  if (n % 4 != 0) return;  // each half of the ranks is a mesh of two axes
  for (auto const on : {transport::messages, transport::shared_memory}) {
    auto const whole = mesh_on(on, {{"node", 2}, {"gpu", n / 2}}, bandwidth_bound);
    std::vector<int> low, high;
    for (int r = 0; r < n; ++r) (r < n / 2 ? low : high).push_back(r);
    ashlar::topology const axes{{"rack", 2, ashlar::link_tier::inter_node},
                                {"gpu", n / 4, ashlar::link_tier::intra_node}};
    two_parts const parts{whole, whole.part(low, axes), whole.part(high, axes)};
    dense x({9, 8});
    for (std::size_t i = 0; i < x.values.size(); ++i) x.values[i] = double(i % 23);
    auto const sent = placed_on<float>(parts.a, x, ashlar::parse_placement("S(0),P"));
    for (auto const& to : all_placements(2, 2))
      for (auto const how : ashlar::crossing_strategies)
        for (int const chunks : {0, 3}) {
          using ashlar::crossing_strategy;
          ashlar::crossing_choice const wanted{how, chunks};
          CAPTURE(name_of(how));
          CAPTURE(to_string(to));
          auto const plan = plan_redistribution(sent, parts.b, to, wanted).plan;
          bool const sends = how == crossing_strategy::send;
          if (chunks > 0) CHECK(plan.across.chunks == chunks);
          if (chunks == 0 && sends) CHECK(plan.across.chunks == 1);
          if (sends || how == crossing_strategy::broadcast) CHECK(plan.after.seconds == 0);
          for (int a = 0; a < 2; ++a)
            if (to[a].is_broadcast() && (how == crossing_strategy::gather_everywhere ||
                                         (how == crossing_strategy::gather_in_nodes && a == 1)))
              CHECK(plan.after.from[a].is_split());
          CHECK(plan.seconds >= plan_redistribution(sent, parts.b, to).plan.seconds * (1 - 1e-12));
          CHECK(difference(redistribute(sent, parts.b, to, wanted), x, 0) == "");
        }
    CHECK(plan_redistribution(sent, parts.b, ashlar::parse_placement("B,B"),
                              {ashlar::crossing_strategy::broadcast})
              .plan.across.chunks > 1);
    auto const one = ashlar::full<float, 1>(parts.a, {4}, placement::all_broadcast(2), 1);
    CHECK(has(message_of([&] {
                redistribute(ashlar::sum(one), parts.b, placement::all_broadcast(2),
                             {ashlar::crossing_strategy::gather_everywhere});
              }),
              "redistribute: no crossing to [B,B]@rack=2"));
    CHECK(has(message_of([&] {
                redistribute(one, parts.b, placement::all_broadcast(2),
                             {ashlar::crossing_strategy::send, -1});
              }),
              " is a send in -1 chunks. Use crossing_strategy::cheapest, and 0 or more chunks."));
  }
}

}  // namespace ashlar_test
