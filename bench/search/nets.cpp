// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#include "nets.hpp"

#include <stdexcept>

#include <ashlar/nn/alexnet.hpp>
#include <ashlar/nn/describe.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/nn/vgg.hpp>

namespace ashlar_bench {
namespace {

namespace nn = ashlar::nn;
namespace search = ashlar::search;
using ashlar::broadcast;
using ashlar::partial;
using ashlar::split;

/// A problem of a length that the compiler knows, as one that it does not.
template <int N>
search::problem of_any_length(search::basic_problem<N> const& from) {
  search::problem p;
  p.layers.assign(from.layers.begin(), from.layers.end());
  p.elements.assign(from.elements.begin(), from.elements.end());
  p.element_size = from.element_size;
  p.micro_batches = from.micro_batches;
  p.optimizer_states = from.optimizer_states;
  return p;
}

/// Adds a perceptron's layers, a relu after each, and returns its output's extents.
template <class Widths>
ashlar::shape add_perceptron(search::problem& net, ashlar::shape x, Widths const& widths) {
  for (auto const width : widths) {
    auto const linear = nn::linear(x[1], width).spec(x);
    net.add(linear);
    auto const relu = nn::relu().spec(linear.y);
    net.add(relu);
    x = relu.y;
  }
  return x;
}

/// DLRM's look-up: of every table one row per sample, put beside the dense features,
/// x [batch, d] -> y [batch, tables + 1, d]. Gradients of the tables count as dense ones.
search::layer_spec look_up(ashlar::shape const& x, std::int64_t tables, std::int64_t entries) {
  search::layer_spec s;
  s.name = "look_up";
  s.x = x;
  s.y = {x[0], tables + 1, x[1]};
  s.parameters.push_back({"tables", {tables, entries, x[1]}, false});
  // x, y, dy, dx, use, grad: by samples; by features; by tables, each rank its own slots of y; by
  // rows, where the other ranks' rows count as zeros.
  s.rows.push_back({split(0), split(0), split(0), split(0), {broadcast()}, {partial()}, {}});
  s.rows.push_back({split(1), split(2), split(2), split(1), {split(2)}, {split(2)}, {}});
  s.rows.push_back({broadcast(), split(1), split(1), partial(), {split(0)}, {split(0)}, {}});
  s.rows.push_back({broadcast(), partial(), broadcast(), broadcast(), {split(1)}, {split(1)}, {}});
  s.rows.push_back(
      {broadcast(), broadcast(), broadcast(), broadcast(), {broadcast()}, {broadcast()}, {}});
  for (auto& r : s.rows)  // roles of a table have no order among axes
    for (auto* role : {&r.x, &r.y, &r.dy, &r.dx, &r.use[0], &r.grad[0]}) role->depth = 0;
  s.forward_values = s.backward_values = 2.0 * double(s.y.elements());
  return s;
}

/// Products of all pairs of a sample's vectors, beside the dense ones: [batch, n, d] -> [batch,
/// d + n (n - 1) / 2].
search::layer_spec interaction(ashlar::shape const& x) {
  search::layer_spec s;
  s.name = "interaction";
  s.x = x;
  s.y = {x[0], x[2] + x[1] * (x[1] - 1) / 2};
  for (auto const role : {split(0, 0), broadcast()})
    s.rows.push_back({role, role, role, role, {}, {}, {}});
  s.rows.push_back({broadcast(), broadcast(), partial(), partial(), {}, {}, {}});
  s.forward_flops = 2.0 * double(x.elements()) * double(x[1]);
  s.backward_flops = 2.0 * s.forward_flops;
  s.saved_values = double(x.elements());
  return s;
}

search::problem dlrm(std::int64_t samples) {
  search::problem net;
  auto const dense = add_perceptron(net, {samples, 13}, std::vector<std::int64_t>{512, 256, 64});
  auto const tables = look_up(dense, 26, 1'000'000);
  net.add(tables);
  auto const pairs = interaction(tables.y);
  net.add(pairs);
  auto const top = add_perceptron(net, pairs.y, std::vector<std::int64_t>{512, 256});
  auto const last = nn::linear(top[1], 2).spec(top);  // clicked or not
  net.add(last);
  net.add(nn::softmax_cross_entropy().spec(last.y));
  return net;
}

}  // namespace

std::vector<named_net> all_nets() {
  nn::image_batch const images{512, 3, 224, 224};
  auto const dense = nn::chain(nn::linear(25088, 4096), nn::relu(), nn::linear(4096, 4096),
                               nn::relu(), nn::linear(4096, 1000));
  return {{"alexnet", of_any_length(nn::describe(nn::alexnet(), images))},
          {"vgg13", of_any_length(nn::describe(nn::vgg13(), images))},
          {"gpt", of_any_length(nn::describe(nn::gpt(nn::gpt_sizes::daint_64),
                                             nn::token_batch{64, 1024, 16}))},
          {"dlrm", dlrm(2048)},
          {"dense", of_any_length(nn::describe(dense, nn::feature_batch{512, 25088}))}};
}

named_net const& net_named(std::vector<named_net> const& nets, std::string const& name) {
  std::string names;
  for (auto const& n : nets) {
    if (n.name == name) return n;
    names += (names.empty() ? "" : ", ") + n.name;
  }
  throw std::runtime_error("--nets: there is no net \"" + name + "\". Use: " + names + ".");
}

}  // namespace ashlar_bench
