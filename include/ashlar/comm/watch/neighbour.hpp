// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Notices at once when the next rank on the same host is killed, for example by a signal or because
// memory is exhausted. On a host with several ranks, each rank observes one other rank, so that
// every rank is observed. Before a rank destroys its mesh, it tells the other ranks on its host,
// which call left() (membership.hpp). The observer of the rank then observes the next one instead.
// The class uses Linux's pidfd. On other systems it does nothing.

#include <vector>

#include <ashlar/comm/watch/contact.hpp>
#include <ashlar/config.hpp>

namespace ashlar::watch {

class neighbour {
 public:
  neighbour() = default;
  neighbour(neighbour const&) = delete;
  neighbour& operator=(neighbour const&) = delete;
  ~neighbour();

  /// Begins to observe the next rank on the host of `rank`, if there is another one.
  void observe(int rank, std::vector<contact> const& ranks);
  /// Returns the number of the observed rank, or -1.
  int rank() const { return rank_; }
  /// Returns a file descriptor that becomes readable when the process ends, or -1.
  int descriptor() const { return descriptor_; }
  bool has_ended() const;
  /// Notes that a rank has left the mesh.
  void left(int rank);
  /// Observes no rank from now on.
  void observe_none();

 private:
  void observe_next();
  void stop();

  std::vector<int> candidates_;  // the other ranks of this host that are in the mesh, in order
  std::vector<int> processes_;
  int rank_ = -1, descriptor_ = -1;
  bool is_missing_ = false;  // whether the process had ended before it could be observed
};

}  // namespace ashlar::watch

#if ASHLAR_DEFINES(COMM)
#include <algorithm>
#include <cerrno>

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace ashlar::watch {

ASHLAR_INLINE neighbour::~neighbour() { stop(); }

ASHLAR_INLINE void neighbour::observe(int rank, std::vector<contact> const& ranks) {
  int const count = static_cast<int>(ranks.size());
  auto const host = ranks[static_cast<std::size_t>(rank)].host;
  for (int i = 1; i < count; ++i) {
    int const r = (rank + i) % count;
    if (auto const& c = ranks[static_cast<std::size_t>(r)]; c.host == host) {
      candidates_.push_back(r);
      processes_.push_back(c.process);
    }
  }
  observe_next();
}

ASHLAR_INLINE bool neighbour::has_ended() const {
  pollfd one{descriptor_, POLLIN, 0};
  return is_missing_ || (descriptor_ >= 0 && ::poll(&one, 1, 0) > 0);
}

ASHLAR_INLINE void neighbour::left(int rank) {
  auto const found = std::find(candidates_.begin(), candidates_.end(), rank);
  if (found == candidates_.end()) return;
  processes_.erase(processes_.begin() + (found - candidates_.begin()));
  candidates_.erase(found);
  if (rank == rank_) observe_next();
}

ASHLAR_INLINE void neighbour::observe_none() {
  candidates_.clear();
  processes_.clear();
  stop();
}

ASHLAR_INLINE void neighbour::observe_next() {
  stop();
  if (candidates_.empty()) return;
  rank_ = candidates_.front();
#ifdef SYS_pidfd_open
  descriptor_ = static_cast<int>(::syscall(SYS_pidfd_open, processes_.front(), 0));
  is_missing_ = descriptor_ < 0 && errno == ESRCH;
#endif
}

ASHLAR_INLINE void neighbour::stop() {
  if (descriptor_ >= 0) ::close(descriptor_);
  rank_ = descriptor_ = -1;
  is_missing_ = false;
}

}  // namespace ashlar::watch
#endif
