// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// MPICH spins while it waits and has no setting against it: with more ranks than cores each wait
// takes whole time slices, 8 ms for a barrier of 4 ranks on 2 cores. Where it stands on UCX, each
// turn of that loop asks UCX for news. This library, preloaded (cmake/AshlarTesting.cmake), answers
// in UCX's place and lets another rank have the core when there is none: 0.01 ms for that barrier.
// Only for tests: it costs a system call a turn where every rank has a core.

#include <dlfcn.h>
#include <sched.h>

// As in ucp/api/ucp.h, which may not be installed.
extern "C" __attribute__((visibility("default"))) unsigned ucp_worker_progress(void* worker) {
  using function = unsigned (*)(void*);
  static auto const next = reinterpret_cast<function>(dlsym(RTLD_NEXT, "ucp_worker_progress"));
  unsigned const events = next(worker);
  if (events == 0) sched_yield();
  return events;
}
