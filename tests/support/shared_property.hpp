// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Checks a rapidcheck property on all ranks together. The ranks draw the same cases from one seed,
// which rank 0 chooses and prints. The ranks also agree on the result of each case, so all ranks
// simplify a failing case in the same way.
//
//   for_all("there and back", 200, cases, [](move_case const& c) { return what_is_wrong(c); });
//
//   RC_PARAMS="seed=7"           sets the seed; the default is drawn by rank 0
//   RC_PARAMS="max_success=1000" runs ten times as many cases
//
// If a case fails on a rank while others still wait inside the case, the failing rank prints the
// case and ends the job.

#include <exception>
#include <iostream>
#include <sstream>
#include <string>
#include <unordered_map>

#include <doctest/doctest.h>
#include <mpi.h>
#include <rapidcheck.h>
#include <rapidcheck/detail/TestListenerAdapter.h>
#include <support/agreed_sum.hpp>

namespace ashlar_test {

namespace detail {

/// Returns rank 0's parameters on all ranks. Collective over the world.
inline rc::detail::TestParams shared_params(int cases) {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  rc::detail::TestParams params;
  if (rank == 0) params = rc::detail::configuration().testParams;
  unsigned long long seed = params.seed;
  int success = params.maxSuccess;
  PMPI_Bcast(&seed, 1, MPI_UNSIGNED_LONG_LONG, 0, MPI_COMM_WORLD);
  PMPI_Bcast(&success, 1, MPI_INT, 0, MPI_COMM_WORLD);
  params.seed = seed;
  params.maxSuccess = cases * success / 100;  // success is 100 by default, so this scales `cases`
  return params;
}

/// Returns a communicator that is used only to agree on results.
inline MPI_Comm verdicts() {
  static MPI_Comm const comm = [] {
    MPI_Comm copy = MPI_COMM_NULL;
    PMPI_Comm_dup(MPI_COMM_WORLD, &copy);
    return copy;
  }();
  return comm;
}

}  // namespace detail

/// Calls `check` on all ranks for `cases` cases drawn from `cases_of`. Returns whether all cases
/// passed. `check` returns a description of the failure, or an empty text. Cases must be printable.
/// Collective over the world.
template <class Case, class Check>
bool for_all(std::string const& name, int cases, rc::Gen<Case> const& cases_of, Check check) {
  auto const params = detail::shared_params(cases);
  auto const comm = detail::verdicts();
  auto const property = [&] {
    Case const drawn = *cases_of;
    std::string wrong;
    try {
      wrong = check(drawn);
    } catch (std::exception const& error) {
      wrong = std::string("throws ") + error.what();
    }
    auto const failed = agreed_sum<1>({!wrong.empty()}, comm, !wrong.empty(), [&] {
      std::ostringstream text;
      rc::show(drawn, text);
      std::cerr << "ABORTED: \"" << name << "\" with seed " << params.seed
                << " failed on this rank and the others still wait inside it:\n"
                << text.str() << '\n'
                << wrong << std::endl;
      MPI_Abort(MPI_COMM_WORLD, 1);
    });
    if (failed[0] > 0) RC_FAIL(wrong.empty() ? "wrong on another rank" : wrong);
  };
  rc::detail::TestMetadata metadata;
  metadata.id = metadata.description = name;
  rc::detail::TestListenerAdapter silent;
  auto const result = rc::detail::checkTestable(
      property, metadata, params, silent, std::unordered_map<std::string, rc::detail::Reproduce>{});
  std::ostringstream text;
  rc::detail::printResultMessage(result, text);
  bool const holds = result.template is<rc::detail::SuccessResult>();
  CHECK_MESSAGE(holds, "\"" << name << "\" with seed " << params.seed << ":\n" << text.str());
  return holds;
}

}  // namespace ashlar_test
