// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Finds out by enumeration which signature rows are valid for an operation. An operation consists
// of a generator of random operands and a naive kernel. A trial draws operands and gives each
// simulated rank its shards under the placements of the row. The kernel then runs on the shards of
// each rank. The row is valid if in every trial the results are the shards of the true result. The
// row is invalid otherwise, and also if the kernel cannot run because extents do not fit. Invalid
// rows usually fail in the first trials.
//
// `pieces` also contains the global index at which each shard begins. Kernels use this index only
// for vocabulary and class offsets, where the documentation of the library's operator permits it.

#include <functional>
#include <optional>
#include <set>
#include <string>

#include <support/naive_placement.hpp>

#include <ashlar/placement/text.hpp>
#include <ashlar/signature/signature.hpp>

namespace ashlar_test {

/// The shards of the operands on one rank. begin[i][d] is the global index of the first element of
/// operand i along dimension d.
struct pieces {
  std::vector<dense> operand;
  std::vector<index> begin;
  dense const& operator[](std::size_t i) const { return operand[i]; }
};

using kernel = std::function<std::optional<dense>(pieces const&)>;

/// Draws the extents of a trial. In early trials the extents are at least as large as the largest
/// mesh axis. Later trials may draw smaller extents, and the last trials even 0. In these later
/// trials, an extent is never below `least`.
struct extent_source {
  std::mt19937& random;
  int trial;
  int axis;  // the extent of the largest mesh axis
  int operator()(int least = 0) {
    if (trial < 12) return uniform(random, axis, 2 * axis + 2);
    if (trial < 16) return std::max(least, uniform(random, 1, axis + 1));
    return std::max(least, uniform(random, 0, axis));
  }
};

struct operation {
  std::function<std::vector<dense>(extent_source&)> operands;
  kernel run;
  double tolerance = 0;  // 0 if values are integers and results exact
};

inline constexpr int trials = 20;

/// Runs the operation in many trials, with operands that have the placements `in`. Returns each
/// placement in `candidates` that is correct for the result in every trial.
inline std::vector<placement> results_of(operation const& op, naive_mesh const& mesh,
                                         std::vector<placement> const& in,
                                         std::vector<placement> candidates, unsigned seed = 1) {
  std::mt19937 random(seed);
  int const axis = *std::max_element(mesh.extents.begin(), mesh.extents.end());
  auto const all = mesh.all_coordinates();
  for (int trial = 0; trial < trials && !candidates.empty(); ++trial) {
    extent_source extents{random, trial, axis};
    pieces whole;
    whole.operand = op.operands(extents);
    std::vector<pieces> local(all.size());
    for (std::size_t i = 0; i < in.size(); ++i) {
      whole.begin.emplace_back(whole[i].extents.size(), 0);
      auto const placed = place(whole[i], in[i], mesh, random);
      for (std::size_t r = 0; r < all.size(); ++r) {
        local[r].operand.push_back(placed[r]);
        index begin;
        for (auto const& items : held(whole[i].extents, in[i], mesh, all[r]))
          begin.push_back(items.empty() ? 0 : items.front());
        local[r].begin.push_back(begin);
      }
    }
    auto const truth = op.run(whole);
    if (!truth) throw std::logic_error("the operation does not fit its own operands");
    std::vector<dense> results;
    for (auto const& rank : local) {
      auto result = op.run(rank);
      if (!result || result->rank() != truth->rank()) return {};
      results.push_back(std::move(*result));
    }
    std::erase_if(candidates, [&](placement const& p) {
      return !is_placed(results, *truth, p, mesh, op.tolerance);
    });
  }
  return candidates;
}

/// Returns all placements of a tensor of `rank` dimensions on a mesh with one axis.
inline std::vector<placement> roles(int rank) {
  return all_placements(rank, 1, {reduction::sum, reduction::max, reduction::min});
}

inline bool proves(operation const& op, int p, std::vector<axis_placement> const& in,
                   axis_placement const& out) {
  std::vector<placement> placed;
  for (auto const& role : in) placed.push_back({role});
  return !results_of(op, {p}, placed, {placement{out}}).empty();
}

/// Returns whether a gradient may have this placement. If the value is split, its gradient has the
/// same split. If the value is replicated or partial, its gradient is replicated or a partial sum.
inline bool is_gradient_of(axis_placement const& gradient, axis_placement const& value) {
  return value.is_split()
             ? same_role(gradient, value)
             : gradient.is_broadcast() || (gradient.is_partial() && gradient.op == reduction::sum);
}

/// Formats a row, for example "S(0),B -> S(0)".
inline std::string row_text(std::vector<axis_placement> const& in, axis_placement const& out) {
  std::string text;
  for (auto const& role : in) text += (text.empty() ? "" : ",") + ashlar::to_string(role);
  return text + " -> " + ashlar::to_string(out);
}

using row_set = std::set<std::string>;

inline row_set rows_of(ashlar::signature_table const& table) {
  row_set set;
  for (auto const& row : table) set.insert(row_text({row.in.begin(), row.in.end()}, row.out));
  return set;
}

/// Returns the rows that are valid on an axis of p ranks, without the trivial ones. A row with
/// result P(max) or P(min) is trivial if the same row with result B is valid, because the maximum
/// or minimum of equal copies is the copy itself.
inline row_set holding_rows(operation const& op, int p) {
  std::mt19937 random(7);
  extent_source extents{random, 0, p};
  auto const sample = op.operands(extents);
  pieces whole{sample, {}};
  for (auto const& x : sample) whole.begin.emplace_back(x.extents.size(), 0);
  auto const results = roles(op.run(whole)->rank());
  std::vector<std::vector<placement>> choices;
  index counts;
  for (auto const& x : sample) {
    choices.push_back(roles(x.rank()));
    counts.push_back(static_cast<int>(choices.back().size()));
  }
  row_set set;
  for_each_index(counts, [&](index const& choice) {
    std::vector<placement> in;
    std::vector<axis_placement> in_roles;
    for (std::size_t i = 0; i < choice.size(); ++i) {
      in.push_back(choices[i][static_cast<std::size_t>(choice[i])]);
      in_roles.push_back(in.back()[0]);
    }
    auto const found = results_of(op, {p}, in, results);
    bool const whole_result = std::any_of(found.begin(), found.end(),
                                          [](placement const& f) { return f[0].is_broadcast(); });
    for (auto const& f : found)
      if (!(whole_result && f[0].is_partial() && f[0].op != reduction::sum))
        set.insert(row_text(in_roles, f[0]));
  });
  return set;
}

/// Returns the rows that are valid for every operation in `class_of`. A table that these operations
/// share may contain only these rows.
inline row_set common_rows(std::vector<operation> const& class_of, int p) {
  row_set common = holding_rows(class_of.front(), p);
  for (std::size_t i = 1; i < class_of.size(); ++i) {
    auto const other = holding_rows(class_of[i], p);
    std::erase_if(common, [&](std::string const& row) { return !other.contains(row); });
  }
  return common;
}

inline std::string difference(row_set const& a, row_set const& b) {
  std::string text;
  for (auto const& row : a)
    if (!b.contains(row)) text += "  " + row + '\n';
  return text;
}

}  // namespace ashlar_test
