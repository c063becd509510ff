// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
//
// ranks: 4

// Tests a model whose plan comes from a C++ header (io/plan_header.hpp). The model gets the plan as
// nn::constant<...>, so its tensors have their placements in their types. The losses must equal
// those of a model that gets the same plan as a run-time value.

#include <doctest/doctest.h>
#include <plans/mlp_2x2.inc>
#include <support/plan_header_case.hpp>

#include <ashlar/ashlar.hpp>

namespace ashlar_test {

TEST_CASE("a model is typed by the plan of a header") {
  ashlar::mesh const mesh(MPI_COMM_WORLD, header_mesh);
  auto typed = ashlar::nn::place<float>(header_net, mesh, ashlar::nn::constant<mlp_2x2>, 5);
  auto value = ashlar::nn::place<float>(header_net, mesh, header_plan(), 5);
  ashlar::train::trainer a(typed, ashlar::train::sgd{.lr = 0.1}, {});
  ashlar::train::trainer b(value, ashlar::train::sgd{.lr = 0.1}, {});
  ashlar::train::batch_data<float> batch;
  for (int row = 0; row < 8; ++row) {
    for (int i = 0; i < 12; ++i) batch.inputs.push_back(float((5 * row + 3 * i) % 7 - 3));
    batch.targets.push_back(row % 7);
  }
  double first = 0, last = 0;
  for (int step = 0; step < 5; ++step) {
    last = a.step(batch).loss;
    if (step == 0) first = last;
    CHECK(last == b.step(batch).loss);
  }
  CHECK(last < first);
}

}  // namespace ashlar_test
