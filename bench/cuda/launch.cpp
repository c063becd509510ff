// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Measures the overhead of launching work on a GPU, with work that takes almost no time. Each call
// of the library takes turns with a direct call of CUDA or cuBLASLt that does the same work, or
// similarly little work.
//
//   issue    the microseconds that a call takes on the host
//   device   the microseconds on the device from the end of one call's work to the end of the next
//            call's work
//
//   bench/cuda/launch [--trials 1]
//
// The host does not slow down a training step as long as `issue` is shorter than the time that the
// kernels take on the device.

#include <cstdio>
#include <iostream>
#include <optional>

#include <CLI/CLI.hpp>

#include <ashlar/device/cuda/operations.hpp>

#include "../support/csv.hpp"
#include "../support/device_trials.hpp"
#include "../support/device_values.hpp"
#include "../support/options.hpp"
#include "bare_products.hpp"

namespace {

using namespace ashlar_bench;
using ashlar::bfloat16;
namespace cuda = ashlar::cuda;

/// A call of the library (`ours`) and the direct call that it is compared with (`bare`).
struct path {
  std::string name, beside;
  std::function<void()> ours, bare;
};

/// A CUDA graph of the work that `record` puts on the stream.
class recorded_graph {
 public:
  recorded_graph(cudaStream_t stream, std::function<void()> const& record) : stream_(stream) {
    cudaGraph_t graph = nullptr;
    cuda::check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
                "cudaStreamBeginCapture");
    record();
    cuda::check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
    cudaError_t const status = cudaGraphInstantiate(&made_, graph, 0);
    cudaGraphDestroy(graph);
    cuda::check(status, "cudaGraphInstantiate");
  }
  recorded_graph(recorded_graph const&) = delete;
  recorded_graph& operator=(recorded_graph const&) = delete;
  ~recorded_graph() { cudaGraphExecDestroy(made_); }
  void run() { cuda::check(cudaGraphLaunch(made_, stream_), "cudaGraphLaunch"); }

 private:
  cudaStream_t stream_;
  cudaGraphExec_t made_ = nullptr;
};

/// Returns the microseconds that a call takes on the host: the median of seven trials of 100 calls.
/// 100 calls do not fill the queue of the device. A full queue would block the host.
double issue_microseconds(cuda::stream const& stream, std::function<void()> const& run) {
  std::vector<double> all;
  for (int trial = 0; trial < 7; ++trial) {
    stream.synchronize();
    double const start = now();
    for (int i = 0; i < 100; ++i) run();
    all.push_back((now() - start) * 1e4);
  }
  stream.synchronize();
  return median_of(all);
}

