// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A wire is the format in which the elements of a redistribution step travel between ranks. The n
// elements that one rank sends to another are one block:
//
//   wire      bytes of n elements       contraction c: |x - C(x)|² <= (1 - c) |x|²
//   exact     n · element size          1
//   bf16      2 n                       1 - 2^-16
//   half      2 n                       1 - 2^-22        if 2^-14 <= |x_i| <= 65504 or x_i = 0
//   int8      n + 4 ⌈n/256⌉             1 - min(n, 256) / 254²
//   one-bit   ⌈n/8⌉ + 4                 1 / n; exactly |x|₁² / (n |x|²)
//   top-k/m   8 ⌈n/m⌉                   ⌈n/m⌉ / n
//   power-sgd   4 r (rows + columns)    0; exactly |p'x|² / |x|², p the orthonormal first factor
//
// C(x) are the elements that the receiver decodes. int8 has one float scale for each 256 elements.
// one-bit sends the signs and the mean magnitude. top-k/m sends the ⌈n/m⌉ elements of largest
// magnitude, with their positions. A wire that is not exact carries only tensors of float. A prime
// means transposed.
//
// Only the wires exact and power-sgd are linear: the sum of encoded addends is the encoded sum.
// Addends of any other wire are never summed on the way. Each addend is encoded once, and the rank
// that needs the sum decodes and sums all of them (encoded_redistribution.hpp).
//
// power-sgd/r sends the sum x of the addends x_i as two factors of rank r, each summed over the
// ranks: p = Σ x_i q, and then q = Σ x_i' p. Before the second sum, the columns of p are made
// orthonormal. The receivers decode p q'. The next training step begins with this q. Rows are the
// indices of the first dim, and columns those of all others. A tensor with fewer than two dims is
// sent exactly, and so is a matrix whose two factors have at least half as many elements as the
// matrix.
// Source: Vogels et al., "PowerSGD: Practical Low-Rank Gradient Compression for Distributed
// Optimization", 2019.
//
// With error feedback, a rank keeps the error x - C(x) of each block. It adds this error to the
// next block that the same redistribution step sends, before that block is encoded. So the sum of
// all that was sent is the sum of all blocks minus the last error. A rank keeps one error for each
// element (tensor/wire_errors.hpp).
//
// With momentum, a rank sends an average of its gradients instead of its last gradient. The average
// begins after the plain steps, which are a training's first steps and send gradients exactly
// (plan::plain_steps). In each step, the weight of the older gradients is multiplied by the
// optimizer's beta1 (nn/errors_of_moves.hpp). Averages are smoother than gradients, so that a
// coarse wire makes smaller errors. What arrives is the first moment of Adam. The first moment of
// the plain steps is discarded, unlike in 1-bit Adam. The averages take as much memory as the
// gradients. Source: Tang et al., "1-bit Adam: Communication Efficient Large-Scale Training with
// Adam's Convergence Speed", 2021.
//
// Source of the contractions: Karimireddy et al., "Error Feedback Fixes SignSGD", 2019.

#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>

namespace ashlar {

enum class wire_kind : signed char { exact, bf16, half, int8, one_bit, top_k, power_sgd };

struct wire_format {
  wire_kind kind = wire_kind::exact;
  bool feedback = false;  ///< whether the errors of a step are added to its next block
  int one_of = 0;         ///< top_k only: m; one of m elements is sent
  int rank = 0;           ///< power_sgd only: the rank of the factors
  bool momentum = false;  ///< whether averages of the gradients travel in their place

  constexpr bool is_exact() const { return kind == wire_kind::exact; }
  /// Returns whether the sum of a matrix travels as two factors.
  constexpr bool is_factored() const { return kind == wire_kind::power_sgd; }
  /// Returns whether the elements that one rank sends to another are one encoded block of bytes.
  constexpr bool in_blocks() const { return !is_exact() && !is_factored(); }
  /// Returns whether encoded addends may be summed on the way.
  constexpr bool is_linear() const { return !in_blocks(); }
  /// Returns whether squares of decoded elements say little about squares of the elements. one_bit
  /// gives all elements of a block the same magnitude. top_k sends an element only in some steps,
  /// together with the errors of the steps since the last time. With momentum, squares of averages
  /// are not averages of squares.
  constexpr bool distorts_squares() const {
    return kind == wire_kind::one_bit || kind == wire_kind::top_k || momentum;
  }
  /// Returns the number of elements that top_k sends of n elements. Numbers m that are not valid
  /// (number_fault) count as 1, so that a plan with them has a price until it is refused.
  constexpr std::int64_t kept(std::int64_t n) const {
    return one_of < 1 ? n : (n + one_of - 1) / one_of;
  }
  /// Returns the bytes of n encoded elements. Expects a wire that encodes blocks.
  constexpr std::int64_t bytes(std::int64_t n) const {
    if (n == 0) return 0;
    switch (kind) {
      case wire_kind::int8: return n + 4 * ((n + block - 1) / block);
      case wire_kind::one_bit: return (n + 7) / 8 + 4;
      case wire_kind::top_k: return 8 * kept(n);
      default: return 2 * n;
    }
  }
  /// Returns the contraction c of n elements: |x - C(x)|² is at most (1 - c) |x|².
  constexpr double contraction(std::int64_t n) const {
    if (n == 0) return 1;
    switch (kind) {
      case wire_kind::bf16: return 1 - 1.0 / (1 << 16);
      case wire_kind::half: return 1 - 1.0 / (1 << 22);
      case wire_kind::int8: return 1 - double(n < block ? n : block) / (254.0 * 254.0);
      case wire_kind::one_bit: return 1 / double(n);
      case wire_kind::top_k: return double(kept(n)) / double(n);
      case wire_kind::power_sgd: return 0;
      default: return 1;
    }
  }
  /// Returns the cost of encoding one element, as the bytes of memory traffic that take the same
  /// time. The figures were measured with the kernels of device/host/encode.hpp. Error feedback
  /// costs three more passes over the elements. Expects a wire other than power_sgd.
  constexpr double encoding_cost() const {
    constexpr double costs[] = {0, 6, 20, 9, 17, 96};
    return costs[static_cast<int>(kind)] + (feedback ? 33 : 0);
  }
  /// Returns the cost of decoding an element and adding it to a sum, in the same unit. Expects a
  /// wire other than power_sgd.
  constexpr double decoding_cost() const {
    constexpr double costs[] = {0, 10, 20, 9, 10, 1};
    return costs[static_cast<int>(kind)];
  }
  /// Returns numbers that differ for different wires.
  constexpr std::array<int, 4> parts() const {
    return {int(kind), int(feedback) + 2 * int(momentum), one_of, rank};
  }
  friend constexpr bool operator==(wire_format const&, wire_format const&) = default;

