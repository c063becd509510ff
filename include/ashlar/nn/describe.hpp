// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Turns a net and a batch into the problem that the search solves. A net that does not end in a
// loss of its own (loss.hpp) gets softmax cross-entropy as its last element.
//
//   nn::describe(net, nn::token_batch{8, 256})          ids [8, 256], trained in float
//   nn::describe<double>(net, nn::feature_batch{64, 784})
//   nn::describe(net, nn::image_batch{64, 3, 32, 32})
//
// If the length of the net is known at compile time, the problem, and so the plan, can be
// constexpr.

#include <ashlar/nn/cross_entropy.hpp>
#include <ashlar/nn/repeat.hpp>
#include <ashlar/support/accumulation.hpp>

namespace ashlar::nn {

/// A batch of token sequences of equal length. The targets are ids, one for each token, unless the
/// net's loss requires others.
struct token_batch {
  static constexpr bool holds_tokens = true;
  std::int64_t sequences = 1;  ///< the number of sequences in one micro-batch
  std::int64_t length = 1;
  int micro_batches = 1;  ///< micro-batches per step; their gradients are added up

  constexpr shape extents() const { return {sequences, length}; }
};

/// A batch of rows of numbers. The targets are one class per row, unless the net's loss requires
/// others.
struct feature_batch {
  static constexpr bool holds_tokens = false;
  std::int64_t samples = 1;  ///< the number of samples in one micro-batch
  std::int64_t features = 1;
  int micro_batches = 1;

  constexpr shape extents() const { return {samples, features}; }
};

/// A batch of category ids, for a recommendation model. The targets are one class per sample,
/// unless the net's loss requires others.
struct category_batch {
  static constexpr bool holds_tokens = true;
  std::int64_t samples = 1;  ///< the number of samples in one micro-batch
  std::int64_t categories = 1;
  int micro_batches = 1;

  constexpr shape extents() const { return {samples, categories}; }
};

/// A batch of images. The targets are one class per image, unless the net's loss requires others.
struct image_batch {
  static constexpr bool holds_tokens = false;
  static constexpr int rank = 4;
  std::int64_t samples = 1;  ///< the number of samples in one micro-batch
  std::int64_t channels = 1, height = 1, width = 1;
  int micro_batches = 1;

  constexpr shape extents() const { return {samples, channels, height, width}; }
};

/// Returns the number of dims of a batch: Batch::rank if it exists, otherwise 2.
template <class Batch>
constexpr int batch_rank() {
  if constexpr (requires { Batch::rank; }) return Batch::rank;
  else return 2;
}

/// Returns the net with its loss: the net itself if it ends in a loss, otherwise the net followed
/// by softmax_cross_entropy.
template <class Net>
constexpr auto with_loss(Net const& net) {
  if constexpr (ends_in_loss<Net>) return net;
  else return chain(net, softmax_cross_entropy());
}

/// Returns the extents of the context that layers of the net read, [batch, ..], or a shape without
/// dims if no layer reads one. A context is a part of each micro-batch beside its input
/// (layer_spec::context).
template <int N>
constexpr shape context_extents(search::basic_problem<N> const& problem) {
  shape context;
  for (int i = 0; i < problem.size(); ++i)
    if (problem.spec(i).context.rank() > 0) context = problem.spec(i).context;
  return context;
}

namespace detail {

/// Throws ashlar::error if layers of the net read contexts of different extents, or if a context is
/// not [samples, length, width] with as many samples as its layer's input.
template <int N>
constexpr void check_contexts(search::basic_problem<N> const& problem) {
  shape const one = context_extents(problem);
  for (int i = 0; i < problem.size(); ++i) {
    search::layer_spec const& spec = problem.spec(i);
    shape const& own = spec.context;
    if (own.rank() > 0 && (own.rank() != 3 || spec.x.rank() == 0 || own[0] != spec.x[0]))
      throw error("nn::describe", std::string("element ") + std::to_string(i) + " (" +
                                      spec.name.text + ") reads a context of " + to_string(own) +
                                      ". Write layer_spec::context as {samples, length, width}, "
                                      "with as many samples as x, " +
                                      to_string(spec.x) + ", has.");
    if (own.rank() > 0 && !(own == one))
      throw error("nn::describe", std::string("element ") + std::to_string(i) + " (" +
                                      problem.spec(i).name.text + ") reads a context of " +
                                      to_string(own) + ", but another one reads " + to_string(one) +
                                      ". A batch has one context, so give them the same extents.");
  }
}

}  // namespace detail

/// Returns the problem of placing `net`, trained with elements of type T. `input` is the shape of a
/// micro-batch. `optimizer_states` is the number of values that the optimizer stores per element of
/// a parameter. This number affects predicted memory only. Throws ashlar::error if consecutive
/// layers do not fit each other, if an extent of `input` or `micro_batches` is below 1, or if
/// layers read contexts that do not fit each other or the input.
template <class T = float, class Layer>
constexpr auto describe(Layer const& net, shape const& input, int micro_batches,
                        int optimizer_states = 2) {
  auto const whole = with_loss(net);
  constexpr int elements = element_count<decltype(with_loss(net))>();
  search::basic_problem<(elements < 0 ? search::dynamic_size : elements)> problem;
  problem.element_size = static_cast<int>(sizeof(T));
  problem.accumulation_size = static_cast<int>(sizeof(accumulation_t<T>));
  problem.micro_batches = micro_batches;
  problem.optimizer_states = optimizer_states;
  for (int d = 0; d < input.rank(); ++d)
    if (input[d] < 1)
      throw error("nn::describe", "the batch " + to_string(input) + " has an empty dim.");
  if (micro_batches < 1)
    throw error("nn::describe", "a step has " + std::to_string(micro_batches) +
                                    " micro-batches; it needs 1 or more.");
  describe_into(whole, problem, input);
  detail::check_contexts(problem);
  if (takes_tokens<Layer>() && context_extents(problem).rank() > 0)
    throw error("nn::describe",
                "the inputs of the net are ids, but a layer reads a context of numbers. "
                "Contexts follow the input of nets whose inputs are numbers.");
  return problem;
}
/// Returns the problem of placing `net`, trained on batches like `batch`. Requires a batch of the
/// kind that the net accepts, such as an image_batch for a net that begins with a convolution.
template <class T = float, class Layer, class Batch>
  requires requires(Batch const& b) { b.extents(); }
constexpr auto describe(Layer const& net, Batch const& batch, int optimizer_states = 2) {
  static_assert(
      takes_tokens<Layer>() == Batch::holds_tokens && input_rank<Layer>() == batch_rank<Batch>(),
      "nn::describe: a net that begins with an embedding takes a token_batch, with "
      "embedding_tables a category_batch, with convolution or pooling an image_batch, any other "
      "net a feature_batch.");
  return describe<T>(net, batch.extents(), batch.micro_batches, optimizer_states);
}

/// Returns the number of elements of all parameters of a problem. Two tied parameters count once.
template <int N>
constexpr std::int64_t parameter_count(search::basic_problem<N> const& problem) {
  std::int64_t n = 0;
  for (int i = 0; i < problem.size(); ++i)
    for (auto const& p : problem.spec(i).parameters)
      if (p.tie != step::tie_role::later) n += p.extents.elements();
  return n;
}

}  // namespace ashlar::nn
