// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Tells the other ranks of this host that this rank leaves its mesh on purpose. One of them
// observes this rank, and would otherwise report that this rank was killed (neighbour.hpp).
//
//   a mesh is destroyed                   the destructor of its membership tells them
//   the process ends because of an error  leave_all() tells the ranks of all meshes
//   MPI is finalized                      the same, for meshes that the program never destroys
//   a child process (fork) ends           tells nobody: the parent stays

#include <atomic>
#include <mutex>
#include <vector>

#include <ashlar/comm/watch/peer_socket.hpp>
#include <ashlar/config.hpp>
#include <ashlar/support/fork_watch.hpp>

namespace ashlar::watch {

class membership {
 public:
  /// `socket` must know the ranks of the mesh (introduce), and must outlive this object.
  membership(peer_socket const& socket, int rank);
  membership(membership const&) = delete;
  membership& operator=(membership const&) = delete;
  ~membership();

  /// Tells the other ranks of all meshes that this process will end on purpose, because it has
  /// printed an error or has finalized MPI.
  static void leave_all() noexcept;
  /// Returns whether this rank has left the mesh. Any thread may call it.
  bool has_left() const { return has_left_; }

 private:
  void leave();

  /// The memberships of this process.
  struct all_members {
    std::mutex mutex;
    std::vector<membership*> all;
  };
  static all_members& present();

  peer_socket const& socket_;
  int rank_;
  std::atomic<bool> has_left_{false};
  fork_watch fork_;
};

}  // namespace ashlar::watch

#if ASHLAR_DEFINES(COMM)
namespace ashlar::watch {

ASHLAR_INLINE membership::membership(peer_socket const& socket, int rank)
    : socket_(socket), rank_(rank) {
  auto& list = present();
  std::lock_guard const lock(list.mutex);
  list.all.push_back(this);
}

ASHLAR_INLINE membership::~membership() {
  {
    auto& list = present();
    std::lock_guard const lock(list.mutex);
    std::erase(list.all, this);
  }
  leave();
}

ASHLAR_INLINE void membership::leave_all() noexcept try {
  auto& list = present();
  std::lock_guard const lock(list.mutex);
  for (auto* const m : list.all) m->leave();
} catch (...) {
}

ASHLAR_INLINE void membership::leave() {
  if (fork_.is_in_child()) return;
  has_left_ = true;
  auto const& ranks = socket_.ranks();
  auto const host = ranks[static_cast<std::size_t>(rank_)].host;
  for (int r = 0; r < static_cast<int>(ranks.size()); ++r)
    if (r != rank_ && ranks[static_cast<std::size_t>(r)].host == host)
      socket_.send(r, peer_socket::kind::leave);
}

ASHLAR_INLINE membership::all_members& membership::present() {
  static auto* const one = new all_members;  // never destroyed: a process may end in any thread
  return *one;
}

}  // namespace ashlar::watch
#endif
