// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The wires of plan/wire.hpp as types, for typed redistributions (tensor/redistribute_encoded.hpp):
//
//   auto g = redistribute(partial, sbp<S<0>>{}, sync::wire<sync::int8>{});

#include <ashlar/plan/wire.hpp>

namespace ashlar::sync {

struct bf16 {
  static constexpr wire_format value = wires::bf16;
};
struct half {
  static constexpr wire_format value = wires::half;
};
struct int8 {
  static constexpr wire_format value = wires::int8;
};
struct one_bit {
  static constexpr wire_format value = wires::one_bit;
};
/// Sends one of M elements: of n elements, the ⌈n/M⌉ of largest magnitude.
template <int M>
struct top_k {
  static_assert(M > 0, "sync::top_k: at least every element is sent. Write top_k<1> or more.");
  static constexpr wire_format value = wires::top_k(M);
};

/// Sends the sum of matrices as two factors of rank R. This wire is linear, so an all-reduce may
/// have it.
template <int R>
struct power_sgd {
  static_assert(R > 0, "sync::power_sgd: factors have a rank of at least 1. Write power_sgd<1> or "
                       "more.");
  static constexpr wire_format value = wires::power_sgd(R);
};

template <class Format>
struct wire {
  static constexpr wire_format value = Format::value;
};

}  // namespace ashlar::sync
