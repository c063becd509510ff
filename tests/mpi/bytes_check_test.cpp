// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 2 3

// Tests the byte check (support/traffic_check.hpp). The check must detect data movement that is not
// planned, not recorded, or not counted.

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/placed.hpp>
#include <support/traffic_check.hpp>

#include <ashlar/tensor/redistribute.hpp>

namespace ashlar_test {
namespace {

struct gathering {
  ashlar::mesh m{MPI_COMM_WORLD, {{"gpu", world_size()}}};
  ashlar::tensor<float, 1> x = placed<float, 1>(m, dense({2 * m.ranks()}, 3.0), {ashlar::split(0)});
  placement whole = placement::all_broadcast(1);
  exchanges expected = predicted(m, plan_redistribution(x, whole).plan);
};

}  // namespace

TEST_CASE("a gather as planned agrees at all three levels") {
  gathering const g;
  traffic_check const check(g.m);
  redistribute(g.x, g.whole);
  REQUIRE(check.log().records().size() == 1);
  CHECK(check.log().received_bytes() == 8 * (g.m.ranks() - 1));
  CHECK(check.difference(g.expected) == "");
}

TEST_CASE("an additional or a missing step differs from the prediction") {
  gathering const g;
  traffic_check check(g.m);
  CHECK(has(check.difference(g.expected), "recorded []"));
  redistribute(g.x, g.whole);
  redistribute(g.x, g.whole);
  CHECK(has(check.difference(g.expected), "recorded [all-gather"));
  check.clear();
  redistribute(g.x, g.whole);
  CHECK(check.difference(g.expected) == "");
}

TEST_CASE("bytes that bypass the transport are noticed, before and during an exchange") {
  gathering const g;
  float stolen = 1;
  {
    traffic_check const check(g.m);
    MPI_Allreduce(MPI_IN_PLACE, &stolen, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    redistribute(g.x, g.whole);
    auto const text = check.difference(g.expected);
    if (g.m.rank() == 0) CHECK_MESSAGE(has(text, "B asked of MPI but not recorded"), text);
  }
  {
    traffic_check const check(g.m);
    redistribute(g.x, g.whole);
    int const next = (g.m.rank() + 1) % g.m.ranks(),
              before = (g.m.rank() + g.m.ranks() - 1) % g.m.ranks();
    float arrived = 0;
    MPI_Sendrecv(&stolen, 1, MPI_FLOAT, next, 0, &arrived, 1, MPI_FLOAT, before, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    CHECK(has(check.difference(g.expected), "asked of MPI " + std::to_string(8 * g.m.ranks() - 4)));
  }
}

TEST_CASE("a call that moves data and is not counted is refused") {
  gathering const g;
  traffic_check const check(g.m);
  float x = 1, sum = 0;
  MPI_Reduce(&x, &sum, 1, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);
  CHECK(has(check.difference({}), "MPI_Reduce moves data and is not counted"));
}

TEST_CASE("a receive larger than what was sent leaves the balance wrong") {
  gathering const g;
  CHECK(mpi_traffic::balanced());
  {
    traffic_check const check(g.m);
    float two[2] = {0, 0};
    if (g.m.rank() == 0) MPI_Send(two, 1, MPI_FLOAT, 1, 0, MPI_COMM_WORLD);
    if (g.m.rank() == 1) MPI_Recv(two, 2, MPI_FLOAT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  CHECK_FALSE(mpi_traffic::balanced());
}

}  // namespace ashlar_test
