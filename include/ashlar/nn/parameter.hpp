// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A parameter of a layer, which training updates. It consists of a value, a gradient sum, and a
// gradient. The backward passes of the micro-batches add to the gradient sum. The gradient has the
// placement of the value, at which the optimizer updates it.
//
//   value()      the value, at the placement at which it is updated
//   source()     the tensor that the step's program redistributes before the layer reads it
//   sum()        the tensor to which backward passes add, at a placement of its own (grad)
//   gradient()   the sum, redistributed to the placement of the value, for the optimizer
//
// If a plan stores the parameter at another placement than that of the update, source() is a copy
// at the placement of storage. After the updates of a step, the program replaces this copy: it
// redistributes updated() to the placement of storage, and calls set_stored() with the result.
//
// The class is the same for every layer, number of dims and placement. So code that works on all
// parameters (optimizers, norms, checkpoints) is compiled once.
//
// A plan may keep the gradient in rows (step/row_exchange.hpp). Then sum() and gradient() have no
// elements, and rows() has the rows that the step has read. Only parameters on the host have rows.
//
// In a net of element type T, value and gradients are of type accumulation_t<T>. If T is bfloat16,
// the parameter also has a copy of the value's shard rounded to T. Then updated() returns this
// copy, and an optimizer updates both. The placement of the value never changes, and an optimizer
// works on the shards of the value only. The redistributions between these placements are actions
// of the step's program (step/program.hpp). The parameter does not run them.

#include <memory>
#include <string>
#include <utility>

#include <ashlar/device/host/operations.hpp>
#include <ashlar/nn/gradient_rows.hpp>
#include <ashlar/nn/gradient_sum.hpp>
#include <ashlar/step/layer_spec.hpp>
#include <ashlar/step/plan.hpp>
#include <ashlar/tensor/any_tensor.hpp>
#include <ashlar/tensor/factory.hpp>

namespace ashlar::nn {

/// The shards of a parameter, as an optimizer reads and writes them. T is float or double.
template <class T>
struct parameter_shards {
  std::int64_t elements;  ///< the length of each of the following arrays
  T* value;
  T const* gradient;
  bfloat16* copy;  ///< the value rounded to bfloat16, or null if the net computes with T
};

template <class Processor>
class parameter {
 public:
  using tensor_type = any_tensor<Processor>;

  /// Makes a parameter with this value, and a gradient sum of zero at placement `grad`. `rounded`
  /// says whether the net computes with bfloat16. `stored` is the same value at the placement of
  /// storage, or empty if the parameter is stored where it is updated. `rows` is not null if the
  /// gradient is kept in rows.
  parameter(step::label const& name, std::string const& path, int element, tensor_type value,
            placement const& grad, bool decays, bool rounded, tensor_type stored = {},
            std::unique_ptr<gradient_rows> rows = {});
  /// Makes the later use of a tied parameter: it has the value of `first`, and a gradient sum of
  /// its own on mesh `m`.
  parameter(step::label const& name, std::string const& path, int element, parameter const& first,
            basic_mesh<Processor> const& m, placement const& grad);
  // Tensors are handles, so a copy would share their values. A model is moved, not copied.
  parameter(parameter&&) = default;
  parameter& operator=(parameter&&) = default;
  ~parameter();

  char const* name() const { return name_.text; }
  /// Returns the name of the parameter in the whole net: the positions of its layer in the chains,
  /// repeats and branches around it, then the layer's name for it, such as "1.3.2.weight". No other
  /// parameter has this name. It does not depend on the mesh or the plan.
  std::string const& path() const { return path_; }
  /// Returns the number of the parameter's layer among the elements of the plan.
  int element() const { return element_; }
  /// Returns whether weight decay applies: to weights and embedding tables, but not to biases and
  /// gains, whatever their shape.
  bool decays() const { return decays_; }
  /// Returns whether this is the later use of a tied parameter. It shares the value of the first
  /// use, but has a gradient sum of its own.
  bool is_tied() const { return is_tied_; }
  decltype(auto) processor() const { return value_.mesh().processor(); }
  /// Returns the value that the optimizer updates.
  tensor_type const& value() const { return value_; }
  /// Returns the value as layers read it: the value, or its copy rounded to bfloat16.
  tensor_type const& updated() const { return copy_.empty() ? value_ : copy_; }
  /// Returns the tensor that the step's program redistributes before the layer reads it.
  tensor_type const& source() const { return is_updated_apart() ? stored_ : updated(); }
  /// Returns whether the parameter is stored at another placement than that of the value.
  bool is_updated_apart() const { return stored_.placement().axes() > 0; }
  /// Replaces source() by `renewed`, the updated value at the placement of storage. Expects
  /// is_updated_apart().
  void set_stored(tensor_type renewed) { stored_ = std::move(renewed); }
  tensor_type const& sum() const { return sum_; }
  /// Replaces the gradient sum by `other`, and returns the tensor that was the sum before. Expects
  /// a tensor with the placement and the extents of the sum.
  tensor_type exchange_sum(tensor_type other) { return std::exchange(sum_, std::move(other)); }
  /// Returns the gradient in rows, or null if it is a tensor.
  gradient_rows* rows() const { return rows_.get(); }
  /// Returns the gradient. It is valid from the end of a step's synchronization until clear().
  tensor_type const& gradient() const { return gradient_; }
  /// Throws ashlar::error unless the gradient has the type, extents and placement of the value.
  void set_gradient(tensor_type made);

