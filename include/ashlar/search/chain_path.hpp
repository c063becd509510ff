// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Finds the choices of an optimal plan of a chain of layers. chain_solver computes the optimal cost
// up to each element of the chain. chain_path goes back from the last element to the first (the
// traceback of dynamic programming). For the elements inside a residual block or branch, it runs
// the dynamic program again. Equal residual blocks whose ends have the same choice are solved only
// once.

#include <utility>
#include <vector>

#include <ashlar/plan/step_prices.hpp>
#include <ashlar/step/problem.hpp>
#include <ashlar/support/scratch.hpp>

namespace ashlar::search {

/// Finds the optimal path (one choice per element of the chain). `Solver` is a chain_solver.
template <class Solver>
class chain_path {
 public:
  constexpr explicit chain_path(Solver& solver) : solver_(solver), model_(solver.model()) {}

  /// Returns the optimal path: for each element, the index of its choice. start[k] is the cost of
  /// everything before the first element if that element takes choice k.
  constexpr scratch<int> find(scratch<double> const& start) {
    scratch<int> choice(static_cast<std::size_t>(model_.size()));
    trace(0, model_.size() - 1, start, scratch<double>(), choice);
    return choice;
  }

 private:
  using model_type = std::remove_reference_t<decltype(std::declval<Solver&>().model())>;

  /// Writes the optimal choices of the elements first .. last into `choice`. start[k] is the cost
  /// of everything before element `first` if `first` takes choice k. end[k] is the cost of
  /// everything after element `last` if `last` takes choice k; an empty `end` means 0.
  constexpr void trace(int first, int last, scratch<double> start, scratch<double> const& end,
                       scratch<int>& choice) {
    scratch<scratch<double>> values(static_cast<std::size_t>(model_.size()));
    solver_.forward(first, last, start, &values);
    int best = 0;
    double least = 2 * unreachable;
    for (int k = 0; k < model_.choices(last).size(); ++k) {
      double const v = values.data()[last].data()[k] + (end.size() == 0 ? 0 : end.data()[k]);
      if (v < least) least = v, best = k;
    }
    for (int i = last;;) {
      choice.data()[i] = best;
      if (model_.kind(i) == element_kind::residual_end) {
        int const begin = model_.partner(i);
        choice.data()[begin] = best;
        if (begin + 1 < i) trace_inside(begin, best, choice);
        i = begin;
      } else if (ends_branch(model_.kind(i))) {
        best = trace_branch(i, best, values, choice);
        i = model_.partner(i);
        choice.data()[i] = best;
      }
      if (i <= first) return;
      int const n = model_.choices(i).size();
      double const* const way = model_.boundary(i - 1);
      double const* const before = values.data()[i - 1].data();
      int from = 0;
      least = 2 * unreachable;
      for (int j = 0; j < model_.choices(i - 1).size(); ++j) {
        double const v = before[j] + way[j * n + best];
        if (v < least) least = v, from = j;
      }
      best = from;
      --i;
    }
  }

  /// Writes the optimal choices of the elements inside a residual block whose two ends take choice
  /// r. Copies them if an equal block with the same r was solved before.
  constexpr void trace_inside(int begin, int r, scratch<int>& choice) {
    int const end = model_.partner(begin);
    for (traced const& it : traced_) {
      if (it.choice != r || !solver_.alike(it.begin, begin)) continue;
      for (int i = begin + 1; i < end; ++i) choice.data()[i] = choice.data()[i - begin + it.begin];
      return;
    }
    trace(begin + 1, end - 1, solver_.leaving(begin, r), solver_.arriving(end, r), choice);
    traced_.push_back({begin, r});
  }

  /// A branch ends at element `end` with choice s. Writes the optimal choices of the elements
  /// inside the branch and of its turn, and returns the optimal choice of its begin. The entry of
  /// `values` for the begin has the optimal costs up to each choice of the begin.
  constexpr int trace_branch(int end, int s, scratch<scratch<double>> const& values,
                             scratch<int>& choice) {
    int const begin = model_.partner(end), turn = model_.partner(begin);
    int const width = model_.choices(end).size();
    double const* const across = solver_.across(begin);
    int r = 0;
    double least = 2 * unreachable;
    for (int j = 0; j < model_.choices(begin).size(); ++j) {
      double const v = values.data()[begin].data()[j] + across[j * width + s];
      if (v < least) least = v, r = j;
    }
    choice.data()[turn] = s;
    for (int const from : {begin, turn}) {
      int const to = model_.partner(from);
      trace(from + 1, to - 1, solver_.leaving(from, r), solver_.arriving(to, s), choice);
    }
    return r;
  }

  struct traced {
    int begin, choice;
  };

  Solver& solver_;
  model_type& model_;
  std::vector<traced> traced_;
};

}  // namespace ashlar::search
