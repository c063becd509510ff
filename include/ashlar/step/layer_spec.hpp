// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The description of a layer for the search: extents, parameters, the table of its training rows,
// the amount of its work, and how much it saves for the backward pass. nn::describe makes it from a
// layer, and users write it for layers of their own. All counts are those of the whole,
// undistributed layer. The first layer of a net may leave out dx (nn/layer.hpp).

#include <ashlar/layout/shape.hpp>
#include <ashlar/layout/sliding_window.hpp>
#include <ashlar/signature/training_row.hpp>
#include <ashlar/step/names.hpp>

namespace ashlar::search {
inline namespace step {

/// A short name that can be used in constant expressions.
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
  bool in_backward = false;  ///< whether dx depends on it, so that the backward pass reads it
  friend constexpr bool operator==(parameter_spec const&, parameter_spec const&) = default;
};

/// The extents m, n, k of a layer's GEMMs. Each extent is the product of some dims and a fixed
/// factor that no placement splits. For m and k these are dims of x, for n dims of y; bit d stands
/// for dim d. If all bits are 0, the GEMMs are priced at peak speed.
struct gemm_dims {
  unsigned m = 0, n = 0, k = 0;
  std::int64_t fixed_m = 1, fixed_n = 1, fixed_k = 1;

  constexpr bool known() const { return (m | n | k) != 0; }
  friend constexpr bool operator==(gemm_dims const&, gemm_dims const&) = default;
};

/// A dim of x and y along which a window slides. Rows that split this dim require an exchange of
/// the coordinates that windows read beyond a shard's border (halo.hpp).
struct halo_spec {
  int dim = -1;  ///< -1: none
  sliding_window window;
  friend constexpr bool operator==(halo_spec const&, halo_spec const&) = default;
};

/// The actions in which a layer's backward pass runs:
///
///   whole            one action makes dx and the parameters' gradients
///   separable        the same, but the layer can make the parameters' gradients alone
///   halves           two actions, first the parameters' gradients and then dx, independently
///   gradients_only   one action makes the parameters' gradients; there is no dx
enum class backward_form : signed char { whole, separable, halves, gradients_only };

struct layer_spec {
  label name;
  shape x, y;
  inplace_vector<parameter_spec, max_parameters> parameters;
  inplace_vector<shape, max_statistics> statistics;  ///< their extents
  training_table rows;
  double forward_flops = 0;  ///< floating-point operations of GEMMs
  double backward_flops = 0;
  double forward_values = 0;  ///< elements read or written by operations other than GEMMs
  double backward_values = 0;
  double saved_values = 0;  ///< elements saved from forward to backward
  backward_form backward = backward_form::whole;
  double gradient_flops = 0;  ///< the part of backward_flops for the parameters' gradients
  double gradient_values = 0;
  double workspace_values = 0;  ///< extra elements that a rank's kernels need, at any placement
  gemm_dims gemm;
  halo_spec halo;
  friend constexpr bool operator==(layer_spec const&, layer_spec const&) = default;
};

/// Returns the spec of a layer whose dx is not needed, because its input is the data of the net.
/// The spec of a layer that cannot leave out dx does not change.
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
