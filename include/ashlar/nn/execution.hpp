// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// What an executor and the elements of a placed net say to each other.
//
//   slot             where one value of the program is while it is alive
//   execution        the slots, and what an action is told besides
//   step_input       where the data of micro-batches come from
//   element_node     an element: computes its actions on the slots, owns its parameters

#include <functional>
#include <memory>
#include <vector>

#include <ashlar/nn/call.hpp>
#include <ashlar/step/program.hpp>

namespace ashlar::nn {

/// What a forward pass keeps for the backward pass, of any type.
struct kept_values {
  virtual ~kept_values() = default;
};

/// A value while it is alive: a tensor, or what a layer keeps.
template <class Processor>
struct slot {
  any_tensor<Processor> tensor;
  std::unique_ptr<kept_values> kept;
};

template <class Processor>
struct execution {
  std::vector<slot<Processor>> slots;  ///< by number of the value
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

/// Where the data of micro-batches come from, and what its passes are told.
template <class Processor>
struct step_input {
  std::function<any_tensor<Processor>(int micro_batch)> data, targets;
  std::function<nn::pass(int micro_batch)> pass;
  double scale = 1;         ///< of the gradients
  double* total = nullptr;  ///< where this rank's share of the summed loss is added
};

/// An element of a plan, placed.
template <class Processor>
class element_node {
 public:
  element_node() = default;
  element_node(element_node const&) = delete;
  element_node& operator=(element_node const&) = delete;
  virtual ~element_node() = default;

  /// Does a computation of the program. Communicates nothing.
  virtual void compute(step::action const& a, execution<Processor>& on) = 0;

  /// What the element is called in a profile.
  virtual char const* name() const = 0;
  /// Parameter k: what is gathered of it, its gradient's sum, and its gradient as stored.
  virtual any_tensor<Processor> source(int) const { return {}; }
  virtual any_tensor<Processor> sum(int) const { return {}; }
  virtual void set_gradient(int, any_tensor<Processor> const&) {}
};

}  // namespace ashlar::nn
