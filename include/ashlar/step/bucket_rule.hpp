// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The rule by which synchronizations of gradients are divided into buckets (buckets.hpp):
//
//   {}                                       the division that ends earliest
//   {bucketing::by_bytes, 25 << 20}          buckets of at least 25 MiB on a rank
//   {bucketing::by_bytes, 25 << 20, 1 << 20} a first bucket of at least 1 MiB, then buckets of at
//                                            least 25 MiB, as in PyTorch's DistributedDataParallel
//   {bucketing::by_number, 128}              buckets of 128 gradients
//   {bucketing::by_bytes, 0}                 no buckets, whatever the size of the first one
//
// The last bucket has what is left, so it may be smaller.

#include <cstdint>

#include <ashlar/step/names.hpp>

namespace ashlar::search {
inline namespace step {

/// How it is decided where a bucket of gradients ends:
///
///   best        such that the last synchronization is predicted to end earliest
///   by_bytes    once the bucket has enough bytes
///   by_number   once the bucket has enough gradients
enum class bucketing : signed char { best, by_bytes, by_number };

struct bucket_rule {
  bucketing kind = bucketing::best;
  std::int64_t size = 0;    ///< bytes on a rank, or a number of gradients; 0 means no buckets
  std::int64_t first = -1;  ///< the size of the first bucket; below 0: `size`

  /// Returns the bytes, or the number of gradients, at which a bucket is closed.
  constexpr std::int64_t closed_at(bool is_first) const {
    return is_first && first >= 0 && size > 0 ? first : size;
  }
  friend constexpr bool operator==(bucket_rule const&, bucket_rule const&) = default;
};

}  // namespace step
}  // namespace ashlar::search
