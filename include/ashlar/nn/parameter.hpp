// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A trained tensor: its value and gradient as they are stored, and the way to and from the
// placements in which a layer uses it.
//
//   use()           value, redistributed store -> use          communicates if stored sharded
//   pending()       where the backward pass adds its gradient (placement `grad`); micro-batches add up
//   synchronize()   gradient = pending redistributed grad -> store: the gradient synchronization
//
// Value and gradients are accumulation_t<T>. Where that is not T, as of bfloat16, a copy of the
// stored shard rounded to T is kept beside it: what use() moves. An optimizer updates both.
// The value never changes placement; an optimizer works on the stored shards only.

#include <ashlar/device/host/operations.hpp>
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

  parameter(char const* name, stored value, Use const& use, Grad const& grad, bool decays)
      : name_(name), decays_(decays), value_(std::move(value)), use_(use),
        pending_(value_.mesh(), value_.extents(), as_value(grad)) {
    if constexpr (is_copied) {
      copy_ = {value_.mesh(), value_.extents(), value_.placement()};
      round();
    }
    clear();
  }
  // Tensors are handles: a copy would share its values. A model is moved, not copied.
  parameter(parameter&&) = default;
  parameter& operator=(parameter&&) = default;

  char const* name() const { return name_; }
  /// Whether weight decay applies: to weights and tables, not to biases and gains of any shape.
  bool decays() const { return decays_; }
  stored const& value() const { return value_; }
  /// The stored shard in the type of use, or null where that is the value's own.
  T* copy() const {
    if constexpr (is_copied) return copy_.data();
    else return nullptr;
  }
  /// Makes the copy anew, after the value was written by hand.
  void round() {
    if constexpr (is_copied)
      convert(value_.mesh().processor(), static_cast<accumulation_t<T> const*>(value_.data()),
              value_.local_elements(), copy_.data());
  }
  used use() const {
    if constexpr (is_copied) return redistribute(copy_, use_);
    else return redistribute(value_, use_);
  }
  raw& pending() { return pending_; }
  /// Valid from synchronize() to the next clear().
  stored const& gradient() const { return gradient_; }

  void synchronize() { gradient_ = redistribute(pending_, store()); }
  void clear() {
    gradient_ = {};  // before the passes, which need the memory
    fill(pending_.mesh().processor(), accumulation_t<T>{}, pending_.local_elements(),
         pending_.data());
  }

 private:
  Store store() const {
    if constexpr (static_placement<Store>) return Store{};
    else return value_.placement();
  }

  struct nothing {};
  char const* name_;
  bool decays_;
  stored value_;
  [[no_unique_address]] std::conditional_t<is_copied, tensor_for<T, Rank, Store, Processor>,
                                           nothing>
      copy_;
  Use use_;
  raw pending_;
  stored gradient_;
};

/// Parameter K of a layer: made where the plan stores it, from normal deviates (weights and tables,
/// which decay) or from one value (biases and gains, which do not).
template <class T, int Rank, int K, class At>
using parameter_of =
    parameter<T, Rank, decltype(std::declval<At>().template store<K>()),
              decltype(std::declval<At>().template use<K>()),
              decltype(std::declval<At>().template grad<K>()), typename At::processor_type>;

/// Parameter K of a layer, normal deviates of this standard deviation. Communicates nothing.
template <class T, int Rank, int K, class At, class Processor>
auto random_parameter(char const* name, basic_mesh<Processor> const& m, shape const& extents,
                      At const& at, double deviation, std::uint64_t seed, std::uint64_t stream) {
  random_options options;
  options.seed = seed;
  options.stream = stream;
  options.deviation = deviation;
  return parameter_of<T, Rank, K, At>(
      name, normal<accumulation_t<T>, Rank>(m, extents, at.template store<K>(), options),
      at.template use<K>(), at.template grad<K>(), true);
}

/// Parameter K of a layer, all elements of one value. Communicates nothing.
template <class T, int Rank, int K, class At, class Processor>
auto constant_parameter(char const* name, basic_mesh<Processor> const& m, shape const& extents,
                        At const& at, T value) {
  auto stored = empty<accumulation_t<T>, Rank>(m, extents, at.template store<K>());
  fill(m.processor(), static_cast<accumulation_t<T>>(value), stored.local_elements(),
       stored.data());
  return parameter_of<T, Rank, K, At>(name, std::move(stored), at.template use<K>(),
                                      at.template grad<K>(), false);
}

}  // namespace ashlar::nn
