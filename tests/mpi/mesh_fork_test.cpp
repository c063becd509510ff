// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 2

// Tests that a child process may destroy its copies of the objects of a rank. A child does so if
// its exec() fails and it then calls exit(). The child must end, and the ranks must not notice it:
// tensors keep their values, moves that are under way end, and letters (messages of a mailbox)
// arrive.

#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <span>
#include <thread>

#include <doctest/doctest.h>
#include <support/placed.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include <ashlar/tensor/redistribute_async.hpp>

namespace ashlar_test {
namespace {

/// Runs action() in a child process, which then ends. Returns whether the child ended with status 0
/// within 20 seconds.
template <class Action>
bool ends_in_child(Action const& action) {
  auto const child = ::fork();
  if (child == 0) {
    action();
    ::_exit(0);
  }
  int status = -1;
  for (int i = 0; i < 2000; ++i) {
    if (::waitpid(child, &status, WNOHANG) == child) return status == 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  return false;
}

ashlar::placement const on_both{ashlar::broadcast()};

/// What a rank may hold when it forks. In `moving`, x is under way to placement `on_both`.
struct forked_rank {
  forked_rank(transport on, dense const& values)
      : mesh(mesh_on(on, {{"gpu", world_size()}})),
        x(placed<float, 2>(mesh, values, {ashlar::split(0)})) {
    mail = mesh.open_mailbox([this](int, int, std::span<std::byte const> letter) {
      letters += letter[0] == std::byte(7) ? 1 : 100;
    });
    mail->expect(1 - mesh.rank(), 0, 4096);
  }

  ashlar::mesh mesh;
  ashlar::tensor<float, 2> x;
  int letters = 0;
  std::unique_ptr<ashlar::mpi::mailbox> mail;
  std::optional<decltype(redistribute_async(x, on_both))> moving;
};

void destroy_objects(std::unique_ptr<forked_rank>& all) {
  all->moving.reset();
  all.reset();
}

}  // namespace

TEST_CASE("a child process destroys its copies of a mesh, and the ranks go on") {
  for (auto const on : {transport::messages, transport::shared_memory}) {
    CAPTURE(to_string(on));
    dense const values({64, 96}, 2);
    auto all = std::make_unique<forked_rank>(on, values);
    CHECK(ends_in_child([&] { destroy_objects(all); }));
    CHECK(wrong_with(all->x, values) == "");

    // Rank 0 forks while its move waits for rank 1, which begins the move after the fork.
    if (world_rank() == 0) {
      all->moving.emplace(redistribute_async(all->x, on_both));
      all->moving->test();
      CHECK(ends_in_child([&] { destroy_objects(all); }));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank() == 1) all->moving.emplace(redistribute_async(all->x, on_both));
    CHECK(wrong_with(all->moving->wait(), values) == "");
    CHECK(wrong_with(all->x, values) == "");

    all->mail->send(1 - world_rank(), 0, 4096, [](std::span<std::byte> letter) {
      std::fill(letter.begin(), letter.end(), std::byte(7));
    });
    while (all->letters == 0) all->mesh.progress();
    CHECK(all->letters == 1);
    all->mesh.barrier();
    destroy_objects(all);
  }
}

TEST_CASE("an exception in a child process does not end transfers of its parent") {
  for (auto const on : {transport::messages, transport::shared_memory}) {
    CAPTURE(to_string(on));
    dense const values({64, 96}, 2);
    auto const m = mesh_on(on, {{"gpu", world_size()}});
    auto const x = placed<float, 2>(m, values, {ashlar::split(0)});
    CHECK(ends_in_child([&] { m.operations().abandon(); }));
    CHECK_FALSE(m.operations().is_abandoned());
    CHECK(wrong_with(redistribute(x, on_both), values) == "");
  }
}

}  // namespace ashlar_test
