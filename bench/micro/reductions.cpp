// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Measures sums over one dimension. The benchmark reduction/sum/dim:D/n:N sums an N x N tensor of
// float over dimension D. The tensor is split along dimension 0. Nothing is communicated: for D = 0
// the result stays partial. The bytes reported are those that one rank reads.

#include "suite.hpp"

namespace {

using namespace ashlar_bench::micro;

template <int Dim>
void add_sums(suite& all) {
  for (std::int64_t const n : {256, 1024, 4096})
    all.add("reduction/sum/dim:" + std::to_string(Dim) + "/n:" + std::to_string(n),
            [n](team const& ranks) {
              auto const x = ashlar::normal<float>(
                  ranks.line(), {n, n}, ashlar::sbp<ashlar::placements::S<0>>{}, {.seed = 1});
              return work{[x] { ashlar::sum<Dim>(x); },
                          {.bytes = double(x.local_elements()) * sizeof(float)}};
            });
}

family const sums_of_rows(add_sums<0>);
family const sums_of_columns(add_sums<1>);

}  // namespace
