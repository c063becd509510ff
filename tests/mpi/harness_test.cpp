// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4 6 8

// Tests the main function of the MPI tests (support/mpi_main.cpp): all ranks run, stay
// synchronized, and can communicate. Also tests the time limit of a run (support/deadline.hpp).

#include <atomic>
#include <chrono>
#include <list>
#include <string>
#include <thread>

#include <doctest/doctest.h>
#include <mpi.h>
#include <support/deadline.hpp>
#include <support/transport.hpp>

namespace {

std::atomic<int> deadlines_missed{0};

int rank_of(MPI_Comm comm) {
  int rank = -1;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

int size_of(MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  return size;
}

int sum_over(MPI_Comm comm, int value) {
  int sum = 0;
  MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm);
  return sum;
}

}  // namespace

TEST_CASE("every rank adds its number to the sum") {
  int const size = size_of(MPI_COMM_WORLD);
  REQUIRE(size > 0);
  CHECK(sum_over(MPI_COMM_WORLD, rank_of(MPI_COMM_WORLD) + 1) == size * (size + 1) / 2);
}

TEST_CASE("subcases keep the ranks in step") {
  int const rank = rank_of(MPI_COMM_WORLD);
  int const parity = rank % 2;
  MPI_Comm part = MPI_COMM_NULL;
  SUBCASE("even and odd ranks") {
    MPI_Comm_split(MPI_COMM_WORLD, parity, rank, &part);
    int expected = 0;
    for (int r = parity; r < size_of(MPI_COMM_WORLD); r += 2) expected += r;
    CHECK(sum_over(part, rank) == expected);
  }
  SUBCASE("each rank alone") {
    MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &part);
    CHECK(sum_over(part, rank) == rank);
  }
  MPI_Comm_free(&part);
}

// If the thread of a deadline read the environment, the program would crash now and then, since
// tests change the environment meanwhile. Such a thread would also find no value here, because the
// variable is unset again before the thread runs.
TEST_CASE("a deadline takes its seconds from the environment when it is constructed") {
  if (size_of(MPI_COMM_WORLD) > 1) return;
  using std::chrono::steady_clock, std::chrono::seconds, std::chrono::milliseconds;
  constexpr int count = 8;
  std::list<ashlar_test::deadline> all;
  for (int i = 0; i < count; ++i) {
    {
      ashlar_test::scoped_environment const now("ASHLAR_TEST_DEADLINE", "1");
      all.emplace_back([](std::string const&) { ++deadlines_missed; });
    }
    std::this_thread::sleep_for(milliseconds(1));
  }
  auto const end = steady_clock::now() + seconds(10);
  while (deadlines_missed < count && steady_clock::now() < end)
    std::this_thread::sleep_for(milliseconds(10));
  CHECK(deadlines_missed == count);
}
