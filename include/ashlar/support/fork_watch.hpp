// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Determines whether this process is a child, by fork(), of the process in which the fork_watch was
// constructed. A child has copies of the parent's objects, but not of the parent's other threads,
// and it shares the parent's shared memory and sockets. If the child exits normally, for example
// because exec() has failed, it runs destructors of these copies. Such a destructor must leave
// alone what belongs to the parent: it sends nothing, does not call MPI, does not join threads, and
// does not write to shared memory.
//
// Meshes of GPUs do not use this class: CUDA cannot be used in a child process at all.
//
// The class counts forks. It does not compare process ids, because SimGrid replaces getpid() by a
// number of the simulated rank.

#include <pthread.h>

namespace ashlar {

class fork_watch {
 public:
  fork_watch() : before_(forks()) {}
  bool is_in_child() const { return forks_ != before_; }

 private:
  /// Returns how many forks lead to this process from the process that made the first call. The
  /// first call registers a function that counts each fork in the child.
  static int forks() {
    static bool const is_counted = pthread_atfork(nullptr, nullptr, [] { ++forks_; }) == 0;
    (void)is_counted;
    return forks_;
  }

  static inline int forks_ = 0;
  int before_;
};

}  // namespace ashlar
