// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Nets, meshes and machines to search on: layer specs from the rule tables alone, without nn. Work
// counts are rough, as the tests ask for equality of algorithms, not for realism.

#include <algorithm>
#include <cmath>
#include <random>

#include <ashlar/search/problem.hpp>

namespace ashlar_test {

namespace search = ashlar::search;
using ashlar::shape;

constexpr double count(shape const& s) { return static_cast<double>(s.elements()); }

/// A linear layer with bias on the last dim of x, which has two or three dims.
constexpr search::layer_spec linear_spec(shape const& x, std::int64_t out) {
  search::layer_spec s;
  int const last = x.rank() - 1;
  s.name = "linear";
  s.x = s.y = x;
  s.y[last] = out;
  s.parameters.push_back({"weight", {x[last], out}, true});
  s.parameters.push_back({"bias", {out}, false});
  s.rows = x.rank() == 2 ? ashlar::linear_training_rows("md", "df", "mf", "f")
                         : ashlar::linear_training_rows("bsd", "df", "bsf", "f");
  s.forward_flops = 2.0 * count(x) * static_cast<double>(out);
  s.backward_flops = 2.0 * s.forward_flops;
  s.saved_values = count(x);
  return s;
}

/// A map from x to x.
constexpr search::layer_spec map_spec(search::label name, shape const& x,
                                      ashlar::training_table const& rows, double saved) {
  search::layer_spec s;
  s.name = name;
  s.x = s.y = x;
  s.rows = rows;
  s.forward_values = 2.0 * count(x);
  s.backward_values = 3.0 * count(x);
  s.saved_values = saved * count(x);
  return s;
}

constexpr search::layer_spec gelu_spec(shape const& x) {
  return map_spec("gelu", x, ashlar::nonlinear_training_rows(x.rank() == 2 ? "md" : "bsd"), 1);
}

constexpr search::layer_spec dropout_spec(shape const& x) {
  return map_spec("dropout", x, ashlar::independent_training_rows(x.rank()), 0);
}

constexpr search::layer_spec layer_norm_spec(shape const& x) {
  auto s = map_spec("layer_norm", x, ashlar::layer_norm_training_rows(x.rank()), 1);
  s.parameters.push_back({"gain", {x[x.rank() - 1]}, true});
  s.parameters.push_back({"bias", {x[x.rank() - 1]}, false});
  return s;
}

/// x: [batch, seq, 3 heads head_dim], seen as [batch, seq, heads, 3 head_dim].
constexpr search::layer_spec attention_spec(shape const& x, std::int64_t heads) {
  search::layer_spec s;
  s.name = "attention";
  s.x = {x[0], x[1], heads, x[2] / heads};
  s.y = {x[0], x[1], heads, x[2] / heads / 3};
  s.rows = ashlar::attention_training_rows();
  s.forward_flops = 4.0 * count(s.y) * static_cast<double>(x[1]);
  s.backward_flops = 2.0 * s.forward_flops;
  s.saved_values = 4.0 * count(s.y);
  return s;
}

constexpr search::layer_spec embedding_spec(shape const& ids, std::int64_t words, std::int64_t d) {
  search::layer_spec s;
  s.name = "embedding";
  s.x = ids;
  s.y = {ids[0], ids[1], d};
  s.parameters.push_back({"table", {words, d}, false});
  s.parameters.push_back({"positions", {ids[1], d}, false});
  s.rows = ashlar::embedding_training_rows(true);
  s.forward_values = s.backward_values = 2.0 * count(s.y);
  return s;
}

constexpr search::layer_spec cross_entropy_spec(shape const& x) {
  search::layer_spec s;
  s.name = "cross_entropy";
  s.x = x;
  shape rows;
  for (int d = 0; d + 1 < x.rank(); ++d) rows.extent.push_back(x[d]);
  s.statistics.push_back(rows);
  s.statistics.push_back(rows);
  s.rows = ashlar::cross_entropy_training_rows(x.rank());
  s.forward_values = 2.0 * count(x);
  s.backward_values = count(x);
  return s;
}

/// Adds a residual around what `inside(net)` adds.
template <class Problem, class Inside>
constexpr void add_residual(Problem& net, shape const& x, Inside inside) {
  int const begin = net.size();
  auto sum = map_spec("residual", x, ashlar::independent_training_rows(x.rank()), 0);
  sum.forward_values = sum.backward_values = 0;
  net.add(sum, search::element_kind::residual_begin);
  inside(net);
  net[begin].partner = net.size();
  sum.forward_values = sum.backward_values = 3.0 * count(x);
  net.add(sum, search::element_kind::residual_end, begin);
}

/// Linear layers and gelus in turn, widths d, 4 d, 4 d, d, ...
template <int N = search::dynamic_size>
constexpr search::basic_problem<N> mlp(int layers, std::int64_t batch, std::int64_t d) {
  search::basic_problem<N> net;
  for (int i = 0; i < layers; ++i) {
    bool const wide = (i + 1) / 2 % 2 == 1;
    shape const x{batch, wide ? 4 * d : d};
    if (i % 2 == 0) net.add(linear_spec(x, wide ? d : 4 * d));
    else net.add(gelu_spec(x));
  }
  return net;
}

/// `blocks` GPT blocks without attention's rank-4 view: residuals of (layer norm, linear, gelu,
/// linear, dropout) between an embedding and the loss.
inline search::problem block_net(int blocks, shape const& ids, std::int64_t d) {
  search::problem net;
  net.add(embedding_spec(ids, 11, d));
  shape const x{ids[0], ids[1], d}, wide{ids[0], ids[1], 4 * d};
  for (int b = 0; b < blocks; ++b)
    add_residual(net, x, [&](search::problem& p) {
      p.add(layer_norm_spec(x));
      p.add(linear_spec(x, 4 * d));
      p.add(gelu_spec(wide));
      p.add(linear_spec(wide, d));
      p.add(dropout_spec(x));
    });
  net.add(cross_entropy_spec(x));
  return net;
}

/// Whether two sums of seconds are one but for the order of their addends.
inline bool close(double a, double b) {
  return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b)) + 1e-300;
}

