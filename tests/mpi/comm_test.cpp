// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4 6 8

// The transport: blocking and non-blocking exchanges of each kind give the same values and bytes,
// along every group of axes; logs nest; a mesh can be told to refuse.

#include <numeric>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/placed.hpp>
#include <support/traffic_check.hpp>

#include <ashlar/tensor/factory.hpp>
#include <ashlar/tensor/redistribute.hpp>

namespace ashlar_test {
namespace {

using namespace ashlar::placements;
using ashlar::axis_list;
using ashlar::collective;
using ashlar::element_type;
using ashlar::exchange;
using ashlar::sbp;

/// Ordered lists of axes of a mesh.
std::vector<axis_list> groups(int axes) {
  std::vector<axis_list> all;
  for (int a = 0; a < axes; ++a) {
    all.push_back({static_cast<signed char>(a)});
    for (int b = 0; b < axes; ++b)
      if (a != b) all.push_back({static_cast<signed char>(a), static_cast<signed char>(b)});
  }
  return all;
}

/// One exchange and what must come out of it on this rank, by arithmetic.
struct trial {
  exchange what;
  std::vector<std::int64_t> send_counts, recv_counts;
  std::vector<double> send, recv, expected;

  exchange const& ready() {
    what.type = element_type::f64;
    what.send = send.data();
    what.recv = recv.data();
    what.send_counts = send_counts;
    what.recv_counts = recv_counts;
    return what;
  }
};

/// Block sizes are uneven and one is zero; element values name who sent what to whom.
double value(int from, int to, int i) { return 100 * from + 10 * to + i; }

trial trial_of(collective kind, ashlar::mesh const& m, axis_list const& axes) {
  auto const& t = m.topology();
  int const p = t.group_size(axes), me = t.index_in_group(m.here(), axes);
  auto const rank = [&](int member) { return t.rank_of(t.member(m.here(), axes, member)); };
  auto const block = [](int member) { return member % 3; };
  trial e;
  e.what.kind = kind;
  e.what.axes = axes;
  switch (kind) {
    case collective::all_gather:
      for (int j = 0; j < p; ++j) {
        e.recv_counts.push_back(block(j));
        for (int i = 0; i < block(j); ++i) e.expected.push_back(value(rank(j), 0, i));
      }
      for (int i = 0; i < block(me); ++i) e.send.push_back(value(m.rank(), 0, i));
      break;
    case collective::reduce_scatter:
      for (int j = 0; j < p; ++j) {
        e.recv_counts.push_back(block(j));
        for (int i = 0; i < block(j); ++i) e.send.push_back(value(m.rank(), j, i));
      }
      for (int i = 0; i < block(me); ++i) {
        double sum = 0;
        for (int j = 0; j < p; ++j) sum += value(rank(j), me, i);
        e.expected.push_back(sum);
      }
      break;
    case collective::all_reduce:
      e.recv_counts = {5};
      for (int i = 0; i < 5; ++i) {
        e.recv.push_back(value(m.rank(), 0, i));
        double largest = 0;
        for (int j = 0; j < p; ++j) largest = std::max(largest, value(rank(j), 0, i));
        e.expected.push_back(largest);
      }
      e.what.op = ashlar::reduction::max;
      break;
    case collective::all_to_all:
      for (int j = 0; j < p; ++j) {
        e.send_counts.push_back(block(me + j));
        e.recv_counts.push_back(block(j + me));
        for (int i = 0; i < block(me + j); ++i) {
          e.send.push_back(value(m.rank(), rank(j), i));
          e.expected.push_back(value(rank(j), m.rank(), i));
        }
      }
      break;
    default:  // permute: around the group
      e.what.to = (me + 1) % p;
      e.what.from = (me + p - 1) % p;
      e.send_counts = {block(me)};
      e.recv_counts = {block(e.what.from)};
      for (int i = 0; i < block(me); ++i) e.send.push_back(value(m.rank(), 0, i));
      for (int i = 0; i < block(e.what.from); ++i)
        e.expected.push_back(value(rank(e.what.from), 0, i));
      break;
  }
  e.recv.resize(e.expected.size());
  return e;
}

constexpr collective kinds[] = {collective::all_gather, collective::reduce_scatter,
                                collective::all_reduce, collective::all_to_all,
                                collective::permute};

}  // namespace

TEST_CASE("blocking and non-blocking exchanges agree, along every group of axes") {
  for (auto const& t : topologies(world_size())) {
    ashlar::mesh const m(MPI_COMM_WORLD, t);
    for (auto const& axes : groups(m.axes()))
      for (auto const kind : kinds) {
        auto at_once = trial_of(kind, m, axes);
        traffic_check traffic(m);
        m.run(at_once.ready());
        auto const records = traffic.log().records();
        CHECK(traffic.difference(records) == "");  // bytes asked of MPI: those recorded
        CHECK(at_once.recv == at_once.expected);
        REQUIRE(records.size() == 1);
        CHECK(records[0].kind == kind);
        CHECK(records[0].axes == axes);

        auto background = trial_of(kind, m, axes);
        traffic.clear();
        auto const pending = m.start(background.ready());
        pending->wait();
        CHECK(pending->test());
        CHECK(traffic.difference(records) == "");
        CHECK(background.recv == background.expected);
      }
  }
}

TEST_CASE("a pending exchange that is dropped has ended; several may be under way") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  std::vector<trial> trials;
  for (auto const kind : kinds) trials.push_back(trial_of(kind, m, {0}));
  {
    std::vector<std::unique_ptr<ashlar::pending_exchange>> pending;
    for (auto& e : trials) pending.push_back(m.start(e.ready()));
    while (!pending.back()->test()) {
    }
  }
  for (auto const& e : trials) CHECK(e.recv == e.expected);
}

