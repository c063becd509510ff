// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// A preloaded library that makes MPICH yield the core while it waits (cmake/AshlarTesting.cmake).
// MPICH itself spins, and no setting prevents this. With more ranks than cores, each wait then
// takes whole time slices: 8 ms for a barrier of 4 ranks on 2 cores.
//
// When MPICH runs on UCX, each iteration of the waiting loop calls ucp_worker_progress. This
// library replaces that function. If there was no event, the replacement yields the core to another
// rank, and the barrier takes 0.01 ms. Use this only for tests: if every rank has its own core,
// each iteration makes a needless system call.

#include <dlfcn.h>
#include <sched.h>

// This declaration is that of ucp/api/ucp.h. The header may not be installed.
extern "C" __attribute__((visibility("default"))) unsigned ucp_worker_progress(void* worker) {
  using function = unsigned (*)(void*);
  static auto const next = reinterpret_cast<function>(dlsym(RTLD_NEXT, "ucp_worker_progress"));
  unsigned const events = next(worker);
  if (events == 0) sched_yield();
  return events;
}
