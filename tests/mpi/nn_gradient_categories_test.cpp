// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 4

// Tests gradients of the layers of a recommendation model. In some cases there are fewer tables,
// rows, columns or samples than ranks.

#include <support/gradients.hpp>
#include <support/message_of.hpp>

#include <ashlar/nn/chain.hpp>
#include <ashlar/nn/embedding_tables.hpp>
#include <ashlar/nn/interaction.hpp>
#include <ashlar/nn/linear.hpp>

namespace ashlar_test {
namespace {
namespace nn = ashlar::nn;
}  // namespace

TEST_CASE("tables and the interaction, with and without the first vector") {
  gradient_check(nn::chain(nn::embedding_tables(3, 5, 3), nn::interaction(), nn::linear(3, 4)),
                 nn::category_batch{3, 3, 2}, 5, 4)
      .run(12);
  gradient_check(nn::chain(nn::embedding_tables(2, 3, 5),
                           nn::interaction(nn::interaction::first::kept), nn::linear(6, 3)),
                 nn::category_batch{5, 2}, 3, 3)
      .run(12);
}

TEST_CASE("an id outside a table is refused on every rank") {
  auto const net = nn::chain(nn::embedding_tables(2, 3, 2), nn::interaction(), nn::linear(1, 2));
  nn::category_batch const batch{2, 2};
  auto const problem = any_length(nn::describe<float>(net, batch));
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto model = nn::place<float>(net, m, plan_source(problem, m).whole());
  ashlar::train::trainer trainer(model, ashlar::train::sgd{});
  for (int id : {3, -1}) {
    auto data = random_batch<std::int32_t>(batch, 3, 2, 1);
    data.inputs[2] = id;
    CHECK(has(message_of([&] { trainer.step(data); }),
              ": id " + std::to_string(id) + " is outside the 3 rows of a table."));
  }
}

}  // namespace ashlar_test
