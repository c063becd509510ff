// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A pass that starts the gathers of stored parameters earlier, so that they overlap with
// computations. A gather is the redistribution of a stored parameter to the placement where a layer
// reads it. The pass can also keep gathered parameters in memory, so that they are gathered less
// often. An element is a layer, or the begin, turn or end of a residual, skip or branch.
//
//   begin_move   of a gather: goes before the computations of an earlier element, `ahead` elements
//                earlier in the order of the program, in the forward and the backward pass
//   end_move     goes before the first reader of the gathered parameter
//   gathers      each_pass: one per forward, recomputed and backward pass, as in the given program
//                once_a_micro_batch: one per micro-batch; the result stays in memory in between
//                once_a_step: one for all micro-batches; the result stays in memory in between
//
// If there is a memory limit, only as many gathered parameters stay in memory as fit. Those of the
// first elements are preferred, because no earlier computations could overlap with their gathers.

#include <ashlar/step/pass.hpp>
#include <ashlar/step/prefetch_options.hpp>

namespace ashlar::search {
inline namespace step {

namespace step_detail {

/// Returns the number of distinct parameters for which a program has gathers.
constexpr int gathered_parameters(program const& p) {
  std::vector<int> found(static_cast<std::size_t>(p.elements * max_parameters), 0);
  int count = 0;
  for (auto const& m : p.moves) {
    auto const at = static_cast<std::size_t>(m.element * max_parameters + m.index);
    if (!is_gather(p, m) || found[at]) continue;
    found[at] = 1;
    ++count;
  }
  return count;
}

/// Returns a program in which the first `parameters` of the gathered parameters are gathered less
/// often. `often` states how often. The gathered values stay in memory in between. All other
/// parameters are gathered as before.
constexpr program kept_gathers(program const& p, gathered often, int parameters) {
  struct own {
    int number = -1, micro_batch = -1, value = -1;
  };
  std::vector<own> kept(static_cast<std::size_t>(p.elements * max_parameters));
  std::vector<int> stands_for(p.values.size(), 0);
  for (std::size_t v = 0; v < stands_for.size(); ++v) stands_for[v] = static_cast<int>(v);
  std::vector<int> dropped(p.moves.size(), 0);
  int count = 0;
  program made = p;
  made.actions.clear();
  for (auto a : unreleased(p.actions)) {
    if (a.kind == action_kind::begin_move && is_gather(p, p.move_of(a))) {
      auto const& m = p.move_of(a);
      own& k = kept[static_cast<std::size_t>(m.element * max_parameters + m.index)];
      if (k.number < 0) k.number = count++;
      bool const same = often == gathered::once_a_step || k.micro_batch == m.micro_batch;
      if (k.number < parameters && k.value >= 0 && same) {
        dropped[static_cast<std::size_t>(a.move)] = 1;
        stands_for[static_cast<std::size_t>(m.to)] = k.value;
      } else {
        k.value = m.to;
        k.micro_batch = m.micro_batch;
      }
    }
    if (a.move >= 0 && dropped[static_cast<std::size_t>(a.move)]) continue;
    for (int& v : a.reads) v = stands_for[static_cast<std::size_t>(v)];
    made.actions.push_back(a);
  }
  return compacted(made);
}

/// Returns the program in which each gather of a parameter begins earlier: before the computations
/// of the `ahead` elements that precede the gather.
constexpr program early_gathers(program const& p, int ahead) {
  auto const actions = unreleased(p.actions);
  std::vector<int> visits;  // first action of each element's computations in a phase
  std::vector<std::vector<int>> begins(actions.size());
  std::vector<int> taken(actions.size(), 0);
  std::vector<int> made_at(p.values.size(), -1);  // per value: the action that makes the value
  action const* last = nullptr;
  for (std::size_t i = 0; i < actions.size(); ++i) {
    action const& a = actions[i];
    if (computes(a.kind)) {
      if (last == nullptr || last->element != a.element || last->phase != a.phase ||
          last->micro_batch != a.micro_batch)
        visits.push_back(static_cast<int>(i));
      last = &a;
    }
    for (int const v : a.makes) made_at[static_cast<std::size_t>(v)] = static_cast<int>(i);
    if (a.kind != action_kind::begin_move || !is_gather(p, p.move_of(a))) continue;
    // `visits` has one entry for each group of computations (of one element in one phase) that
    // begins before this gather. In the backward pass, a gather may follow the weight gradient of
    // its own layer. Then the last entry belongs to this layer and does not count.
    if (visits.empty()) continue;
    bool const own = last->element == a.element && last->phase == a.phase &&
                     last->micro_batch == a.micro_batch;
    int const to = static_cast<int>(visits.size()) - ahead - (own ? 1 : 0);
    int const before = visits[static_cast<std::size_t>(to < 0 ? 0 : to)];
    // If another part of a pipeline stores a parameter, the gather of the parameter cannot begin
    // before the parameter has arrived. So the gather stays behind the action that makes the
    // parameter.
    if (before <= made_at[static_cast<std::size_t>(p.move_of(a).from)]) continue;
    begins[static_cast<std::size_t>(before)].push_back(static_cast<int>(i));
    taken[i] = 1;
  }
  program made = p;
  made.actions.clear();
  for (std::size_t i = 0; i < actions.size(); ++i) {
    for (int const b : begins[i]) made.actions.push_back(actions[static_cast<std::size_t>(b)]);
    if (!taken[i]) made.actions.push_back(actions[i]);
  }
  return made;
}

}  // namespace step_detail

/// Returns a program in which gathers begin early, and in which as many parameters as fit into
/// memory are gathered less often. `limit` is the most memory that a rank may use, in bytes; 0
/// means no limit. If no such program fits, the result contains the given program.
constexpr pass_result prefetch(program const& p, prefetch_options const& options = {},
                               std::int64_t limit = 0) {
  auto const keeping = [&](int parameters) {
    program kept = p;
    if (parameters > 0) kept = step_detail::kept_gathers(p, options.often, parameters);
    return step_detail::finish_pass(p, step_detail::early_gathers(kept, options.ahead), limit);
  };
  int const all = options.often == gathered::each_pass ? 0 : step_detail::gathered_parameters(p);
  pass_result most = keeping(all);
  if (most.applied || all == 0) return most;
  most = keeping(0);
  int fits = 0, exceeds = all;
  while (exceeds - fits > 1) {
    int const half = fits + (exceeds - fits) / 2;
    if (auto tried = keeping(half); tried.applied) {
      most = tried;
      fits = half;
    } else {
      exceeds = half;
    }
  }
  return most;
}

}  // namespace step
}  // namespace ashlar::search