/// Draws small nets, meshes and machines.
class random_cases {
 public:
  explicit random_cases(unsigned seed) : generator_(seed) {}

  int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(generator_); }
  double log_uniform(double from, double to) {
    return from * std::pow(to / from, std::uniform_real_distribution<double>(0, 1)(generator_));
  }

  ashlar::topology mesh() {
    ashlar::topology t;
    char const* const names[] = {"a", "b", "c"};
    int const axes = 1 + below(3);
    for (int a = 0; a < axes; ++a)
      t.axis.push_back({names[a], 1 + below(4),
                        below(2) ? ashlar::link_tier::inter_node : ashlar::link_tier::intra_node});
    return t;
  }

  ashlar::machine machine() {
    ashlar::machine m;
    bool const latency = below(2), bandwidth = !latency || below(2);
    for (auto* l : {&m.intra, &m.inter})
      *l = {latency ? log_uniform(1e-7, 1e-3) : 0, bandwidth ? log_uniform(1e-12, 1e-8) : 0};
    m.flops = log_uniform(1e8, 1e13);
    m.memory_bandwidth = log_uniform(1e8, 1e12);
    return m;
  }

  search::problem net() {
    search::problem net;
    net.micro_batches = 1 + below(3);
    net.optimizer_states = below(3);
    if (net.micro_batches == 2) net.element_size = 2;  // and sums in 4 bytes
    int left = 1 + below(5);
    shape x{1 + below(6), 1 + below(6), 3 * (1 + below(4))};
    if (below(3) == 0) x = {x[0], x[2]};
    if (x.rank() == 3 && below(2)) {
      net.add(embedding_spec({x[0], x[1]}, 1 + below(7), x[2]));
      --left;
    }
    x = add_layers(net, x, left);
    if (net.size() == 0 || below(2)) net.add(cross_entropy_spec(x));
    return net;
  }

 private:
  shape add_layers(search::problem& net, shape x, int& left) {
    while (left > 0) {
      int const last = x.rank() - 1;
      --left;
      switch (below(7)) {
        case 0: net.add(gelu_spec(x)); break;
        case 1: net.add(layer_norm_spec(x)); break;
        case 2: net.add(dropout_spec(x)); break;
        case 3:
          if (x.rank() == 3 && x[2] % 3 == 0) {
            std::int64_t const heads = x[2] % 6 == 0 ? 2 : 1;
            net.add(attention_spec(x, heads));
            x[2] /= 3;
          } else {
            net.add(gelu_spec(x));
          }
          break;
        case 4:
          add_residual(net, x, [&](search::problem& p) {
            int inner = below(left + 1);
            left -= inner;
            shape const y = add_layers(p, x, inner);
            if (!(y == x)) p.add(linear_spec(y, x[last]));
          });
          break;
        default: {
          std::int64_t const out = 1 + below(9);
          net.add(linear_spec(x, out));
          x[last] = out;
        }
      }
    }
    return x;
  }

  std::mt19937 generator_;
};

}  // namespace ashlar_test
