// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// One rank's communication in a training with stale parameters (sync/update_clock.hpp). Every rank
// is a worker. A rank that owns a part of the parameters is also an owner. The ranks send each
// other three kinds of letters (mpi/mailbox.hpp):
//
//   kind      from     to       contents
//   push      worker   owner    the number of a step, and the gradient that the step has computed
//   read      worker   owner    the number of a step, and the staleness that its values may have
//   answer    owner    worker   the values, between two copies of the number of their version
//
// take() is the handler of letters. It never waits. An answer contains the values of one moment, so
// a worker never gets a mixture of older and newer values. take() verifies this: it throws if the
// two versions in an answer differ.
//
// `Mailbox` has the functions of mpi::mailbox: expect(from, kind, bytes) and send(to, kind, bytes,
// fill). T is the type of the gradient's elements.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ashlar/support/error.hpp>
#include <ashlar/sync/parameter_owner.hpp>

namespace ashlar {

template <class T, class Mailbox>
class stale_exchange {
 public:
  /// What one rank owns. A rank may own nothing.
  struct part {
    std::size_t gradients = 0;    ///< number of elements of its gradients
    std::size_t value_bytes = 0;  ///< size of its values in bytes
  };
  /// Updates the values that this rank owns. `step` is the step that has computed the gradient.
  using update = std::function<void(std::span<T const> gradient, std::int64_t step)>;
  /// Copies the values that this rank owns to `values`.
  using copy = std::function<void(std::span<std::byte> values)>;

  /// `parts` has the part of each rank. All ranks must give the same staleness and parts.
  stale_exchange(int rank, int staleness, std::vector<part> parts, update update_values,
                 copy copy_values)
      : parts_(std::move(parts)), own_(parts_[static_cast<std::size_t>(rank)]),
        owner_(ranks(), staleness, own_.gradients), update_(std::move(update_values)),
        copy_(std::move(copy_values)), answers_(parts_.size()) {
    for (std::size_t o = 0; o < parts_.size(); ++o) answers_[o].resize(parts_[o].value_bytes);
  }

  /// Makes the mailbox `letters` receive letters for this object. The handler of the mailbox must
  /// call take(). The mailbox must live as long as this object is used.
  void open(Mailbox& letters) {
    letters_ = &letters;
    for (int r = 0; r < ranks(); ++r) {
      if (own_.gradients > 0) {
        letters.expect(r, push_kind, push_bytes(own_));
        letters.expect(r, read_kind, sizeof(read_request));
      }
      if (is_owner(r)) letters.expect(r, answer_kind, answer_bytes(parts_[std::size_t(r)]));
    }
  }

  /// Handles a letter from rank `from`.
  void take(int from, int kind, std::span<std::byte const> letter) {
    auto const answer = [this](int to) { send_answer(to); };
    if (kind == push_kind) {
      std::int64_t step = 0;
      std::memcpy(&step, letter.data(), sizeof step);
      std::span<T const> const gradient(
          static_cast<T const*>(static_cast<void const*>(letter.data() + header)), own_.gradients);
      owner_.push(from, step, gradient, update_, answer);
    } else if (kind == read_kind) {
      read_request r;
      std::memcpy(&r, letter.data(), sizeof r);
      owner_.read(from, r.step, r.staleness, answer);
    } else {
      take_answer(from, letter);
    }
  }

  /// Sends this rank's gradient of its step `step` to all owners. fill(owner, gradient) writes the
  /// elements of the gradient that an owner needs.
  template <class Fill>
  void push(std::int64_t step, Fill const& fill) {
    for_each_owner([&](int owner, part const& p) {
      letters_->send(owner, push_kind, push_bytes(p), [&](std::span<std::byte> letter) {
        std::memcpy(letter.data(), &step, sizeof step);
        fill(owner,
             std::span(static_cast<T*>(static_cast<void*>(letter.data() + header)), p.gradients));
      });
    });
  }

  /// Asks all owners for the values that this rank's step `step` reads. The values may be as stale
  /// as the training permits. Expects that all answers to the last request have arrived.
  void read(std::int64_t step) { read(step, owner_.clock().staleness()); }
  /// Asks for values of at most this staleness, which must not exceed the staleness of the
  /// training.
  void read(std::int64_t step, int staleness) {
    missing_ = 0;
    read_request const r{step, staleness};
    for_each_owner([&](int owner, part const&) {
      ++missing_;
      letters_->send(owner, read_kind, sizeof r, [&](std::span<std::byte> letter) {
        std::memcpy(letter.data(), &r, sizeof r);
      });
    });
  }
  /// Returns whether all answers to the last request have arrived.
  bool has_arrived() const { return missing_ == 0; }
  /// Calls f(owner, values) for each owner, with the values of its last answer.
  template <class F>
  void for_each_answer(F const& f) const {
    for_each_owner([&](int owner, part const&) {
      f(owner, std::span<std::byte const>(answers_[static_cast<std::size_t>(owner)]));
    });
  }

  /// Lets the training continue with step `step`. Expects that no letter is under way.
  void continue_at(std::int64_t step) { owner_.continue_at(step); }
  /// Returns the object that decides when this rank, as an owner, updates and sends its values.
  sync::parameter_owner<T> const& owner() const { return owner_; }

 private:
  enum : int { push_kind, read_kind, answer_kind };
  /// The number of bytes in front of the elements of a letter. It keeps the elements aligned.
  static constexpr std::size_t header = 16;
  struct read_request {
    std::int64_t step = 0;
    std::int32_t staleness = 0, padding = 0;
  };

  int ranks() const { return static_cast<int>(parts_.size()); }
  bool is_owner(int rank) const { return parts_[static_cast<std::size_t>(rank)].gradients > 0; }
  template <class F>
  void for_each_owner(F const& f) const {
    for (int r = 0; r < ranks(); ++r)
      if (is_owner(r)) f(r, parts_[static_cast<std::size_t>(r)]);
  }
  static std::size_t push_bytes(part const& p) { return header + p.gradients * sizeof(T); }
  static std::size_t answer_bytes(part const& p) {
    return header + p.value_bytes + sizeof(std::int64_t);
  }

  void send_answer(int to) {
    letters_->send(to, answer_kind, answer_bytes(own_), [this](std::span<std::byte> letter) {
      auto const version = owner_.clock().version();
      std::memcpy(letter.data(), &version, sizeof version);
      copy_(letter.subspan(header, own_.value_bytes));
      std::memcpy(letter.data() + header + own_.value_bytes, &version, sizeof version);
    });
  }
  void take_answer(int from, std::span<std::byte const> letter) {
    auto& to = answers_[static_cast<std::size_t>(from)];
    std::int64_t first = 0, last = 0;
    std::memcpy(&first, letter.data(), sizeof first);
    std::memcpy(&last, letter.data() + header + to.size(), sizeof last);
    if (first != last)
      throw error("stale_exchange", "the values of rank " + std::to_string(from) +
                                        " are of version " + std::to_string(first) +
                                        " at their beginning and of " + std::to_string(last) +
                                        " at their end.");
    std::memcpy(to.data(), letter.data() + header, to.size());
    --missing_;
  }

  std::vector<part> parts_;
  part own_;
  sync::parameter_owner<T> owner_;
  update update_;
  copy copy_;
  Mailbox* letters_ = nullptr;
  std::vector<std::vector<std::byte>> answers_;  // by owner: its values
  int missing_ = 0;                              // answers that have not arrived
};

}  // namespace ashlar
