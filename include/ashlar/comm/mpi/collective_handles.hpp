// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The MPI communicators and windows of a mesh ("handles"). MPI frees them by collective calls. But
// one rank may destroy a mesh earlier than another, in a different order, or during stack
// unwinding. So destroying a mesh does not communicate:
//
//   a mesh is destroyed   Its handles are marked as ended on this rank.
//   a mesh is created     Its ranks free the handles of each earlier mesh of the same ranks, if the
//                         handles of that mesh are marked on all ranks.
//   MPI is finalized      The ranks free the handles of all meshes that are marked on all ranks.
//                         Then each rank leaves its meshes (watch/membership.hpp), since the
//                         program may never destroy some of them.
//
// Meshes are processed in the order of their creation, which is the same on all their ranks.
// Handles that are not marked on all ranks stay allocated, perhaps until the program ends.

#include <memory>
#include <vector>

#include <mpi.h>

#include <ashlar/comm/mpi/check.hpp>
#include <ashlar/comm/watch/membership.hpp>

namespace ashlar::mpi {

class collective_handles {
 public:
  /// Duplicates `comm`, so that the program's own receives never match the mesh's messages.
  /// Collective over `comm`.
  explicit collective_handles(MPI_Comm comm) : held_(std::make_shared<held>()) {
    free_ended([comm](held const& h) {
      int relation = MPI_UNEQUAL;
      MPI_Comm_compare(comm, h.comms[0], &relation);
      return relation == MPI_CONGRUENT;
    });
    free_the_rest_at_finalize();
    MPI_Comm own = MPI_COMM_NULL;
    check(MPI_Comm_dup(comm, &own));
    keep_communicator(own);
    all().push_back(held_);
  }
  collective_handles(collective_handles const&) = delete;
  collective_handles& operator=(collective_handles const&) = delete;
  ~collective_handles() { held_->is_ended = !keeps_forever_; }

  /// Returns the duplicate of the constructor's communicator.
  MPI_Comm comm() const { return held_->comms[0]; }
  /// Takes ownership of a communicator. Ranks must call this function in the same order for the
  /// communicators that they have in common.
  void keep_communicator(MPI_Comm comm) {
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);  // check() throws instead
    held_->comms.push_back(comm);
  }
  void keep_window(MPI_Win window) { held_->windows.push_back(window); }
  /// Makes sure that the handles are never freed, because MPI may use them even after the mesh is
  /// destroyed.
  void keep_forever() { keeps_forever_ = true; }

  /// Returns how many meshes have handles on this rank that are not freed yet, for tests.
  static std::size_t meshes() { return all().size(); }

 private:
  struct held {
    std::vector<MPI_Comm> comms;  // the first one contains all ranks of the mesh
    std::vector<MPI_Win> windows;
    bool is_ended = false;  // whether this rank has destroyed the mesh
  };

  static std::vector<std::shared_ptr<held>>& all() {
    // This list is never destroyed, because a static environment object may finalize MPI after
    // other static objects are destroyed.
    static auto* const meshes = new std::vector<std::shared_ptr<held>>;
    return *meshes;
  }

  template <class Condition>
  static void free_ended(Condition concerns) {
    auto& meshes = all();
    for (std::size_t i = 0; i < meshes.size();) {
      auto& h = *meshes[i];
      if (!concerns(h) || !is_ended_everywhere(h)) {
        ++i;
        continue;
      }
      free(h);
      meshes.erase(meshes.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  static bool is_ended_everywhere(held const& h) {
    int ended = h.is_ended ? 1 : 0;
    check(MPI_Allreduce(MPI_IN_PLACE, &ended, 1, MPI_INT, MPI_MIN, h.comms[0]));
    return ended == 1;
  }
  static void free(held& h) {
    for (auto& window : h.windows) {
      MPI_Win_unlock_all(window);
      MPI_Win_free(&window);
    }
    for (auto& comm : h.comms) MPI_Comm_free(&comm);
  }

  /// Makes MPI_Finalize free the remaining handles. MPI_Finalize first deletes the attributes of
  /// MPI_COMM_SELF, when all MPI calls still work. So a callback of such an attribute frees the
  /// handles.
  static void free_the_rest_at_finalize() {
    static int key = MPI_KEYVAL_INVALID;
    if (key != MPI_KEYVAL_INVALID) return;
    auto const at_finalize = [](MPI_Comm, int, void*, void*) -> int {
      int status = MPI_SUCCESS;
      try {
        free_ended([](held const&) { return true; });
      } catch (...) {
        status = MPI_ERR_OTHER;
      }
      watch::membership::leave_all();
      return status;
    };
    check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_finalize, &key, nullptr));
    check(MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr));
  }

  std::shared_ptr<held> held_;
  bool keeps_forever_ = false;
};

}  // namespace ashlar::mpi
