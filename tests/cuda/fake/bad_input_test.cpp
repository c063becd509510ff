// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the error messages on unsuitable machines. Such a machine has no driver or an old one, no
// device, fewer devices than ranks, another version of CUDA or NCCL than at build time, a device
// for which no kernels were compiled, or too little memory. The machines are fake (fake_cuda.hpp),
// so the test needs no GPU.

#include <cstdlib>
#include <filesystem>
#include <string>

#include <doctest/doctest.h>
#include <support/device_instances.hpp>
#include <support/message_of.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include <ashlar/comm/nccl/backend.hpp>
#include <ashlar/comm/nccl/environment.hpp>
#include <ashlar/tensor/factory.hpp>
#include <ashlar/tensor/redistribute.hpp>

#include "fake_ranks.hpp"

namespace ashlar_test {
namespace {

namespace cuda = ashlar::cuda;

/// Makes the environment of one rank on machine `m`, and returns the error message.
std::string start_on(fake::machine const& m) {
  fake::set_machine(m);
  ::setenv("ASHLAR_LAUNCH", "none", 1);
  std::string const said = message_of([] {
    int argc = 0;
    char** argv = nullptr;
    ashlar::nccl::environment const env(argc, argv);
  });
  ::unsetenv("ASHLAR_LAUNCH");
  fake::set_machine({});
  return said;
}

/// The exit status and the error output of a process.
struct ended {
  int status;
  std::string said;
};

/// Starts `size` ranks of one node, each as a process of its own, without MPI. Waits for them to
/// end.
std::vector<ended> start_ranks(int size) {
  auto const meet = std::filesystem::temp_directory_path() /
                    ("ashlar_bad_input_" + std::to_string(::getpid()));
  std::vector<pid_t> children;
  std::vector<int> words;
  for (int r = 0; r < size; ++r) {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    pid_t const child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      ::dup2(ends[1], STDERR_FILENO);
      auto const set = [](char const* name, std::string const& value) {
        ::setenv(name, value.c_str(), 1);
      };
      set("ASHLAR_LAUNCH", "env");
      set("RANK", std::to_string(r));
      set("LOCAL_RANK", std::to_string(r));
      set("WORLD_SIZE", std::to_string(size));
      set("ASHLAR_RENDEZVOUS_FILE", meet.string());
      set("ASHLAR_NCCL_TIMEOUT", "2");
      ::unsetenv("NCCL_HOSTID");
      [&]() noexcept {  // noexcept, so that an exception ends the process
        int argc = 0;
        char** argv = nullptr;
        ashlar::nccl::environment const env(argc, argv);
      }();
      std::_Exit(0);
    }
    ::close(ends[1]);
    children.push_back(child);
    words.push_back(ends[0]);
  }
  std::vector<ended> all;
  for (int r = 0; r < size; ++r) {
    ended e{};
    char text[512];
    auto const from = words[static_cast<std::size_t>(r)];
    for (ssize_t n; (n = ::read(from, text, sizeof text)) > 0;)
      e.said.append(text, static_cast<std::size_t>(n));
    ::close(from);
    ::waitpid(children[static_cast<std::size_t>(r)], &e.status, 0);
    e.status = WIFEXITED(e.status) ? WEXITSTATUS(e.status) : -1;
    all.push_back(e);
  }
  std::filesystem::remove(meet);
  return all;
}

}  // namespace

TEST_CASE("a suitable machine") { CHECK(start_on({}) == "nothing was thrown"); }

TEST_CASE("no driver, an old driver, and no device") {
  fake::machine m;
  m.driver = 0;
  CHECK(start_on(m) == "cuda::count: There is no NVIDIA driver here: install one, or run on "
                       "ashlar::mpi::environment.");
  m.driver = CUDART_VERSION / 1000 * 1000 - 700;
  auto const built = cuda::version_text(CUDART_VERSION);
  CHECK(start_on(m) == "cuda::count: The driver supports CUDA up to " +
                           cuda::version_text(m.driver) + ", the CUDA runtime that was loaded is " +
                           built + ": update the driver.");
  m = {};
  m.devices = 0;
  CHECK(start_on(m) ==
        "cudaGetDeviceCount: cudaErrorNoDevice (a fake error). The driver is installed, but it "
        "shows no device: look at nvidia-smi and CUDA_VISIBLE_DEVICES.");
}

