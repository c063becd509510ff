// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A transport decorator that records every transfer between ranks: its kind, its axes, and the
// bytes that this rank receives. The bytes are computed from the transfer's blocks and not from the
// planner's formulas. So tests can compare the recorded bytes with the planner's predictions.

#include <vector>

#include <ashlar/comm/communicator.hpp>

namespace ashlar {

/// The log entry for one transfer.
struct collective_record {
  collective kind = collective::all_gather;
  axis_list axes;
  std::int64_t received_bytes = 0;
  bool crosses = false;  ///< whether it is a crossing between parts, which has no kind and no axes
  friend bool operator==(collective_record const&, collective_record const&) = default;
};

/// Forwards every call to another transport and records each transfer when it begins. Local steps
/// (slice and zero_pad) are not recorded. Does not communicate by itself.
class counting_communicator final : public communicator {
 public:
  explicit counting_communicator(std::shared_ptr<communicator> inner) : inner_(std::move(inner)) {}

  void open(axis_list const& axes) override { inner_->open(axes); }
  void run(transfer_request const& s) override {
    note(s);
    inner_->run(s);
  }
  std::unique_ptr<pending_operation> start(transfer_request const& s) override {
    note(s);
    return inner_->start(s);
  }
  void note_crossing(std::int64_t received_bytes) override {
    records_.push_back({{}, {}, received_bytes, true});
    inner_->note_crossing(received_bytes);
  }
  void barrier() override { inner_->barrier(); }
  bool is_captured() const override { return inner_->is_captured(); }

  std::vector<collective_record> const& records() const { return records_; }
  void clear() { records_.clear(); }

 private:
  void note(transfer_request const& s) {
    if (!communicates(s.what->kind)) return;
    records_.push_back({s.what->kind, s.what->axes, s.what->received_elements() * size_of(s.type)});
  }

  std::shared_ptr<communicator> inner_;
  std::vector<collective_record> records_;
};

}  // namespace ashlar
