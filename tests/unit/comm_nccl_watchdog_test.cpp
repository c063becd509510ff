// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests how a job ends if its collectives hang. The watchdog, which ends the process, runs on a
// fake device. Also tests the flight record, which lists the last operations, and the messages for
// NCCL failures.

#include <atomic>

#include <doctest/doctest.h>
#include <support/message_of.hpp>

#include <ashlar/comm/nccl/failure.hpp>
#include <ashlar/comm/nccl/unique_id.hpp>
#include <ashlar/comm/nccl/watchdog.hpp>

namespace ashlar_test {
namespace {

using namespace ashlar::nccl;
using namespace std::chrono_literals;

ashlar::topology const grid{{"node", 2}, {"gpu", 2}};

ashlar::transfer all_reduce_of(int elements) {
  return ashlar::flat_all_reduce(elements, {0, 1}, grid, {}, ashlar::reduction::sum);
}

/// A fake device on which the test sets the number of operations that have ended.
struct device {
  std::atomic<std::uint64_t> ended = 0;
  std::atomic<bool> taken_down = false, process_ended = false;
  std::mutex mutex;
  std::string fault, printed, last_words;

  watched what() {
    return {[this] { return ended.load(); },
            [this] {
              std::lock_guard const lock(mutex);
              return fault;
            },
            [this](std::string const&) { taken_down = true; },
            [this](std::string const& text) {
              std::lock_guard const lock(mutex);
              printed = text;
            },
            [this](std::string const& text) {
              std::lock_guard const lock(mutex);
              last_words = text;
              process_ended = true;
            }};
  }
};

template <class Condition>
bool comes_true(Condition holds) {
  for (int i = 0; i < 5000 && !holds(); ++i) std::this_thread::sleep_for(2ms);
  return holds();
}

TEST_CASE("operations that end are not a fault") {
  flight_record record(grid, 4);
  device gpu;
  watchdog guard(record, gpu.what(), 40ms);
  for (int i = 0; i < 20; ++i) {
    gpu.ended = record.issued(all_reduce_of(8), ashlar::element_type::f32);
    CHECK_NOTHROW(guard.refuse_if_stopped());
  }
  CHECK(comes_true([&] { return record.oldest_open().number == 0; }));
  std::this_thread::sleep_for(60ms);  // longer than the deadline, but no operation is pending
  CHECK_NOTHROW(guard.refuse_if_stopped());
  CHECK_FALSE(gpu.taken_down);
}

TEST_CASE("an operation that does not end becomes an error of the next call") {
  flight_record record(grid);
  device gpu;
  watchdog guard(record, gpu.what(), 30ms);
  gpu.ended = record.issued(all_reduce_of(8), ashlar::element_type::f32);
  record.issued(all_reduce_of(100), ashlar::element_type::bf16);
  record.issued(all_reduce_of(4), ashlar::element_type::i64);
  REQUIRE(comes_true([&] { return guard.has_stopped() && gpu.taken_down; }));
  auto const said = message_of([&] { guard.refuse_if_stopped(); });
  CHECK(has(said,
            "nccl: #2 all-reduce along node+gpu, 150 elements of bf16 to receive has not ended"));
  CHECK(has(said, "ASHLAR_NCCL_TIMEOUT"));
  REQUIRE(comes_true([&] {
    std::lock_guard const lock(gpu.mutex);
    return !gpu.printed.empty();
  }));
  CHECK(has(gpu.printed, "#1 all-reduce along node+gpu, 12 elements of f32 to receive, ended"));
  CHECK(has(gpu.printed, "#3 all-reduce along node+gpu, 6 elements of i64 to receive, issued"));
  CHECK_FALSE(gpu.process_ended);
}

TEST_CASE("a fault of a communicator stops at once") {
  flight_record record(grid);
  device gpu;
  watchdog guard(record, gpu.what(), 1h);
  record.issued(all_reduce_of(8), ashlar::element_type::f32);
  {
    std::lock_guard const lock(gpu.mutex);
    gpu.fault = "remote process exited.";
  }
  REQUIRE(comes_true([&] { return guard.has_stopped(); }));
  CHECK(has(message_of([&] { guard.refuse_if_stopped(); }),
            "nccl: remote process exited. The oldest open operation is #1 all-reduce"));
}

TEST_CASE("a program whose thread never returns is ended") {
  flight_record record(grid);
  device gpu;
  watchdog guard(record, gpu.what(), 20ms, 30ms);
  record.issued(all_reduce_of(8), ashlar::element_type::f32);
  REQUIRE(comes_true([&] { return gpu.process_ended.load(); }));
  CHECK(has(gpu.last_words, "did not return"));
  CHECK(has(gpu.last_words, "#1 all-reduce"));
}

TEST_CASE("the record keeps the last operations only") {
  flight_record record(grid, 3);
  for (int i = 1; i <= 5; ++i) record.issued(all_reduce_of(4 * i), ashlar::element_type::f32);
  auto const text = record.text();
  CHECK_FALSE(has(text, "#2 "));
  CHECK(has(text, "#3 "));
  CHECK(has(text, "#5 all-reduce along node+gpu, 30 elements"));
  CHECK(record.oldest_open().number == 1);
  record.ended(4);
  CHECK(record.oldest_open().number == 5);
  record.ended(5);
  CHECK(record.oldest_open().number == 0);
  CHECK(record.last() == 5);
}

TEST_CASE("explanations of NCCL's results say what to do") {
  CHECK(to_string(ashlar::nccl::call_site{3, "gpu", "all-gather"}) ==
        "rank 3, all-gather along gpu");
  CHECK(to_string(ashlar::nccl::call_site{-1, "", "ncclGetVersion"}) == "ncclGetVersion");
  auto const said = [](result code) { return explain(code, "its name", "its words"); };
  CHECK(said(result::remote_error) ==
        "its name (its words). Another rank failed or ended: look for its message.");
  CHECK(has(said(result::unhandled_cuda_error), "nvidia-smi"));
  CHECK(has(said(result::system_error), "NCCL_SOCKET_IFNAME"));
  CHECK(has(said(result::internal_error), "NCCL_DEBUG"));
  CHECK(has(said(result::invalid_argument), "call different operations"));
  CHECK(has(said(result::invalid_usage), "NCCL_HOSTID"));
  CHECK(has(said(result::in_progress), "ASHLAR_NCCL_TIMEOUT"));
}

TEST_CASE("more ranks than devices, and the wrong library") {
  CHECK(device_fault(3, 4, false) == "");
  CHECK(device_fault(3, 1, true) == "");
  CHECK(has(device_fault(3, 1, false), "its local rank is 3, but its node has 1 device."));
  CHECK(has(device_fault(4, 4, false), "its node has 4 devices. Start at most as many ranks"));
  CHECK(has(device_fault(0, 0, true), "no device on this node"));
  CHECK(version_fault(22809, 22809) == "");
  CHECK(version_fault(22809, 22801) == "");
  CHECK(version_fault(22809, 23007) == "");
  CHECK(has(version_fault(22809, 22703),
            "NCCL 2.27.3 was loaded, but the program was built with 2.28.9"));
  CHECK(has(version_fault(22809, 21805), "NCCL 2.18.5 was loaded, but at least 2.27.0"));
  CHECK(nccl_version_text(2708) == "2.7.8");
}

TEST_CASE("the time that operations have") {
  auto const with = [](char const* text) {
    ::setenv("ASHLAR_NCCL_TIMEOUT", text, 1);
    auto const clean = [] { ::unsetenv("ASHLAR_NCCL_TIMEOUT"); };
    try {
      auto const found = timeout_from_environment();
      clean();
      return std::to_string(found.count());
    } catch (ashlar::error const& e) {
      clean();
      return std::string(e.what());
    }
  };
  CHECK(with("") == "600000");
  CHECK(with("20") == "20000");
  for (char const* bad : {"0", "-1", "1s", " 1", "1e3", "9999999"})
    CHECK(has(with(bad), "ASHLAR_NCCL_TIMEOUT is '" + std::string(bad) + "'"));
}

}  // namespace
}  // namespace ashlar_test