  /// Returns the shards for an optimizer. Throws ashlar::error if T is not the type of the value.
  /// The gradient is null while gradient() is not valid.
  template <class T>
  parameter_shards<T> shards() const {
    return {value_.local_elements(), value_.template data_as<T>(),
            gradient_.empty() ? nullptr : gradient_.template data_as<T>(),
            static_cast<bfloat16*>(copy_.data())};
  }
  /// Rounds the value into its bfloat16 copy, if there is one. Must be called after code other than
  /// an optimizer has written to the value. If the parameter is updated apart from its storage,
  /// model::renew() must follow.
  void round();
  /// Frees the gradient and sets the sum to zero.
  void clear();

 private:
  step::label name_;
  std::string path_;
  int element_;
  bool decays_;
  bool is_tied_ = false;
  tensor_type value_;
  tensor_type copy_;    // empty if the net does not compute with bfloat16
  tensor_type stored_;  // without axes if the parameter is stored where it is updated
  tensor_type sum_;
  tensor_type gradient_;
  std::unique_ptr<gradient_rows> rows_;  // null if the gradient is a tensor
};

template <class Processor>
parameter<Processor>::parameter(step::label const& name, std::string const& path, int element,
                                tensor_type value, placement const& grad, bool decays, bool rounded,
                                tensor_type stored, std::unique_ptr<gradient_rows> rows)
    : name_(name), path_(path + name.text), element_(element), decays_(decays),
      value_(std::move(value)), stored_(std::move(stored)),
      sum_(rows == nullptr
               ? value_.like(grad)
               : tensor_type::with_box(value_.mesh(), value_.extents(), grad,
                                       empty_box(value_.extents().rank()), value_.type())),
      rows_(std::move(rows)) {
  if (rounded && is_updated_apart()) {
    auto const exact = std::exchange(
        stored_, {value_.mesh(), value_.extents(), stored_.placement(), element_type::bf16});
    convert(processor(), static_cast<float const*>(exact.template data_as<float>()),
            exact.local_elements(), stored_.template data_as<bfloat16>());
  }
  if (rounded) {
    copy_ = {value_.mesh(), value_.extents(), value_.placement(), element_type::bf16};
    round();
  }
  clear();
}

template <class Processor>
parameter<Processor>::parameter(step::label const& name, std::string const& path, int element,
                                parameter const& first, basic_mesh<Processor> const& m,
                                placement const& grad)
    : name_(name), path_(path + name.text), element_(element), decays_(first.decays_),
      is_tied_(true), value_(first.value_), copy_(first.copy_),
      sum_(m, value_.extents(), grad, value_.type()) {
  clear();
}

template <class Processor>
parameter<Processor>::~parameter() = default;

template <class Processor>
void parameter<Processor>::set_gradient(tensor_type made) {
  if (made.type() != value_.type() || !(made.extents() == value_.extents()) ||
      !(made.placement() == value_.placement()))
    throw error(name_.text, "the gradient is " + to_string(made.extents()) + " " +
                                to_string(made.placement()) + ", but the parameter is " +
                                to_string(value_.extents()) + " " + to_string(value_.placement()) +
                                ".");
  gradient_ = std::move(made);
}

template <class Processor>
void parameter<Processor>::round() {
  if (!copy_.empty())
    convert(processor(), static_cast<float const*>(value_.template data_as<float>()),
            value_.local_elements(), copy_.template data_as<bfloat16>());
}

template <class Processor>
void parameter<Processor>::clear() {
  if (rows_ != nullptr) rows_->clear();
  gradient_ = {};  // freed before the next passes, which need the memory
  set_to_zero(sum_);
}

/// Describes how a parameter is initialized. Weights and tables get normal deviates around zero,
/// which do not depend on the plan. All elements of a bias or gain get the same value. Weight decay
/// applies to random parameters only.
struct initial_values {
  double deviation = 0;
  double value = 0;

  constexpr bool is_random() const { return deviation > 0; }
};
constexpr initial_values normal_deviates(double deviation) { return {deviation, 0}; }
constexpr initial_values all_equal(double value) { return {0, value}; }

/// Makes a parameter of the layer that is element number `element` of the plan, and initializes
/// it. T is the type that the net computes with. `path` is the first part of parameter::path().
/// Communicates nothing.
template <class T, class Processor>
parameter<Processor>
make_parameter(step::parameter_spec const& spec, int element, basic_mesh<Processor> const& m,
               step::parameter_choice const& at, initial_values const& initial, std::uint64_t seed,
               std::uint64_t stream, std::string const& path) {
  using A = accumulation_t<T>;
  auto const made_at = [&](placement const& where) {
    any_tensor<Processor> value(m, spec.extents, where, element_type_of<A>);
    A* const shard = value.template data_as<A>();
    if (initial.is_random())
      ashlar::detail::fill_normal_shard(
          m.processor(), spec.extents, value.local_box(), shard,
          {.seed = seed, .stream = stream, .deviation = initial.deviation});
    else
      fill(m.processor(), static_cast<A>(static_cast<T>(initial.value)), value.local_elements(),
           shard);
    return value;
  };
  auto value = made_at(at.updated_at());
  std::unique_ptr<gradient_rows> rows;
  if (at.in_rows)
    rows = std::make_unique<gradient_rows>(spec.name.text, element_type_of<A>, value.local_box(),
                                           step::row_axes(at.grad, m.topology()));
  return {spec.name,
          path,
          element,
          std::move(value),
          at.grad,
          initial.is_random(),
          std::is_same_v<T, bfloat16>,
          at.is_updated_apart() ? made_at(at.store) : any_tensor<Processor>{},
          std::move(rows)};
}

#if !ASHLAR_DEFINES(NN)
extern template class parameter<device::host::processor>;
extern template parameter<device::host::processor>
make_parameter<float>(step::parameter_spec const&, int, basic_mesh<device::host::processor> const&,
                      step::parameter_choice const&, initial_values const&, std::uint64_t,
                      std::uint64_t, std::string const&);
#endif

}  // namespace ashlar::nn
