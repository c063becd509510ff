// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A decorator that writes down every exchange: kind, axes and the bytes that this rank received by
// the bandwidth-optimal algorithm, worked out from the counts handed to the transport and from
// nothing that the planner knows. Tests hold the planner's predictions against it.

#include <vector>

#include <ashlar/comm/communicator.hpp>

namespace ashlar {

struct collective_record {
  collective kind = collective::all_gather;
  axis_list axes;
  std::int64_t received_bytes = 0;
  friend bool operator==(collective_record const&, collective_record const&) = default;
};

class counting_communicator final : public communicator {
 public:
  counting_communicator(std::shared_ptr<communicator> inner, topology const& t,
                        coordinates const& here)
      : inner_(std::move(inner)), topology_(t), here_(here) {}

  void run(exchange const& what) override {
    note(what);
    inner_->run(what);
  }
  std::unique_ptr<pending_exchange> start(exchange const& what) override {
    note(what);
    return inner_->start(what);
  }
  void barrier() override { inner_->barrier(); }

  std::vector<collective_record> const& records() const { return records_; }
  void clear() { records_.clear(); }
  std::shared_ptr<communicator> const& inner() const { return inner_; }

 private:
  void note(exchange const& what) {
    auto const me = static_cast<std::size_t>(topology_.index_in_group(here_, what.axes));
    std::int64_t const p = topology_.group_size(what.axes);
    std::int64_t total = 0;
    for (auto const n : what.recv_counts) total += n;
    std::int64_t elements = 0;
    switch (what.pattern()) {
      case collective::all_gather:
      case collective::all_to_all: elements = total - what.recv_counts[me]; break;
      case collective::reduce_scatter: elements = (p - 1) * what.recv_counts[me]; break;
      case collective::all_reduce: {
        auto const block = total / p + (static_cast<std::int64_t>(me) < total % p ? 1 : 0);
        elements = (p - 1) * block + (total - block);
        break;
      }
      case collective::permute: elements = what.from == static_cast<int>(me) ? 0 : total; break;
      default: break;
    }
    records_.push_back({what.kind, what.axes, elements * size_of(what.type)});
  }

  std::shared_ptr<communicator> inner_;
  topology topology_;
  coordinates here_;
  std::vector<collective_record> records_;
};

}  // namespace ashlar
