// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Measures memory-bound kernels on one GPU: packing, transpositions, layer norm, softmax, gradients
// of biases, cross-entropy, AdamW and element-wise maps. Each kernel takes turns with a device copy
// that reads and writes the same number of bytes. Results are compared with the host's before
// anything is timed.
//
//   bench/cuda/kernels                        the sizes of a step of GPT-2
//   bench/cuda/kernels --tokens 64 --width 32 --vocabulary 96 --parameters 5000 --trials 1
//
// The number of bytes is the least that must be read and written: an array that a kernel reads
// twice counts once. Target for most cases: (time of the copy) / (time of the kernel) is at least
// 0.85, so the kernel takes at most about 18 % longer.

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

struct options : measuring_options {
  options() : measuring_options{{0.4, 3, 31, 5e-3}} {}
  std::int64_t tokens = 8192, width = 768, heads = 12, vocabulary = 50304, parameters = 124'439'808;
  std::string only;
  bool lists = false;
};

template <class T>
char const* name_of() {
  return std::is_same_v<T, bfloat16> ? "bf16" : std::is_same_v<T, float> ? "float" : "double";
}

class bench {
 public:
  bench(options const& o) : o_(o) {
    if (!o.lists) memory_.emplace();
    csv_.emplace(o.csv, "case,type,shape,bytes,ours_us,copy_us,copy/ours,ours_gbs,wanted,missed");
  }

  /// Measures one kernel beside a copy that reads and writes as many bytes, and prints the times.
  /// `body` runs the kernel (passes.hpp). If `wanted` is true, the kernel has a target: it may take
  /// at most 1 / 0.85 times as long as the copy.
  template <class T, class Body>
  void add(std::string const& name, std::string const& shape, bool wanted,
           std::vector<operand> const& operands, pass_extents const& e, Body const& body) {
    if (name.find(o_.only) == std::string::npos) return;
    if (o_.lists) {
      std::printf("%s, %s, %s\n", name.c_str(), name_of<T>(), shape.c_str());
      return;
    }
    pass<T, Body> ours(*memory_, operands, e, body);
    std::int64_t const half = e.bytes / 2;
    int const copies = copies_beyond_cache(e.bytes);
    rotated<std::byte> from(*memory_, half, copies), to(*memory_, half, copies);
    int turn = 0;
    auto const copy = [&] {
      turn = (turn + 1) % copies;
      ashlar::cuda::copy_elements(memory_->stream, static_cast<std::byte const*>(from.of(turn)),
                                  half, to.of(turn));
    };
    double const enough = std::is_same_v<T, bfloat16> ? 2e-2 : 1e-4;
    std::vector<contestant> const all{
        {"ours", role::ours, [&] { ours.run(); }, [&] { return ours.is_right(enough); }},
        {"copy", role::limit, copy, {}}};
    check_on_device(all, name + " " + name_of<T>(), [&] { ours.overwrite_results(); });
    auto const times = measure_on_device(memory_->stream, all, o_.how);
    report(name, name_of<T>(), shape, wanted, e.bytes, times[0].median, times[1].median);
  }
  int missed() const { return missed_; }
  int targets() const { return targets_; }

 private:
  void report(std::string const& name, std::string const& type, std::string const& shape,
              bool wanted, std::int64_t bytes, double ours, double copy) {
    bool const missed = wanted && copy / ours < 0.85;
    targets_ += wanted;
    missed_ += missed;
    double const rate = double(bytes) / ours / 1e9;
    std::printf("%-26s %-5s %-22s %9.2f us  copy %9.2f us  copy/ours %5.2f  %7.0f GB/s%s\n",
                name.c_str(), type.c_str(), shape.c_str(), ours * 1e6, copy * 1e6, copy / ours,
                rate, missed ? "  below 0.85" : "");
    std::fflush(stdout);
    csv_->row({name, type, shape, std::to_string(bytes), number(ours * 1e6), number(copy * 1e6),
               number(copy / ours), number(rate, "%.1f"), wanted ? "copy/ours >= 0.85" : "",
               missed ? "copy/ours >= 0.85" : ""});
  }

  options o_;
  std::optional<device_memory> memory_;
  std::optional<csv_file> csv_;
  int targets_ = 0, missed_ = 0;
};

std::string by(std::int64_t a, std::int64_t b) {
  return std::to_string(a) + "x" + std::to_string(b);
}

