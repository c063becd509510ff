// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Measures the kernels that pack, unpack and reduce shards. All ranks run them at once, each on its
// own N x N matrix of double. The bytes reported are those that one rank reads and writes.
//
//   kernel/copy         copies the contiguous matrix
//   kernel/pack         copies the left half of each row into a contiguous buffer, as an all-to-all
//                       along dim 1 packs it
//   kernel/unpack       copies the contiguous buffer back to the left half of each row
//   kernel/transpose    copies the matrix transposed
//   kernel/reduce       computes the sum of several matrices, as a reduce-scatter does

#include <algorithm>

#include <ashlar/device/host/reduce_strided.hpp>
#include <ashlar/device/host/strided_copy.hpp>

#include "suite.hpp"

namespace {

using namespace ashlar_bench::micro;

/// Describes a copy of rows x columns elements between two arrays with the given strides.
struct copied_plane {
  std::int64_t rows, columns;
  std::int64_t source_strides[2], target_strides[2];
};

work copy(std::int64_t n, copied_plane const& p) {
  struct arrays {
    std::vector<double> source, target;
  };
  auto const size = static_cast<std::size_t>(n * n);
  auto const of = std::make_shared<arrays>(
      arrays{std::vector<double>(size), std::vector<double>(size)});
  for (std::size_t i = 0; i < size; ++i) of->source[i] = static_cast<double>(i);
  work w;
  w.run = [of, p] {
    std::int64_t const extents[] = {p.rows, p.columns};
    ashlar::device::host::copy_strided(2, extents, of->source.data(), p.source_strides,
                                       of->target.data(), p.target_strides);
  };
  w.per_run.bytes = 2.0 * sizeof(double) * static_cast<double>(p.rows * p.columns);
  w.is_right = [of, p] {
    for (std::int64_t i = 0; i < p.rows; ++i)
      for (std::int64_t j = 0; j < p.columns; ++j) {
        auto const from = i * p.source_strides[0] + j * p.source_strides[1];
        auto const to = i * p.target_strides[0] + j * p.target_strides[1];
        if (of->target[static_cast<std::size_t>(to)] != static_cast<double>(from)) return false;
      }
    return true;
  };
  return w;
}

work reduce(std::int64_t n, int sources) {
  struct arrays {
    std::vector<std::vector<double>> sources;
    std::vector<double const*> pointers;
    std::vector<double> target;
  };
  auto const size = static_cast<std::size_t>(n * n);
  auto const of = std::make_shared<arrays>();
  of->sources.assign(static_cast<std::size_t>(sources), std::vector<double>(size, 1.0));
  for (auto const& s : of->sources) of->pointers.push_back(s.data());
  of->target.resize(size);
  work w;
  w.run = [of, n] {
    std::int64_t const extents[] = {n, n}, strides[] = {n, 1};
    ashlar::device::host::reduce_strided<double>(ashlar::reduction::sum, 2, extents, of->pointers,
                                                 strides, of->target.data(), strides);
  };
  w.per_run.bytes = (sources + 1.0) * sizeof(double) * static_cast<double>(size);
  w.per_run.flops = (sources - 1.0) * static_cast<double>(size);
  w.is_right = [of, sources] {
    return std::all_of(of->target.begin(), of->target.end(),
                       [&](double sum) { return sum == sources; });
  };
  return w;
}

family const kernels([](suite& all) {
  for (std::int64_t const n : {64, 512, 2048}) {
    std::int64_t const half = n / 2;
    std::string const order = "/n:" + std::to_string(n);
    auto const add_copy = [&](char const* name, copied_plane const& p) {
      all.add("kernel/" + (name + order), [n, p](team const&) { return copy(n, p); });
    };
    add_copy("copy", {n, n, {n, 1}, {n, 1}});
    add_copy("pack", {n, half, {n, 1}, {half, 1}});
    add_copy("unpack", {n, half, {half, 1}, {n, 1}});
    add_copy("transpose", {n, n, {1, n}, {n, 1}});
    for (int const sources : {2, 4, 8})
      all.add("kernel/reduce/sources:" + std::to_string(sources) + order,
              [n, sources](team const&) { return reduce(n, sources); });
  }
});

}  // namespace
