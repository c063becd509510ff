// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2

// Tests each layer of a mixture of experts alone with nn::verify, which compares every row of the
// layer's signature table with one process, and one process with finite differences. The gradients
// of `dispatch` include those of the losses of its router. A wrong layer that takes rows of experts
// must be rejected.

#include <doctest/doctest.h>
#include <support/message_of.hpp>

#include <ashlar/comm/mpi/environment.hpp>
#include <ashlar/nn/moe.hpp>
#include <ashlar/nn/verify.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;

/// A layer `combine` with mistakes: it may double one element of dx, set one element of y to 0 on
/// rank 1, or declare that a sum over a part of the experts is the sum over all experts.
class spoilt_combine : public nn::combine {
 public:
  bool doubles_gradient = false, forgets_row = false, hides_sum = false;

  ashlar::search::layer_spec spec(ashlar::shape const& x) const {
    auto s = nn::combine::spec(x);
    if (!hides_sum) return s;
    for (auto& row : s.rows)
      if (row.x.is_split_of(x.rank() - 2)) row.y = ashlar::broadcast();
    return s;
  }
  template <class Call>
  auto forward(Call const& c) const {
    auto made = nn::combine::forward(c);
    if (forgets_row && made.y.local_elements() > 0 && c.mesh().rank() == 1) made.y.data()[0] = 0;
    return made;
  }
  template <class Call>
  auto backward(Call const& c) const {
    auto dx = nn::combine::backward(c);
    if (doubles_gradient && ashlar::rows_of(dx).size() > 0) dx.data()[0] *= 2;
    return dx;
  }
};

ashlar::mesh mesh_of_all() {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  return ashlar::mesh(MPI_COMM_WORLD, {{"gpu", ranks}});
}

std::string fault_of_rows(spoilt_combine const& layer) {
  return message_of([&] { nn::verify(layer, {3, 2, 4, 3}, {.chosen = 2}); });
}

}  // namespace

TEST_CASE("every layer of a mixture of experts alone is what one process computes") {
  auto const m = mesh_of_all();
  nn::moe_options const two{.experts = 4, .chosen = 2, .hidden = 5, .balance = 0.3, .z_loss = 0.2};
  nn::verify(nn::dispatch(3, two), {3, 2, 3}, m);
  auto over_two = two;
  // The balance loss is over groups of two micro-batches. nn::verify runs one micro-batch, so its
  // only group has one micro-batch.
  over_two.balance_over = 2;
  nn::verify(nn::dispatch(3, over_two), {3, 2, 3}, m);
  nn::verify(nn::experts(3, two), {3, 2, 4, 4}, m, {.chosen = 2});
  nn::verify(nn::combine(), {3, 2, 4, 3}, m, {.chosen = 2});
  nn::moe_options const one{.experts = 3, .chosen = 1, .hidden = 4};
  nn::verify(nn::dispatch(4, one), {5, 4}, m);
  nn::verify(nn::experts(4, one), {5, 3, 5}, m, {.chosen = 1});
  nn::verify(nn::combine(), {5, 3, 4}, m, {.chosen = 1});
  nn::moe_options const full{.experts = 2, .chosen = 2, .hidden = 3, .balance = 0.1};
  nn::verify(nn::dispatch(3, full), {4, 3}, m);
  nn::verify(nn::experts(3, full), {4, 2, 4}, m, {.chosen = 2});
  nn::verify(nn::combine(), {4, 2, 3}, m, {.chosen = 2});
}

TEST_CASE("a router whose experts drop tokens, and layers in single precision") {
  auto const m = mesh_of_all();
  nn::moe_options const o{.experts = 4, .chosen = 2, .hidden = 5, .balance = 0.3, .capacity = 0.6};
  nn::verify(nn::dispatch(3, o), {3, 2, 3}, m);
  nn::verify<float>(nn::dispatch(3, o), {3, 2, 3}, m);
  nn::verify<float>(nn::experts(3, o), {3, 2, 4, 4}, m, {.chosen = 2});
  nn::verify<float>(nn::combine(), {3, 2, 4, 3}, m, {.chosen = 2});
}

TEST_CASE("a wrong layer of rows is rejected") {
  CHECK(fault_of_rows({}) == "nothing was thrown");
  spoilt_combine wrong;
  wrong.doubles_gradient = true;
  CHECK(has(fault_of_rows(wrong), "dx is wrong: dx[0,0,"));
  wrong = {};
  wrong.forgets_row = true;
  CHECK(has(fault_of_rows(wrong), "y of forward is wrong: "));
  wrong = {};
  wrong.hides_sum = true;
  CHECK(has(fault_of_rows(wrong), "The shards are right as P, but the row says B."));
}

TEST_CASE("a layer of rows needs the number of experts of each token") {
  auto const text = [](nn::verify_options const& options) {
    return message_of([&] { nn::verify(nn::combine(), {3, 2, 4, 3}, options); });
  };
  for (int const chosen : {0, -1, 5})
    CHECK(text({.chosen = chosen}) ==
          "nn::verify: the layer takes rows of experts [tokens.., experts, features]. Set "
          "verify_options::chosen to the number of experts of each token.");
  CHECK(has(message_of([] {
              nn::verify(nn::combine(), {3, 4}, {.chosen = 2});
            }),
            "the layer takes rows of experts"));
}

}  // namespace ashlar_test