TEST_CASE("an exchange of more than 2^31 elements is refused, not cut short") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  std::int64_t const count = std::int64_t{1} << 31;
  exchange e;
  e.kind = collective::all_reduce;
  e.axes = {0};
  e.recv_counts = {&count, 1};
  CHECK(has(message_of([&] { m.run(e); }), "more than 2^31 - 1 elements"));
}

TEST_CASE("logs nest, and end with their scope") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const x = ashlar::full<float>(m, {8, 8}, sbp<S<0>>{}, 1);
  ashlar::communication_log outer(m);
  {
    ashlar::communication_log const inner(m);
    (void)(x | ashlar::to<B>);
    CHECK(inner.records().size() == 1);
    CHECK(inner.records() == outer.records());
    CHECK(inner.records()[0].kind == collective::all_gather);
    CHECK(inner.received_bytes() == (64 - x.local_elements()) * 4);
  }
  (void)(x | ashlar::to<S<1>>);
  CHECK(outer.records().size() == 2);
  outer.clear();
  CHECK(outer.records().empty());
  CHECK(outer.received_bytes() == 0);
}

TEST_CASE("where communication is forbidden, both forms of exchange say so") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"node", 1}, {"gpu", world_size()}});
  auto const x = ashlar::full<float>(m, {8, 8}, sbp<B, S<0>>{}, 1);
  std::string const expected =
      "mesh: communication is forbidden here, but all-gather along gpu was asked for.";
  {
    ashlar::no_communication const outer(m);
    {
      ashlar::no_communication const inner(m);
      CHECK(message_of([&] { (void)(x | ashlar::to<B, B>); }) == expected);
    }
    auto e = trial_of(collective::all_gather, m, {1});
    CHECK(message_of([&] { m.start(e.ready()); }) == expected);
    (void)(x | ashlar::to<S<1>, S<0>>);  // a slice is free
  }
  CHECK(to_string((x | ashlar::to<B, B>).placement()) == "[B,B]");
}

TEST_CASE("time spent in exchanges adds up") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  CHECK(m.communication_seconds() == 0);
  (void)(ashlar::full<float>(m, {64, 64}, sbp<S<0>>{}, 1) | ashlar::to<B>);
  double const once = m.communication_seconds();
  CHECK(once > 0);
  (void)(ashlar::full<float>(m, {64, 64}, sbp<S<0>>{}, 1) | ashlar::to<B>);
  CHECK(m.communication_seconds() > once);
  m.barrier();
}

}  // namespace ashlar_test
