// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Measures causal attention, forward and backward, on one GPU. The cases have different sequence
// lengths, but the same number of tokens. bench/cuda/torch_attention.py measures PyTorch on the
// same shapes and writes to the same table. bench/run_cuda.sh runs the two programs in turns;
// --round is the number of the turn.
//
//   bench/cuda/attention                                  16384 tokens, 12 heads of 64
//   bench/cuda/attention --tokens 64 --heads 2 --sequences 16,64 --types float --trials 1
//
// Before anything is timed, the result for one head of one sequence is compared with the host's
// result.
//
// The counted floating-point operations leave out the part that the causal mask removes. For a head
// of d columns and a sequence of length s their number is half of 4 s^2 d in the forward pass. In
// the backward pass it is 2.5 times that number.

#include <cstdio>
#include <iostream>

#include <CLI/CLI.hpp>

#include "../support/csv.hpp"
#include "../support/options.hpp"
#include "passes.hpp"

namespace {

using namespace ashlar_bench;
using ashlar::accumulation_t;
using ashlar::bfloat16;
using ashlar::device::attention_extents;
namespace cuda = ashlar::cuda;

struct options : measuring_options {
  options() : measuring_options{{0.4, 3, 31, 5e-3}} {}
  std::int64_t tokens = 16384, heads = 12, head_dim = 64;
  std::vector<std::int64_t> sequences{256, 512, 1024, 2048, 4096, 8192};
  std::vector<std::string> types{"bf16", "float"};
  int round = 1;
  bool lists = false;
};

template <class T>
class attention_case {
  using A = accumulation_t<T>;

 public:
  attention_case(device_memory& memory, attention_extents const& e)
      : memory_(memory), e_(e), qkv_(make<T>(3 * values())), dout_(make<T>(values())),
        out_(make<T>(values())), dqkv_(make<T>(3 * values())),
        log_sum_exp_(make<A>(e.batch * e.heads * e.sequence)) {
    normals_of<T>(1).fill(memory.stream, qkv_.size(), qkv_.data());
    normals_of<T>(2).fill(memory.stream, dout_.size(), dout_.data());
  }

  void forward() {
    attention_forward(cuda::processor{memory_.stream}, memory_, in(qkv_), e_, out_.data(),
                      log_sum_exp_.data());
  }
  void backward() {
    attention_backward(cuda::processor{memory_.stream}, memory_, in(dout_), in(qkv_), in(out_),
                       static_cast<A const*>(log_sum_exp_.data()), e_, dqkv_.data());
  }
  void overwrite_results() {
    overwrite(out_);
    overwrite(dqkv_);
  }

  /// Computes the forward and the backward pass of the last head of the last sequence on the host.
  /// Returns whether the device's forward result agrees with the host's up to an error of `enough`.
  /// Must be called before backward_is_right(), which compares the device's gradients with the
  /// gradients that this call computes on the host.
  bool forward_is_right(double enough) {
    run_on_host();
    return matches(out_, 1, host_out_, enough);
  }
  bool backward_is_right(double enough) { return matches(dqkv_, 3, host_dqkv_, enough); }

 private:
  template <class E>
  cuda::array<E> make(std::int64_t n) {
    return cuda::array<E>(memory_.pool, n, memory_.stream, "attention");
  }
  static T const* in(cuda::array<T> const& x) { return x.data(); }
  std::int64_t values() const { return e_.batch * e_.sequence * e_.heads * e_.head_dim; }
  void overwrite(cuda::array<T>& x) {
    cuda::check(cudaMemsetAsync(x.data(), 0xff, static_cast<std::size_t>(x.size()) * sizeof(T),
                                memory_.stream),
                "cudaMemsetAsync");
  }
  /// An array holds `parts` vectors of head_dim elements for each head of each token. Returns the
  /// offset of the vectors of the last head, for token t of the last sequence.
  std::int64_t first_of(std::int64_t t, std::int64_t parts) const {
    return ((((e_.batch - 1) * e_.sequence + t) * e_.heads + e_.heads - 1) * parts) * e_.head_dim;
  }
  std::vector<A> of_head(repeated_normals<T> const& all, std::int64_t parts) const {
    std::vector<A> values;
    for (std::int64_t t = 0; t < e_.sequence; ++t)
      for (std::int64_t i = 0; i < parts * e_.head_dim; ++i)
        values.push_back(static_cast<A>(all[first_of(t, parts) + i]));
    return values;
  }
  void run_on_host() {
    attention_extents const one{1, e_.sequence, 1, e_.head_dim, e_.causal};
    ashlar::device::host::processor const on;
    auto const qkv = of_head(normals_of<T>(1), 3), dout = of_head(normals_of<T>(2), 1);
    std::vector<A> log_sum_exp(static_cast<std::size_t>(e_.sequence));
    host_out_.resize(dout.size());
    host_dqkv_.resize(qkv.size());
    heap memory;
    attention_forward(on, memory, qkv.data(), one, host_out_.data(), log_sum_exp.data());
    attention_backward(on, memory, dout.data(), qkv.data(), static_cast<A const*>(host_out_.data()),
                       static_cast<A const*>(log_sum_exp.data()), one, host_dqkv_.data());
  }
  bool matches(cuda::array<T> const& x, std::int64_t parts, std::vector<A> const& expected,
               double enough) {
    std::vector<T> all(static_cast<std::size_t>(x.size()));
    cuda::download(memory_.stream, in(x), x.size(), all.data());
    std::int64_t const n = parts * e_.head_dim;
    for (std::int64_t t = 0; t < e_.sequence; ++t)
      for (std::int64_t i = 0; i < n; ++i)
        if (!(distance(
                  double(static_cast<A>(all[static_cast<std::size_t>(first_of(t, parts) + i)])),
                  double(expected[static_cast<std::size_t>(t * n + i)])) <= enough))
          return false;
    return true;
  }

