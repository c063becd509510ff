// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#include "cells.hpp"

#include <stdexcept>

#include <ashlar/machine/presets.hpp>
#include <ashlar/machine/slowest.hpp>
#include <ashlar/nn/bert.hpp>
#include <ashlar/nn/describe.hpp>
#include <ashlar/nn/tied.hpp>
#include <ashlar/nn/vgg.hpp>

namespace ashlar_bench {

namespace nn = ashlar::nn;
namespace machines = ashlar::machines;

namespace {

/// A chain of layers of which only the parameters and the number of operations are known. Plans can
/// split these layers only by samples.
class described_chain {
 public:
  explicit described_chain(std::int64_t samples, std::int64_t features) : x_{samples, features} {}

  /// Adds a layer that maps every sample to `values` numbers. For a sample, the forward pass takes
  /// `flops` operations, and the backward pass takes twice as many.
  void add(char const* name, std::vector<ashlar::shape> const& parameters, std::int64_t values,
           double flops) {
    search::layer_spec s;
    s.name = name;
    s.x = x_;
    s.y = {x_[0], values};
    ashlar::training_row row{ashlar::split(0, 0), ashlar::split(0, 0), ashlar::split(0, 0),
                             ashlar::split(0, 0)};
    for (auto const& extents : parameters) {
      s.parameters.push_back({"value", extents, true});
      row.use.push_back(ashlar::broadcast());
      row.grad.push_back(ashlar::partial());
    }
    s.rows.push_back(row);
    s.forward_flops = flops * static_cast<double>(x_[0]);
    s.backward_flops = 2 * s.forward_flops;
    s.gradient_flops = s.forward_flops;
    s.forward_values = s.backward_values = s.gradient_values = static_cast<double>(s.y.elements());
    s.saved_values = static_cast<double>(x_.elements());
    s.backward = search::backward_form::halves;
    if (net_.size() == 0) s = search::without_dx(s);
    net_.add(s);
    x_ = s.y;
  }

  /// Adds a convolution from `in` to `out` channels without bias, whose kernel has `size` x `size`
  /// pixels. The scale and shift of a batch norm of `normed` channels belong to the same layer. The
  /// output has `side` x `side` pixels.
  void convolve(std::int64_t in, std::int64_t out, std::int64_t size, std::int64_t side,
                std::int64_t normed) {
    double const flops = 2.0 * double(in * size * size) * double(out * side * side);
    add("convolution", {{out, in, size, size}, {normed}, {normed}}, out * side * side, flops);
  }
  void linear(std::int64_t in, std::int64_t out) {
    add("linear", {{in, out}, {out}}, out, 2.0 * double(in * out));
  }

  search::problem with_loss() {
    net_.add(nn::softmax_cross_entropy().spec(x_));
    return net_;
  }

 private:
  search::problem net_;
  ashlar::shape x_;
};

search::problem resnet101(std::int64_t samples) {
  described_chain net(samples, 3 * 224 * 224);
  net.convolve(3, 64, 7, 112, 64);
  std::int64_t in = 64, width = 64, side = 56;
  for (int const blocks : {3, 4, 23, 3}) {
    for (int k = 0; k < blocks; ++k) {
      if (k == 0) net.convolve(in, 4 * width, 1, side, 4 * width);  // the shortcut
      net.convolve(in, width, 1, side, width);
      net.convolve(width, width, 3, side, width);
      net.convolve(width, 4 * width, 1, side, 4 * width);
      in = 4 * width;
    }
    width *= 2;
    side /= 2;
  }
  net.linear(2048, 1000);
  return net.with_loss();
}

search::problem densenet121(std::int64_t samples) {
  described_chain net(samples, 3 * 224 * 224);
  net.convolve(3, 64, 7, 112, 64);
  std::int64_t in = 64, side = 56;
  constexpr std::int64_t growth = 32;
  for (int const layers : {6, 12, 24, 16}) {
    for (int k = 0; k < layers; ++k, in += growth) {
      net.convolve(in, 4 * growth, 1, side, in);  // the norm is before the convolution
      net.convolve(4 * growth, growth, 3, side, 4 * growth);
    }
    if (side == 7) break;
    net.convolve(in, in / 2, 1, side, in);
    in /= 2;
    side /= 2;
  }
  net.add("norm", {{in}, {in}}, in, 0);
  net.linear(in, 1000);
  return net.with_loss();
}

search::problem ncf(std::int64_t samples) {
  constexpr std::int64_t users = 138493, items = 26744, product = 226, features = 512;
  described_chain net(samples, 2);
  net.add("users", {{users, product}}, product, 0);
  net.add("users", {{users, features}}, product + features, 0);
  net.add("items", {{items, product}}, 2 * product + features, 0);
  net.add("items", {{items, features}}, 2 * product + 2 * features, 0);
  net.linear(2 * features, 256);
  net.linear(256, 128);
  net.linear(128 + product, 2);
  return net.with_loss();
}

search::problem bert(int layers, std::int64_t features, std::int64_t heads, std::int64_t samples) {
  constexpr std::int64_t vocabulary = 30522;
  return search::any_length(nn::describe(
      nn::tied(nn::embedding(vocabulary, features), nn::layer_norm(features),
               nn::repeat(layers, nn::bert_block(features, heads)), nn::linear(features, features),
               nn::gelu(), nn::layer_norm(features), nn::output_embedding(features, vocabulary)),
      nn::token_batch{samples, 128}));
}

}  // namespace

search::problem model_on(std::string const& name, std::int64_t ranks) {
  if (name == "vgg16")
    return search::any_length(nn::describe(nn::vgg16(), nn::image_batch{32 * ranks, 3, 224, 224}));
  if (name == "resnet101") return resnet101(32 * ranks);
  if (name == "densenet121") return densenet121(32 * ranks);
  if (name == "bert-large") return bert(24, 1024, 16, 8 * ranks);
  if (name == "bert-3l") return bert(3, 256, 4, 8 * ranks);
  if (name == "ncf") return ncf(8192 * ranks);
  throw std::runtime_error("there is no model \"" + name + "\".");
}

namespace {

cluster of(char const* name, int nodes, int gpus, ashlar::machine m) {
  m.memory = 0;
  if (gpus == 1) return {name, {{"node", nodes, ashlar::link_tier::inter_node}}, m};
  return {name, {{"node", nodes, ashlar::link_tier::inter_node}, {"gpu", gpus}}, m};
}

}  // namespace

std::vector<cluster> paper_clusters() {
  auto const &titan = machines::titan_x_40gbe, &m60 = machines::g3_16xlarge,
             &t4 = machines::g4dn_12xlarge;
  return {of("A1", 16, 1, titan), of("A2", 11, 1, titan),
          of("B1", 2, 4, m60),    of("B3", 4, 4, m60),
          of("B5", 2, 4, t4),     of("B7", 4, 4, t4),
          of("B8", 8, 4, t4),     of("B11", 4, 4, ashlar::slowest(m60, t4))};
}

cluster cluster_named(std::string const& name) {
  for (auto const& c : paper_clusters())
    if (c.name == name) return c;
  throw std::runtime_error("there is no cluster \"" + name + "\".");
}

}  // namespace ashlar_bench
