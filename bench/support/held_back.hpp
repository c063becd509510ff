// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A transport that behaves like a slower network. It delays each transfer by the seconds that the
// cost model computes from the α and β of a machine (machine/link.hpp). Then it passes the transfer
// to the real transport, whose own time adds to the delay.
//
// Each rank has one link within its node and one link between nodes. A link delays one transfer at
// a time. The delay begins as soon as the transfer has been started and the link is free. Transfers
// of one group of ranks enter the link in the order of their tickets (sequence numbers).
//
// The functions of a transfer do the following:
//
//   advance()   compares the clock with the end of the delay, so that a delay uses no core
//   run()       sleeps until the delay has ended
//   join()      sleeps for a short time, but not beyond the end of the delay

#include <algorithm>
#include <thread>

#include <ashlar/comm/decorated_transport.hpp>
#include <ashlar/machine/link.hpp>
#include <ashlar/support/exception_watch.hpp>

#include "trials.hpp"

namespace ashlar_bench {

class held_back_communicator final : public ashlar::communicator {
 public:
  held_back_communicator(std::shared_ptr<ashlar::communicator> inner, ashlar::topology const& t,
                         ashlar::machine const& m, ashlar::operation_queue& operations)
      : inner_(std::move(inner)), topology_(t), machine_(m), operations_(operations) {}

  void open(ashlar::axis_list const& axes) override { inner_->open(axes); }
  void run(ashlar::transfer_request const& s) override {
    double until = 0;
    while (!reserve_link(s, until)) {
      operations_.poll();
      nap();
    }
    while (now() < until) {
      operations_.poll();
      nap(until);
    }
    inner_->run(s);
  }
  std::unique_ptr<ashlar::pending_operation> start(ashlar::transfer_request const& s) override {
    auto held = std::make_unique<held_transfer>(*this, s);
    held->advance();
    return held;
  }
  void note_crossing(std::int64_t received_bytes) override {
    inner_->note_crossing(received_bytes);
  }
  void barrier() override { inner_->barrier(); }

 private:
  class held_transfer final : public ashlar::pending_operation {
   public:
    held_transfer(held_back_communicator& owner, ashlar::transfer_request const& s)
        : owner_(owner), request_(s) {}
    ~held_transfer() override {
      while (!watch_.is_passing() && real_ == nullptr && !advance()) {
        owner_.operations_.poll();
        nap();
      }
    }

    bool advance() override {
      if (real_ != nullptr) return real_->advance();
      if (!on_link_ && !(on_link_ = owner_.reserve_link(request_, until_))) return false;
      if (now() < until_) return false;
      real_ = owner_.inner_->start(request_);
      return real_->advance();
    }
    bool join() override {
      if (advance()) return true;
      if (real_ == nullptr) nap(on_link_ ? until_ : 1e300);
      return false;
    }

   private:
    held_back_communicator& owner_;
    ashlar::transfer_request request_;
    bool on_link_ = false;
    double until_ = 0;
    std::unique_ptr<ashlar::pending_operation> real_;
    ashlar::exception_watch watch_;
  };

  static constexpr double longest_nap = 1e-4;

  /// Reserves the link for a transfer, and sets `until` to the time when its delay ends. Returns
  /// false if an earlier transfer of the same group (one with a smaller ticket) has not reserved
  /// the link yet.
  bool reserve_link(ashlar::transfer_request const& s, double& until) {
    auto const& x = *s.what;
    std::uint64_t& last = last_of_group_[ashlar::set_of(x.axes)];
    if (last + 1 != s.ticket && !operations_.is_turn_of(x.axes, s.ticket)) return false;
    last = s.ticket;
    bool between = false;
    for (auto const a : x.axes)
      between = between || (topology_.axis[a].tier == ashlar::link_tier::inter_node &&
                            topology_.extent(a) > 1);
    double& free = free_[between];
    free = std::max(free, now()) + ashlar::seconds(machine_, topology_, x.axes, x.kind, load_of(x),
                                                   static_cast<int>(size_of(s.type)));
    until = free;
    return true;
  }

  /// Returns the messages and elements that this rank receives in a transfer.
  static ashlar::traffic load_of(ashlar::transfer const& x) {
    using ashlar::collective;
    ashlar::traffic load = ashlar::collective_traffic(x.kind, x.members, x.from.elements(),
                                                      x.to.elements(), 0, x.index);
    load.elements = x.received_elements();
    if (load.elements == 0) return {};
    bool const is_pairwise = x.partner >= 0;  // if the transfer is a permute
    if (x.kind == collective::broadcast) load.messages = 1;
    if (x.kind == collective::reduce) load.messages = x.members - 1;
    if (x.kind == collective::permute && !is_pairwise) load.messages = x.members - 1;
    return load;
  }

  /// Sleeps for at most `longest_nap`, and not beyond the time `until`. Other transfers make no
  /// progress meanwhile.
  static void nap(double until = 1e300) {
    double const seconds = std::clamp(until - now(), 0.0, longest_nap);
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  }

  std::shared_ptr<ashlar::communicator> inner_;
  ashlar::topology topology_;
  ashlar::machine machine_;
  ashlar::operation_queue& operations_;
  // The times at which the two links become free: [0] within nodes, [1] between nodes.
  double free_[2]{};
  std::uint64_t last_of_group_[1 << ashlar::max_axes]{};
};

/// Delays all transfers of a mesh by the α and β of its machine, until the returned object is
/// destroyed.
inline ashlar::decorated_transport held_back(ashlar::mesh const& m) {
  return {m, [&m](std::shared_ptr<ashlar::communicator> inner) {
            return std::make_shared<held_back_communicator>(std::move(inner), m.topology(),
                                                            m.machine(), m.operations());
          }};
}

}  // namespace ashlar_bench
