// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#include "cells.hpp"

#include <algorithm>
#include <stdexcept>

#include <ashlar/nn/describe.hpp>
#include <ashlar/nn/hidup_models.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/search/hidup.hpp>
#include <ashlar/step/high_water.hpp>

#include "../support/clock.hpp"

namespace ashlar_bench {

namespace nn = ashlar::nn;

namespace {

/// Returns the paper's text net with `layers` layers instead of 8.
auto bert_of(int layers, nn::moe_options const& o) {
  return nn::chain(nn::embedding(33278, 768), nn::layer_norm(768),
                   nn::repeat(layers / 2, nn::detail::hidup_blocks(o)),
                   nn::linear(768, 33278, false));
}

}  // namespace

ashlar::topology cell::mesh() const {
  if (nodes == 1) return {{"gpu", gpus}};
  if (gpus == 1) return {{"node", nodes, ashlar::link_tier::inter_node}};
  return {{"node", nodes, ashlar::link_tier::inter_node}, {"gpu", gpus}};
}
ashlar::machine cell::machine() const {
  ashlar::machine m;
  m.intra = {3.4e-6, 8 / 200e9};  // NVLink, section 6.3 of the paper
  m.inter = {1.4e-5, 8 / (gbit * 1e9)};
  m.flops = 9.2e12;
  m.memory_bandwidth = 9e11;
  m.gemm_half = 128;
  return m;
}

search::problem problem_of(cell const& c, int micro_batches) {
  bool const is_text = c.net.rfind("bert", 0) == 0;
  nn::moe_options const experts{.experts = (is_text ? 1 : 2) * c.ranks(),
                                .chosen = c.net.find("sgmoe") != std::string::npos ? 2 : 1};
  std::int64_t const samples = std::int64_t{c.samples > 0 ? c.samples
                                            : is_text     ? 32
                                                          : 64} *
                               c.ranks() / micro_batches;
  nn::token_batch const tokens{samples, 128, micro_batches};
  search::problem net = !is_text ? search::any_length(nn::describe(nn::vit_moe(experts),
                                                                   ashlar::shape{samples, 64, 48},
                                                                   micro_batches))
                        : c.layers != 8
                            ? search::any_length(nn::describe(bert_of(c.layers, experts), tokens))
                            : search::any_length(nn::describe(nn::bert_moe(experts), tokens));
  net.element_size = net.accumulation_size = 4;
  return net;
}

double outcome::overlap() const {
  double const shorter = std::min(work, communication);
  return shorter > 0 ? (work + communication - seconds) / shorter : 0;
}

outcome timed(search::problem const& net, search::plan const& plan, ashlar::machine const& m,
              bool overlap) {
  auto const serial = search::build(net, plan, m);
  auto const made = overlap ? search::overlapped(serial, m).made : serial;
  auto const line = search::timeline_of(made, m);
  outcome o;
  o.plan = plan;
  o.seconds = line.seconds;
  o.work = line.work;
  o.communication = line.communication;
  o.memory = search::high_water(made).peak;
  return o;
}

outcome ours_in(cell const& c, int micro_batches, ashlar::topology const& mesh,
                ashlar::machine const& m) {
  double const begin = cpu_seconds();
  auto net = problem_of(c, micro_batches);
  net.overlap = true;
  net.interleaved = micro_batches;
  auto const plan = search::optimal(net, mesh, m);
  double const cpu = cpu_seconds() - begin;
  auto o = timed(net, plan, m, true);
  o.cpu = cpu;
  return o;
}
outcome ours(cell const& c) {
  auto const one = ours_in(c, 1, c.mesh(), c.machine()), two = ours_in(c, 2, c.mesh(), c.machine());
  auto const bound = [](outcome const& o) { return o.seconds * (1 - o.plan.gap); };
  outcome best = two.seconds < one.seconds ? two : one;
  best.plan.gap = std::max(0.0, 1 - std::min(bound(one), bound(two)) / best.seconds);
  best.cpu = one.cpu + two.cpu;
  return best;
}

outcome theirs(cell const& c) {
  double const begin = cpu_seconds();
  auto net = problem_of(c, 2);
  auto const plan = search::hidup(net, c.mesh(), c.machine());
  double const cpu = cpu_seconds() - begin;
  net.interleaved = 2;
  auto o = timed(net, plan, c.machine(), true);
  o.cpu = cpu;
  return o;
}

outcome expert_parallel(cell const& c) {
  auto const net = problem_of(c, 1);
  return timed(net, search::expert_parallel(net, c.mesh(), c.machine()), c.machine(), false);
}
outcome data_parallel(cell const& c) {
  auto const net = problem_of(c, 1);
  return timed(net, search::data_parallel(net, c.mesh(), c.machine()), c.machine(), true);
}

}  // namespace ashlar_bench
