// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A transport for simulated ranks that polls for messages without cost. A poll (MPI_Test,
// MPI_Iprobe) takes no simulated time, and a waiting rank sleeps between two polls. Without this
// transport, SMPI would charge growing costs for every request in every poll, and would simulate a
// long wait poll by poll.

#include <utility>

#include <support/simulated_element.hpp>
#include <xbt/config.hpp>

#include <ashlar/comm/decorated_transport.hpp>

namespace ashlar_test {

class patient_communicator final : public ashlar::communicator {
 public:
  /// `nap` is the number of simulated seconds between two polls of a waiting rank.
  patient_communicator(std::shared_ptr<ashlar::communicator> inner, ashlar::operation_queue& order,
                       double nap)
      : inner_(std::move(inner)), order_(order), nap_(nap) {
    for (auto const* name : {"smpi/test", "smpi/iprobe"})
      simgrid::config::set_value<double>(name, 0);
  }

  void open(ashlar::axis_list const& axes) override { inner_->open(axes); }
  void run(ashlar::transfer_request const& s) override {
    auto const pending = inner_->start(s);
    for (; !pending->advance(); sleep_for(nap_)) order_.poll();
  }
  std::unique_ptr<ashlar::pending_operation> start(ashlar::transfer_request const& s) override {
    return std::make_unique<patient_transfer>(inner_->start(s), nap_);
  }
  void note_crossing(std::int64_t received_bytes) override {
    inner_->note_crossing(received_bytes);
  }
  void barrier() override { inner_->barrier(); }

 private:
  class patient_transfer final : public ashlar::pending_operation {
   public:
    patient_transfer(std::unique_ptr<ashlar::pending_operation> inner, double nap)
        : inner_(std::move(inner)), nap_(nap) {}
    bool advance() override { return inner_->advance(); }
    bool join() override {
      if (inner_->join()) return true;
      sleep_for(nap_);
      return false;
    }

   private:
    std::unique_ptr<ashlar::pending_operation> inner_;
    double nap_;
  };

  std::shared_ptr<ashlar::communicator> inner_;
  ashlar::operation_queue& order_;
  double nap_;
};

/// Makes the mesh use a patient_communicator until the returned object is destroyed.
inline ashlar::decorated_transport patient(ashlar::mesh const& m, double nap) {
  return {m, [&](std::shared_ptr<ashlar::communicator> inner) {
            return std::make_shared<patient_communicator>(std::move(inner), m.operations(), nap);
          }};
}

}  // namespace ashlar_test
