// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Networks, meshes and machines for tests of the search. search_specs.hpp describes the layers.

#include <algorithm>
#include <cmath>
#include <random>

#include "search_specs.hpp"

namespace ashlar_test {

/// Returns a network of `blocks` GPT blocks without attention, between an embedding and the loss.
/// Each block is a residual around (layer norm, linear, gelu, linear, dropout).
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

/// Returns whether two costs are equal up to rounding errors.
inline bool close(double a, double b) {
  return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b)) + 1e-300;
}

/// Draws small networks, meshes and machines.
class random_cases {
 public:
  explicit random_cases(unsigned seed, bool branches = false)
      : generator_(seed), branches_(branches) {}

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
    if (net.micro_batches == 2) net.element_size = 2;  // gradients are still summed in 4 bytes
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
      if (branches_ && below(3) == 0) {
        x = add_branching(net, x, left);
        continue;
      }
      switch (below(8)) {
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
        case 5:
          x = add_skip(net, x, [&](search::problem& p) {
            int inner = below(left + 1);
            left -= inner;
            return add_layers(p, x, inner);
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

  shape add_branching(search::problem& net, shape const& x, int& left) {
    auto const join = joined_by(below(4));
    std::int64_t const out = 1 + below(9);
    int const last = x.rank() - 1;
    auto const inside = [&](search::problem& p) {
      int const before = p.size();
      int inner = below(left + 1);
      left -= inner;
      shape const y = add_layers(p, x, inner);
      if (join == joined_by::concatenation && p.size() > before) return y;
      p.add(linear_spec(y, out));
      shape made = y;
      made[last] = out;
      return made;
    };
    return add_branch(net, x, join, inside, inside);
  }

  std::mt19937 generator_;
  bool branches_;  ///< whether nets have branches
};

/// Marks random groups of consecutive layers, residuals, skips and branches as segments (units of
/// recomputation). The groups are among the elements `first` .. `last` - 1. Segments may also begin
/// inside residuals and skips.
inline void add_segments(search::problem& net, random_cases& draw, int first, int last) {
  for (int i = first; i < last;) {
    int end = i;
    for (int n = 1 + draw.below(3); n > 0 && end < last; --n) end = end_of(net, end) + 1;
    bool const residual = net[i].kind == search::element_kind::residual_begin;
    if (draw.below(3) > (residual ? 1 : 0)) {
      for (int k = i; k < end; ++k) net[k].segment = net.segments;
      ++net.segments;
      i = end;
    } else {
      if (residual) add_segments(net, draw, i + 1, net[i].partner);
      i = end_of(net, i) + 1;
    }
  }
}
inline void add_segments(search::problem& net, random_cases& draw) {
  add_segments(net, draw, 0, net.size());
}

}  // namespace ashlar_test
