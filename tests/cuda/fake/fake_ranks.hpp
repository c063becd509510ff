// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs the ranks of a program as threads, on the fake CUDA and NCCL of fake_cuda.hpp.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <ashlar/comm/nccl/world.hpp>

#include "fake_cuda.hpp"

namespace fake {

inline ashlar::nccl::unique_id new_id() {
  static int number = 0;
  ++number;
  ashlar::nccl::unique_id id{};
  std::memcpy(id.data(), &number, sizeof number);
  return id;
}

/// Makes the world of one rank, with its communicator, as nccl::environment does. All ranks must
/// call this function.
inline ashlar::nccl::world make_world(int rank, int size, ashlar::nccl::unique_id const& id,
                                      std::chrono::milliseconds deadline) {
  ashlar::nccl::world w;
  w.here.rank = rank;
  w.here.size = size;
  w.deadline = deadline;
  w.watching = ashlar::watch::settings_from_environment();
  w.watching.timeout = deadline;
  w.end_process = [](char const* why) { std::fprintf(stderr, "%s\n", why), std::abort(); };
  w.all = std::make_shared<ashlar::nccl::handle>(id, rank, size, deadline);
  return w;
}

/// Runs body(world) in one thread for each rank, at the same time. Returns for each rank the
/// message of the exception that it threw, or an empty string if it threw none.
inline std::vector<std::string>
run_ranks(int size, std::function<void(ashlar::nccl::world const&)> const& body,
          std::chrono::milliseconds deadline) {
  // The variable is set before the threads start, because they read the environment.
  ::setenv("ASHLAR_FLIGHT_RECORDS", "off", 0);
  ashlar::nccl::unique_id const id = new_id();
  std::vector<std::string> said(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int r = 0; r < size; ++r)
    threads.emplace_back([&, r] {
      try {
        body(make_world(r, size, id, deadline));
      } catch (std::exception const& e) {
        said[static_cast<std::size_t>(r)] = e.what();
      }
    });
  for (auto& thread : threads) thread.join();
  return said;
}

/// Runs body(world) as all ranks. Checks that no rank throws, and that all objects of CUDA and NCCL
/// are released.
inline void all_ranks(int size, std::function<void(ashlar::nccl::world const&)> const& body) {
  for (auto const& said : run_ranks(size, body, std::chrono::seconds(60))) CHECK(said == "");
  CHECK(live_blocks() == 0);
  CHECK(live_streams() == 0);
  CHECK(live_events() == 0);
  CHECK(live_graphs() == 0);
  CHECK(live_communicators() == 0);
}

}  // namespace fake
