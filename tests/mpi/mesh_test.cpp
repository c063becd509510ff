// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 4 6

// Tests meshes and the memory of their tensors.

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/placed.hpp>
#include <support/rooted_cases.hpp>
#include <support/transport.hpp>

#include <ashlar/tensor/factory.hpp>
#include <ashlar/tensor/redistribute_async.hpp>

namespace ashlar_test {
namespace {

using namespace ashlar::placements;
using ashlar::sbp;

/// Returns the number of memory ranges that this process has mapped. A test checks with this number
/// that meshes unmap all their ranges.
std::ptrdiff_t mappings() {
  std::ifstream maps("/proc/self/maps");
  return std::count(std::istreambuf_iterator<char>(maps), {}, '\n');
}

/// Returns the resident bytes of shared memory of this process, or -1 if the system does not report
/// them.
std::int64_t shared_pages() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "RssShmem:") {
      std::int64_t kilobytes = 0;
      status >> kilobytes;
      return kilobytes * 1024;
    }
  return -1;
}

/// Runs an all-gather on the mesh, and checks the values of the result.
void works(ashlar::mesh const& m) {
  auto const values = dense({9, 7}, 2);
  auto const x = placed<float, 2>(m, values, {ashlar::split(0)});
  CHECK(wrong_with(redistribute(x, ashlar::placement{ashlar::broadcast()}), values) == "");
}

}  // namespace

TEST_CASE("a mesh that does not match the world names both numbers, on every rank") {
  int const n = world_size();
  auto const message = message_of([&] { ashlar::mesh(MPI_COMM_WORLD, {{"node", n}, {"gpu", 3}}); });
  std::string const wanted = std::to_string(3 * n);
  CHECK_MESSAGE(message == "mesh: node=" + std::to_string(n) + ",gpu=3 has " + wanted +
                               " ranks but the program runs on " + std::to_string(n) +
                               ". Start it with mpirun -n " + wanted +
                               ", or give a mesh whose extents multiply to " + std::to_string(n) +
                               ".",
                message);
}

TEST_CASE("ranks that give different topologies all get an error") {
  int const n = world_size();
  if (n == 1) return;
  ashlar::topology const common{{"gpu", n}};
  // The last topology has another number of ranks.
  for (ashlar::topology const& other :
       {ashlar::topology{{"rank", n}}, ashlar::topology{{"gpu", n}, {"one", 1}},
        ashlar::topology{{"gpu", n, ashlar::link_tier::inter_node}},
        ashlar::topology{{"gpu", n + 1}}})
    for (auto const on : {transport::shared_memory, transport::messages})
      CHECK(message_of([&] { mesh_on(on, world_rank() == 1 ? other : common); }) ==
            "mesh: the ranks give different topologies: rank 1 has another one than rank 0. All "
            "ranks of a mesh must agree on it.");
}

TEST_CASE("ranks are row-major, last axis fastest") {
  int const n = world_size();
  int const outer = n % 2 == 0 ? 2 : 1;
  ashlar::mesh const m(MPI_COMM_WORLD, {{"node", outer}, {"gpu", n / outer}});
  CHECK(m.rank() == world_rank());
  CHECK(m.ranks() == n);
  CHECK(m.coordinate()[0] == world_rank() / (n / outer));
  CHECK(m.coordinate()[1] == world_rank() % (n / outer));
}

TEST_CASE("a mesh may consist of a part of the world") {
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, world_rank() % 2, world_rank(), &half);
  int size = 0;
  MPI_Comm_size(half, &size);
  {
    ashlar::mesh const m(half, {{"gpu", size}});
    auto const x = ashlar::from_index<double, 1>(m, {2 * size}, sbp<S<0>>{},
                                                 [](auto i) { return double(i[0]); });
    auto const y = x | ashlar::to<B>;
    for (std::int64_t i = 0; i < 2 * size; ++i) CHECK(y.data()[i] == double(i));
  }
  MPI_Comm_free(&half);
}

TEST_CASE("copies of a mesh equal it; another mesh of the same shape does not") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  ashlar::mesh const copy = m, other(MPI_COMM_WORLD, {{"gpu", world_size()}});
  CHECK(copy == m);
  CHECK_FALSE(other == m);
}

TEST_CASE("broadcast and reduce of values in host memory, in shared memory and as messages") {
  for (auto const on : {transport::messages, transport::shared_memory})
    broadcast_and_reduce(mesh_on(on, {{"gpu", world_size()}}));
}

TEST_CASE("plans are cached, and recomputed for another machine") {
  int const n = world_size();
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", n}});
  auto const from = ashlar::parse_placement("S(0)"), to = ashlar::parse_placement("S(1)");
  auto const kept = m.prepared({5, 6}, 4, from, to);
  CHECK(m.prepared({5, 6}, 4, from, to) == kept);
  CHECK_FALSE(m.plan({6, 5}, 4, from, to).extents == kept->plan.extents);
  CHECK(m.plan({5, 6}, 8, from, to).element_size == 8);
  double const seconds = kept->plan.seconds;
  m.set_machine(bandwidth_bound);
  if (n > 1) CHECK(m.plan({5, 6}, 4, from, to).seconds != seconds);
}

TEST_CASE("the number of cached plans is bounded, and plans in use are kept") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const from = ashlar::parse_placement("S(0)"), to = ashlar::parse_placement("S(1)");
  std::weak_ptr<ashlar::prepared_plan const> const first = m.prepared({5, 6}, 4, from, to);
  auto const values = dense({9, 7}, 2);
  auto moving = redistribute_async(placed<float, 2>(m, values, from), to);
  int const most = ashlar::plan_cache::most_plans;
  for (int i = 0; i < most + 1; ++i) {
    if (i < most - 2) CHECK_FALSE(first.expired());
    m.prepared({i + 10, 3}, 4, from, to);
  }
  CHECK(first.expired());
  CHECK(wrong_with(moving.wait(), values) == "");
}

