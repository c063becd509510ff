// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The part of a placed layer (node.hpp) that does not depend on the layer's type, so that it is
// compiled once for all layers.

#include <algorithm>
#include <optional>
#include <string>

#include <ashlar/nn/execution.hpp>
#include <ashlar/step/halo.hpp>
#include <ashlar/tensor/redistribute.hpp>

namespace ashlar::nn {

template <class Processor>
class layer_node_base : public element_node<Processor> {
 public:
  bool reads_context() const final { return spec_.context.rank() > 0; }
  char const* name() const final { return spec_.name.text; }

 protected:
  /// The tensors that a forward pass reads.
  struct read_forward {
    any_tensor<Processor> const* x = nullptr;
    any_tensor<Processor> const* parameters[max_parameters]{};
    any_tensor<Processor> const* statistics[max_statistics]{};
    loss_batch<Processor> batch;
    any_tensor<Processor> context;
  };
  /// The values that a backward pass reads. A loss has no dy.
  struct read_backward {
    any_tensor<Processor> const* dy = nullptr;
    kept_values* kept = nullptr;
    any_tensor<Processor> const* parameters[max_parameters]{};
  };

  /// `x` is the placement of the layer's input, and `dx` that of the gradient of the input.
  layer_node_base(basic_mesh<Processor> const& m, step::layer_spec const& spec, placement const& x,
                  placement const& dx);

  /// Finds the operands of a forward pass in their slots. If the pass has several parts, finds the
  /// operands of part number a.part. Splits the targets like x, and the samples of the context like
  /// those of x. Communicates nothing.
  read_forward forward_operands(step::action const& a, execution<Processor>& on,
                                bool is_loss) const;

  /// Finds the operands of a backward pass in their slots.
  read_backward backward_operands(step::action const& a, execution<Processor>& on, bool is_loss,
                                  bool reads_parameters) const;

  /// Returns the box of this rank's dx if dx has a halo, else null.
  box const* dx_with_halo() const { return dx_with_halo_ ? &*dx_with_halo_ : nullptr; }

  [[noreturn]] void refuse_pass(step::action_kind kind) const {
    throw error(spec_.name.text,
                std::string("the layer has no ") + to_string(kind) +
                    " pass, but its spec declares one in layer_spec::backward (nn/layer.hpp).");
  }

  basic_mesh<Processor> mesh_;
  step::layer_spec spec_;
  std::uint64_t stream_ = 0;

 private:
  /// Returns the targets or the context (`whole`), split like the first `dims` dims of the input.
  /// Communicates nothing, because `whole` is replicated.
  any_tensor<Processor> moved_to_x(any_tensor<Processor> const& whole, int dims) const {
    placement const p = step::split_like_x(x_, std::min(dims, whole.extents().rank()));
    if (p == whole.placement()) return whole;
    auto const& plan = mesh_.prepared(whole.extents(), size_of(whole.type()), whole.placement(), p);
    return ashlar::detail::run_plan(whole, *plan);
  }

  placement x_;
  std::optional<box> dx_with_halo_;
};

template <class Processor>
layer_node_base<Processor>::layer_node_base(basic_mesh<Processor> const& m,
                                            step::layer_spec const& spec, placement const& x,
                                            placement const& dx)
    : mesh_(m), spec_(spec), x_(x) {
  if (auto const halo = step::halo_layout_of(spec_, dx, m.topology());
      halo.has_halo() && m.is_here())
    dx_with_halo_ = halo.read_box(m.topology(), m.coordinate());
}

template <class Processor>
typename layer_node_base<Processor>::read_forward
layer_node_base<Processor>::forward_operands(step::action const& a, execution<Processor>& on,
                                             bool is_loss) const {
  read_forward read;
  read.x = &on.tensor(a.reads[0]);
  int at = 1;
  for (int k = 0; k < spec_.parameters.size(); ++k) read.parameters[k] = &on.tensor(a.reads[at++]);
  for (int k = 0; k < a.part; ++k) read.statistics[k] = &on.tensor(a.reads[at++]);
  read.batch = on.batch;
  if (is_loss) read.batch.targets = moved_to_x(on.batch.targets, max_rank);
  if (reads_context()) read.context = moved_to_x(on.context, 1);
  return read;
}

template <class Processor>
typename layer_node_base<Processor>::read_backward
layer_node_base<Processor>::backward_operands(step::action const& a, execution<Processor>& on,
                                              bool is_loss, bool reads_parameters) const {
  read_backward read;
  int at = 0;
  if (!is_loss) read.dy = &on.tensor(a.reads[at++]);
  read.kept = on.values[static_cast<std::size_t>(a.reads[at++])].kept.get();
  for (int k = 0; reads_parameters && at < a.reads.size(); ++k)
    if (spec_.parameters[k].in_backward) read.parameters[k] = &on.tensor(a.reads[at++]);
  return read;
}

#if !ASHLAR_DEFINES(NN)
extern template class layer_node_base<device::host::processor>;
#endif

}  // namespace ashlar::nn
