// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Computes the optima of branches for chain_solver.hpp. A branch has three elements of its own: its
// begin, its turn and its end. The first net lies between the begin and the turn, and the second
// net between the turn and the end. The turn takes the result of the first net at the placements of
// the end, and passes x to the second net at the placements of the begin. So for choice r of the
// begin and choice s of the end,
//
//   across[r][s] = least cost of the first net from r to s + least cost of the second from r to s
//
// The costs of the begin and of the end are not part of `across`. Equal branches share one table.

#include <vector>

#include <ashlar/plan/step_prices.hpp>
#include <ashlar/support/scratch.hpp>

namespace ashlar::search {

class branch_tables {
 public:
  /// Returns the table of the branch that begins at element `begin`: [choice of the begin][choice
  /// of the end]. Computes it if no equal branch was computed before.
  template <class Solver>
  constexpr double const* find(Solver& solver, int begin) {
    for (table const& known : tables_)
      if (solver.alike(known.begin, begin)) return known.across.data();
    auto& model = solver.model();
    int const turn = model.partner(begin), end = model.partner(turn);
    int const n = model.choices(begin).size(), k = model.choices(end).size();
    scratch<double> across(static_cast<std::size_t>(n) * static_cast<std::size_t>(k));
    double* out = across.data();
    for (int r = 0; r < n; ++r) {
      auto const first = reached(solver, begin, turn, r), second = reached(solver, turn, end, r);
      for (int s = 0; s < k; ++s) *out++ = first.data()[s] + second.data()[s];
    }
    tables_.push_back({begin, static_cast<scratch<double>&&>(across)});
    return tables_.back().across.data();
  }

  /// Returns the least costs of everything after the begin of a branch, for each of the begin's n
  /// choices. `value` has the costs from the end on, for each choice of the end.
  static constexpr scratch<double> back(double const* across, int n, scratch<double> const& value) {
    scratch<double> result(static_cast<std::size_t>(n), unreachable);
    for (double& least : result)
      for (double const behind : value) {
        double const way = *across++ + behind;
        least = way < least ? way : least;
      }
    return result;
  }

 private:
  struct table {
    int begin;
    scratch<double> across;
  };

  /// Returns the least cost of one net of a branch for each choice of the branch's end. The begin
  /// takes choice r. `from` and `to` are the elements of the branch around the net: its begin and
  /// its turn, or its turn and its end.
  template <class Solver>
  static constexpr scratch<double> reached(Solver& solver, int from, int to, int r) {
    return solver.advance(to - 1,
                          solver.forward(from + 1, to - 1, solver.leaving(from, r), nullptr));
  }

  std::vector<table> tables_;
};

}  // namespace ashlar::search