TEST_CASE("a repeated redistribution allocates nothing new, and tensors outlive their mesh") {
  std::optional<ashlar::tensor<float, 2>> kept;
  {
    ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}}, bandwidth_bound);
    auto const x = placed<float, 2>(m, dense({9, 7}, 2), ashlar::parse_placement("S(0)"));
    auto const in_use = m.memory().bytes_in_use();
    kept = redistribute(x, ashlar::parse_placement("S(1)"));
    kept = redistribute(x, ashlar::parse_placement("S(1)"));
    auto const peak = m.memory().peak_bytes();
    for (int i = 0; i < 5; ++i) kept = redistribute(x, ashlar::parse_placement("S(1)"));
    CHECK(m.memory().peak_bytes() == peak);
    kept.reset();
    CHECK(m.memory().bytes_in_use() == in_use);
    m.memory().reset_peak();
    CHECK(m.memory().peak_bytes() == in_use);
    kept = x;
  }
  CHECK(wrong_with(*kept, dense({9, 7}, 2)) == "");
  auto const p = reinterpret_cast<std::uintptr_t>(kept->data());
  CHECK(p % ashlar::arena::alignment == 0);
}

TEST_CASE("meshes end in another order on other ranks, or on some ranks alone") {
  ashlar::topology const t{{"gpu", world_size()}};
  for (auto const on : {transport::shared_memory, transport::messages}) {
    std::optional<ashlar::mesh> first(mesh_on(on, t)), second(mesh_on(on, t));
    works(*first);
    works(*second);
    (world_rank() % 2 == 0 ? first : second).reset();
    MPI_Barrier(MPI_COMM_WORLD);
    // Creating a mesh frees meshes that no rank uses any more. Here, some ranks still use the first
    // mesh and the other ranks the second mesh, so neither mesh is freed.
    auto const third = mesh_on(on, t);
    works(third);
    (world_rank() % 2 == 0 ? second : first).reset();
    works(mesh_on(on, t));  // creating this mesh frees the first and the second mesh
    CHECK(ashlar::mpi::collective_handles::meshes() <= 3);
    works(third);
  }
}

TEST_CASE("many meshes, one after the other, keep no memory, mappings or communicators") {
  ashlar::topology const t{{"gpu", world_size()}};
  std::int64_t const elements = 1 << 18;
  std::ptrdiff_t mapped = 0;
  for (int i = 0; i < 60; ++i) {
    auto const m = mesh_on(transport::shared_memory, t);
    auto const x = ashlar::full<float>(m, {elements}, sbp<B>{}, 1);
    works(m);
    CHECK(ashlar::mpi::collective_handles::meshes() <= 2);
    if (i == 5) mapped = mappings();
  }
  CHECK(mappings() <= mapped + 8);
  if (auto const pages = shared_pages(); pages >= 0) CHECK(pages < 30 * elements * 4);
}

TEST_CASE("pages of a mesh that has ended are free before its window is") {
  ashlar::topology const t{{"gpu", world_size()}};
  std::int64_t const elements = 1 << 20;
  auto const before = shared_pages();
  {
    auto const m = mesh_on(transport::shared_memory, t);
    auto const x = ashlar::full<float>(m, {elements}, sbp<B>{}, 1);
    bool const is_shared = m.memory().offset_in_region(x.data()) >= 0;
    // The operating system updates its count of shared pages in batches, so the count may be a
    // little too low.
    if (before >= 0 && is_shared) CHECK(shared_pages() - before > 3 * elements);
  }
  if (before >= 0) CHECK(shared_pages() - before < 2 * elements);
}

// This test case is the last one, because its mesh exists until the program ends.
TEST_CASE("transfers that were pending when an exception ended the mesh arrive completely") {
  if (world_size() != 4) return;
  ashlar::shared::settings sharing;
  sharing.bytes_per_rank = 16 << 20;
  sharing.ranks_per_node = 2;
  ashlar::topology const t{{"node", 2, ashlar::link_tier::inter_node}, {"gpu", 2}};
  std::int64_t const n = 1 << 19;
  auto const split = ashlar::parse_placement("S(0),B"), whole = ashlar::parse_placement("B,B");
  std::optional<ashlar::mesh> m(std::in_place, MPI_COMM_WORLD, t, ashlar::machines::workstation,
                                sharing);
  auto const filled = [&](float value) {
    auto x = ashlar::empty<float, 1>(*m, {2 * n}, split);
    std::fill_n(x.data(), x.local_elements(), value);
    return x;
  };
  (void)ashlar::redistribute(filled(1), whole);  // creates the groups of ranks, which is collective
  bool const leaves = world_rank() < 2;          // the ranks of the first node
  if (leaves) {
    try {
      auto const x = filled(7);
      auto const moving = ashlar::redistribute_async(x, whole);
      m.reset();
      throw std::runtime_error("dropped");
    } catch (std::runtime_error const&) {
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (!leaves) {
    auto const x = filled(9);
    auto const y = ashlar::redistribute_async(x, whole).wait();
    CHECK(std::count(y.data(), y.data() + n, 7.0f) == n);
    CHECK(std::count(y.data() + n, y.data() + 2 * n, 9.0f) == n);
  }
  m.reset();
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace ashlar_test
