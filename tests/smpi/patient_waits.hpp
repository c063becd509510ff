// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Lets simulated ranks wait for crossings between parts of a mesh. A poll for messages takes no
// simulated time here, so a rank that only polls would stop the simulated clock. The class
// patient_waits is a pending operation in the mesh's queue, which is called at every poll. After
// several polls at the same simulated moment, it lets the rank sleep. Polls between two pieces of a
// computation happen at different moments, so they do not let the rank sleep.

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
  /// A rank polls after each action. A rank that does not wait performs at most about this many
  /// actions between two computations, so more polls at one moment mean that the rank waits.
  static constexpr int polls_at_a_moment = 6;

  ashlar::operation_queue& operations_;
  double nap_;
  double last_ = -1;
  int polls_ = 0;
};

}  // namespace ashlar_test
