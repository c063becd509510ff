// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A rapidcheck property of all ranks together. They draw the same cases from one seed (rank 0's,
// printed) and share the verdict on each, so that they shrink a failure alike.
//
//   for_all("there and back", 200, cases, [](move_case const& c) { return what_is_wrong(c); });
//
//   RC_PARAMS="seed=7"           the seed of rank 0's random device otherwise
//   RC_PARAMS="max_success=1000" ten times the cases
//
// A rank that fails where others still wait inside the case prints the case and ends the job.

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

/// Rank 0's parameters on all ranks. Collective over the world.
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
  params.maxSuccess = cases * success / 100;  // rapidcheck's default is 100
  return params;
}

/// The communicator of verdicts: never one that a property uses.
inline MPI_Comm verdicts() {
  static MPI_Comm const comm = [] {
    MPI_Comm copy = MPI_COMM_NULL;
    PMPI_Comm_dup(MPI_COMM_WORLD, &copy);
    return copy;
  }();
  return comm;
}

}  // namespace detail

/// Holds `check` (empty text: it holds) on all ranks for `cases` draws of `cases_of`, whose values
/// can be printed. Whether it holds. Collective over the world.
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
