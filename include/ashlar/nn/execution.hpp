// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The interface between the executor, which runs the program of a training step, and the elements
// of a placed net: its layers and the ends of its residuals, skips and branches.
//
//   slot             holds one value of the program, such as an activation, while it is alive
//   execution        all slots, and the other arguments of a computation
//   step_input       the functions that supply the inputs, the targets and the context of each
//                    micro-batch
//   element_node     an element: performs its computations and owns its parameters

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
/// keeps for its backward pass.
template <class Processor>
struct slot {
  any_tensor<Processor> tensor;
  std::unique_ptr<kept_values> kept;
};

template <class Processor>
struct execution {
  std::vector<slot<Processor>> values;  ///< one per entry of program::values
  nn::pass pass;
  bool saves = true;  ///< whether a backward pass follows
  loss_batch<Processor> batch;
  any_tensor<Processor> context;  ///< the micro-batch's context, if the element reads it

  any_tensor<Processor> const& tensor(int value) const {
    return values[static_cast<std::size_t>(value)].tensor;
  }
  void set(int value, any_tensor<Processor> made) {
    values[static_cast<std::size_t>(value)].tensor = std::move(made);
  }
  /// Empties the slots of the values that an action of the kind `release` names.
  void release(step::action const& a) {
    for (int const v : a.reads) values[static_cast<std::size_t>(v)] = {};
  }
};

/// The data of the micro-batches of a step, and the arguments of their passes.
template <class Processor>
struct step_input {
  std::function<any_tensor<Processor>(int micro_batch)> data, targets, context;
  std::function<nn::pass(int micro_batch)> pass;
  double scale = 1;         ///< the factor of the gradients: 1 / (targets in the step's mean)
  double* total = nullptr;  ///< where this rank's share of the summed loss is added
};

/// An element of a placed net: a layer, or one end of a residual, a skip or a branch.
template <class Processor>
class element_node {
 public:
  element_node() = default;
  element_node(element_node const&) = delete;
  element_node& operator=(element_node const&) = delete;
  virtual ~element_node() = default;

  /// Performs one computation of the program: reads its operands from the slots and stores its
  /// results in slots. Communicates nothing.
  virtual void compute(step::action const& a, execution<Processor>& on) = 0;

  /// Returns whether forward passes of the element read the context, the part of the batch beside
  /// the input (layer_spec::context).
  virtual bool reads_context() const { return false; }
  /// Returns the name of the element in a profile.
  virtual char const* name() const = 0;
  /// Returns the parameters of the element, in the order of its spec.
  std::vector<parameter<Processor>>& parameters() {
    return shared_ == nullptr ? parameters_ : shared_->parameters();
  }

 protected:
  /// Makes the element read the parameters of `other` in place of its own. `other` must outlive
  /// this element.
  void share_parameters(element_node& other) { shared_ = &other; }

  std::vector<parameter<Processor>> parameters_;

 private:
  element_node* shared_ = nullptr;
};

/// Returns parameter `index` of element `element`. `elements` has all elements of a placed net.
template <class Processor>
parameter<Processor>&
parameter_of(std::vector<std::unique_ptr<element_node<Processor>>> const& elements, int element,
             int index) {
  auto& of_element = elements[static_cast<std::size_t>(element)]->parameters();
  return of_element[static_cast<std::size_t>(index)];
}

}  // namespace ashlar::nn
