// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4 6 8

// Tests the algorithms of collectives: pairwise, ring, and the MPI library's own. An algorithm
// table can force each of them. All algorithms must give the same bits and move the same bytes,
// both in a blocking call and in the background. With sums by rank (comm/sum_order.hpp), they must
// give the bits of a loop that adds the ranks' arrays in the order of the ranks. Also tests how a
// mesh selects an algorithm by its table, the text form of tables, and the error messages for wrong
// tables.

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <support/allocations.hpp>
#include <support/combinations.hpp>
#include <support/message_of.hpp>
#include <support/placed.hpp>
#include <support/traffic_check.hpp>
#include <support/transport.hpp>
#include <unistd.h>

#include <ashlar/comm/mpi/algorithm_file.hpp>
#include <ashlar/comm/mpi/communicator.hpp>
#include <ashlar/plan/redistribution.hpp>

namespace ashlar_test {
namespace {

using ashlar::collective;
using ashlar::element_type;
using ashlar::placement;
using ashlar::reduction;
using namespace ashlar::mpi;

/// A file that exists for the lifetime of the object. Only rank 0 writes it, because a mesh reads
/// its algorithm table on rank 0.
class table_file {
 public:
  explicit table_file(std::string const& text)
      : name_("collectives_test_" + std::to_string(getpid()) + ".txt") {
    if (world_rank() == 0) std::ofstream(name_) << text;
  }
  table_file(table_file const&) = delete;
  table_file& operator=(table_file const&) = delete;
  ~table_file() { std::remove(name_.c_str()); }
  char const* name() const { return name_.c_str(); }

 private:
  std::string name_;
};

std::string always(algorithm use) {
  std::string text;
  for (char const* kind : {"all-gather", "reduce-scatter", "all-reduce"})
    text += std::string(kind) + " 2 0 any " + to_string(use) + "\n";
  return text;
}

/// Creates a mesh that uses messages and this algorithm table.
ashlar::mesh mesh_with(std::string const& table, ashlar::topology const& t) {
  table_file const file(table);
  scoped_environment const setting("ASHLAR_COLLECTIVES", file.name());
  return mesh_on(transport::messages, t);
}

template <class T>
struct array {
  ashlar::mesh m;
  std::size_t count;
  T* data;