TEST_CASE("another CUDA or NCCL than the program was built with") {
  fake::machine m;
  m.runtime = CUDART_VERSION / 1000 * 1000 - 920;
  CHECK(has(start_on(m), "The CUDA runtime that was loaded is " + cuda::version_text(m.runtime) +
                             ", the program was built with"));
  m = {};
  m.nccl = 22105;
  CHECK(start_on(m) == "nccl: NCCL 2.21.5 was loaded, but at least 2.27.0 is needed. Install a "
                       "newer one.");
  // The arguments are the versions at build time, of the runtime and of the driver. Within a major
  // version of CUDA, an older driver or runtime works. A runtime and a driver of a newer major
  // version work too.
  CHECK(cuda::version_fault(13020, 13000, 13000) == "");
  CHECK(cuda::version_fault(12080, 13000, 13000) == "");
  CHECK(has(cuda::version_fault(13000, 12080, 13000), "LD_LIBRARY_PATH"));
  CHECK(has(cuda::version_fault(13000, 13000, 12080), "The driver supports CUDA up to 12.8"));
}

TEST_CASE(
    "more ranks than devices: the extra rank gets an error, and the others do not wait forever") {
  fake::machine m;
  m.devices = 2;
  fake::set_machine(m);
  auto const all = start_ranks(3);
  fake::set_machine({});
  CHECK(all[2].status == 1);
  CHECK(all[2].said ==
        "[rank 2] error: nccl::environment: rank 2: its local rank is 2, but its node has 2 "
        "devices. Start at most as many ranks on a node as the node has devices. For tests that "
        "share one, "
        "give each rank its own NCCL_HOSTID.\n");
  CHECK(all[0].status == 1);
  CHECK(has(all[0].said, "1 of 3 ranks are missing, the first is rank 2"));
}

TEST_CASE("kernels that were not compiled for the device") {
  fake::machine m;
  m.compute_capability = 75;
  fake::set_machine(m);
  fake::fail_launch(cudaErrorNoKernelImageForDevice);
  CHECK(message_of([] { cuda::check_last("fill"); }) ==
        "fill: the launch failed: cudaErrorNoKernelImageForDevice (a fake error). The kernels "
        "were not compiled for this device, which is sm_75: add its number to "
        "ASHLAR_CUDA_ARCHITECTURES.");
  CHECK_NOTHROW(cuda::check_last("fill"));
  fake::set_machine({});
}

TEST_CASE("out of device memory: the error names the tensor, the request and the free bytes") {
  fake::machine m;
  m.memory = 1 << 20;
  fake::set_machine(m);
  auto const said = fake::run_ranks(
      1,
      [](ashlar::nccl::world const& w) {
        ashlar::nccl::mesh const mesh(w, {{"gpu", 1}});
        ashlar::placement const p{ashlar::split(0)};
        auto const x = ashlar::empty<float, 2>(mesh, {256, 512}, p);
        auto const text = message_of([&] { ashlar::empty<float, 2>(mesh, {1024, 512}, p); });
        CHECK(has(text, "tensor: out of device memory: this rank's shard of tensor 1024x512 "
                        "[S(0)]@gpu=1 requested 2097152 bytes, "));
        // How many bytes are free is not checked, because earlier blocks may still be in use.
        CHECK(has(text, " of 1048576 are free, "));
        CHECK(has(text, " bytes (at most "));
        auto const y = ashlar::empty<float, 2>(mesh, {128, 512}, p);  // the mesh still works
        CHECK(y.data() != nullptr);
      },
      std::chrono::seconds(20));
  CHECK(said[0] == "");
  fake::set_machine({});
}

TEST_CASE("out of host memory: the error names the tensor and the request") {
  struct {
    void* allocate(std::size_t) { throw std::bad_alloc(); }
  } none;
  CHECK(message_of([&] {
          ashlar::detail::allocate_shard(none, 80, {10}, {ashlar::broadcast()}, {{"gpu", 2}});
        }) == "tensor: out of host memory: this rank's shard of tensor 10 [B]@gpu=2 requested 80 "
              "bytes. Split over more ranks, or reduce the batch size.");
}

TEST_CASE("a rank without memory stops the others") {
  fake::machine m;
  m.memory = 1 << 20;
  fake::set_machine(m);
  auto const said = fake::run_ranks(
      2,
      [](ashlar::nccl::world const& w) {
        ashlar::nccl::mesh const mesh(w, {{"gpu", 2}});
        auto const x = ashlar::zeros<float, 1>(mesh, {64}, ashlar::placement{ashlar::split(0)});
        ashlar::placement const whole{ashlar::broadcast()};
        if (w.rank() == 1) ashlar::empty<float, 1>(mesh, {1 << 20}, whole);
        for (int i = 0; i < 3; ++i) {
          auto const y = ashlar::redistribute(x, whole);
          mesh.barrier();
        }
      },
      std::chrono::seconds(2));
  CHECK(has(said[1], "shard of tensor 1048576 [B]@gpu=2"));
  CHECK(has(said[0], "nccl: "));
  fake::set_machine({});
}

}  // namespace ashlar_test
