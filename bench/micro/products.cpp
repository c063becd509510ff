// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Measures products of float matrices, m x k times k x n:
//
//   product/gemm/order:N     a local product on every rank at once. It shows the speed of the ranks
//                            without communication.
//   product/free/m:/n:/k:    a product with the placements that plan_matmul_layouts chooses, like
//                            the contestant "free" of bench/matmul
//   product/blocks/m:/n:/k:  a product with all three matrices in blocks of a 2-D grid, like the
//                            contestant "given" of bench/matmul

#include "../matmul/ours.hpp"
#include "bandwidth.hpp"

namespace {

using namespace ashlar_bench;
using namespace ashlar_bench::micro;

work gemm(std::int64_t n, team const& ranks) {
  auto const elements = static_cast<std::size_t>(n * n);
  struct matrices {
    std::vector<float> a, b, c;
  };
  auto const of = std::make_shared<matrices>(matrices{std::vector<float>(elements, 0.5f),
                                                      std::vector<float>(elements, 2.0f),
                                                      std::vector<float>(elements)});
  work w;
  w.run = [of, n] {
    ashlar::device::host::gemm(false, false, n, n, n, 1.0f, of->a.data(), n, of->b.data(), n, 0.0f,
                               of->c.data(), n);
  };
  w.per_run.flops = ranks.ranks * product_shape{n, n, n}.flops();
  w.is_right = [of, n] { return of->c.front() == float(n) && of->c.back() == float(n); };
  return w;
}

work product(product_shape const& s, product_layout const& lies, team const& ranks) {
  auto const expected = std::make_shared<reference const>(ranks.world, s);
  auto const c = ours<float>("", ranks.world, s, lies, expected);
  return {c.run, {.flops = s.flops()}, c.is_right};
}

family const products([](suite& all) {
  for (std::int64_t const n : {64, 256, 1024})
    all.add("product/gemm/order:" + std::to_string(n),
            [n](team const& ranks) { return gemm(n, ranks); });
  for (product_shape const s :
       {product_shape{512, 512, 512}, {1024, 1024, 1024}, {4096, 256, 256}, {256, 256, 4096}}) {
    std::string const extents = "/m:" + std::to_string(s.m) + "/n:" + std::to_string(s.n) +
                                "/k:" + std::to_string(s.k);
    all.add("product/free" + extents, [s](team const& ranks) {
      auto lies = free_layout<float>(s, ranks.ranks);
      return product(s, lies, ranks);
    });
    all.add("product/blocks" + extents, [s](team const& ranks) {
      int const rows = grid_rows(ranks.ranks);
      return product(s, given_layout(rows, ranks.ranks / rows), ranks);
    });
  }
});

}  // namespace
