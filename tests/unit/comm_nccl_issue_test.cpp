// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the NCCL calls that the library makes for redistribution plans between all pairs of
// placements. The test executes the calls of all ranks in host memory, by NCCL's rules
// (support/nccl_player.hpp). It checks four facts:
// - No rank waits forever.
// - Matching calls agree in kind and count.
// - Each rank receives as many bytes as the plan predicts, and as many as with the MPI transport.
// - The results have the same bits as those of an element-by-element simulation
//   (support/replay.hpp).

#include <cstring>

#include <doctest/doctest.h>
#include <support/combinations.hpp>
#include <support/nccl_player.hpp>
#include <support/replay.hpp>

#include <ashlar/machine/presets.hpp>
#include <ashlar/mesh/text.hpp>

namespace ashlar_test {
namespace {

using ashlar::collective;
using ashlar::nccl::call_kind;
using ashlar::nccl::sums;

/// The shards of a tensor, by rank.
template <class T>
using shards = std::vector<std::vector<T>>;

template <class T>
void load(basic_replay<T> const& from, shards<T>& into) {
  into.resize(from.coordinates().size());
  for (std::size_t r = 0; r < into.size(); ++r) into[r] = from.shard(static_cast<int>(r));
}

template <class T>
bool same_bits(std::vector<T> const& a, std::vector<T> const& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

struct trial {
  ashlar::topology t;
  ashlar::shape extents;
  sums how;
  ashlar::sum_order order = ashlar::sum_order::around_ring;

  ashlar::transfer of(ashlar::redistribution_step const& s, int rank) const {
    return ashlar::make_transfer(s, extents, t, t.coordinates_of(rank), order);
  }
};

/// Runs one step on all ranks twice: with NCCL calls, and in the element-by-element simulation.
/// Returns a description of the first difference, or an empty text if there is none.
template <class T>
std::string run_step(trial const& on, ashlar::redistribution_step const& s,
                     basic_replay<T>& reference, shards<T>& data) {
  auto const type = ashlar::element_type_of<T>;
  nccl_player player(on.t);
  reference.run(s);
  shards<T> next;
  load(reference, next);
  auto const expected = next;
  std::vector<ashlar::transfer> transfers;
  for (int r = 0; r < on.t.ranks(); ++r) transfers.push_back(on.of(s, r));
  for (int r = 0; r < on.t.ranks(); ++r) {
    auto const i = static_cast<std::size_t>(r);
    auto const& x = transfers[i];
    if (!next[i].empty()) std::memset(next[i].data(), 0x5a, next[i].size() * sizeof(T));
    if (static_cast<std::int64_t>(data[i].size()) != x.from.elements()) return "a shard's size";
    if (static_cast<std::int64_t>(next[i].size()) != x.to.elements()) return "a shard's size";
    player.issue(r, x, type, data[i].data(), next[i].data(), on.how);
    std::int64_t bytes = 0;
    for (auto const& c : player.calls(r)) bytes += c.received_bytes();
    auto const size = static_cast<std::int64_t>(sizeof(T));
    // Compares the received bytes with those that comm/counting.hpp counts for the MPI transport,
    // and with those that the plan predicts.
    if (bytes != x.received_elements() * size) return "bytes differ from the MPI transport's";
    if (bytes != step_traffic(s, on.extents, on.t, on.t.coordinates_of(r)).elements * size)
      return "bytes differ from the plan's";
  }
  player.run();
  for (std::size_t i = 0; i < next.size(); ++i)
    if (!same_bits(next[i], expected[i])) return "values";
  data = std::move(next);
  return "";
}

/// Issues the calls of all steps of a plan before any call runs, and checks that all calls end.
void run_at_once(trial const& on, ashlar::redistribution_plan const& plan) {
  nccl_player player(on.t);
  for (int r = 0; r < on.t.ranks(); ++r)
    for (auto const& s : plan.steps) {
      if (!communicates(s.kind)) continue;
      auto const x = on.of(s, r);
      player.issue(r, x, ashlar::element_type::bf16, player.memory(2 * x.from.elements()),
                   player.memory(2 * x.to.elements()), on.how);
    }
  player.run();
}

/// Returns element i of an addend. Because of rounding, the sum of these elements depends on the
/// order of the addends.
float order_dependent(index const& addend, int i) {
  return float((i * 7919 + 104729 * addend[0]) % 1009 - 500) * (i % 3 ? 0.1f : 1e6f);
}

index as_index(ashlar::shape const& extents) {
  index list;
  for (auto const e : extents.extent) list.push_back(static_cast<int>(e));
  return list;
}

int check_all_pairs(ashlar::topology const& t, std::vector<ashlar::shape> const& shapes) {
  std::mt19937 random(7);
  int steps = 0;
  for (auto const& extents : shapes) {
    auto const all = all_placements(extents.rank(), t.axes());
    auto const x = random_integers(random, as_index(extents), -99, 99);
    for (auto const& from : all)
      for (auto const& to : all) {
        auto const plan = ashlar::plan_redistribution(extents, 4, from, to, t,
                                                      ashlar::machines::workstation);
        INFO(ashlar::to_string(extents), " ", ashlar::to_string(from), " -> ",
             ashlar::to_string(to, t));
        trial const on{t, extents, steps % 3 == 0 ? sums::ordered : sums::library};
        basic_replay<std::int32_t> reference(as_index(extents), t);
        reference.start(x, from, random);
        shards<std::int32_t> data;
        load(reference, data);
        for (auto const& s : plan.steps) {
          ++steps;
          if (!communicates(s.kind)) {
            reference.run(s);
            load(reference, data);
          } else if (auto const wrong = run_step(on, s, reference, data); !wrong.empty()) {
            FAIL_CHECK(to_string(s.kind), ": ", wrong);
            return steps;
          }
        }
        if (plan.steps.size() > 1) run_at_once(on, plan);
      }
  }
  return steps;
}

TEST_CASE("all pairs of placements of a matrix on 2 x 2, even and uneven") {
  CHECK(check_all_pairs({{"node", 2}, {"gpu", 2}}, {{4, 8}, {5, 7}, {1, 3}, {0, 4}}) > 2000);
}

TEST_CASE("all pairs of placements of a matrix on 2 x 3, even and uneven") {
  CHECK(check_all_pairs({{"node", 2}, {"gpu", 3}}, {{6, 12}, {7, 5}, {2, 1}}) > 1500);
}

TEST_CASE("all pairs of placements of a tensor of three dims on 5 ranks") {
  CHECK(check_all_pairs({{"gpu", 5}}, {{5, 10, 3}, {7, 2, 11}}) >= 40);
}

/// Returns steps along one axis. In some of these steps, a rank must pack or unpack its data.
std::vector<ashlar::redistribution_step> steps_of_one_axis() {
  ashlar::placement const rows{ashlar::split(0)}, columns{ashlar::split(1)},
      whole{ashlar::broadcast()}, sum{ashlar::partial()};
  return {
      {collective::all_gather, {0}, rows, whole},   {collective::all_gather, {0}, columns, whole},
      {collective::reduce_scatter, {0}, sum, rows}, {collective::reduce_scatter, {0}, sum, columns},
      {collective::all_reduce, {0}, sum, whole},    {collective::all_to_all, {0}, rows, columns},
      {collective::all_to_all, {0}, columns, rows}};
}

/// Lists the calls of a rank in one line, each with its kind, its peer and its number of elements.
std::string calls_of(trial const& on, ashlar::redistribution_step const& s, int rank,
                     ashlar::element_type type = ashlar::element_type::f32) {
  nccl_player player(on.t);
  auto const x = on.of(s, rank);
  player.issue(rank, x, type, nullptr, nullptr, on.how);
  std::string line;
  for (auto const& c : player.calls(rank)) {
    line += (line.empty() ? "" : " ") + std::string(to_string(c.kind));
    if (c.kind == call_kind::send || c.kind == call_kind::receive) line += std::to_string(c.peer);
    if (ashlar::nccl::communicates(c.kind)) line += ":" + std::to_string(c.count);
  }
  return line;
}

TEST_CASE("even counts are one call of NCCL, packed if memory is not contiguous") {
  trial const even{{{"gpu", 2}}, {4, 6}, sums::library};
  char const* const expected[] = {
      "all-gather:12", "all-gather:12 unpack", "reduce-scatter:12",  "pack reduce-scatter:12",
      "all-reduce:24", "pack all-to-all:6",    "all-to-all:6 unpack"};
  int i = 0;
  for (auto const& s : steps_of_one_axis()) {
    CHECK(calls_of(even, s, 0) == expected[i]);
    CHECK(calls_of(even, s, 1) == expected[i++]);
  }
}

TEST_CASE("uneven counts are one group of sends and receives") {
  trial const uneven{{{"gpu", 2}}, {3, 5}, sums::library};
  char const* const first[] = {"copy group-start send1:10 receive1:5 group-end",
                               "copy group-start send1:9 receive1:6 group-end unpack",
                               "group-start send1:5 receive1:10 group-end combine",
                               "pack group-start send1:6 receive1:9 group-end pack combine",
                               "all-reduce:15",
                               "pack copy group-start send1:4 receive1:3 group-end",
                               "copy group-start send1:3 receive1:4 group-end unpack"};
  int i = 0;
  for (auto const& s : steps_of_one_axis()) CHECK(calls_of(uneven, s, 0) == first[i++]);
  // With a single row, rank 1's shard is empty. Rank 1 therefore sends nothing, and rank 0 receives
  // nothing.
  trial const one_row{{{"gpu", 2}}, {1, 1}, sums::library};
  CHECK(calls_of(one_row, steps_of_one_axis()[0], 0) == "copy group-start send1:1 group-end");
  CHECK(calls_of(one_row, steps_of_one_axis()[0], 1) == "group-start receive0:1 group-end");
  trial const nothing{{{"gpu", 2}}, {0, 5}, sums::library};
  for (auto const& s : steps_of_one_axis()) CHECK(calls_of(nothing, s, 1) == "");
}

TEST_CASE("maxima and minima of floats are computed by a kernel, because NCCL's lose NaN") {
  using ashlar::element_type;
  trial const even{{{"gpu", 2}}, {4, 6}, sums::library};
  ashlar::placement const whole{ashlar::broadcast()}, rows{ashlar::split(0)};
  for (auto const op : {ashlar::reduction::max, ashlar::reduction::min}) {
    ashlar::placement const extremum{ashlar::partial(op)};
    ashlar::redistribution_step const all{collective::all_reduce, {0}, extremum, whole},
        parts{collective::reduce_scatter, {0}, extremum, rows};
    for (auto const type : {element_type::f32, element_type::f64, element_type::bf16}) {
      CHECK(calls_of(even, all, 0, type) ==
            "group-start send1:12 receive1:12 group-end combine all-gather:12");
      CHECK(calls_of(even, parts, 0, type) == "group-start send1:12 receive1:12 group-end combine");
    }
    for (auto const type : {element_type::i32, element_type::i64}) {
      CHECK(calls_of(even, all, 0, type) == "all-reduce:24");
      CHECK(calls_of(even, parts, 0, type) == "reduce-scatter:12");
    }
  }
}

TEST_CASE("ordered sums: the bits of every other transport") {
  for (int p : {2, 3, 4, 5})
    for (ashlar::shape const& extents : {ashlar::shape{7, 5}, {12, 60}, {1, 2}})
      for (auto const& s : steps_of_one_axis()) {
        trial const on{{{"gpu", p}}, extents, sums::ordered};
        INFO(p, " ranks, ", ashlar::to_string(extents), ", ", to_string(s.kind));
        basic_replay<float> reference(as_index(extents), on.t);
        reference.start_with(s.from, order_dependent);
        shards<float> data;
        load(reference, data);
        CHECK(run_step(on, s, reference, data) == "");
      }
  trial const even{{{"gpu", 2}}, {4, 6}, sums::ordered};
  CHECK(calls_of(even, steps_of_one_axis()[4], 0) ==
        "group-start send1:12 receive1:12 group-end combine all-gather:12");
}

TEST_CASE("sums by rank, whatever the method of sums is") {
  for (int const p : {2, 3, 4, 5})
    for (auto const how : {sums::library, sums::ordered})
      for (ashlar::shape const& extents : {ashlar::shape{7, 5}, {12, 60}, {1, 2}})
        for (auto const& s : steps_of_one_axis()) {
          trial const on{{{"gpu", p}}, extents, how, ashlar::sum_order::by_rank};
          INFO(p, " ranks, ", ashlar::to_string(extents), ", ", to_string(s.kind));
          basic_replay<float> reference(as_index(extents), on.t);
          reference.sum_by_rank();
          reference.start_with(s.from, order_dependent);
          shards<float> data;
          load(reference, data);
          CHECK(run_step(on, s, reference, data) == "");
        }
}

TEST_CASE("an all-reduce in place") {
  for (auto const& [how, elements] :
       all_combinations({sums::library, sums::ordered}, {1, 2, 3, 7, 12})) {
    ashlar::topology const t{{"gpu", 3}};
    nccl_player player(t);
    shards<std::int32_t> data(3);
    std::vector<std::int32_t> sum(static_cast<std::size_t>(elements));
    std::vector<ashlar::transfer> transfers;
    for (int r = 0; r < 3; ++r) {
      auto& mine = data[static_cast<std::size_t>(r)];
      for (int i = 0; i < elements; ++i) {
        mine.push_back(i * 10 + r * r);
        sum[static_cast<std::size_t>(i)] += mine.back();
      }
      transfers.push_back(
          ashlar::flat_all_reduce(elements, {0}, t, t.coordinates_of(r), ashlar::reduction::sum));
    }
    for (int r = 0; r < 3; ++r) {
      auto& mine = data[static_cast<std::size_t>(r)];
      player.issue(r, transfers[static_cast<std::size_t>(r)], ashlar::element_type::i32,
                   mine.data(), mine.data(), how);
    }
    player.run();
    for (auto const& mine : data) CHECK(mine == sum);
  }
}

TEST_CASE("an ordered sum in place of many addends reads none at its target") {
  int const p = ashlar::nccl::most_addends + 2;
  ashlar::topology const t{{"gpu", p}};
  nccl_player player(t);
  std::vector<std::int32_t> data(static_cast<std::size_t>(p));
  auto const x = ashlar::flat_all_reduce(p, {0}, t, t.coordinates_of(0), ashlar::reduction::sum);
  player.issue(0, x, ashlar::element_type::i32, data.data(), data.data(), sums::ordered);
  int found = 0;
  for (auto const& c : player.calls(0)) {
    if (c.kind != ashlar::nccl::call_kind::combine) continue;
    ++found;
    CHECK(std::find(c.addends.begin(), c.addends.end(), c.to) == c.addends.end());
  }
  CHECK(found == 1);
}

TEST_CASE("a group of one rank copies") {
  trial const alone{{{"gpu", 1}}, {3, 5}, sums::library};
  for (auto const& s : steps_of_one_axis()) CHECK(calls_of(alone, s, 0) == "");
  std::vector<std::int32_t> const from{1, 2, 3};
  std::vector<std::int32_t> to(3);
  nccl_player player(alone.t);
  auto const x = ashlar::flat_all_reduce(3, {0}, alone.t, {}, ashlar::reduction::max);
  player.issue(0, x, ashlar::element_type::i32, from.data(), to.data(), sums::library);
  player.run();
  CHECK(to == from);
}

TEST_CASE("one rank's values to all ranks, and all ranks' values to one") {
  ashlar::topology const t{{"node", 2}, {"gpu", 3}};
  for (auto const& [how, kind, n, root] :
       all_combinations({sums::library, sums::ordered}, {collective::broadcast, collective::reduce},
                        {0, 1, 7}, {0, 1, 2})) {
    nccl_player player(t);
    std::vector<std::vector<std::int32_t>> from, to;
    for (int r = 0; r < 6; ++r) {
      from.emplace_back(static_cast<std::size_t>(n), 1 << r);
      to.emplace_back(static_cast<std::size_t>(n), -1);
    }
    for (int r = 0; r < 6; ++r) {
      auto const x = ashlar::flat_rooted(kind, n, {1}, t, t.coordinates_of(r), root);
      auto const i = static_cast<std::size_t>(r);
      player.issue(r, x, ashlar::element_type::i32, from[i].data(), to[i].data(), how);
      std::int64_t bytes = 0;
      for (auto const& c : player.calls(r)) bytes += c.received_bytes();
      CHECK(bytes == 4 * x.received_elements());
    }
    player.run();
    for (int r = 0; r < 6; ++r) {
      bool const is_root = r % 3 == root;
      int const sum = r < 3 ? 0b111 : 0b111000;
      int const expected = kind == collective::broadcast ? 1 << (r / 3 * 3 + root)
                           : is_root                     ? sum
                                                         : -1;
      CHECK(to[static_cast<std::size_t>(r)] ==
            std::vector<std::int32_t>(static_cast<std::size_t>(n), expected));
    }
  }
}

TEST_CASE("the player finds calls in which NCCL would hang or mix up values") {
  ashlar::topology const t{{"gpu", 2}};
  std::int32_t data[4]{};
  auto const reduce = [&](int rank, int n) {
    return ashlar::flat_all_reduce(n, {0}, t, t.coordinates_of(rank), ashlar::reduction::sum);
  };
  auto const type = ashlar::element_type::i32;
  auto const a = reduce(0, 4), b = reduce(1, 3);
  nccl_player missing(t);
  missing.issue(0, a, type, data, data, sums::library);
  CHECK_THROWS_WITH(missing.run(), doctest::Contains("deadlock"));
  nccl_player unequal(t);
  unequal.issue(0, a, type, data, data, sums::library);
  unequal.issue(1, b, type, data, data, sums::library);
  CHECK_THROWS_WITH(unequal.run(), doctest::Contains("meets"));
  nccl_player mixed(t);
  mixed.issue(0, a, type, data, data, sums::library);
  mixed.issue(1, b, type, data, data, sums::ordered);
  CHECK_THROWS_WITH(mixed.run(), doctest::Contains("deadlock"));
}

}  // namespace
}  // namespace ashlar_test
