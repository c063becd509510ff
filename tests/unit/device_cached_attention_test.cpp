// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests attention with a cache. If it is called with a few tokens at a time, it must give the
// results of attention to whole sequences. The first call has more queries than fit into one block.

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include <doctest/doctest.h>
#include <support/worse_gap.hpp>

#include <ashlar/device/host/cached_attention.hpp>

namespace host = ashlar::device::host;

TEST_CASE("attention with a cache equals attention to whole sequences") {
  std::int64_t const batch = 2, length = 77, places = 80;
  for (double const base : {0.0, 30.0})
    for (std::int64_t const queries : {1, 3}) {
      CAPTURE(base);
      CAPTURE(queries);
      host::grouped_extents const whole{batch, length, 2, queries, 4, true, {base}};
      auto const of_batch = [&](std::int64_t token) {
        return static_cast<std::size_t>(batch * length * token);
      };
      std::mt19937 random(1);
      std::normal_distribution<double> normal;
      std::vector<double> qkv(of_batch(whole.token()));
      for (auto& v : qkv) v = normal(random);
      std::vector<double> expected(of_batch(whole.out_token())), sums(of_batch(2 * queries)),
          workspace(static_cast<std::size_t>(host::grouped_forward_workspace(whole)));
      host::grouped_attention_forward(qkv.data(), whole, workspace.data(), expected.data(),
                                      sums.data());

      std::vector<double> cache(static_cast<std::size_t>(batch * places * 2 * 2 * 4));
      std::int64_t before = 0;
      for (std::int64_t const n : {70, 1, 1, 5}) {
        auto e = whole;
        e.sequence = n;
        std::vector<double> part;
        for (std::int64_t b = 0; b < batch; ++b) {
          auto const from = qkv.begin() + (b * length + before) * e.token();
          part.insert(part.end(), from, from + n * e.token());
        }
        std::vector<double> out(static_cast<std::size_t>(batch * n * e.out_token())),
            own_sums(static_cast<std::size_t>(batch * n * 2 * queries)),
            own(static_cast<std::size_t>(host::cached_attention_workspace(e, places)));
        host::cached_attention_forward(part.data(), e, {before, places}, own.data(), cache.data(),
                                       out.data(), own_sums.data());
        double apart = 0;
        for (std::int64_t b = 0; b < batch; ++b)
          for (std::int64_t i = 0; i < n * e.out_token(); ++i)
            apart = ashlar_test::worse_gap(
                apart,
                std::abs(
                    out[static_cast<std::size_t>(b * n * e.out_token() + i)] -
                    expected[static_cast<std::size_t>((b * length + before) * e.out_token() + i)]));
        CHECK(apart < 1e-13);
        for (std::int64_t row = 0; row < batch * 2 * queries; ++row)
          for (std::int64_t i = 0; i < n; ++i)
            CHECK(own_sums[static_cast<std::size_t>(row * n + i)] ==
                  doctest::Approx(sums[static_cast<std::size_t>(row * length + before + i)])
                      .epsilon(1e-13));
        before += n;
      }
    }
}
