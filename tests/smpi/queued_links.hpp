// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A transport whose links behave as in the timeline (step/timeline.hpp): each tier carries one
// transfer at a time, in the order of the tickets that the rank has taken. On the other transports,
// transfers of different groups of ranks share a link, so a short transfer does not wait for a long
// transfer that began before it.

#include <map>
#include <set>

#include <sched.h>

#include <ashlar/comm/communicator.hpp>
#include <ashlar/comm/operation_queue.hpp>

namespace ashlar_test {

class queued_links final : public ashlar::communicator {
 public:
  queued_links(std::shared_ptr<ashlar::communicator> inner, ashlar::topology const& t,
               ashlar::operation_queue& order)
      : inner_(std::move(inner)), topology_(t), order_(order) {}

  /// Gives the next transfer along `axes` its number. The caller takes the transfer's ticket right
  /// after this call.
  void open(ashlar::axis_list const& axes) override {
    inner_->open(axes);
    number(axes, ++last(axes));
  }
  void run(ashlar::transfer_request const& s) override {
    auto const pending = start(s);
    while (!pending->advance()) {
      order_.poll();
      sched_yield();
    }
  }
  std::unique_ptr<ashlar::pending_operation> start(ashlar::transfer_request const& s) override {
    return std::make_unique<queued_transfer>(*this, s);
  }
  void note_crossing(std::int64_t received_bytes) override {
    inner_->note_crossing(received_bytes);
  }
  void barrier() override { inner_->barrier(); }

 private:
  class queued_transfer final : public ashlar::pending_operation {
   public:
    queued_transfer(queued_links& owner, ashlar::transfer_request const& s)
        : owner_(owner), request_(s), number_(owner.number_of(s)),
          waiting_(owner.waiting_[owner.tier_of(s.what->axes)]) {
      advance();
    }
    bool advance() override {
      if (done_) return true;
      if (real_ == nullptr) {
        if (*waiting_.begin() != number_) return false;
        real_ = owner_.inner_->start(request_);
      }
      if (!real_->advance()) return false;
      waiting_.erase(number_);
      return done_ = true;
    }

   private:
    queued_links& owner_;
    ashlar::transfer_request request_;
    std::uint64_t number_;
    std::set<std::uint64_t>& waiting_;
    std::unique_ptr<ashlar::pending_operation> real_;
    bool done_ = false;
  };

  /// Returns the last known ticket of the group of ranks along `axes`. The first call for a group
  /// finds the ticket by trying one number after the other. This works because no transfer was
  /// pending when this object was made.
  std::uint64_t& last(ashlar::axis_list const& axes) {
    auto const [found, is_new] = last_.try_emplace(ashlar::set_of(axes), 0);
    while (is_new && !order_.is_turn_of(axes, found->second + 1)) ++found->second;
    return found->second;
  }
  std::uint64_t number(ashlar::axis_list const& axes, std::uint64_t ticket) {
    waiting_[tier_of(axes)].insert(++numbers_);
    return of_ticket_[{ashlar::set_of(axes), ticket}] = numbers_;
  }
  /// Returns the number of a transfer in the order of all transfers of this rank. A blocking
  /// transfer takes its ticket right before it runs, so it has no number before this call and gets
  /// one here.
  std::uint64_t number_of(ashlar::transfer_request const& s) {
    auto const found = of_ticket_.find({ashlar::set_of(s.what->axes), s.ticket});
    if (found != of_ticket_.end()) return found->second;
    last(s.what->axes) = s.ticket;
    return number(s.what->axes, s.ticket);
  }
  bool tier_of(ashlar::axis_list const& axes) const {
    for (auto const a : axes)
      if (topology_.axis[a].tier == ashlar::link_tier::inter_node && topology_.extent(a) > 1)
        return true;
    return false;
  }

  std::shared_ptr<ashlar::communicator> inner_;
  ashlar::topology topology_;
  ashlar::operation_queue& order_;
  std::uint64_t numbers_ = 0;
  std::map<unsigned, std::uint64_t> last_;
  std::map<std::pair<unsigned, std::uint64_t>, std::uint64_t> of_ticket_;
  std::set<std::uint64_t> waiting_[2];  // by tier: numbers of the transfers that have not ended
};

}  // namespace ashlar_test
