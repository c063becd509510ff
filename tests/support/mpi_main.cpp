// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// The main function of every MPI test, compiled once. All ranks run the same cases in the same
// order.
//
//   after each case     the ranks agree on its result, over a communicator that no test uses
//   output              failures of every rank, each line prefixed with its rank; one summary
//   exit code           1 on every rank if a case failed on any rank
//   early end           if REQUIRE or an exception ends a case on some ranks only, the job is
//                       aborted, because later communication of the ranks would not match
//   too slow            the job is aborted after ASHLAR_TEST_DEADLINE seconds (default 120)
//
// This file also defines the MPI functions whose calls traffic_check counts. They must be defined
// once per program.
//
// Ranks synchronize at the end of a case and whenever a case is re-entered for another SUBCASE.
// doctest's decorators should_fail, may_fail and expected_failures are not supported.

#define DOCTEST_CONFIG_IMPLEMENT
#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <mpi.h>

#include "support/agreed_sum.hpp"
#include "support/deadline.hpp"
#include "support/mpi_traffic_calls.hpp"
#include "support/rank_stream.hpp"

namespace {

int rank_ = 0;
int size_ = 1;
MPI_Comm verdicts_ = MPI_COMM_NULL;  // private to the harness: no test uses it
ashlar_test::rank_stream* out_ = nullptr;

// Prints on this rank, then ends all ranks.
[[noreturn]] void abort_job(std::string const& why) {
  *out_ << "ABORTED: " << why << std::endl;
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::_Exit(1);
}

// Aborts the job if a test calls exit(), also with status 0. Without this function, the launcher
// would decide whether such a test has failed.
void refuse_early_exit() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (!finalized) abort_job("exit before the tests have ended");
}

// The points of a test case at which the ranks agree on the result of the case: before doctest runs
// the case again for another SUBCASE, and at the end of the case. All ranks must be at the same
// point.
enum class point { reenter, end };

struct verdict {
  int failed;      // number of ranks on which an assertion failed or an exception escaped
  int left_early;  // number of ranks that did not reach the end of the case
};

// Returns the number of failed ranks and the number of ranks that left the case early.
// Communicates: one all-reduce over all ranks.
verdict agree(point where, bool failed, bool left_early, char const* test) {
  std::array<int, 3> const mine{failed, left_early, where == point::end};
  auto const all = ashlar_test::agreed_sum(mine, verdicts_, failed, [&] {
    abort_job(std::string("this rank failed in \"") + test +
              "\" and the others still wait inside it");
  });
  if (all[2] != 0 && all[2] != size_)
    abort_job(std::string("ranks run different subcases of \"") + test + "\"");
  return {all[0], all[1]};
}

// Prints doctest's console output. There is one verdict for each case, which covers all ranks, and
// one summary.
struct mpi_reporter : doctest::ConsoleReporter {
  using doctest::ConsoleReporter::ConsoleReporter;

  void test_run_start() override {}

  void test_case_start(doctest::TestCaseData const& data) override {
    ConsoleReporter::test_case_start(data);
    name_ = data.m_name;
    ashlar_test::deadline::now_in(name_);
    failed_anywhere_ = 0;
    failed_here_ = left_here_ = false;
  }

  void log_assert(doctest::AssertData const& data) override {
    ConsoleReporter::log_assert(data);
    if (!data.m_failed || (data.m_at & doctest::assertType::is_warn)) return;
    failed_here_ = true;
    left_here_ |= (data.m_at & doctest::assertType::is_require) != 0;
  }

  void log_message(doctest::MessageData const& data) override {
    ConsoleReporter::log_message(data);
    if (data.m_severity & doctest::assertType::is_warn) return;
    failed_here_ = true;
    left_here_ |= (data.m_severity & doctest::assertType::is_require) != 0;
  }

  void test_case_exception(doctest::TestCaseException const& error) override {
    // A SIGTERM comes from the launcher, which ends this rank because another rank failed. The
    // failed rank has printed the reason.
    if (error.is_crash && std::string(error.error_string.c_str()).find("SIGTERM") == 0)
      std::_Exit(1);
    ConsoleReporter::test_case_exception(error);
    // After a crash doctest runs inside a signal handler, where communication is not possible.
    if (error.is_crash) abort_job(std::string("this rank crashed in \"") + name_ + "\"");
    failed_here_ = left_here_ = true;
  }

  void test_case_reenter(doctest::TestCaseData const& data) override {
    ConsoleReporter::test_case_reenter(data);
    settle(point::reenter);
  }

  void test_case_end(doctest::CurrentTestCaseStats const& stats) override {
    ConsoleReporter::test_case_end(stats);
    settle(point::end);
    ++cases_;
    if (failed_anywhere_ > 0)
      failures_.push_back("\"" + std::string(name_) + "\" on " + std::to_string(failed_anywhere_) +
                          " of " + std::to_string(size_) + " ranks");
  }

  void test_run_end(doctest::TestRunStats const& stats) override {
    int const all_failures = static_cast<int>(failures_.size());
    failed_cases = all_failures;
    if (rank_ != 0) return;
    for (auto const& failure : failures_) *out_ << "failed: " << failure << '\n';
    *out_ << cases_ << " cases on " << size_ << " ranks, " << failures_.size() << " failed; "
          << stats.numAsserts << " assertions on rank 0" << std::endl;
  }

  static inline int failed_cases = 0;  // number of failed cases in this run, the same on all ranks

 private:
  void settle(point where) {
    out_->flush();
    auto const all = agree(where, failed_here_, left_here_, name_);
    if (all.left_early > 0 && all.left_early < size_) {
      if (left_here_) abort_job(std::string("only some ranks left \"") + name_ + "\" early");
      // Another rank left the case early. That rank prints the reason and aborts the job. This rank
      // waits for the abort.
      std::this_thread::sleep_for(ashlar_test::grace);
    }
    failed_anywhere_ = std::max(failed_anywhere_, all.failed);
    failed_here_ = left_here_ = false;
  }

  char const* name_ = "";
  bool failed_here_ = false;  // on this rank, since the last verdict
  bool left_here_ = false;
  int failed_anywhere_ = 0;  // largest number of ranks that failed at one verdict of this case
  int cases_ = 0;
  std::vector<std::string> failures_;
};

DOCTEST_REGISTER_REPORTER("mpi", 1, mpi_reporter);

int run(int argc, char** argv) {
  doctest::Context context(argc, argv);
  context.setCout(out_);
  context.setOption("no-colors", true);
  context.addFilter("reporters", "mpi");
  int const status = context.run();
  // `status` is doctest's own result, which covers only the cases on this rank.
  return mpi_reporter::failed_cases > 0 || status != 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  MPI_Comm_dup(MPI_COMM_WORLD, &verdicts_);
  ashlar_test::rank_stream out(rank_);
  out_ = &out;
  std::atexit(refuse_early_exit);

  int status = 1;
  {
    ashlar_test::deadline const deadline(&abort_job);
    try {
      status = run(argc, argv);
    } catch (std::exception const& error) {
      abort_job(std::string("uncaught exception: ") + error.what());
    } catch (...) {
      abort_job("uncaught exception of unknown type");
    }
    int worst = 0;
    MPI_Allreduce(&status, &worst, 1, MPI_INT, MPI_MAX, verdicts_);
    status = worst;
    MPI_Comm_free(&verdicts_);
    MPI_Finalize();  // within the deadline, because unreceived messages can make this call hang
  }
  return status;
}
