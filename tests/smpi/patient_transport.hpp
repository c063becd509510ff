// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A transport of simulated ranks whose questions cost nothing: whether a message has come is asked in no
// time, and a rank that waits sleeps between two questions. SMPI would charge every request of every
// question, more and more, and step through a wait one question after the other.

#include <utility>

#include <support/simulated_element.hpp>
#include <xbt/config.hpp>

#include <ashlar/comm/decorated_transport.hpp>

namespace ashlar_test {

class patient_communicator final : public ashlar::communicator {
 public:
  /// `nap`: simulated seconds between two questions of a rank that waits.
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

/// Waits on a mesh are patient for as long as this lives.
inline ashlar::decorated_transport patient(ashlar::mesh const& m, double nap) {
  return {m, [&](std::shared_ptr<ashlar::communicator> inner) {
            return std::make_shared<patient_communicator>(std::move(inner), m.operations(), nap);
          }};
}

}  // namespace ashlar_test
