// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The options and the result of `overlapped` (overlapped.hpp).

#include <cstdint>

#include <ashlar/step/bucket_rule.hpp>
#include <ashlar/step/prefetch_options.hpp>
#include <ashlar/step/program.hpp>

namespace ashlar::search {
inline namespace step {

struct overlap_options {
  std::int64_t limit = 0;  ///< the most bytes that a rank may use; 0 means no limit
  bool buckets = true;     ///< whether gradients may share messages (buckets.hpp)
  /// How gradients are divided into buckets, if they may share messages. A division by_bytes or
  /// by_number is used even if it does not make the step faster.
  bucket_rule division{};
  /// Whether parameters may be renewed at the start of the next step (renewal_first.hpp).
  bool renews_first = true;
  /// The ways to gather weights before their use: how many elements ahead and how often. The
  /// fastest way within `limit` is taken. Without a limit, only the ways with each_pass are tried.
  inplace_vector<prefetch_options, 9> gathers{
      {1, gathered::each_pass},          {2, gathered::each_pass},
      {4, gathered::each_pass},          {8, gathered::each_pass},
      {16, gathered::each_pass},         {1, gathered::once_a_micro_batch},
      {2, gathered::once_a_micro_batch}, {1, gathered::once_a_step},
      {2, gathered::once_a_step}};
};

/// The report of one pass.
struct pass_report {
  char const* pass = "";
  bool kept = false;
  char const* reason = "";  ///< why the pass was not kept
  /// Seconds of the timeline before and after the pass; equal if the pass was not kept.
  double before = 0, after = 0;
  prefetch_options gathers;
};

struct overlap_result {
  program made;
  double serial = 0;   ///< seconds of the original program, without any overlap
  double seconds = 0;  ///< seconds of the timeline of `made`
  inplace_vector<pass_report, 5> passes;

  /// Returns whether the result of any pass was kept. If not, `made` is the original program.
  constexpr bool pays() const {
    for (auto const& p : passes)
      if (p.kept) return true;
    return false;
  }
};

}  // namespace step
}  // namespace ashlar::search
