// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Compares the gradients of embedding tables with the host's gradients, bit for bit and for many
// ids. The kernel sorts the ids with a radix sort, in chunks of 1024 tokens and with digits of 8
// bits. The numbers of tokens are close to multiples of 1024. The numbers of rows are close to 2^8
// and 2^16, because the sort needs a second digit for 2^8 rows and a third digit for 2^16 rows. In
// some cases all ids are equal, or some ids are outside the table.

#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <ashlar/device/host/embedding.hpp>

#include "support/kernel_values.hpp"

namespace ashlar_test {

struct embedding_case {
  std::int64_t tokens, first_row, rows, ids;  // the ids range from 0 to ids - 1
};

template <class T, class Machine>
void check_embedding_of_many(Machine& m) {
  using A = accumulation_t<T>;
  constexpr embedding_case cases[] = {{0, 0, 3, 3},           {1, 0, 1, 1},
                                      {1, 5, 7, 3},           {1023, 0, 1, 1},
                                      {1024, 0, 1, 3},        {1025, 2, 254, 400},
                                      {2049, 0, 255, 255},    {2500, 7, 256, 300},
                                      {1500, 3, 257, 1},      {3000, 100, 65535, 66000},
                                      {300, 0, 65536, 65536}, {700, 20, 70000, 71000},
                                      {40, 0, 0, 5}};
  for (auto const& c : cases) {
    std::int64_t const cols = c.rows > 60000 ? 1 : 12;
    CAPTURE(c.tokens);
    CAPTURE(c.rows);
    std::vector<std::int32_t> ids;
    for (std::int64_t t = 0; t < c.tokens; ++t)
      ids.push_back(static_cast<std::int32_t>(t * 7919 % 104729 % c.ids));
    auto const dy = values_of<T>(c.tokens * cols, 1);
    auto dtable = ashlar::test::normals<A>(c.rows * cols, 2);
    auto const on_dy = m.upload(dy);
    auto const on_ids = m.upload(ids);
    auto on_dtable = m.upload(dtable);
    auto workspace = m.template make<std::int32_t>(
        ashlar::cuda::embedding_backward_workspace(c.rows, c.tokens));
    ashlar::device::host::embedding_backward(wide(dy).data(), ids.data(), c.tokens, c.first_row,
                                             c.rows, cols, dtable.data());
    embedding_backward(m.queue(), on_dy.data(), on_ids.data(), c.tokens, c.first_row, c.rows, cols,
                       workspace.data(), on_dtable.data());
    CHECK(m.download(on_dtable) == dtable);
  }
}

}  // namespace ashlar_test
