// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests devices, streams, events and memory of CUDA, and their error messages.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <ashlar/device/cuda/array.hpp>
#include <ashlar/device/cuda/device.hpp>
#include <ashlar/device/cuda/map.hpp>
#include <ashlar/device/cuda/stream.hpp>

#include "support/message_of.hpp"

namespace cuda = ashlar::cuda;
using ashlar_test::has;
using ashlar_test::message_of;

TEST_CASE("a_failed_call_is_named") {
  CHECK(has(message_of([] { cuda::check(cudaSetDevice(1 << 20), "cudaSetDevice"); }),
            "cudaSetDevice: cudaErrorInvalidDevice"));
  CHECK_NOTHROW(cuda::check_last("nothing"));  // check() has cleared CUDA's last error
}

TEST_CASE("a_device_is_selected_and_described") {
  CHECK(cuda::count() >= 1);
  cuda::select(0);
  auto const d = cuda::describe();
  CHECK(!d.name.empty());
  CHECK(d.memory > 0);
  CHECK(d.compute_capability >= 80);
  CHECK(d.multiprocessors > 0);
  CHECK(has(message_of([] { cuda::select(cuda::count()); }),
            "Start at most as many ranks on a node"));
}

TEST_CASE("arrays_round_trip_in_the_order_of_a_stream") {
  cuda::stream stream(true);
  cuda::pool pool;
  std::vector<float> from(1000), to(1000);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i);
  {
    cuda::array<float> a(pool, 1000, stream);
    a.copy_from(from.data());
    cuda::map(stream, cuda::scaled<float>{2}, static_cast<float const*>(a.data()), 1000, a.data());
    a.copy_to(to.data());
    cuda::array<float> moved = std::move(a);
    CHECK(moved.size() == 1000);
    CHECK(a.data() == nullptr);
  }
  stream.synchronize();
  for (std::size_t i = 0; i < to.size(); ++i) CHECK(to[i] == 2 * static_cast<float>(i));
  CHECK(pool.statistics().used == 0);
  CHECK(pool.statistics().used_peak >= 4000);
  pool.trim();
  CHECK(pool.statistics().reserved == 0);
  cuda::array<float> none(pool, 0, stream);
  CHECK(none.data() == nullptr);
}

TEST_CASE("an_event_orders_two_streams") {
  cuda::stream first, second;
  cuda::pool pool;
  std::int64_t const n = 1 << 22;
  std::vector<float> to(n);
  cuda::array<float> a(pool, n, first);
  cuda::event filled, timed_begin(true), timed_end(true);
  timed_begin.record(first);
  for (int i = 0; i < 50; ++i) cuda::fill<float>(first, static_cast<float>(i), n, a.data());
  filled.record(first);
  second.wait(filled);
  cuda::map(second, cuda::scaled<float>{2}, static_cast<float const*>(a.data()), n, a.data());
  filled.record(second);
  first.wait(filled);
  a.copy_to(to.data());
  timed_end.record(first);
  first.synchronize();
  CHECK(filled.is_reached());
  CHECK(timed_end.since(timed_begin) >= 0);
  CHECK(to == std::vector<float>(static_cast<std::size_t>(n), 98.0F));
}

TEST_CASE("out_of_memory_names_the_request_and_the_free_bytes") {
  cuda::stream stream;
  cuda::pool pool;
  std::int64_t const bytes = std::int64_t{1} << 50;
  std::string const text = message_of(
      [&] { pool.allocate(bytes, stream, "the activations of layer 3"); });
  CHECK(has(text, "out of device memory: the activations of layer 3 requested "
                  "1125899906842624 bytes"));
  CHECK(has(text, "are free"));
  cuda::array<float> after(pool, 16, stream);  // the pool still works
  CHECK(after.data() != nullptr);
}