  /// Returns element i of the array of a rank. The bits of a sum of such elements over the ranks
  /// depend on the order of the addends.
  static T value(int rank, std::size_t i) {
    return static_cast<T>(float(int((i * 7919 + 104729 * std::size_t(rank)) % 1009) - 500) *
                          (i % 3 == 0 ? 1e6f : 0.1f));
  }
  array(ashlar::mesh const& on, std::int64_t elements)
      : m(on), count(static_cast<std::size_t>(elements)),
        data(static_cast<T*>(m.memory().allocate(count * sizeof(T)))) {
    for (std::size_t i = 0; i < count; ++i) data[i] = value(m.rank(), i);
  }
  array(array const&) = delete;
  ~array() { m.memory().release(data, count * sizeof(T)); }
  std::vector<T> values() const { return {data, data + count}; }
};

/// Returns gathers and reductions along all axes together, and along the last axis only.
std::vector<ashlar::redistribution_step> steps_on(ashlar::topology const& t, reduction op) {
  std::vector<ashlar::redistribution_step> steps;
  ashlar::axis_list all, last{static_cast<signed char>(t.axes() - 1)};
  for (int a = 0; a < t.axes(); ++a) all.push_back(static_cast<signed char>(a));
  for (auto const& axes : {all, last}) {
    if (!steps.empty() && t.axes() == 1) break;  // with one axis, both lists are the same
    auto const whole = placement::all_broadcast(t.axes());
    auto rows = whole, columns = whole, sums = whole;
    for (auto const a : axes) {
      rows = rows.with_split(a, 0);
      columns = columns.with_split(a, 1);
      sums = sums.with(a, ashlar::partial(op));
    }
    steps.push_back({collective::all_gather, axes, rows, whole});
    steps.push_back({collective::all_gather, axes, columns, whole});
    steps.push_back({collective::reduce_scatter, axes, sums, rows});
    steps.push_back({collective::reduce_scatter, axes, sums, columns});
    steps.push_back({collective::all_reduce, axes, sums, whole});
  }
  return steps;
}

/// Runs a step twice: as a blocking transfer and in the background. An all-reduce also runs in
/// place. Checks the bytes and returns the results of all runs.
template <class T>
std::vector<std::vector<T>> results_on(ashlar::mesh const& m, ashlar::redistribution_step const& s,
                                       ashlar::shape const& extents) {
  auto const type = ashlar::element_type_of<T>;
  auto const what = make_transfer(s, extents, m.topology(), m.coordinate(), m.sum_order());
  array<T> const source(m, what.from.elements());
  array<T> const at_once(m, what.to.elements()), background(m, what.to.elements());
  traffic_check traffic(m);
  auto const check_bytes = [&] {
    auto const& records = traffic.log().records();
    CHECK(traffic.difference(records) == "");
    REQUIRE(records.size() == 1);
    CHECK(records[0].received_bytes ==
          step_traffic(s, extents, m.topology(), m.coordinate()).elements * size_of(type));
    traffic.clear();
  };
  m.run(what, type, source.data, at_once.data);
  check_bytes();
  {
    auto const pending = m.start({&what, type, source.data, background.data, m.take_ticket(what)});
    while (!pending->advance()) std::this_thread::yield();
  }
  check_bytes();
  std::vector<std::vector<T>> results{at_once.values(), background.values()};
  if (s.kind == collective::all_reduce) {
    m.run(what, type, source.data, source.data);
    check_bytes();
    results.push_back(source.values());
  }
  return results;
}

/// Shapes with uneven blocks, with empty blocks and with blocks of one element. The last shape is
/// so large that the ring algorithm, which handles a few chunks at a time, needs a second round.
ashlar::shape const shapes[] = {{7, 5}, {1, 3}, {0, 4}, {307, 211}, {1021, 1031}};

template <class T>
void same_as_pairs(std::vector<reduction> const& ops) {
  auto const t_all = topologies(world_size());
  for (std::size_t i = 0; i < t_all.size(); ++i) {
    auto const& t = t_all[i];
    auto const pairs = mesh_with(always(algorithm::pairwise), t);
    for (auto const forced : ashlar::mpi::all_algorithms) {
      if (forced == algorithm::pairwise) continue;
      auto const m = mesh_with(always(forced), t);
      for (auto const& extents : shapes) {
        bool const is_large = extents.elements() > 1000000;
        if (is_large && !std::is_same_v<T, float>) continue;
        // To save time, larger tensors run on the first topology only.
        if (i > 0 && extents.elements() > 100) continue;
        for (auto const op : ops) {
          if (is_large && op != ops[0]) continue;
          for (auto const& s : steps_on(t, op)) {
            auto const expected = results_on<T>(pairs, s, extents)[0];
            for (auto const& r : results_on<T>(m, s, extents)) {
              bool const same = r == expected;
              CHECK_MESSAGE(same, to_string(forced) << ", " << to_string(s.kind) << " along "
                                                    << to_string(s.axes, t) << ", "
                                                    << extents.elements() << " elements");
            }
          }
        }
      }
    }
  }
}

/// Returns what this rank's shard must be after a reduction that adds the arrays in the order of
/// their ranks. Sums are computed in accumulation_t<T> and rounded once.
template <class T>
std::vector<T> summed_by_rank(ashlar::mesh const& m, ashlar::redistribution_step const& s,
                              ashlar::shape const& extents) {
  using A = ashlar::accumulation_t<T>;
  auto const& t = m.topology();
  auto const before = local_box(extents, t, s.from, m.coordinate());
  auto const after = local_box(extents, t, s.to, m.coordinate());
  std::vector<T> sums;
  for (auto r = after[0].begin; r < after[0].end(); ++r)
    for (auto c = after[1].begin; c < after[1].end(); ++c) {
      auto const at = static_cast<std::size_t>((r - before[0].begin) * before[1].size + c -
                                               before[1].begin);
      auto const addend = [&](int j) {
        return static_cast<A>(array<T>::value(t.rank_of(t.member(m.coordinate(), s.axes, j)), at));
      };
      A sum = addend(0);
      for (int j = 1; j < t.group_size(s.axes); ++j) sum += addend(j);
      sums.push_back(static_cast<T>(sum));
    }
  return sums;
}

template <class T>
void check_sums_by_rank() {
  for (auto const& t : world_topologies()) {
    std::vector<ashlar::mesh> meshes{mesh_on(transport::shared_memory, t)};
    for (auto const use : ashlar::mpi::all_algorithms) meshes.push_back(mesh_with(always(use), t));
    for (auto const& m : meshes) {
      m.set_sum_order(ashlar::sum_order::by_rank);
      for (auto const& extents : shapes) {
        if (extents.elements() > (&t == &world_topologies().front() ? 100000 : 100)) continue;
        for (auto const& s : steps_on(t, reduction::sum)) {
          if (!ashlar::reduces(s.kind)) continue;
          auto const expected = summed_by_rank<T>(m, s, extents);
          auto const what = make_transfer(s, extents, t, m.coordinate(), m.sum_order());
          array<T> const source(m, what.from.elements()), target(m, what.to.elements()),
              started(m, what.to.elements());
          auto const same = [&](array<T> const& found) {
            bool const bits = found.values() == expected;
            CHECK_MESSAGE(bits, to_string(s.kind) << " along " << to_string(s.axes, t));
          };
          auto const type = ashlar::element_type_of<T>;
          m.run(what, type, source.data, target.data);
          same(target);
          auto const pending = m.start(
              {&what, type, source.data, started.data, m.take_ticket(what)});
          while (!pending->advance()) std::this_thread::yield();
          same(started);
          if (s.kind != collective::all_reduce) continue;
          m.run(what, type, source.data, source.data);
          same(source);
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("float: each algorithm gives the bits and the bytes of pairs") {
  same_as_pairs<float>({reduction::sum, reduction::max});
}
TEST_CASE("double: each algorithm gives the bits and the bytes of pairs") {
  same_as_pairs<double>({reduction::sum});
}
TEST_CASE("int32: each algorithm gives the bits and the bytes of pairs") {
  same_as_pairs<std::int32_t>({reduction::sum, reduction::min});
}
TEST_CASE("int64: each algorithm gives the bits and the bytes of pairs") {
  same_as_pairs<std::int64_t>({reduction::max});
}
TEST_CASE("bfloat16: with a table of ring or library, sums are still rounded once") {
  same_as_pairs<ashlar::bfloat16>({reduction::sum});
}

TEST_CASE("float: sums by rank") { check_sums_by_rank<float>(); }
TEST_CASE("double: sums by rank") { check_sums_by_rank<double>(); }
TEST_CASE("bfloat16: sums by rank") { check_sums_by_rank<ashlar::bfloat16>(); }

TEST_CASE("values of the host are summed by rank too, also on one rank only") {
  auto const m = mesh_on(transport::shared_memory, {{"gpu", world_size()}});
  m.set_sum_order(ashlar::sum_order::by_rank);
  std::vector<float> mine, expected;
  for (std::size_t i = 0; i < 10; ++i) {
    mine.push_back(array<float>::value(m.rank(), i));
    expected.push_back(array<float>::value(0, i));
    for (int r = 1; r < m.ranks(); ++r) expected.back() += array<float>::value(r, i);
  }
  for (int root = 0; root < m.ranks(); ++root) {
    auto values = mine;
    m.reduce(std::span(values), root);
    CHECK(values == (m.rank() == root ? expected : mine));
  }
  m.all_reduce(std::span(mine));
  CHECK(mine == expected);
}

TEST_CASE("ranks that sum in different orders get an error") {
  if (world_size() < 2) return;
  auto const m = mesh_on(transport::shared_memory, {{"gpu", world_size()}});
  m.set_checked(true);
  if (m.rank() == 1) m.set_sum_order(ashlar::sum_order::by_rank);
  std::vector<float> values(10);
  auto const said = message_of([&] { m.all_reduce(std::span(values)); });
  CHECK(has(said, "sum by rank"));
}

TEST_CASE("an all-reduce of two ranks gives the same bits with messages and with shared memory") {
  if (world_size() != 2) return;
  ashlar::topology const t{{"gpu", 2}};
  auto const messages = mesh_on(transport::messages, t),
             direct = mesh_on(transport::shared_memory, t);
  // Each rank receives the other rank's complete array if the arrays have 30001 elements. Arrays of
  // 40001 elements are reduced by halves, one half on each rank.
  for (auto const& [n, op] :
       all_combinations(std::vector<std::int64_t>{30001, 40001}, all_reductions)) {
    auto const what = ashlar::flat_all_reduce(n, {0}, t, messages.coordinate(), op);
    std::vector<std::vector<std::uint32_t>> bits;
    for (auto const* m : {&direct, &messages}) {
      array<float> const x(*m, n), y(*m, n);
      // The order of the operands determines the sign of a zero result and the payload of a NaN.
      float const zeros[] = {0.0f, -0.0f},
                  nan[] = {std::bit_cast<float>(0x7fc00001u), std::bit_cast<float>(0x7fc00002u)};
      for (std::int64_t i = 0; i < n; i += 5) x.data[i] = zeros[(i / 5 + m->rank()) % 2];
      for (std::int64_t i = 1; i < n; i += 5) x.data[i] = nan[m->rank()];
      traffic_check traffic(*m, m == &messages ? transport::messages : transport::shared_memory);
      m->run(what, element_type::f32, x.data, y.data);
      CHECK(traffic.difference(traffic.log().records()) == "");
      if (m == &messages)
        CHECK(std::count_if(mpi_traffic::calls.begin(), mpi_traffic::calls.end(),
                            [](auto const& call) { return call.received_bytes > 0; }) ==
              ashlar::collective_traffic(collective::all_reduce, 2, n, n, n, m->rank()).messages);
      m->run(what, element_type::f32, x.data, x.data);
      for (auto const* result : {&x, &y}) {
        auto& all = bits.emplace_back();
        for (auto const v : result->values()) all.push_back(std::bit_cast<std::uint32_t>(v));
      }
    }
    for (auto const& b : bits) {
      bool const same = b == bits[0];
      CHECK(same);
    }
  }
}

TEST_CASE("repeated transfers allocate no new memory") {
  ashlar::topology const t{{"gpu", world_size()}};
  for (auto const use : ashlar::mpi::all_algorithms) {
    auto const m = mesh_with(always(use), t);
    for (ashlar::shape const extents : {ashlar::shape{7, 5}, ashlar::shape{613, 311}})
      for (auto const& s : steps_on(t, reduction::sum)) {
        auto const what = make_transfer(s, extents, t, m.coordinate());
        array<float> const source(m, what.from.elements()), target(m, what.to.elements());
        // The first two runs may allocate memory in the arena and in MPI.
        for (int i = 0; i < 2; ++i) m.run(what, element_type::f32, source.data, target.data);
        int const before = allocations;
        m.run(what, element_type::f32, source.data, target.data);
        int const more = allocations - before;
        CHECK_MESSAGE(more == 0, std::string(to_string(use)) << ", " << to_string(s.kind));
      }
  }
}

TEST_CASE("a mesh uses the algorithm of its table") {
  ashlar::topology const t{{"gpu", world_size()}};
  int const p = world_size();
  ashlar::shape const extents{p, 100000};  // a ring sends each block in two chunks
  ashlar::redistribution_step const gather{collective::all_gather,
                                           {0},
                                           placement::all_broadcast(1).with_split(0, 0),
                                           placement::all_broadcast(1)};
  auto const calls_by = [&](std::string const& table) {
    auto const m = mesh_with(table, t);
    auto const what = make_transfer(gather, extents, t, m.coordinate());
    array<float> const source(m, what.from.elements()), target(m, what.to.elements());
    traffic_check const traffic(m);
    m.run(what, element_type::f32, source.data, target.data);
    std::vector<std::string> names;
    for (auto const& c : mpi_traffic::calls) names.push_back(c.name);
    return names;
  };
  auto const times = [](int n, char const* name) {
    return std::vector<std::string>(static_cast<std::size_t>(n), name);
  };
  CHECK(calls_by("") == times(p - 1, "Recv"));
  CHECK(calls_by(always(algorithm::pairwise)) == times(p - 1, "Recv"));
  CHECK(calls_by(always(algorithm::ring)) == times(2 * (p - 1), "Recv"));
  CHECK(calls_by(always(algorithm::library)) == times(p > 1 ? 1 : 0, "Allgatherv"));
  // Each rank contributes 400 kB. The row of `from_size` applies to all-gathers of at least 1200000
  // bytes in total, so it applies on three or more ranks.
  std::string const from_size = "all-gather 2 1200000 any library # and three ranks";
  CHECK(calls_by(from_size) == (p >= 3 ? times(1, "Allgatherv") : times(p - 1, "Recv")));
  std::string const of_members = "all-gather 4 0 any library\nall-gather 8 0 one-node ring";
  CHECK(calls_by(of_members) == (p >= 8   ? times(2 * (p - 1), "Recv")
                                 : p >= 4 ? times(1, "Allgatherv")
                                          : times(p - 1, "Recv")));
  CHECK(calls_by("all-gather 2 0 several-per-node ring") == times(p - 1, "Recv"));
}

TEST_CASE("the last table row that applies to a transfer selects its algorithm") {
  static constexpr algorithm_table table{
      {collective::all_reduce, 2, 0, spread::any, algorithm::ring},
      {collective::all_reduce, 4, 1024, spread::any, algorithm::library},
      {collective::all_reduce, 4, 4096, spread::several_per_node, algorithm::pairwise}};
  constexpr auto taken = [](exchange_facts x) { return choose(table, x); };
  constexpr exchange_facts of_ints{
      collective::all_reduce, element_type::i32, reduction::sum, 4, 1024, spread::one_node, true};
  auto x = of_ints;
  static_assert(taken(of_ints) == algorithm::library);
  CHECK((x.bytes = 1023, taken(x)) == algorithm::ring);
  CHECK((x.bytes = 4096, taken(x)) == algorithm::library);
  CHECK((x.where = spread::several_per_node, taken(x)) == algorithm::pairwise);
  CHECK((x.where = spread::one_per_node, taken(x)) == algorithm::library);
  CHECK((x.in_runs = false, taken(x)) == algorithm::ring);
  x = of_ints;
  CHECK((x.type = element_type::f64, taken(x)) == algorithm::ring);
  CHECK((x.type = element_type::bf16, taken(x)) == algorithm::pairwise);
  CHECK((x.kind = collective::all_gather, taken(x)) == algorithm::pairwise);
  // A floating-point sum of two operands is the same in both orders. A maximum may depend on the
  // order, because of NaN and the sign of zero.
  exchange_facts two{
      collective::reduce_scatter, element_type::f32, reduction::sum, 2, 8, spread::any, true};
  CHECK(may_carry(algorithm::library, two));
  CHECK_FALSE((two.op = reduction::max, may_carry(algorithm::library, two)));
  CHECK((two.type = element_type::i64, may_carry(algorithm::library, two)));
  two.kind = collective::all_to_all;
  CHECK_FALSE(may_carry(algorithm::ring, two));
  CHECK_FALSE(may_carry(algorithm::library, two));
}

TEST_CASE("how the ranks of a group are distributed over nodes") {
  ashlar::topology const t{{"node", 2}, {"gpu", 4}, {"host", 2}, {"one", 1}};
  CHECK(spread_of(t, {1}) == spread::one_node);
  CHECK(spread_of(t, {1, 3}) == spread::one_node);
  CHECK(spread_of(t, {0}) == spread::one_per_node);
  CHECK(spread_of(t, {0, 3}) == spread::one_per_node);
  CHECK(spread_of(t, {0, 1}) == spread::several_per_node);
  CHECK(spread_of(t, {0, 2, 1}) == spread::several_per_node);
  CHECK(spread_of(t, {1, 0}) == spread::one_per_node);  // successive members are on different nodes
}

TEST_CASE("a table is read back as it was written") {
  auto const table = parse_algorithms(
      "# a comment\n\n  all-gather 2 0 any ring # more\nall-reduce 16 "
      "64KiB several-per-node library"
      "\r\nreduce-scatter 3 2GiB one-node pairwise",
      "here");
  REQUIRE(table.size() == 3);
  CHECK(table[0] == algorithm_row{collective::all_gather, 2, 0, spread::any, algorithm::ring});
  CHECK(table[1] == algorithm_row{collective::all_reduce, 16, 65536, spread::several_per_node,
                                  algorithm::library});
  CHECK(table[2] == algorithm_row{collective::reduce_scatter, 3, std::int64_t(2) << 30,
                                  spread::one_node, algorithm::pairwise});
  CHECK(parse_algorithms(to_string(table), "again") == table);
  CHECK(parse_algorithms("all-gather 2 1kB any ring", "decimal")[0].least_bytes == 1000);
  CHECK(parse_algorithms("", "empty").empty());
}

TEST_CASE("an error in a table names its file and line") {
  std::array<std::string, 2> const wrong[] = {
      {"all-gather 2 0 any", "a row has 5 words, not 4. Write: kind, members, bytes, nodes, "
                             "algorithm."},
      {"permute 2 0 any ring",
       "'permute' is not a collective with a choice of algorithms. Write all-gather, "
       "reduce-scatter or all-reduce."},
      {"all-gather 1 0 any ring", "'1' is not a number of members. Write 2 or more."},
      {"all-gather two 0 any ring", "'two' is not a number of members. Write 2 or more."},
      {"all-gather 2 -1 any ring",
       "'-1' is not a size. Write bytes such as 0, 4096, 64KiB or 16MiB."},
      {"all-gather 2 9999999999GiB any ring",
       "'9999999999GiB' is not a size. Write bytes such as 0, 4096, 64KiB or 16MiB."},
      {"all-gather 2 1kb any ring",
       "'1kb' is not a size. Write bytes such as 0, 4096, 64KiB or 16MiB."},
      {"all-gather 2 0 here ring",
       "'here' is not a distribution over nodes. Write any, one-node, one-per-node or "
       "several-per-node."},
      {"all-gather 2 0 any tree", "'tree' is not an algorithm. Write pairwise, ring or library."}};
  for (auto const& [line, sentence] : wrong)
    CHECK(message_of([&line = line] { parse_algorithms("# first\n" + line, "table"); }) ==
          "collectives: table, line 2: " + sentence);
  std::string long_one;
  for (int i = 0; i < 257; ++i) long_one += "all-gather 2 0 any ring\n";
  CHECK(message_of([&] { parse_algorithms(long_one, "table"); }) ==
        "collectives: table, line 257: more than 256 rows. Remove some of them.");
}

TEST_CASE("every rank gets the error in rank 0's file") {
  ashlar::topology const t{{"gpu", world_size()}};
  CHECK(has(message_of([&] { mesh_with("all-gather 2 0 any\n", t); }),
            ".txt, line 1: a row has 5 words"));
  scoped_environment const setting("ASHLAR_COLLECTIVES", "no/such/file");
  CHECK(message_of([&] { mesh_on(transport::messages, t); }) ==
        "collectives: no/such/file cannot be read. Make it with bench/tune_collectives, or unset "
        "ASHLAR_COLLECTIVES.");
}

}  // namespace ashlar_test
