// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Searches a Llama of 70 billion parameters on 128 GPUs, below the memory of a GPU and with a
// limited effort. The fastest plan needs more than ten times that memory, so the search must
// recompute activations and divide parameters.

#include <doctest/doctest.h>
#include <support/relative.hpp>

#include <ashlar/machine/presets.hpp>
#include <ashlar/mesh/text.hpp>
#include <ashlar/nn/describe.hpp>
#include <ashlar/nn/llama.hpp>
#include <ashlar/search/cost.hpp>
#include <ashlar/search/optimal.hpp>
#include <ashlar/support/bfloat16.hpp>

namespace ashlar_test {

TEST_CASE("Llama 2 70B is searched below the memory of 128 GPUs with a limited effort") {
  namespace nn = ashlar::nn;
  namespace search = ashlar::search;
  auto const net = any_length(nn::describe<ashlar::bfloat16>(nn::llama(nn::llama_sizes::llama2_70b),
                                                             nn::token_batch{128, 4096, 4}));
  CHECK(nn::parameter_count(net) == 68'976'648'192);
  auto const t = ashlar::parse_topology("node=16,gpu=8");
  auto const limited = ashlar::machines::h200_server;
  auto unlimited = limited;
  unlimited.memory = 0;
  auto const fastest = search::optimal(net, t, unlimited);
  CHECK(fastest.gap == 0);
  CHECK(fastest.memory > 10 * limited.memory);

  auto const plan = search::optimal(net, t, limited, search::any_choice{}, {.labels = 1'000'000});
  CHECK(plan.memory <= limited.memory);
  CHECK(plan.recomputed > 0);
  CHECK(plan.gap >= 0);
  CHECK(plan.gap < 0.03);
  CHECK(plan.seconds >= fastest.seconds);
  CHECK(plan.seconds == relative(total_cost(net, plan, limited).seconds()));
  CHECK(plan.memory == memory_per_rank(net, plan));
}

}  // namespace ashlar_test
