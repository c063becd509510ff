// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The communicators and windows of a mesh. MPI frees them by calls of all their ranks together, but
// a mesh may end earlier on one rank than on another, in another order, or while an exception passes.
// So its end asks nothing of other ranks:
//
//   a mesh ends         its handles are marked
//   a mesh is made      its ranks free the handles of earlier meshes of the same ranks that are
//   MPI is finalized    marked on all of them; at the end those of all meshes
//
// Both go through the meshes in the order in which they were made, the same on all their ranks. What
// is not marked everywhere stays, at last until the program ends.

#include <memory>
#include <vector>

#include <mpi.h>

#include <ashlar/comm/mpi/check.hpp>

namespace ashlar::mpi {

class collective_handles {
 public:
  /// Duplicates `comm`, so that messages never mix with the program's own. Collective over it.
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

  /// The duplicate.
  MPI_Comm comm() const { return held_->comms[0]; }
  /// Takes over a handle. All ranks keep theirs in the same order.
  void keep_communicator(MPI_Comm comm) {
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);  // check() throws instead
    held_->comms.push_back(comm);
  }
  void keep_window(MPI_Win window) { held_->windows.push_back(window); }
  /// MPI may use them even after the end: they are never freed.
  void keep_forever() { keeps_forever_ = true; }

  /// How many meshes this rank holds handles of.
  static std::size_t meshes() { return all().size(); }

 private:
  struct held {
    std::vector<MPI_Comm> comms;  // the first is that of all ranks of the mesh
    std::vector<MPI_Win> windows;
    bool is_ended = false;  // on this rank
  };

  static std::vector<std::shared_ptr<held>>& all() {
    // Never destroyed: an environment that is static, too, may finalize MPI after it would be.
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

  /// MPI_Finalize first deletes what is attached to MPI_COMM_SELF, while all calls still work.
  static void free_the_rest_at_finalize() {
    static int key = MPI_KEYVAL_INVALID;
    if (key != MPI_KEYVAL_INVALID) return;
    auto const at_finalize = [](MPI_Comm, int, void*, void*) -> int {
      try {
        free_ended([](held const&) { return true; });
      } catch (...) {
        return MPI_ERR_OTHER;
      }
      return MPI_SUCCESS;
    };
    check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_finalize, &key, nullptr));
    check(MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr));
  }

  std::shared_ptr<held> held_;
  bool keeps_forever_ = false;
};

}  // namespace ashlar::mpi
