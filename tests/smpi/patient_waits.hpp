// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Lets simulated ranks wait for crossings between parts of a mesh. A poll for messages takes no
// simulated time, so a rank that polls again and again would stop the simulated clock. A pending
// operation in the mesh's queue sees all polls: after some polls at one moment, it lets the rank
// sleep. Polls between two pieces of a computation are at different moments, so they cost nothing.

#include <smpi/patient_transport.hpp>

namespace ashlar_test {

class patient_waits final : public ashlar::pending_operation {
 public:
  /// `nap` is the number of simulated seconds for which a waiting rank sleeps between polls.
  patient_waits(ashlar::mesh const& m, double nap) : operations_(m.operations()), nap_(nap) {
    for (auto const* name : {"smpi/test", "smpi/iprobe"})
      simgrid::config::set_value<double>(name, 0);
    operations_.add(*this);
  }
  patient_waits(patient_waits const&) = delete;
  patient_waits& operator=(patient_waits const&) = delete;
  ~patient_waits() override { operations_.remove(*this); }

  bool advance() override {
    double const now = MPI_Wtime();
    polls_ = now == last_ ? polls_ + 1 : 1;
    last_ = now;
    if (polls_ > polls_at_a_moment) sleep_for(nap_);
    return false;
  }

 private:
  /// A program that does not wait has at most about this many actions between two computations,
  /// after each of which it polls.
  static constexpr int polls_at_a_moment = 6;

  ashlar::operation_queue& operations_;
  double nap_;
  double last_ = -1;
  int polls_ = 0;
};

}  // namespace ashlar_test
