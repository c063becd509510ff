// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Encodes what a step with a wire sends, and decodes what has arrived (comm/encoded_transfer.hpp).
// A running plan (running_plan.hpp) calls pack() before the transfer of a step, and unpack() after
// it. Decoded addends are summed in the order of the ranks.
//
// With error feedback, encoding a block also replaces the stored errors of the block. If one of the
// new errors is not finite, all stored errors of the block are kept instead, so that one wrong step
// does not spoil all later ones.

#include <algorithm>
#include <cmath>
#include <optional>

#include <ashlar/comm/encoded_transfer.hpp>
#include <ashlar/device/host/encode.hpp>
#include <ashlar/support/buffer.hpp>
#include <ashlar/support/recycled.hpp>
#include <ashlar/tensor/any_tensor.hpp>
#include <ashlar/tensor/wire_errors.hpp>

namespace ashlar::detail {

/// Throws the error for a wire with error feedback if the caller passes no wire_errors.
[[noreturn]] inline void refuse_without_errors(wire_format const& wire) {
  throw error("redistribute", "the wire " + to_string(wire) +
                                  " has error feedback. Pass a wire_errors that keeps the errors "
                                  "until the next redistribution.");
}

/// Throws ashlar::error unless the wire can carry the tensors `x`, which must have elements of type
/// float in host memory. If the wire has error feedback, also throws unless `kept` has the errors
/// of each tensor.
template <class Processor>
void refuse_unless_encodable(wire_format const& wire,
                             recycled_vector<any_tensor<Processor>> const& x,
                             recycled_vector<wire_errors*> const& kept) {
  if constexpr (!Processor::is_host)
    throw error("redistribute", "the wire " + to_string(wire) +
                                    " encodes in host memory, but the tensor is on a device. "
                                    "Use the wire exact there.");
  if (x.front().type() != element_type::f32)
    throw error("redistribute", "the wire " + to_string(wire) + " carries elements of type " +
                                    "float only. Use the wire exact, or cast to float.");
  if (wire.feedback && kept.size() != x.size()) refuse_without_errors(wire);
}

template <class Processor>
class encoded_steps {
 public:
  using tensors = recycled_vector<any_tensor<Processor>>;
  using errors = recycled_vector<wire_errors*>;

  /// `kept` has the errors of each tensor. It is empty if no wire has error feedback.
  explicit encoded_steps(errors kept = {}) : errors_(std::move(kept)) {}

  /// Encodes the blocks of tensors `x` that step number `step` sends, and returns the address of
  /// the encoded blocks. Throws ashlar::error as refuse_unless_encodable does.
  void const* pack(encoded_transfer const& e, std::size_t step, tensors const& x) {
    refuse_unless_encodable(e.what.wire, x, errors_);
    if constexpr (Processor::is_host) {
      auto& memory = x.front().mesh().memory();
      source_.emplace(memory, e.source_bytes());
      target_.emplace(memory, e.target_bytes());
      buffer<float> const block(memory, e.largest_block), room(memory, room_of(e));
      recycled_vector<float*> kept;
      for (std::size_t t = 0; e.what.wire.feedback && t < x.size(); ++t)
        kept.push_back(errors_[t]->of_step(step, encoded_elements(e, t)));
      for (auto const& b : e.encoded) {
        auto const n = b.elements.elements;
        auto const* elements = static_cast<float const*>(x[b.tensor].data());
        if (n > 0 && b.elements.source_is_run && !e.what.wire.feedback) {
          elements += b.elements.source_offset;
        } else {
          copy(b.elements, elements, block.data());
          elements = block.data();
        }
        auto* const to = source_->data() + b.at;
        if (!e.what.wire.feedback) {
          device::host::encode(e.what.wire, elements, n, room.data(), to);
        } else {
          encode_with_errors(e.what.wire, block.data(), n, room.data(), to, kept[b.tensor]);
          kept[b.tensor] += n;
        }
      }
    }
    return source_->data();
  }
  errors const& kept() const { return errors_; }
  /// Returns where the transfer writes what arrives.
  void* target() const { return target_->data(); }

  /// Decodes what has arrived into the tensors `next`. If the step sums, adds up the addends there.
  void unpack(encoded_transfer const& e, tensors const& next) {
    if constexpr (Processor::is_host) {
      buffer<float> const block(next.front().mesh().memory(), e.largest_block);
      for (std::size_t i = 0; i < e.decoded.size(); ++i) {
        auto const& b = e.decoded[i];
        auto const n = b.elements.elements;
        bool const is_added = e.sums && i >= next.size();  // the first rank's blocks are stored
        auto* const shard = static_cast<float*>(next[b.tensor].data());
        bool const at_once = b.elements.target_is_run;
        device::host::decode(e.what.wire, target_->data() + b.at, n,
                             is_added ? device::host::decoded::added
                                      : device::host::decoded::stored,
                             at_once ? shard + b.elements.target_offset : block.data());
        if (!at_once) copy(b.elements, static_cast<float const*>(block.data()), shard);
      }
    }
    source_.reset();
    target_.reset();
  }

 private:
  static std::int64_t room_of(encoded_transfer const& e) {
    return e.what.wire.kind == wire_kind::top_k ? e.largest_block : 0;
  }
  static std::int64_t encoded_elements(encoded_transfer const& e, std::size_t tensor) {
    std::int64_t elements = 0;
    for (auto const& b : e.encoded)
      if (b.tensor == tensor) elements += b.elements.elements;
    return elements;
  }

  /// Encodes n elements plus their errors. Sets `errors` to the errors of this encoding if all of
  /// them are finite. Overwrites `elements`.
  static void encode_with_errors(wire_format const& wire, float* elements, std::int64_t n,
                                 float* room, std::byte* to, float* errors) {
    for (std::int64_t i = 0; i < n; ++i) elements[i] += errors[i];
    device::host::encode(wire, elements, n, room, to);
    device::host::decode(wire, to, n, device::host::decoded::subtracted, elements);
    bool const finite = std::all_of(elements, elements + n,
                                    [](float v) { return std::isfinite(v); });
    if (finite) std::copy(elements, elements + n, errors);
  }

  errors errors_;
  std::optional<buffer<std::byte>> source_, target_;  // encoded blocks of the current step
};

}  // namespace ashlar::detail
