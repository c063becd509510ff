// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 2

// Tests exceptions that end the move of a tensor to another part of a mesh. Afterwards, MPI and the
// mesh must not use memory that was freed, and no tensor may get memory that MPI may still write.

#include <stdexcept>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/placed.hpp>

#include <ashlar/tensor/cross_mesh_async.hpp>
#include <ashlar/tensor/factory.hpp>

namespace ashlar_test {
namespace {

using ashlar::placement;

/// A mesh of two ranks that communicate by messages. Each rank is one part of the mesh.
struct two_ranks {
  ashlar::mesh whole = mesh_on(transport::messages, {{"stage", 2}, {"gpu", 1}});
  std::vector<ashlar::mesh> stages = whole.split("stage");
  ashlar::tensor<float, 1> x = ashlar::full<float, 1>(stages[0], {64}, placement::all_broadcast(1),
                                                      1);

  auto begin_move() const { return redistribute_async(x, stages[1], placement::all_broadcast(1)); }
};

}  // namespace

TEST_CASE("the memory in which a dropped move may still arrive is not used again") {
  two_ranks const on;
  auto const& target = on.stages[1];
  if (!target.is_here()) return;
  auto const place = [&] {
    return ashlar::full<float, 1>(target, {64}, placement::all_broadcast(1), 0);
  };
  // This temporary tensor releases its block at once, so the move below gets the same block.
  void const* const block = place().data();
  try {
    auto const moving = on.begin_move();
    throw std::runtime_error("meanwhile");
  } catch (std::runtime_error const&) {
  }
  CHECK(target.memory().is_retired());
  auto const first = place(), second = place();
  CHECK(static_cast<void const*>(first.data()) != block);
  CHECK(static_cast<void const*>(second.data()) != block);
}

TEST_CASE("a move that could not begin is not among the pending operations") {
  two_ranks const on;
  auto const& source = on.stages[0];
  if (!source.is_here()) return;
  source.operations().abandon();
  CHECK(has(message_of([&] { on.begin_move(); }), "an exception dropped a transfer"));
  CHECK(source.operations().idle());
  source.progress();
}

}  // namespace ashlar_test
