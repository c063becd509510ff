// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests meshes and tensors of GPU ranks on the fake CUDA and NCCL of fake_cuda.hpp: redistributions
// in the foreground and in the background, collectives on host values, the environment of a single
// rank, and invalid use.

#include <support/message_of.hpp>
#include <support/nccl_mesh_cases.hpp>
#include <support/scoped_environment.hpp>

#include <ashlar/comm/nccl/environment.hpp>

#include "fake_ranks.hpp"

namespace ashlar_test {
namespace {

ashlar::topology const square{{"node", 2}, {"gpu", 2}};

TEST_CASE("redistribute, and the bytes that are recorded") {
  auto const all = pairs(square, 5);
  fake::pause_up_to(30);
  fake::all_ranks(4, [&](world const& w) { redistribute_at_once(w, square, all); });
  fake::pause_up_to(0);
}

TEST_CASE("asynchronous redistributions, several at a time") {
  auto const all = pairs(square, 9);
  fake::pause_up_to(100);
  fake::all_ranks(4, [&](world const& w) { redistribute_beside(w, square, all); });
  fake::pause_up_to(0);
}

TEST_CASE("values of the host") {
  for (int ranks : {1, 2, 3}) fake::all_ranks(ranks, reduce_values_of_the_host);
}

TEST_CASE("broadcast and reduce of values in host memory") {
  for (auto const how : {ashlar::nccl::sums::library, ashlar::nccl::sums::ordered})
    for (int ranks : {1, 2, 3})
      fake::all_ranks(ranks, [&](world const& w) {
        broadcast_and_reduce(mesh(w, {{"gpu", ranks}}, ashlar::machines::workstation, how));
      });
}

TEST_CASE("several meshes of one program, and shards of no elements") {
  for (int ranks : {1, 4}) fake::all_ranks(ranks, several_meshes);
}

TEST_CASE("a machine or a topology that differs, and a mesh of another number of ranks") {
  for (auto const& text : fake::run_ranks(
           3,
           [&](world const& w) {
             mesh const m(w, {{"gpu", 3}});
             auto machine = ashlar::machines::workstation;
             if (w.rank() == 1) machine.flops *= 2;
             m.set_machine(machine);
           },
           std::chrono::seconds(60)))
    CHECK(has(text, "the ranks give different machines"));
  for (auto const& text : fake::run_ranks(
           4,
           [&](world const& w) {
             mesh const m(w, w.rank() == 1 ? ashlar::topology{{"gpu", 4}} : square);
           },
           std::chrono::seconds(60)))
    CHECK(has(text, "the ranks give different topologies: rank 1 has another one than rank 0."));
  for (auto const& text : fake::run_ranks(
           2,
           [&](world const& w) {
             mesh const m(w, {{"gpu", 4}});
           },
           std::chrono::seconds(60)))
    CHECK(has(text, "gpu=4 has 4 ranks but the program runs on 2"));
}

TEST_CASE("all ranks sum by the method of rank 0, and a wrong method is an error on all") {
  fake::all_ranks(3, [](world const& w) {
    auto const how = w.rank() == 0 ? ashlar::nccl::sums::ordered : ashlar::nccl::sums::library;
    mesh const m(w, {{"gpu", 3}}, ashlar::machines::workstation, how);
    float sum = static_cast<float>(w.rank());
    m.all_reduce(std::span(&sum, 1));
    CHECK(sum == 3);
  });
  scoped_environment const wrong("ASHLAR_NCCL_SUMS", "fast"), unchecked("ASHLAR_CHECK", "off");
  for (auto const& text : fake::run_ranks(
           2,
           [](world const& w) {
             mesh const m(w, {{"gpu", 2}});
           },
           std::chrono::seconds(60)))
    CHECK(has(text, "mesh: on rank 0: ASHLAR_NCCL_SUMS is 'fast'. Give library or ordered."));
}

TEST_CASE("wrong options of products are an error on all ranks") {
  for (std::string const name : {"ASHLAR_CUDA_TF32", "ASHLAR_CUDA_TUNE"}) {
    ashlar_test::scoped_environment const wrong(name.c_str(), "yes"), checks("ASHLAR_CHECK", "off");
    for (auto const& text : fake::run_ranks(
             2,
             [](world const& w) {
               mesh const m(w, {{"gpu", 2}});
             },
             std::chrono::seconds(60)))
      CHECK(text == "mesh: on rank 0: " + name + " is 'yes'. Set it to on or off.");
  }
}

TEST_CASE("the environment of one rank without MPI") {
  auto const terminate = std::get_terminate();
  int argc = 0;
  char** argv = nullptr;
  scoped_environment const launcher("ASHLAR_LAUNCH", "env"), rank("RANK", "0");
  {
    scoped_environment const ranks("WORLD_SIZE", "1"), timeout("ASHLAR_TIMEOUT", "2");
    ashlar::nccl::environment env(argc, argv);
    CHECK(env.rank() == 0);
    CHECK(env.size() == 1);
    CHECK(env.world().watching.timeout == std::chrono::seconds(20));
    mesh const m(env.world(), {{"gpu", 1}});
    m.barrier();
  }
  {
    // A launcher may show each rank of a node only its own device, which then has number 0.
    scoped_environment const ranks("WORLD_SIZE", "1"), on_node("LOCAL_RANK", "3");
    ashlar::nccl::environment env(argc, argv);
    CHECK(env.world().device == 0);
  }
  {
    scoped_environment const ranks("WORLD_SIZE", "2"), on_node("LOCAL_RANK", "0");
    scoped_environment const file("ASHLAR_RENDEZVOUS_FILE", "/no/such/folder/id");
    scoped_environment const timeout("ASHLAR_NCCL_TIMEOUT", "1");
    CHECK(has(message_of([&] { ashlar::nccl::environment env(argc, argv); }),
              "1 of 2 ranks are missing, the first is rank 1"));
  }
  std::set_terminate(terminate);
  CHECK(fake::live_communicators() == 0);
}

}  // namespace
}  // namespace ashlar_test