void run_all(measuring_options const& o) {
  device_memory memory;
  cuda::stream other;
  cuda::event reached;
  auto& stream = memory.stream;
  cuda::processor const on{stream};
  cuda::gemm_engine engine(memory.pool, stream);
  std::int64_t const order = 64, n = order * order;
  cuda::array<bfloat16> a(memory.pool, n, stream), b(memory.pool, n, stream),
      c(memory.pool, n, stream);
  cuda::array<float> x(memory.pool, n, stream), y(memory.pool, n, stream);
  cuda::array<std::byte> workspace(memory.pool, std::int64_t{bare_product::workspace_bytes},
                                   stream);
  normals_of<bfloat16>(1).fill(stream, n, a.data());
  normals_of<bfloat16>(2).fill(stream, n, b.data());
  normals_of<float>(3).fill(stream, n, x.data());
  cublasLtHandle_t handle = nullptr;
  if (cublasLtCreate(&handle) != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error("cublasLtCreate failed.");
  product_shape const shape{order, order, order};
  std::optional<bare_product> product(std::in_place, handle, stream, workspace.data(), shape,
                                      CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F, a.data(),
                                      b.data(), c.data());

  auto const memset = [&] {
    cuda::check(cudaMemsetAsync(y.data(), 0, sizeof(float), stream), "cudaMemsetAsync");
  };
  auto const map_once = [&] {
    map(on, ashlar::device::sum_of{}, static_cast<float const*>(x.data()),
        static_cast<float const*>(x.data()), n, y.data());
  };
  int constexpr in_graph = 32;
  recorded_graph kernels(stream, [&] {
    for (int i = 0; i < in_graph; ++i) map_once();
  });
  recorded_graph memsets(stream, [&] {
    for (int i = 0; i < in_graph; ++i) memset();
  });
  std::int64_t const extents[] = {16, 16}, from[] = {64, 1}, to[] = {16, 1};
  std::vector<path> const all{
      {"element-wise kernel", "cudaMemsetAsync", map_once, memset},
      {"strided copy", "cudaMemcpyAsync",
       [&] {
         copy_strided(on, 2, extents, static_cast<float const*>(x.data()), from, y.data(), to);
       },
       [&] {
         cuda::check(cudaMemcpyAsync(y.data(), x.data(), 1024, cudaMemcpyDeviceToDevice, stream),
                     "cudaMemcpyAsync");
       }},
      {"product of order 64", "cublasLtMatmul",
       [&] {
         engine.gemm(false, false, order, order, order, 1, static_cast<bfloat16 const*>(a.data()),
                     order, static_cast<bfloat16 const*>(b.data()), order, 0, c.data(), order);
       },
       [&] { product->run_first(); }},
      {"order of two streams", "cudaEventRecord and cudaStreamWaitEvent",
       [&] {
         reached.record(stream);
         other.wait(reached);
       },
       [&] {
         cudaEventRecord(reached.get(), stream);
         cudaStreamWaitEvent(other, reached.get(), 0);
       }},
      {"kernel and waiting for it", "cudaMemsetAsync and waiting",
       [&] {
         map_once();
         stream.synchronize();
       },
       [&] {
         memset();
         cudaStreamSynchronize(stream);
       }},
      {"graph of 32 kernels", "graph of 32 cudaMemsetAsync", [&] { kernels.run(); },
       [&] { memsets.run(); }},
  };
  csv_file csv(o.csv, "path,beside,issue_us,device_us,beside_issue_us,beside_device_us");
  for (auto const& p : all) {
    std::vector<contestant> const both{{p.name, role::ours, p.ours, {}},
                                       {p.beside, role::bare, p.bare, {}}};
    check_on_device(both, p.name, {});
    double const issue = issue_microseconds(stream, p.ours),
                 bare_issue = issue_microseconds(stream, p.bare);
    auto const t = measure_on_device(stream, both, o.how);
    std::printf("%-28s issue %7.2f us  device %7.2f us   %-40s issue %7.2f us  device %7.2f us\n",
                p.name.c_str(), issue, t[0].median * 1e6, p.beside.c_str(), bare_issue,
                t[1].median * 1e6);
    std::fflush(stdout);
    csv.row({p.name, p.beside, number(issue, "%.2f"), number(t[0].median * 1e6, "%.2f"),
             number(bare_issue, "%.2f"), number(t[1].median * 1e6, "%.2f")});
  }
  // Checks the result of the element-wise kernel, to show that the calls really computed something.
  std::vector<float> sums(static_cast<std::size_t>(n));
  map_once();
  cuda::download(stream, static_cast<float const*>(y.data()), n, sums.data());
  for (std::int64_t i = 0; i < n; ++i)
    if (sums[static_cast<std::size_t>(i)] != 2 * normals_of<float>(3)[i])
      throw std::runtime_error("the element-wise kernel's result is wrong.");
  product.reset();
  cublasLtDestroy(handle);
  std::printf("all results right\n");
}

}  // namespace

int main(int argc, char** argv) try {
  measuring_options o{{0.2, 3, 31, 1e-3}};
  CLI::App app("Measures the overhead of launching work on a device");
  add_to(app, o, "path");
  if (auto const code = parse(app, o, argc, argv, 0)) return *code;
  run_all(o);
} catch (std::exception const& e) {
  std::cerr << "bench/cuda/launch: " << e.what() << '\n';
  return 1;
}
