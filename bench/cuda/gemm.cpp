// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Measures matrix products on one GPU in turns with bare cuBLASLt on the same operands
// (bare_products.hpp):
//
//   matmul   ashlar::matmul of tensors on a mesh of one rank, with the algorithm that cuBLASLt
//            proposes first. A transposed operand is given as transposed(x).
//   tuned    ashlar's product without tensors, with the fastest of eight algorithms that cuBLASLt
//            proposes. ASHLAR_CUDA_TUNE=on makes tensors use this algorithm.
//
//   bench/cuda/gemm                             the products of a step of GPT-2, and squares
//   bench/cuda/gemm --shapes 64x48x32,33x17x5 --trials 1
//
// The types are bfloat16, float on tensor cores (tf32), float and double. Before anything is timed,
// some elements of each result are compared with sums in double on the host. Target: (time of the
// fastest bare call) / (time of matmul) is at least 0.97, so matmul takes at most about 3 % longer.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <optional>

#include <CLI/CLI.hpp>

#include <ashlar/comm/nccl/backend.hpp>
#include <ashlar/comm/nccl/environment.hpp>
#include <ashlar/tensor/matmul.hpp>

#include "../support/csv.hpp"
#include "../support/device_trials.hpp"
#include "../support/device_values.hpp"
#include "../support/options.hpp"
#include "bare_products.hpp"

namespace {

using namespace ashlar_bench;
using ashlar::accumulation_t;
using ashlar::bfloat16;
namespace cuda = ashlar::cuda;

struct options : measuring_options {
  options() : measuring_options{{0.4, 3, 31, 5e-3}} {}
  std::vector<std::string> shapes, types{"bf16", "tf32", "float", "double"};
  bool lists = false;
};

/// Returns the products of a training step of GPT-2 on 8 sequences of 1024 tokens: the products of
/// one layer and of the logits, forward and backward. The vocabulary of 50257 is padded to 50304, a
/// multiple of 128. One more product has the vocabulary without padding.
std::vector<product_shape> gpt2_shapes() {
  std::vector<product_shape> all;
  struct extents {
    std::int64_t n, k;
  };
  for (auto const& e : {extents{2304, 768}, {768, 768}, {3072, 768}, {768, 3072}, {50304, 768}}) {
    all.push_back({8192, e.n, e.k});
    all.push_back({8192, e.k, e.n, false, true});  // dx = dy w^T
    all.push_back({e.k, e.n, 8192, true, false});  // dw = x^T dy
  }
  all.push_back({8192, 50257, 768});
  return all;
}

/// Parses a shape: "64x48x32" for m, n and k, "TN:64x48x32" for x^T w, "NT:..." for x w^T.
product_shape parse_shape(std::string const& text) {
  product_shape s{};
  std::string const form = text.substr(0, 3);
  s.transpose_a = form == "TN:";
  s.transpose_b = form == "NT:";
  std::string const extents = s.transpose_a || s.transpose_b ? text.substr(3) : text;
  char rest = 0;
  long long m = 0, n = 0, k = 0;
  if (std::sscanf(extents.c_str(), "%lldx%lldx%lld%c", &m, &n, &k, &rest) != 3 || m < 1 || n < 1 ||
      k < 1)
    throw std::runtime_error("\"" + text +
                             "\" is not a shape. Write m x n x k as 64x48x32, or with a transposed "
                             "factor as TN:64x48x32 or NT:64x48x32.");
  s.m = m, s.n = n, s.k = k;
  return s;
}

std::vector<product_shape> shapes_of(options const& o, std::string const& type) {
  std::vector<product_shape> all;
  for (auto const& text : o.shapes) all.push_back(parse_shape(text));
  if (!all.empty()) return all;
  if (type == "bf16" || type == "tf32") all = gpt2_shapes();
  for (std::int64_t const n : {1024, 2048, 4096, 8192})
    if (n < 8192 || type == "bf16" || type == "tf32") all.push_back({n, n, n});
  return all;
}

class bench {
 public:
  bench(options const& o, ashlar::nccl::world const& w)
      : o_(o), world_(w),
        csv_(o.csv, "type,form,m,n,k,matmul_us,tuned_us,first_us,best_us,proposals,best/matmul,"
                    "best/tuned,best_tflops,wanted,missed") {
    if (cublasLtCreate(&handle_) != CUBLAS_STATUS_SUCCESS)
      throw std::runtime_error("cublasLtCreate failed.");
  }
  bench(bench const&) = delete;
  bench& operator=(bench const&) = delete;
  ~bench() { cublasLtDestroy(handle_); }

