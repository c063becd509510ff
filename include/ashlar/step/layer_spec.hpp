// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// What the search needs to know of a layer: extents, parameters, the table of its training rows,
// the work it does and what it keeps for the backward pass. nn::describe fills one in per layer; a
// user's own layer fills in its own. All counts are of the whole, undistributed layer; what a net begins
// with may leave dx out of them (nn/layer.hpp).

#include <ashlar/layout/shape.hpp>
#include <ashlar/layout/sliding_window.hpp>
#include <ashlar/signature/training_row.hpp>
#include <ashlar/step/names.hpp>

namespace ashlar::search {
inline namespace step {

/// A short name that is a value in constant expressions.
struct label {
  char text[24]{};
  constexpr label() = default;
  constexpr label(char const* name) {
    for (int i = 0; i < 23 && name[i] != '\0'; ++i) text[i] = name[i];
  }
  friend constexpr bool operator==(label const&, label const&) = default;
};

struct parameter_spec {
  label name;
  shape extents;
  bool in_backward =
      false;  ///< dx depends on its value, which the backward pass gathers again if it is sharded
  friend constexpr bool operator==(parameter_spec const&, parameter_spec const&) = default;
};

/// The extents m, n, k of the GEMMs that a layer does, as products of dims (bit d: dim d) of x for m
/// and k, of y for n, and of parts that no placement splits. Without any, all run at the peak.
struct gemm_dims {
  unsigned m = 0, n = 0, k = 0;
  std::int64_t fixed_m = 1, fixed_n = 1, fixed_k = 1;

  constexpr bool known() const { return (m | n | k) != 0; }
  friend constexpr bool operator==(gemm_dims const&, gemm_dims const&) = default;
};

/// A dim of x and y along which a window slides: rows of the table that split it need, beside what
/// they say, an exchange of what the window reaches over the border (halo.hpp).
struct halo_spec {
  int dim = -1;  ///< -1: none
  sliding_window window;
  friend constexpr bool operator==(halo_spec const&, halo_spec const&) = default;
};

/// In which actions a layer's backward pass comes:
///
///   whole            one that makes dx and the parameters' gradients
///   separable        the same, and the layer can make the parameters' gradients alone
///   halves           two, the parameters' gradients and then dx: each can be done without the other
///   gradients_only   one that makes the parameters' gradients; there is no dx
enum class backward_form : signed char { whole, separable, halves, gradients_only };

struct layer_spec {
  label name;
  shape x, y;
  inplace_vector<parameter_spec, max_parameters> parameters;
  inplace_vector<shape, max_statistics> statistics;  ///< extents of training_row::stat
  training_table rows;
  double forward_flops = 0;  ///< of GEMMs
  double backward_flops = 0;
  double forward_values = 0;  ///< elements read or written by what is not GEMM
  double backward_values = 0;
  double saved_values = 0;  ///< elements kept from forward to backward
  backward_form backward = backward_form::whole;
  double gradient_flops = 0;  ///< of the backward ones, those of the parameters' gradients
  double gradient_values = 0;
  double workspace_values = 0;  ///< elements that a rank's kernels need besides, however it lies
  gemm_dims gemm;
  halo_spec halo;
  friend constexpr bool operator==(layer_spec const&, layer_spec const&) = default;
};

/// The spec of a layer whose dx nobody needs, because its input is the data of the net. A layer that
/// cannot leave dx out stays as it is.
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