template <class T>
void moves(bench& b, options const& o) {
  std::int64_t const rows = o.tokens, cols = o.width, wide = 4 * cols;
  std::int64_t const s = sizeof(T), n = rows * cols;
  auto const copy_block = [](auto const& on, auto& p, int rank, std::int64_t const* extents,
                             std::int64_t const* from, std::int64_t const* to) {
    // Both the device's and the host's copy_strided read from a pointer to const.
    auto const* source = p.value(0);
    copy_strided(on, rank, extents, source, from, p.value(1), to);
  };
  b.add<T>("pack a column block", by(rows, cols) + " of " + by(rows, wide), true,
           {{.per_row = wide}, {.per_row = cols, .is = operand::out}}, {rows, rows, 2 * n * s},
           [=](auto const& on, auto&, std::int64_t r, auto p) {
             std::int64_t const extents[] = {r, cols}, from[] = {wide, 1}, to[] = {cols, 1};
             copy_block(on, p, 2, extents, from, to);
           });
  b.add<T>("transpose", by(rows, wide), true,
           {{.per_row = wide}, {.per_row = wide, .is = operand::out}},
           {rows, rows, 2 * rows * wide * s}, [=](auto const& on, auto&, std::int64_t r, auto p) {
             std::int64_t const extents[] = {wide, r}, from[] = {1, wide}, to[] = {r, 1};
             copy_block(on, p, 2, extents, from, to);
           });
  std::int64_t const d = cols / o.heads;
  b.add<T>("tokens and heads exchanged", by(rows, o.heads) + "x" + std::to_string(d), true,
           {{.per_row = cols}, {.per_row = cols, .is = operand::out}}, {rows, rows, 2 * n * s},
           [=, heads = o.heads](auto const& on, auto&, std::int64_t r, auto p) {
             std::int64_t const extents[] = {heads, r, d}, from[] = {d, heads * d, 1},
                                to[] = {r * d, d, 1};
             copy_block(on, p, 3, extents, from, to);
           });
}

template <class T>
void rows_of_a_block(bench& b, options const& o) {
  std::int64_t const rows = o.tokens, cols = o.width, n = rows * cols;
  std::int64_t const s = sizeof(T), a = sizeof(accumulation_t<T>);
  using enum operand::kind;
  using enum operand::use;
  b.add<T>("layer norm forward", by(rows, cols), true,
           {{.per_row = cols},
            {.per_row = cols, .fixed = true},
            {.per_row = cols, .fixed = true},
            {.per_row = cols, .is = out},
            {.holds = sum, .is = out},
            {.holds = sum, .is = out}},
           {rows, 64, 2 * n * s + 2 * rows * a},
           [=](auto const& on, auto&, std::int64_t r, auto p) {
             auto const *x = p.value(0), *gamma = p.value(1), *beta = p.value(2);
             layer_norm_forward(on, x, gamma, beta, r, cols, 1e-5f, p.value(3), p.sum(4), p.sum(5));
           });
  b.add<T>("layer norm backward", by(rows, cols), true,
           {{.per_row = cols},
            {.per_row = cols},
            {.holds = sum, .deviation = 0.1},
            {.holds = sum, .deviation = 1, .is_positive = true},
            {.per_row = cols, .fixed = true},
            {.per_row = cols, .is = out},
            {.holds = sum, .per_row = cols, .fixed = true, .is = both, .deviation = 0},
            {.holds = sum, .per_row = cols, .fixed = true, .is = both, .deviation = 0}},
           {rows, rows, 3 * n * s + 2 * rows * a},
           [=](auto const& on, auto& memory, std::int64_t r, auto p) {
             auto const *dy = p.value(0), *x = p.value(1), *gamma = p.value(4);
             auto const *mean = p.sum(2), *rstd = p.sum(3);
             layer_norm_backward(on, memory, dy, x, mean, rstd, gamma, r, cols, p.value(5),
                                 p.sum(6), p.sum(7));
           });
  std::int64_t const scores = 1024;
  b.add<T>("softmax forward", by(rows, scores), true,
           {{.per_row = scores}, {.per_row = scores, .is = out}}, {rows, 64, 2 * rows * scores * s},
           [=](auto const& on, auto&, std::int64_t r, auto p) {
             auto const* x = p.value(0);
             softmax_forward(on, x, r, scores, p.value(1));
           });
  b.add<T>("softmax backward", by(rows, scores), true,
           {{.per_row = scores},
            {.per_row = scores, .deviation = 1e-3, .is_positive = true},
            {.per_row = scores, .is = out}},
           {rows, 64, 3 * rows * scores * s}, [=](auto const& on, auto&, std::int64_t r, auto p) {
             auto const *dy = p.value(0), *y = p.value(1);
             softmax_backward(on, dy, y, r, scores, p.value(2));
           });
  for (std::int64_t const width : {cols, 4 * cols})
    b.add<T>("gradient of a bias", by(rows, width), true,
             {{.per_row = width},
              {.holds = sum, .per_row = width, .fixed = true, .is = both, .deviation = 0}},
             {rows, rows, rows * width * s + 2 * width * a},
             [=](auto const& on, auto& memory, std::int64_t r, auto p) {
               auto const* dy = p.value(0);
               add_column_sums(on, memory, dy, r, width, p.sum(1));
             });
  b.add<T>("gelu", by(rows, 4 * cols), false,
           {{.per_row = 4 * cols}, {.per_row = 4 * cols, .is = out}}, {rows, 64, 8 * n * s},
           [=](auto const& on, auto&, std::int64_t r, auto p) {
             auto const* x = p.value(0);
             map(on, ashlar::device::value_of<ashlar::device::gelu>{}, x, r * 4 * cols, p.value(1));
           });
  b.add<T>("sum of two", by(rows, cols), false,
           {{.per_row = cols}, {.per_row = cols}, {.per_row = cols, .is = out}},
           {rows, 64, 3 * n * s}, [=](auto const& on, auto&, std::int64_t r, auto p) {
             auto const *x = p.value(0), *y = p.value(1);
             map(on, ashlar::device::sum_of{}, x, y, r * cols, p.value(2));
           });
}

