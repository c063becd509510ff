// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4
// thorough: ASHLAR_LLAMA_LAYERS=8 1 2 3 4 6 8

// Tests a small Llama. Under random plans, its logits must equal those of plain loops over the
// gathered parameters. Under searched, data parallel, tensor parallel and ZeRO plans, training must
// have the results of one process, and must communicate with the planned collectives and bytes. The
// numbers of key heads, sequences and hidden features are not divisible by all numbers of ranks, so
// shards are uneven, and some are empty. The Llama has two layers, or as many as
// ASHLAR_LLAMA_LAYERS says.

#include <cstdlib>

#include <doctest/doctest.h>
#include <support/forward_trial.hpp>
#include <support/usual_plans.hpp>

#include <ashlar/nn/llama.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/search/optimal.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;
using values_t = std::vector<double>;

/// Returns the number of layers that a thorough run asks for, or 2.
int llama_layers() {
  char const* const text = std::getenv("ASHLAR_LLAMA_LAYERS");
  return text == nullptr ? 2 : std::atoi(text);
}

nn::llama_options const small_llama{.layers = llama_layers(),
                                    .features = 12,
                                    .heads = 6,
                                    .kv_heads = 2,
                                    .hidden = 5,
                                    .vocabulary = 11,
                                    .rotary_base = 50,
                                    .epsilon = 1e-3};

/// Returns the matrix product of x [rows, in] and w [in, out].
values_t product(values_t const& x, values_t const& w, std::size_t in) {
  std::size_t const out = w.size() / in;
  values_t y(x.size() / in * out);
  for (std::size_t r = 0; r < x.size() / in; ++r)
    for (std::size_t k = 0; k < in; ++k)
      for (std::size_t j = 0; j < out; ++j) y[r * out + j] += x[r * in + k] * w[k * out + j];
  return y;
}

values_t rms_norm_of(values_t x, values_t const& gain, double epsilon) {
  std::size_t const n = gain.size();
  for (std::size_t r = 0; r < x.size() / n; ++r) {
    double square = 0;
    for (std::size_t c = 0; c < n; ++c) square += x[r * n + c] * x[r * n + c];
    double const scale = 1 / std::sqrt(square / static_cast<double>(n) + epsilon);
    for (std::size_t c = 0; c < n; ++c) x[r * n + c] *= scale * gain[c];
  }
  return x;
}

/// Returns the inner product of a query and a key after their pairs (i, i + size / 2) have been
/// rotated by their positions. Each pair is taken as a complex number. If q is rotated by the angle
/// a and k by the angle b, q conj(k) is rotated by a - b. Its real part is the inner product.
double turned_product(double const* q, double const* k, std::size_t size, double distance,
                      double base) {
  double sum = 0;
  std::size_t const half = size / 2;
  for (std::size_t i = 0; i < half; ++i) {
    double const angle = distance *
                         std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(size));
    double const real = q[i] * k[i] + q[half + i] * k[half + i];
    double const imaginary = q[half + i] * k[i] - q[i] * k[half + i];
    sum += real * std::cos(angle) - imaginary * std::sin(angle);
  }
  return sum;
}

values_t grouped_attention_of(values_t const& qkv, std::size_t length, nn::llama_options const& o) {
  auto const groups = static_cast<std::size_t>(o.kv_heads);
  auto const queries = static_cast<std::size_t>(o.heads) / groups;
  auto const size = static_cast<std::size_t>(o.features / o.heads);
  std::size_t const token = groups * (queries + 2) * size, tokens = qkv.size() / token;
  values_t y;
  for (std::size_t row = 0; row < tokens; ++row)
    for (std::size_t g = 0; g < groups; ++g)
      for (std::size_t head = 0; head < queries; ++head) {
        auto const at = [&](std::size_t other, std::size_t part) {
          return qkv.data() + other * token + (g * (queries + 2) + part) * size;
        };
        values_t mixed(size);
        double total = 0;
        for (std::size_t other = row / length * length; other <= row; ++other) {
          double const score = turned_product(at(row, head), at(other, queries), size,
                                              static_cast<double>(row - other), o.rotary_base);
          double const weight = std::exp(score / std::sqrt(static_cast<double>(size)));
          total += weight;
          for (std::size_t i = 0; i < size; ++i) mixed[i] += weight * at(other, queries + 1)[i];
        }
        for (double const v : mixed) y.push_back(v / total);
      }
  return y;
}

/// Returns the logits of a Llama, computed from its parameters, which are in the order of the net.
/// A tied net has no last matrix.
values_t llama_by_hand(whole_parameters const& all, std::vector<std::int32_t> const& ids,
                       std::size_t length, nn::llama_options const& o, bool tied) {
  auto const d = static_cast<std::size_t>(o.features);
  std::size_t next = 0;
  auto const& table = all[next++];
  values_t x;
  for (auto const id : ids)
    for (std::size_t c = 0; c < d; ++c) x.push_back(table[static_cast<std::size_t>(id) * d + c]);
  auto const add = [&](values_t const& y) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
  };
  for (int block = 0; block < o.layers; ++block) {
    auto const normal = rms_norm_of(x, all[next], o.epsilon);
    auto const qkv = product(normal, all[next + 1], d);
    add(product(grouped_attention_of(qkv, length, o), all[next + 2], d));
    auto const second = rms_norm_of(x, all[next + 3], o.epsilon);
    auto gate = product(second, all[next + 4], d);
    auto const up = product(second, all[next + 5], d);
    for (std::size_t i = 0; i < gate.size(); ++i) gate[i] *= up[i] / (1 + std::exp(-gate[i]));
    add(product(gate, all[next + 6], static_cast<std::size_t>(o.hidden)));
    next += 7;
  }
  auto const last = rms_norm_of(x, all[next++], o.epsilon);
  if (!tied) return product(last, all[next], d);
  values_t transposed(table.size());
  std::size_t const words = table.size() / d;
  for (std::size_t w = 0; w < words; ++w)
    for (std::size_t c = 0; c < d; ++c) transposed[c * words + w] = table[w * d + c];
  return product(last, transposed, d);
}

template <class Net>
void check_llama_training(Net const& net) {
  nn::token_batch const batch{5, 4, 2};
  for (auto const& m : all_meshes()) {
    if (m.axes() > 2) continue;  // on three axes, a search takes seconds
    training_trial it(net, batch, m, 11, 11);
    check_usual_plans(it, m, small_llama.layers > 2 ? 1 : 3);
  }
}

}  // namespace

TEST_CASE("the logits of a Llama equal those of plain loops") {
  REQUIRE(small_llama.layers > 0);
  check_predictions(nn::llama(small_llama), nn::token_batch{3, 5}, 11,
                    [](auto const& values, auto const& ids) {
                      return llama_by_hand(values, ids, 5, small_llama, false);
                    });
}

TEST_CASE("a Llama trains under searched, data, tensor and ZeRO plans as on one process") {
  check_llama_training(nn::llama(small_llama));
}

TEST_CASE("a tied Llama trains under searched, data, tensor and ZeRO plans as on one process") {
  check_llama_training(nn::tied_llama(small_llama));
}

}  // namespace ashlar_test
