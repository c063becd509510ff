// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests how the watchdog ends a job whose collectives hang. A fake device replaces the GPU. Also
// tests the messages for NCCL failures.

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
using ashlar::watch::flight_record;

ashlar::topology const grid{{"node", 2}, {"gpu", 2}};

/// Records that an all-reduce began. Returns its number in the record.
std::uint64_t issue(flight_record& record, int elements,
                    ashlar::element_type type = ashlar::element_type::f32) {
  auto const what = ashlar::flat_all_reduce(elements, {0, 1}, grid, {}, ashlar::reduction::sum);
  return record.began({&what, type, nullptr, nullptr, record.last() + 1});
}

ashlar::watch::settings within(std::chrono::milliseconds timeout, bool only_warns = false) {
  return {timeout, only_warns, ""};
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
            [](std::string const& why, bool asks) {
              return why + (asks ? " Rank 2 has not come." : " Nobody was asked.");
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
  flight_record record(grid, true, 4);
  device gpu;
  watchdog guard(record, gpu.what(), within(40ms));
  for (int i = 0; i < 20; ++i) {
    gpu.ended = issue(record, 8);
    CHECK_NOTHROW(guard.refuse_if_stopped());
  }
  CHECK(comes_true([&] { return record.oldest_open() == 0; }));
  std::this_thread::sleep_for(60ms);  // longer than the deadline, but no operation is pending
  CHECK_NOTHROW(guard.refuse_if_stopped());
  CHECK_FALSE(gpu.taken_down);
}

TEST_CASE("an operation that does not end becomes an error of the next call") {
  flight_record record(grid, true);
  device gpu;
  watchdog guard(record, gpu.what(), within(30ms));
  gpu.ended = issue(record, 8);
  issue(record, 100, ashlar::element_type::bf16);
  issue(record, 4, ashlar::element_type::i64);
  REQUIRE(comes_true([&] { return guard.has_stopped() && gpu.taken_down; }));
  auto const said = message_of([&] { guard.refuse_if_stopped(); });
  CHECK(has(said, "nccl: all-reduce along node+gpu of 100 bfloat16 sum has not ended within"));
  CHECK(has(said, "Rank 2 has not come."));
  REQUIRE(comes_true([&] {
    std::lock_guard const lock(gpu.mutex);
    return !gpu.printed.empty();
  }));
  CHECK(gpu.printed == said.substr(6));
  CHECK_FALSE(gpu.process_ended);
}

TEST_CASE("a fault of a communicator stops at once") {
  flight_record record(grid, true);
  device gpu;
  watchdog guard(record, gpu.what(), within(1h));
  issue(record, 8);
  {
    std::lock_guard const lock(gpu.mutex);
    gpu.fault = "remote process exited.";
  }
  REQUIRE(comes_true([&] { return guard.has_stopped(); }));
  CHECK(has(message_of([&] { guard.refuse_if_stopped(); }),
            "nccl: remote process exited. The oldest open operation is all-reduce along "));
}

TEST_CASE("a program whose thread never returns is ended") {
  flight_record record(grid, true);
  device gpu;
  watchdog guard(record, gpu.what(), within(20ms), 30ms);
  issue(record, 8);
  REQUIRE(comes_true([&] { return gpu.process_ended.load(); }));
  CHECK(has(gpu.last_words, "did not return"));
  CHECK(has(gpu.last_words, "all-reduce along node+gpu of 8 float sum"));
}

TEST_CASE("a warning is given once, and the program goes on") {
  flight_record record(grid, true);
  device gpu;
  watchdog guard(record, gpu.what(), within(20ms, true));
  auto const number = issue(record, 8);
  REQUIRE(comes_true([&] {
    std::lock_guard const lock(gpu.mutex);
    return has(gpu.printed, "warning: all-reduce along node+gpu of 8 float sum has not ended");
  }));
  {
    std::lock_guard const lock(gpu.mutex);
    gpu.printed.clear();
  }
  std::this_thread::sleep_for(60ms);
  CHECK_NOTHROW(guard.refuse_if_stopped());
  gpu.ended = number;
  REQUIRE(comes_true([&] { return record.oldest_open() == 0; }));
  std::lock_guard const lock(gpu.mutex);
  CHECK(gpu.printed == "");
  CHECK_FALSE(gpu.taken_down);
}

TEST_CASE("while the ranks must wait for long work, the program goes on and they are asked again") {
  flight_record record(grid, true);
  device gpu;
  std::atomic<int> asked = 0;
  auto what = gpu.what();
  what.explain = [&](std::string const& why, bool) {
    return ++asked == 1 ? "" : why + " Rank 2 has not come.";
  };
  watchdog guard(record, what, within(20ms));
  issue(record, 8);
  REQUIRE(comes_true([&] { return guard.has_stopped(); }));
  CHECK(asked == 2);
  CHECK(has(message_of([&] { guard.refuse_if_stopped(); }), "Rank 2 has not come."));
}

TEST_CASE("an operation that ends while the others are asked is no fault") {
  flight_record record(grid, true);
  device gpu;
  std::atomic<int> asked = 0, looks = 0;
  auto what = gpu.what();
  what.last_ended = [&] {
    ++looks;
    return gpu.ended.load();
  };
  what.explain = [&](std::string const& why, bool) {
    gpu.ended = record.last();
    ++asked;
    return why;
  };
  watchdog guard(record, what, within(20ms));
  issue(record, 8);
  REQUIRE(comes_true([&] { return asked == 1; }));
  int const seen = looks;
  CHECK(comes_true([&] { return looks >= seen + 3; }));  // the watchdog still watches
  CHECK_FALSE(guard.has_stopped());
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
  CHECK(device_fault(3, 1, false) == "");  // this rank sees only its own device
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