template <class T>
void losses(bench& b, options const& o) {
  std::int64_t const rows = o.tokens, cols = o.vocabulary, n = rows * cols;
  std::int64_t const s = sizeof(T);
  operand const labels{.holds = operand::ids, .limit = static_cast<std::int32_t>(cols)};
  using enum operand::kind;
  using enum operand::use;
  // The next two cases are the parts of cross-entropy if the vocabulary is split. The first part
  // computes statistics of each row: the maximum and the sum of exponentials. The second part
  // computes the gradient from the statistics.
  b.add<T>("cross-entropy statistics", by(rows, cols), true,
           {{.per_row = cols}, {.holds = sum, .is = out}, {.holds = sum, .is = out}},
           {rows, 16, n * s}, [=](auto const& on, auto&, std::int64_t r, auto p) {
             auto const* x = p.value(0);
             row_max(on, x, r, cols, p.sum(1));
             auto const* maximum = p.sum(1);
             row_exp_sum(on, x, maximum, r, cols, p.sum(2));
           });
  b.add<T>("cross-entropy gradient", by(rows, cols), true,
           {{.per_row = cols},
            labels,
            {.holds = sum, .deviation = 0.1},
            {.holds = sum, .deviation = 1e4, .is_positive = true},
            {.per_row = cols, .is = out}},
           {rows, 16, 2 * n * s}, [=](auto const& on, auto&, std::int64_t r, auto p) {
             auto const* x = p.value(0);
             auto const *maximum = p.sum(2), *total = p.sum(3);
             std::int32_t const* targets = p.ids(1);
             cross_entropy_gradient(on, x, targets, maximum, total, r, cols, 0, 1.0f, p.value(4));
           });
}

void updates(bench& b, options const& o) {
  std::int64_t const n = o.parameters;
  using enum operand::kind;
  using enum operand::use;
  // The gradient, both moments and the weight are read. The moments, the weight and its bfloat16
  // copy are written.
  b.add<bfloat16>("AdamW", std::to_string(n), true,
                  {{.holds = sum, .deviation = 1e-2},
                   {.holds = sum, .is = both, .deviation = 1e-2},
                   {.holds = sum, .is = both, .deviation = 1e-4, .is_positive = true},
                   {.holds = sum, .is = both, .deviation = 0.02},
                   {.is = out}},
                  {n, 1 << 16, n * (7 * 4 + 2)},
                  [=](auto const& on, auto&, std::int64_t r, auto p) {
                    ashlar::device::adam_w_factors const f{
                        .lr = 1e-3, .weight_decay = 0.01, .correction1 = 0.1, .correction2 = 0.001};
                    auto const* gradient = p.sum(0);
                    adam_w_update(on, f, gradient, r, p.sum(1), p.sum(2), p.sum(3), p.value(4));
                  });
}

}  // namespace

int main(int argc, char** argv) try {
  options o;
  CLI::App app(
      "Measures memory-bound kernels beside a copy of the same number of bytes, on one device");
  app.add_option("--tokens", o.tokens, "rows of activations")->check(CLI::PositiveNumber);
  app.add_option("--width", o.width, "columns of activations")->check(CLI::PositiveNumber);
  app.add_option("--heads", o.heads, "heads into which the width is split")
      ->check(CLI::PositiveNumber);
  app.add_option("--vocabulary", o.vocabulary, "columns of logits")->check(CLI::PositiveNumber);
  app.add_option("--parameters", o.parameters, "parameters of an update")
      ->check(CLI::PositiveNumber);
  app.add_option("--only", o.only, "only cases whose name contains this text");
  app.add_flag("--list", o.lists, "list the cases and exit; needs no device");
  add_to(app, o, "case");
  if (auto const code = parse(app, o, argc, argv, 0)) return *code;
  if (o.width % o.heads != 0)
    throw std::runtime_error("--width " + std::to_string(o.width) +
                             " is not a multiple of --heads " + std::to_string(o.heads) + ".");
  bench b(o);
  moves<bfloat16>(b, o);
  moves<float>(b, o);
  rows_of_a_block<bfloat16>(b, o);
  rows_of_a_block<float>(b, o);
  losses<bfloat16>(b, o);
  losses<float>(b, o);
  updates(b, o);
  if (!o.lists)
    std::printf("all results right; %d of %d targets met\n", b.targets() - b.missed(), b.targets());
} catch (std::exception const& e) {
  std::cerr << "bench/cuda/kernels: " << e.what() << '\n';
  return 1;
}