  /// Measures all products with elements of type T. An element of a product is the sum of k terms.
  /// `enough` is its permitted error, relative to the square root of the sum of the squared terms.
  template <class T>
  void run(std::string const& type, cudaDataType_t data, cublasComputeType_t compute,
           double enough) {
    using A = accumulation_t<T>;
    using matrix = ashlar::tensor<T, 2, ashlar::sbp<ashlar::placements::B>, cuda::processor>;
    bool const is_tf32 = type == "tf32";
    // This setting has an effect only before the mesh is made.
    ::setenv("ASHLAR_CUDA_TF32", is_tf32 ? "on" : "off", 1);
    ashlar::nccl::mesh const mesh(world_, {{"gpu", 1}});
    cudaStream_t const stream = mesh.processor();
    cuda::pool pool;
    cuda::gemm_options tuned;
    tuned.tune = true;
    if (is_tf32) tuned.float_mode = cuda::float_products::tf32;
    cuda::gemm_engine fastest(pool, stream, tuned);
    cuda::array<std::byte> workspace(pool, std::int64_t{bare_product::workspace_bytes}, stream,
                                     "the workspace of bare products");
    auto const& of_a = normals_of<T>(1);
    auto const& of_b = normals_of<T>(2);
    ashlar::placement const whole{ashlar::broadcast()};
    for (auto const& s : shapes_of(o_, type)) {
      matrix const a(mesh, s.transpose_a ? ashlar::shape{s.k, s.m} : ashlar::shape{s.m, s.k},
                     whole);
      matrix const b(mesh, s.transpose_b ? ashlar::shape{s.n, s.k} : ashlar::shape{s.k, s.n},
                     whole);
      matrix const c(mesh, {s.m, s.n}, whole);
      matrix product;
      of_a.fill(stream, a.local_elements(), a.data());
      of_b.fill(stream, b.local_elements(), b.data());
      bare_product bare(handle_, stream, workspace.data(), s, data, compute,
                        std::is_same_v<T, double> ? CUDA_R_64F : CUDA_R_32F, a.data(), b.data(),
                        c.data());
      bare.find_best();
      auto const by_matmul = [&] {
        if (s.transpose_a) product = ashlar::matmul(ashlar::transposed(a), b);
        else if (s.transpose_b) product = ashlar::matmul(a, ashlar::transposed(b));
        else product = ashlar::matmul(a, b);
      };
      auto const by_engine = [&] {
        fastest.gemm(s.transpose_a, s.transpose_b, s.m, s.n, s.k, A(1),
                     static_cast<T const*>(a.data()), s.transpose_a ? s.m : s.k,
                     static_cast<T const*>(b.data()), s.transpose_b ? s.k : s.n, A(0), c.data(),
                     s.n);
      };
      auto const right = [&](matrix const& result) {
        return is_right(s, of_a, of_b, stream, static_cast<T const*>(result.data()), enough);
      };
      std::vector<contestant> const all{
          {"matmul", role::ours, by_matmul, [&] { return right(product); }},
          {"tuned", role::ours, by_engine, [&] { return right(c); }},
          {"first proposal", role::bare, [&] { bare.run_first(); }, [&] { return right(c); }},
          {"best proposal", role::bare, [&] { bare.run_best(); }, [&] { return right(c); }}};
      check_on_device(all, type + " " + text_of(s), [&] {
        cuda::check(cudaMemsetAsync(c.data(), 0xff, static_cast<std::size_t>(s.m * s.n) * sizeof(T),
                                    stream),
                    "cudaMemsetAsync");
      });
      report(type, s, measure_on_device(stream, all, o_.how), bare.proposals());
    }
  }
  static std::string text_of(product_shape const& s) {
    return s.form() + " " + std::to_string(s.m) + "x" + std::to_string(s.n) + "x" +
           std::to_string(s.k);
  }
  void print_summary() const {
    std::printf("all results right; %d of %d targets met\n", targets_ - missed_, targets_);
  }

