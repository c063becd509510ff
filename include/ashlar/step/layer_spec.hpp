// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The description of a layer for the search: its extents, parameters, signature rows and amount of
// work, and the number of values saved for the backward pass. A layer returns its description from
// spec(). Users write spec() for their own layers. All counts are for the whole layer, before it is
// distributed.

#include <ashlar/layout/shape.hpp>
#include <ashlar/layout/sliding_window.hpp>
#include <ashlar/placement/placement.hpp>
#include <ashlar/signature/training_row.hpp>
#include <ashlar/step/names.hpp>
#include <ashlar/support/error.hpp>

namespace ashlar::search {
inline namespace step {

/// A name of at most 23 characters, for constant expressions. A longer name is cut.
struct label {
  char text[24]{};
  constexpr label() = default;
  constexpr label(char const* name) {
    for (int i = 0; i < 23 && name[i] != '\0'; ++i) text[i] = name[i];
  }
  friend constexpr bool operator==(label const&, label const&) = default;
};

/// The role of a parameter in a tie: two elements that read one parameter (problem.hpp).
///
///   none    not tied: one element reads the parameter
///   first   this element is the first of the two; it stores the parameter
///   later   this element is the later one; it has a gradient of its own, but stores nothing
enum class tie_role : signed char { none, first, later };

struct parameter_spec {
  label name;
  shape extents;
  bool in_backward = false;  ///< whether the backward pass reads this parameter, to compute dx
  tie_role tie = tie_role::none;
  bool is_apart = false;  ///< whether the tie's two elements are in different pipeline stages
  /// The placement at which a tied parameter must be stored. It has no axes if the search chooses
  /// this placement.
  placement store{};
  /// The most rows of the parameter that the passes of one micro-batch read, if they read it by
  /// ids, as an embedding table is read. The parameter counts as a matrix whose rows run along its
  /// last dim. A plan can then keep the gradient in rows (parameter_choice::in_rows). 0 means that
  /// the passes read all rows.
  std::int64_t rows_read = 0;
  friend constexpr bool operator==(parameter_spec const&, parameter_spec const&) = default;
};

/// The extents m, n, k of a layer's GEMMs. The cost model computes from them how much slower than
/// peak speed the GEMMs run. Each extent is a fixed factor, which no placement splits, times the
/// product of some dims. The bit masks name these dims: m and k name dims of x, n names dims of y,
/// and bit d stands for dim d. If all masks are 0, the GEMMs are priced at peak speed.
struct gemm_dims {
  unsigned m = 0, n = 0, k = 0;
  std::int64_t fixed_m = 1, fixed_n = 1, fixed_k = 1;

  constexpr bool known() const { return (m | n | k) != 0; }
  friend constexpr bool operator==(gemm_dims const&, gemm_dims const&) = default;
};

/// A dim of x and y along which a convolution or pooling window slides. If a signature row splits
/// this dim, the ranks exchange halos: the values that windows read beyond the border of a shard
/// (halo.hpp).
struct halo_spec {
  int dim = -1;  ///< -1: none
  sliding_window window;
  friend constexpr bool operator==(halo_spec const&, halo_spec const&) = default;
};

/// A dim of x whose elements form blocks that a rank must have whole, such as the groups of
/// channels of a group norm. A plan may split this dim only over a number of ranks that divides
/// `count`, the number of blocks. Then every shard consists of whole blocks.
struct block_spec {
  int dim = -1;  ///< -1: none
  std::int64_t count = 1;
  friend constexpr bool operator==(block_spec const&, block_spec const&) = default;
};

/// The computations into which a layer's backward pass is divided:
///
///   whole            one computation of dx and the parameters' gradients
///   separable        one computation of both, but the layer can also compute the parameters'
///                    gradients alone
///   halves           two independent computations: first the parameters' gradients, then dx
///   gradients_only   one computation of the parameters' gradients; dx is not needed
enum class backward_form : signed char { whole, separable, halves, gradients_only };

/// Returns whether the parameters' gradients are a separate computation of the backward pass.
constexpr bool has_own_weight_gradient(backward_form form) {
  return form == backward_form::halves || form == backward_form::gradients_only;
}

/// Elements that a layer keeps for its backward pass. A split of some dims of x divides them among
/// the ranks; a split of the other dims does not. An example is the keys of a context: they do not
/// depend on the positions of the queries, so a split of these positions does not divide the keys.
struct saved_values_beside {
  double values = 0;  ///< number of elements, before they are divided
  unsigned dims = 0;  ///< bit d: a split of dim d of x divides them
  friend constexpr bool operator==(saved_values_beside const&,
                                   saved_values_beside const&) = default;
};

/// A number in the computation of a layer that neither extents nor parameters show, such as the ε
/// of a norm. If weights were trained with another number, the layer gives wrong results. So the
/// number is compared with the number in the files of the weights (checkpoint/llama_check.hpp).
struct layer_constant {
  label name;
  double value = 0;
  friend constexpr bool operator==(layer_constant const&, layer_constant const&) = default;
};
inline constexpr int max_constants = 5;  ///< the most constants of one layer

struct layer_spec {
  label name;
  shape x, y;
  inplace_vector<parameter_spec, max_parameters> parameters;
  inplace_vector<shape, max_statistics> statistics;  ///< extents of each statistic
  training_table rows;
  double forward_flops = 0;  ///< floating-point operations of GEMMs
  double backward_flops = 0;
  double forward_values = 0;  ///< elements read or written by operations other than GEMMs
  double backward_values = 0;
  double saved_values = 0;  ///< elements kept for the backward pass that are split like x
  inplace_vector<saved_values_beside, 2> saved_beside;  ///< other elements that are kept
  backward_form backward = backward_form::whole;
  double gradient_flops = 0;  ///< the part of backward_flops for the parameters' gradients
  double gradient_values = 0;
  double workspace_values = 0;  ///< elements of scratch memory per rank, at any placement
  /// Elements of scratch memory that are split like x or like y, whichever is split less.
  double temporary_values = 0;
  gemm_dims gemm;
  halo_spec halo;
  block_spec blocks;
  inplace_vector<layer_constant, max_constants> constants;
  /// Extents of the context that the layer reads: a part of the batch beside x, such as captions.
  /// No dims: it reads none.
  shape context;
  /// Says whether y of a row depends on other rows of the batch, as in a batch norm, or on earlier
  /// batches. If so, micro-batches cannot take turns (check_turns.hpp).
  bool couples_rows = false;
  /// Says whether y of a sample depends on other samples of its micro-batch, as in a mixture of
  /// experts with a capacity, but not on other micro-batches. Then a batch is not filled up with
  /// copies of a sample (nn/sample_parts.hpp). A layer with couples_rows need not set this.
  bool couples_samples = false;
  /// If this is n > 1, the backward pass of the layer needs the forward passes of all micro-batches
  /// of a group of n. An example is a balance loss over n micro-batches (nn/dispatch.hpp). Then a
  /// multiple of n micro-batches must take turns (check_turns.hpp).
  int turns_together = 1;
  /// The number of elements that the layer keeps of each token when tokens are generated, because
  /// later tokens of the sequence read them (nn/token_cache.hpp). In the cache, this number takes
  /// the place of the last extent of x. 0 means that the layer keeps none.
  std::int64_t cached_values = 0;
  /// True if the layer has parameters for the positions of tokens, and its passes count the
  /// positions of new tokens from the number of tokens in nn::pass::cache. If this is false for a
  /// layer whose parameters depend on the number of tokens, a net with this layer cannot generate
  /// tokens.
  bool continues_positions = false;
  friend constexpr bool operator==(layer_spec const&, layer_spec const&) = default;
};

/// Returns whether a layer routes the tokens of a dense input to experts: its output is a routed
/// tensor (layout/shape.hpp).
constexpr bool routes_tokens(layer_spec const& spec) {
  return spec.y.is_routed() && !spec.x.is_routed();
}

/// Refuses a routed tensor (layout/shape.hpp) as the input of a layer that takes dense tensors.
[[noreturn]] inline void refuse_rows(char const* layer) {
  throw error(layer, "the input of the layer is rows of experts. Put nn::combine before it.");
}

/// Returns the placement at which a layer reads data of the batch beside x: the targets of a loss,
/// or a context. An axis that splits one of the first `dims` dims of x splits the same dim of these
/// data. Along all other axes, every rank reads all of these data.
constexpr placement split_like_x(placement x, int dims) {
  for (auto& along : x.axis)
    if (!along.is_split() || along.dim >= dims) along = broadcast();
  return x;
}

/// Returns the spec of a layer whose dx is not needed because its input is the data of the net. If
/// the layer cannot compute the parameters' gradients without dx, returns its spec unchanged.
constexpr layer_spec without_dx(layer_spec spec) {
  if (spec.backward == backward_form::whole) return spec;
  spec.backward = backward_form::gradients_only;
  spec.backward_flops = spec.gradient_flops;
  spec.backward_values = spec.gradient_values;
  for (auto& parameter : spec.parameters) parameter.in_backward = false;
  return spec;
}

}  // namespace step
}  // namespace ashlar::search