  /// The number of elements that share one scale on the wire int8.
  static constexpr std::int64_t block = 256;
};

namespace wires {

inline constexpr wire_format exact{};
inline constexpr wire_format bf16{wire_kind::bf16};
inline constexpr wire_format half{wire_kind::half};
inline constexpr wire_format int8{wire_kind::int8};
inline constexpr wire_format one_bit{wire_kind::one_bit};
/// Sends one of `m` elements: of n elements, the ⌈n/m⌉ of largest magnitude.
constexpr wire_format top_k(int m) { return {wire_kind::top_k, false, m}; }
/// Sends the sum of matrices as two factors of rank `r`.
constexpr wire_format power_sgd(int r) { return {wire_kind::power_sgd, false, 0, r}; }
/// Returns the same wire with error feedback.
constexpr wire_format with_feedback(wire_format w) {
  w.feedback = !w.is_exact();
  return w;
}
/// Returns the wire that sends the momentum of gradients instead of the gradients, with error
/// feedback.
constexpr wire_format with_momentum(wire_format w) {
  w.feedback = w.momentum = !w.is_exact();
  return w;
}

}  // namespace wires

/// Returns why no tensor can have the wire, or null if its numbers and flags are valid.
constexpr char const* number_fault(wire_format const& w) {
  if (w.kind == wire_kind::top_k && w.one_of < 1)
    return "the wire top_k sends one of 1 or more elements: write top_k(1) or more.";
  if (w.is_factored() && w.rank < 1)
    return "the wire power_sgd has factors of rank 1 or more: write power_sgd(1) or more.";
  if (w.momentum && (w.is_exact() || !w.feedback))
    return "a wire with momentum is not exact and has error feedback: write with_momentum(wire).";
  return nullptr;
}

/// Returns why tensors with elements of `element_size` bytes cannot have the wire, or null if they
/// can. For a gradient, `element_size` is accumulation_size.
constexpr char const* element_fault(wire_format const& w, int element_size) {
  return w.is_exact() || element_size == 4
             ? nullptr
             : "a wire carries gradients of float only, but those of this net are of double. Use "
               "the wire exact, or a net of float.";
}

/// Returns whether only one of the two uses of a tied parameter sends momentum. Such wires do not
/// fit together: updates take the sum of both, which would be neither a gradient nor an average.
constexpr bool is_half_momentum(wire_format const& first, wire_format const& later) {
  return first.momentum != later.momentum;
}

/// Returns a text such as "int8" or "top-k/100+feedback". A wire with momentum, "one-bit+momentum",
/// has feedback too.
inline std::string to_string(wire_format const& w) {
  constexpr char const* names[] = {"exact",   "bf16",   "half",      "int8",
                                   "one-bit", "top-k/", "power-sgd/"};
  std::string text = names[static_cast<int>(w.kind)];
  if (w.kind == wire_kind::top_k) text += std::to_string(w.one_of);
  if (w.is_factored()) text += std::to_string(w.rank);
  return text + (w.momentum ? "+momentum" : w.feedback ? "+feedback" : "");
}

/// The result of reading the name of a wire.
struct parsed_wire {
  wire_format wire;
  bool is_valid = false;
};

/// Returns the wire whose to_string is `text`. The result is not valid if there is no such wire.
inline parsed_wire parse_wire(std::string_view text) {
  parsed_wire found;
  constexpr std::string_view feedback = "+feedback", momentum = "+momentum";
  static_assert(feedback.size() == momentum.size());
  found.wire.momentum = text.ends_with(momentum);
  found.wire.feedback = found.wire.momentum || text.ends_with(feedback);
  if (found.wire.feedback) text.remove_suffix(feedback.size());
  for (auto [prefix, kind, number] :
       {std::tuple("top-k/", wire_kind::top_k, &found.wire.one_of),
        std::tuple("power-sgd/", wire_kind::power_sgd, &found.wire.rank)}) {
    if (!text.starts_with(prefix)) continue;
    found.wire.kind = kind;
    auto const digits = text.substr(std::string_view(prefix).size());
    auto const end = std::from_chars(digits.data(), digits.data() + digits.size(), *number);
    found.is_valid = end.ec == std::errc{} && end.ptr == digits.data() + digits.size() &&
                     *number > 0;
    return found;
  }
  for (auto const& w : {wires::exact, wires::bf16, wires::half, wires::int8, wires::one_bit})
    if (text == to_string(w)) {
      found.wire.kind = w.kind;
      found.is_valid = !w.is_exact() || !found.wire.feedback;
    }
  return found;
}

}  // namespace ashlar
