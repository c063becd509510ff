// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 4

// Tests meshes of GPU ranks on real devices. If there are fewer devices than ranks, all ranks share
// one device (support/gpu_ranks.hpp). All test cases except the last one also run in
// tests/cuda/fake. The last one tests sums::ordered and sums by rank (comm/sum_order.hpp): results
// must be bitwise equal to sums that the test computes in the same order.

#include <doctest/doctest.h>
#include <support/gpu_ranks.hpp>
#include <support/nccl_mesh_cases.hpp>

namespace ashlar_test {
namespace {

ashlar::topology grid() {
  int const n = gpu_ranks().size();
  return {{"node", n >= 4 ? n / 2 : 1}, {"gpu", n >= 4 ? 2 : n}};
}

TEST_CASE("redistribute, and the bytes that are recorded") {
  redistribute_at_once(gpu_ranks(), grid(), pairs(grid(), 7));
}

TEST_CASE("asynchronous redistributions, several at a time") {
  redistribute_beside(gpu_ranks(), grid(), pairs(grid(), 17));
}

TEST_CASE("values of the host") { reduce_values_of_the_host(gpu_ranks()); }

TEST_CASE("broadcast and reduce of values in host memory") {
  for (auto const how : {ashlar::nccl::sums::library, ashlar::nccl::sums::ordered})
    broadcast_and_reduce(
        mesh(gpu_ranks(), {{"gpu", gpu_ranks().size()}}, ashlar::machines::workstation, how));
}

TEST_CASE("several meshes of one program, and shards of no elements") {
  several_meshes(gpu_ranks());
}

/// Sums values over all ranks of a mesh of one axis. The results must be bitwise equal to sums that
/// this function computes in the mesh's sum order (comm/sum_order.hpp). The values are chosen so
/// that rounding makes the sums depend on the order of the addends.
template <class T>
void check_ordered_sums(mesh const& m, std::int64_t elements) {
  auto const value = [](int addend, int i) {
    return static_cast<T>(float((i * 7919 + 104729 * addend) % 1009 - 500) *
                          (i % 3 != 0 ? 0.1f : 1e6f));
  };
  using tensor = ashlar::tensor<T, 1, ashlar::dynamic, ashlar::cuda::processor>;
  auto const stream = m.processor().stream;
  tensor x(m, {elements}, {ashlar::partial()});
  std::vector<T> mine, sum(static_cast<std::size_t>(elements));
  for (int i = 0; i < elements; ++i) mine.push_back(value(m.rank(), i));
  auto const bytes = mine.size() * sizeof(T);
  REQUIRE(cudaMemcpyAsync(x.data(), mine.data(), bytes, cudaMemcpyHostToDevice, stream) ==
          cudaSuccess);
  auto const y = ashlar::redistribute(x, placement{ashlar::broadcast()});
  REQUIRE(cudaMemcpyAsync(sum.data(), y.data(), bytes, cudaMemcpyDeviceToHost, stream) ==
          cudaSuccess);
  REQUIRE(cudaStreamSynchronize(stream) == cudaSuccess);
  int const p = m.ranks();
  for (int i = 0; i < elements; ++i) {
    int owner = 0;
    while (ashlar::balanced_part({0, elements}, p, owner).end() <= i) ++owner;
    using A = ashlar::accumulation_t<T>;
    auto const addend = [&](int k) {
      return static_cast<A>(value(ashlar::addend_at(m.sum_order(), k, owner, p), i));
    };
    auto s = addend(0);
    for (int k = 1; k < p; ++k) s += addend(k);
    CHECK(static_cast<A>(sum[static_cast<std::size_t>(i)]) == static_cast<A>(static_cast<T>(s)));
  }
}

void check_ordered_sums_of_all_types(mesh const& m) {
  for (std::int64_t const elements : {1, 7, 64, 1003}) {
    check_ordered_sums<float>(m, elements);
    check_ordered_sums<double>(m, elements);
    check_ordered_sums<ashlar::bfloat16>(m, elements);
  }
}

TEST_CASE("ordered sums, and sums by rank, have the bits of every other transport") {
  ashlar::topology const t{{"gpu", gpu_ranks().size()}};
  check_ordered_sums_of_all_types(
      mesh(gpu_ranks(), t, ashlar::machines::workstation, ashlar::nccl::sums::ordered));
  mesh const by_rank(gpu_ranks(), t);
  by_rank.set_sum_order(ashlar::sum_order::by_rank);
  check_ordered_sums_of_all_types(by_rank);
}

}  // namespace
}  // namespace ashlar_test
