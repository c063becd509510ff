// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#include "compute.hpp"

#include <algorithm>

#include <ashlar/device/host/gemm.hpp>

namespace ashlar_bench {
namespace {

struct extents {
  std::int64_t m, n, k;
};

std::vector<extents> products_up_to(std::int64_t largest) {
  std::vector<extents> all;
  for (std::int64_t s = 16; s <= largest; s *= 2) all.push_back({s, s, s});
  std::int64_t const l = std::max<std::int64_t>(16, largest / 2);
  for (std::int64_t thin = 8; thin <= l / 4; thin *= 4) {
    all.push_back({thin, l, l});
    all.push_back({l, thin, l});
    all.push_back({l, l, thin});
  }
  return all;
}

}  // namespace

std::vector<ashlar::gemm_sample> measure_gemms(MPI_Comm world, std::int64_t largest,
                                               effort const& how) {
  auto const n = static_cast<std::size_t>(largest * largest);
  std::vector<float> const a(n, 0.5f), b(n, 0.25f);
  std::vector<float> c(n, 0.0f);
  std::vector<contestant> all;
  auto const products = products_up_to(largest);
  for (auto const& p : products)
    all.push_back({"product", role::limit,
                   [&, p] {
                     ashlar::device::host::gemm(false, false, p.m, p.n, p.k, 1.0f, a.data(), p.k,
                                                b.data(), p.n, 0.0f, c.data(), p.n);
                   },
                   [&, p] { return c[0] == 0.125f * static_cast<float>(p.k); }});
  check(world, all, "products");
  auto const times = measure(world, all, how);
  std::vector<ashlar::gemm_sample> samples;
  for (std::size_t i = 0; i < products.size(); ++i)
    samples.push_back({products[i].m, products[i].n, products[i].k, times[i].median});
  return samples;
}

double measure_memory(MPI_Comm world, std::int64_t bytes, effort const& how) {
  auto const n = static_cast<std::size_t>(bytes) / sizeof(float);
  std::vector<float> const x(n, 1.0f);
  std::vector<float> y(n, 0.0f);
  std::vector<contestant> const one{{"pass", role::limit,
                                     [&] {
                                       float* const to = y.data();
                                       float const* const from = x.data();
                                       for (std::size_t i = 0; i < n; ++i) to[i] = 2 * from[i];
                                     },
                                     [&] { return y.front() == 2 && y.back() == 2; }}};
  check(world, one, "a pass over memory");
  return 2 * double(n * sizeof(float)) / measure(world, one, how).front().median;
}

}  // namespace ashlar_bench
