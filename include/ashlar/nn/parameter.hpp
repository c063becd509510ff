// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A trained tensor: its stored value, the sum in which micro-batches accumulate its gradient, and
// its gradient, placed as the value is stored.
//
//   source()     the tensor that the step's program redistributes before the layer reads it
//   sum()        the tensor to which backward passes add, at a placement of its own (grad)
//   gradient()   the sum, redistributed to the placement of the stored value, for the optimizer
//
// Value and gradients are of type accumulation_t<T>. If that differs from T, as with bfloat16, the
// parameter also has a copy of the stored shard rounded to T. Then source() returns this copy, and
// an optimizer updates both. The placement of the value never changes, and an optimizer works on
// the stored shards only. The redistributions between these placements are actions of the step's
// program (step/program.hpp). The parameter does not run them.

#include <ashlar/device/host/operations.hpp>
#include <ashlar/step/layer_spec.hpp>
#include <ashlar/tensor/any_tensor.hpp>
#include <ashlar/tensor/factory.hpp>
#include <ashlar/tensor/redistribute.hpp>

namespace ashlar::nn {

template <class T, int Rank, placement_argument Store, placement_argument Use,
          placement_argument Grad, class Processor = device::host::processor>
class parameter {
  static constexpr bool is_copied = !std::is_same_v<T, accumulation_t<T>>;

 public:
  using stored = tensor_for<accumulation_t<T>, Rank, Store, Processor>;
  using used = tensor_for<T, Rank, Use, Processor>;
  using raw = tensor_for<accumulation_t<T>, Rank, Grad, Processor>;

  parameter(step::label const& name, int element, stored value, Use const& use, Grad const& grad,
            bool decays)
      : name_(name), element_(element), decays_(decays), value_(std::move(value)), use_(use),
        sum_(value_.mesh(), value_.extents(), as_value(grad)) {
    if constexpr (is_copied) {
      copy_ = {value_.mesh(), value_.extents(), value_.placement()};
      round();
    }
    clear();
  }
  // Tensors are handles, so a copy would share their values. A model is moved, not copied.
  parameter(parameter&&) = default;
  parameter& operator=(parameter&&) = default;

  char const* name() const { return name_.text; }
  /// Returns the index of the parameter's layer among the elements of the plan.
  int element() const { return element_; }
  /// Returns whether weight decay applies: to weights and embedding tables, but not to biases and
  /// gains, whatever their shape.
  bool decays() const { return decays_; }
  stored const& value() const { return value_; }
  /// Returns the stored shard rounded to T, or null if the value itself is of type T.
  T* copy() const {
    if constexpr (is_copied) return copy_.data();
    else return nullptr;
  }
  /// Rounds the value into the copy again. Needed after code other than an optimizer has written to
  /// the value.
  void round() {
    if constexpr (is_copied)
      convert(value_.mesh().processor(), static_cast<accumulation_t<T> const*>(value_.data()),
              value_.local_elements(), copy_.data());
  }
  /// Returns the value as the layer reads it. Communicates if it is stored at another placement.
  used use() const {
    if constexpr (is_copied) return redistribute(copy_, use_);
    else return redistribute(value_, use_);
  }
  /// Returns the tensor that the step's program redistributes before the layer reads it: the value,
  /// or its copy rounded to T.
  any_tensor<Processor> source() const {
    if constexpr (is_copied) return copy_;
    else return value_;
  }
  raw const& sum() const { return sum_; }
  /// Returns the gradient. It is valid from the end of a step's synchronization until clear().
  stored const& gradient() const { return gradient_; }
  void set_gradient(any_tensor<Processor> const& made) { gradient_ = made.template as<stored>(); }
  /// Frees the gradient and sets the sum to zero.
  void clear() {
    gradient_ = {};  // freed before the next passes, which need the memory
    fill(sum_.mesh().processor(), accumulation_t<T>{}, sum_.local_elements(), sum_.data());
  }

 private:
  struct nothing {};
  step::label name_;
  int element_;
  bool decays_;
  stored value_;
  [[no_unique_address]] std::conditional_t<is_copied, tensor_for<T, Rank, Store, Processor>,
                                           nothing>
      copy_;
  Use use_;
  raw sum_;
  stored gradient_;
};

/// Describes how a parameter is initialized. Weights and tables get normal deviates around zero,
/// drawn by global index. Biases and gains get one value everywhere. Weight decay applies to random
/// parameters only.
struct initial_values {
  double deviation = 0;
  double value = 0;

  constexpr bool is_random() const { return deviation > 0; }
};
constexpr initial_values normal_deviates(double deviation) { return {deviation, 0}; }
constexpr initial_values all_equal(double value) { return {0, value}; }

/// The type of parameter K of a layer.
template <class T, int Rank, int K, class At>
using parameter_of =
    parameter<T, Rank, decltype(std::declval<At>().template store<K>()),
              decltype(std::declval<At>().template use<K>()),
              decltype(std::declval<At>().template grad<K>()), typename At::processor_type>;

/// Makes parameter K of the layer that is element number `element` of the plan, and initializes it.
/// Communicates nothing.
template <class T, int Rank, int K, class At, class Processor>
parameter_of<T, Rank, K, At> make_parameter(step::parameter_spec const& spec, int element,
                                            basic_mesh<Processor> const& m, At const& at,
                                            initial_values const& initial, std::uint64_t seed,
                                            std::uint64_t stream) {
  using A = accumulation_t<T>;
  auto const store = at.template store<K>();
  auto value = [&] {
    if (initial.is_random())
      return normal<A, Rank>(m, spec.extents, store,
                             {.seed = seed, .stream = stream, .deviation = initial.deviation});
    auto all = empty<A, Rank>(m, spec.extents, store);
    fill(m.processor(), static_cast<A>(static_cast<T>(initial.value)), all.local_elements(),
         all.data());
    return all;
  }();
  return {
      spec.name,          element, std::move(value), at.template use<K>(), at.template grad<K>(),
      initial.is_random()};
}

}  // namespace ashlar::nn