 private:
  template <class T>
  bool is_right(product_shape const& s, repeated_normals<T> const& a, repeated_normals<T> const& b,
                cudaStream_t stream, T const* c, double enough) {
    std::mt19937_64 random(1);
    for (int sample = 0; sample < 64; ++sample) {
      // Sample 0 is the last element, because errors at the edges of tiles are likely.
      auto const pick = [&](std::int64_t n) {
        return sample == 0 ? n - 1
                           : static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
      };
      std::int64_t const i = pick(s.m), j = pick(s.n);
      double sum = 0, squares = 0;
      for (std::int64_t l = 0; l < s.k; ++l) {
        double const term = value(a[s.transpose_a ? l * s.m + i : i * s.k + l]) *
                            value(b[s.transpose_b ? j * s.k + l : l * s.n + j]);
        sum += term;
        squares += term * term;
      }
      T actual{};
      cuda::download(stream, c + i * s.n + j, 1, &actual);
      if (!(std::abs(value(actual) - sum) <= enough * std::sqrt(squares))) return false;
    }
    return true;
  }
  template <class T>
  static double value(T x) {
    return static_cast<double>(static_cast<accumulation_t<T>>(x));
  }

  void report(std::string const& type, product_shape const& s, std::vector<timing> const& t,
              int proposals) {
    double const ours = t[0].median, tuned = t[1].median, best = t[3].median;
    bool const missed = best / ours < 0.97;
    ++targets_;
    missed_ += missed;
    std::printf(
        "%-6s %-22s matmul %9.2f us  tuned %9.2f  bare first %9.2f  best %9.2f  best/matmul "
        "%5.3f  best/tuned %5.3f  %6.1f TFLOP/s%s\n",
        type.c_str(), text_of(s).c_str(), ours * 1e6, tuned * 1e6, t[2].median * 1e6, best * 1e6,
        best / ours, best / tuned, s.flops() / best / 1e12, missed ? "  below 0.97" : "");
    std::fflush(stdout);
    auto const us = [](timing const& x) { return number(x.median * 1e6, "%.2f"); };
    csv_.row({type, s.form(), std::to_string(s.m), std::to_string(s.n), std::to_string(s.k),
              us(t[0]), us(t[1]), us(t[2]), us(t[3]), std::to_string(proposals),
              number(best / ours), number(best / tuned), number(s.flops() / best / 1e12, "%.1f"),
              "best/matmul >= 0.97", missed ? "best/matmul >= 0.97" : ""});
  }

  options o_;
  ashlar::nccl::world world_;
  csv_file csv_;
  cublasLtHandle_t handle_ = nullptr;
  int targets_ = 0, missed_ = 0;
};

}  // namespace

int main(int argc, char** argv) try {
  options o;
  CLI::App app("Measures matrix products beside bare cuBLASLt, on one device");
  app.add_option("--shapes", o.shapes,
                 "m x n x k, as 64x48x32; default: those of GPT-2, and squares")
      ->delimiter(',');
  app.add_option("--types", o.types, "element types: bf16, tf32, float, double")
      ->delimiter(',')
      ->check(CLI::IsMember({"bf16", "tf32", "float", "double"}));
  app.add_flag("--list", o.lists, "list the products and exit; needs no device");
  add_to(app, o, "product");
  if (auto const code = parse(app, o, argc, argv, 0)) return *code;
  if (o.lists) {
    for (auto const& type : o.types)
      for (auto const& s : shapes_of(o, type))
        std::printf("%s %s\n", type.c_str(), bench::text_of(s).c_str());
    return 0;
  }
  for (auto const& type : o.types) shapes_of(o, type);  // Reports a wrong shape before any work.
  ashlar::nccl::environment env(argc, argv);
  if (env.size() != 1) throw std::runtime_error("start it as one process.");
  bench b(o, env.world());
  for (auto const& type : o.types) {
    if (type == "bf16") b.run<bfloat16>(type, CUDA_R_16BF, CUBLAS_COMPUTE_32F, 3e-2);
    if (type == "tf32") b.run<float>(type, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, 1e-2);
    if (type == "float") b.run<float>(type, CUDA_R_32F, CUBLAS_COMPUTE_32F, 1e-4);
    if (type == "double") b.run<double>(type, CUDA_R_64F, CUBLAS_COMPUTE_64F, 1e-11);
  }
  b.print_summary();
} catch (std::exception const& e) {
  std::cerr << "bench/cuda/gemm: " << e.what() << '\n';
  return 1;
}
