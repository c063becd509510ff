// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The interface between an executor and the elements of a placed net.
//
//   slot             holds one value of the program while it is alive
//   execution        the slots, and the other arguments of an action
//   step_input       the source of the data of micro-batches
//   element_node     an element: computes its actions on the slots and owns its parameters

#include <functional>
#include <memory>
#include <vector>

#include <ashlar/nn/call.hpp>
#include <ashlar/step/program.hpp>

namespace ashlar::nn {

/// The base class of the values that a forward pass keeps for the backward pass.
struct kept_values {
  virtual ~kept_values() = default;
};

/// The storage of one value of a program while it is alive: a tensor, or the values that a layer
/// keeps.
template <class Processor>
struct slot {
  any_tensor<Processor> tensor;
  std::unique_ptr<kept_values> kept;
};

template <class Processor>
struct execution {
  std::vector<slot<Processor>> slots;  ///< one per entry of program::values
  nn::pass pass;
  bool saves = true;  ///< whether a backward pass follows
  loss_batch<Processor> batch;

  any_tensor<Processor> const& tensor(int value) const {
    return slots[static_cast<std::size_t>(value)].tensor;
  }
  void set(int value, any_tensor<Processor> made) {
    slots[static_cast<std::size_t>(value)].tensor = std::move(made);
  }
};

/// The data of the micro-batches of a step, and the arguments of their passes.
template <class Processor>
struct step_input {
  std::function<any_tensor<Processor>(int micro_batch)> data, targets;
  std::function<nn::pass(int micro_batch)> pass;
  double scale = 1;         ///< the factor of the gradients
  double* total = nullptr;  ///< where this rank's share of the summed loss is added
};

/// An element of a plan, placed on a mesh.
template <class Processor>
class element_node {
 public:
  element_node() = default;
  element_node(element_node const&) = delete;
  element_node& operator=(element_node const&) = delete;
  virtual ~element_node() = default;

  /// Performs one computation of the program. Communicates nothing.
  virtual void compute(step::action const& a, execution<Processor>& on) = 0;

  /// Returns the name of the element in a profile.
  virtual char const* name() const = 0;
  /// The following functions concern parameter k. `source` returns the tensor that the program
  /// moves to where the layer reads the parameter. `sum` returns the sum of its gradient.
  /// `set_gradient` stores its gradient, at the placement where the parameter is stored.
  virtual any_tensor<Processor> source(int) const { return {}; }
  virtual any_tensor<Processor> sum(int) const { return {}; }
  virtual void set_gradient(int, any_tensor<Processor> const&) {}
};

}  // namespace ashlar::nn
