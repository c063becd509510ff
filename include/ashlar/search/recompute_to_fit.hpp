// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Finds how many of its first segments each stage of a pipeline must recompute so that each part of
// the mesh fits a memory limit. The placements and the order of passes are given. As long as a part
// does not fit, one more segment is recomputed in one of its stages: the stage that holds the most
// bytes per micro-batch.

#include <optional>

#include <ashlar/search/stage_model.hpp>

namespace ashlar::search {

/// Returns the number of recomputed segments of each stage. It is at least the number that the
/// stage recomputes in the model's chain. Returns nothing if a part does not fit even if it
/// recomputes all segments.
template <int N>
std::optional<std::vector<int>>
recompute_to_fit(stage_model<N> const& model, std::vector<int> const& limits,
                 pipelines::schedule const& order, std::int64_t limit) {
  std::size_t const stages = limits.size() - 1;
  std::vector<basic_problem<N>> parts;
  std::vector<basic_plan<N>> plans;
  std::vector<stage_bytes> bytes;
  for (std::size_t s = 0; s < stages; ++s) {
    parts.push_back(stage_of(model.chain(), limits[s], limits[s + 1], 1));
    plans.push_back(plan_of_range<N>(model.whole(), limits[s], limits[s + 1], parts[s].recomputed));
    bytes.push_back(bytes_of_stage(parts[s], plans[s]));
  }
  auto const cut = model.skips_between(limits);
  auto skips = model.bytes_of_skips(limits);
  pipeline_memory memory(order, model.boundaries(limits), skips);
  for (int p = 0; p < order.positions; ++p)
    while (memory.of_part(p, bytes) > limit) {
      int fullest = -1;
      for (int c = 0; c < order.chunks; ++c) {
        int const at = order.stage_of(p, c);
        auto const s = static_cast<std::size_t>(at);
        if (plans[s].recomputed == parts[s].segments) continue;
        if (fullest < 0 || bytes[s].held > bytes[static_cast<std::size_t>(fullest)].held)
          fullest = at;
      }
      if (fullest < 0) return {};
      auto const s = static_cast<std::size_t>(fullest);
      ++plans[s].recomputed;
      bytes[s] = bytes_of_stage(parts[s], plans[s]);
      for (std::size_t k = 0; k < skips.size(); ++k)  // A skip whose end runs twice keeps x longer.
        if (skips[k].to == fullest)
          skips[k].again = parts[s].runs(cut[k].end - limits[s], plans[s].recomputed) !=
                           forward_runs::once;
      if (!skips.empty()) memory.set_skips(skips);
    }
  std::vector<int> recomputed;
  for (auto const& own : plans) recomputed.push_back(own.recomputed);
  return recomputed;
}

}  // namespace ashlar::search
