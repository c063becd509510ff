// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The operations that make up a transfer on a device: calls of NCCL and of kernels, one after
// another on one stream. There are two implementations:
//
//   library_calls.hpp    makes the calls
//   recorded_calls.hpp   records them, and tests replay the records
//
// issue.hpp decides which calls a transfer consists of.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include <ashlar/comm/strided_block.hpp>
#include <ashlar/placement/placement.hpp>

namespace ashlar::nccl {

enum class sums : signed char { library, ordered };

/// The most addends that `combine` takes in one round. Between rounds, the target has the sum so
/// far. So with more addends, none of them may be at the target.
inline constexpr int most_addends = 128;

/// The interface of the calls of one transfer. The functions have no arguments for the
/// communicator, the stream and the element type, because these are fixed for a transfer. Counts
/// are in elements, and pointers are to device memory.
template <class Calls>
concept calls = requires(Calls& c, std::byte const* from, std::byte* to, std::int64_t n, int peer,
                         reduction op, strided_block const& b, std::span<strided_block const> list,
                         std::span<std::byte const* const> addends) {
  c.group_start();
  c.group_end();
  c.send(from, n, peer);
  c.receive(to, n, peer);
  c.all_gather(from, to, n);          // n: elements that each member gives
  c.reduce_scatter(from, to, n, op);  // n: elements that each member gets
  c.all_reduce(from, to, n, op);
  // `n` is the number of elements from each member to each other member.
  c.all_to_all(from, to, n);
  c.broadcast(from, to, n, peer);  // peer: index of the root
  c.reduce(from, to, n, op, peer);
  c.copy(b, from, to);                           // copies a block between two arrays
  c.pack(list, from, to);                        // packs blocks of an array, one after the other
  c.unpack(list, from, to);                      // the reverse of pack
  c.combine(op, addends, to, n);                 // reduces n elements, left to right
  { c.scratch(n) } -> std::same_as<std::byte*>;  // n elements, valid until the calls have ended
};

}  // namespace ashlar::nccl
