// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2

// Tests that nn::verify accepts grouped-query attention. nn::verify tries every signature row on
// several meshes with uneven and empty shards, and compares the gradients with finite differences,
// with and without rotary positions. Also tests which arguments the layer refuses.

#include <doctest/doctest.h>
#include <support/message_of.hpp>

#include <ashlar/comm/mpi/environment.hpp>
#include <ashlar/nn/llama.hpp>
#include <ashlar/nn/verify.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;
using core = nn::grouped_attention_core;

/// Returns the message of nn::verify about an attention layer. The trials are divided among the
/// ranks.
std::string fault_of_core(core const& layer, std::int64_t const (&x)[4]) {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  ashlar::mesh const m(MPI_COMM_WORLD, {{"rank", ranks}});
  return message_of([&] { nn::verify(layer, x, m); });
}

}  // namespace

TEST_CASE("nn::verify finds nothing wrong with grouped-query attention") {
  char const* const nothing = "nothing was thrown";
  CHECK(fault_of_core(core(2), {2, 5, 3, 8}) == nothing);
  CHECK(fault_of_core(core(3, 10000), {3, 4, 2, 10}) == nothing);
  CHECK(fault_of_core(core(1, 100, nn::attention_mask::none), {2, 5, 3, 12}) == nothing);
  nn::rotary_scaling const scaling{.factor = 8, .original = 32};
  CHECK(fault_of_core(core(1, 100, nn::attention_mask::causal, scaling), {2, 5, 3, 12}) == nothing);
}

TEST_CASE("grouped-query attention says what it cannot be") {
  CHECK(message_of([] { core(0); }) ==
        "nn::grouped_attention_core: a key head needs 1 query head or more, not 0.");
  CHECK(message_of([] { core(1, -1); }) ==
        "nn::grouped_attention_core: the rotary base must be positive, such as 10000, or 0 for no "
        "positions.");
  CHECK(message_of(
            [] { core(1, 100, nn::attention_mask::causal, {.factor = 8, .low = 4, .high = 4}); }) ==
        "nn::grouped_attention_core: the scaling of rotary positions needs positive numbers, and a "
        "low that is less than high, as in {.factor = 8, .low = 1, .high = 4, .original = 8192}.");
  CHECK(message_of([] {
          core(2).spec({2, 5, 3, 7});
        }) ==
        "nn::grouped_attention_core: the input is 2x5x3x7 but must be [batch, seq, kv_heads, 4 "
        "head_dim], with 2 query heads, a key and a value per key head.");
  CHECK(message_of([] {
          core(2, 10000).spec({2, 5, 3, 12});
        }) ==
        "nn::grouped_attention_core: rotary positions turn pairs of features, but head_dim is 3. "
        "Choose an even head_dim, or no rotary base.");
  CHECK(message_of([] { nn::attention({.features = 12, .heads = 5}); }) ==
        "nn::attention: 5 heads do not divide 12 features. Choose a number of heads that does.");
  CHECK(message_of([] { nn::attention({.features = 12, .heads = 6, .kv_heads = 4}); }) ==
        "nn::attention: 4 key heads do not divide 6 query heads. Choose a number of kv_heads that "
        "does.");
  CHECK(message_of([] {
          nn::attention({.features = 12, .heads = 6, .rotary = true, .rotary_base = 0});
        }) ==
        "nn::attention: the rotary base must be positive, such as 10000. Without positions, write "
        ".rotary = false.");
  CHECK(message_of([] { nn::attention({.features = 12, .heads = 6, .scaling = {.factor = 8}}); }) ==
        "nn::grouped_attention_core: a scaling of rotary positions is given, but the rotary base "
        "is 0, so there are none. Give a base (in nn::attention, .rotary = true), or no scaling.");
}

}  // namespace ashlar_test