  device_memory& memory_;
  attention_extents e_;
  cuda::array<T> qkv_, dout_, out_, dqkv_;
  cuda::array<A> log_sum_exp_;
  std::vector<A> host_out_, host_dqkv_;
};

template <class T>
void run(options const& o, device_memory& memory, csv_file& csv, std::string const& type,
         attention_extents const& e) {
  attention_case<T> subject(memory, e);
  double const enough = std::is_same_v<T, bfloat16> ? 4e-2 : 2e-4;
  std::vector<contestant> const all{{"forward", role::ours, [&] { subject.forward(); },
                                     [&] { return subject.forward_is_right(enough); }},
                                    {"backward", role::ours, [&] { subject.backward(); },
                                     [&] { return subject.backward_is_right(enough); }}};
  subject.overwrite_results();
  check_on_device(all, type + ", sequence " + std::to_string(e.sequence), {});
  auto const times = measure_on_device(memory.stream, all, o.how);
  double const operations = 2.0 * double(e.batch * e.heads * e.head_dim) * double(e.sequence) *
                            double(e.sequence);
  for (std::size_t i = 0; i < all.size(); ++i) {
    double const s = times[i].median, rate = operations * (i == 0 ? 1 : 2.5) / s / 1e12;
    std::printf("%-5s batch %3lld  sequence %5lld  %-8s %10.2f us  %7.1f TFLOP/s\n", type.c_str(),
                static_cast<long long>(e.batch), static_cast<long long>(e.sequence),
                all[i].name.c_str(), s * 1e6, rate);
    std::fflush(stdout);
    csv.row({"ashlar", std::to_string(o.round), type, std::to_string(e.batch),
             std::to_string(e.sequence), std::to_string(e.heads), std::to_string(e.head_dim),
             all[i].name, number(s * 1e6, "%.2f"), number(rate, "%.2f")});
  }
}

}  // namespace

int main(int argc, char** argv) try {
  options o;
  CLI::App app("Measures causal attention on one device");
  app.add_option("--tokens", o.tokens, "batch times sequence")->check(CLI::PositiveNumber);
  app.add_option("--heads", o.heads, "heads of each token")->check(CLI::PositiveNumber);
  app.add_option("--head-dim", o.head_dim, "columns of a head")->check(CLI::PositiveNumber);
  app.add_option("--sequences", o.sequences, "sequence lengths")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  app.add_option("--types", o.types, "element types: bf16, float")
      ->delimiter(',')
      ->check(CLI::IsMember({"bf16", "float"}));
  app.add_option("--round", o.round, "number of the round, for the table");
  app.add_flag("--list", o.lists, "list the cases and exit; needs no device");
  add_to(app, o, "case");
  if (auto const code = parse(app, o, argc, argv, 0)) return *code;
  for (auto const s : o.sequences)
    if (o.tokens % s != 0)
      throw std::runtime_error("--tokens " + std::to_string(o.tokens) +
                               " is not a multiple of the sequence " + std::to_string(s) + ".");
  std::optional<device_memory> memory;
  csv_file csv(o.csv, "library,round,type,batch,sequence,heads,head_dim,pass,us,tflops");
  if (!o.lists) memory.emplace();
  for (auto const& type : o.types)
    for (auto const s : o.sequences) {
      attention_extents const e{o.tokens / s, s, o.heads, o.head_dim, true};
      if (o.lists)
        std::printf("%s, batch %lld, sequence %lld\n", type.c_str(),
                    static_cast<long long>(e.batch), static_cast<long long>(s));
      else if (type == "bf16") run<bfloat16>(o, *memory, csv, type, e);
      else run<float>(o, *memory, csv, type, e);
    }
  if (!o.lists) std::printf("all results right\n");
} catch (std::exception const& e) {
  std::cerr << "bench/cuda/attention: " << e.what() << '\n';
  return 1;
}
