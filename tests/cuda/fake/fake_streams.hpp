// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The streams, events and graphs of the fake CUDA runtime. Only fake_cuda.cpp includes this file.
//
// A capture is a list of pieces of work. Each piece stores the numbers of the pieces that must come
// before it. A stream that waits for an event of a captured stream joins the capture.
//
// A launch of a graph executes the pieces one by one, in a random order that respects these
// dependencies. So if the program lacks an event, some launches execute work in a wrong order.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "fake_cuda.hpp"

namespace fake {

inline std::atomic<int> streams = 0, events = 0, graphs = 0, longest_pause = 0;
inline std::atomic<int> work_given = 0, memory_calls = 0;

/// A point in a stream, such as the one at which an event was recorded.
struct point {
  std::mutex mutex;
  std::condition_variable come;
  bool reached = false;

  void reach() {
    std::lock_guard const lock(mutex);
    reached = true;
    come.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex);
    come.wait(lock, [this] { return reached; });
  }
  bool is_reached() {
    std::lock_guard const lock(mutex);
    return reached;
  }
};

struct piece {
  std::function<void()> work;
  std::vector<std::size_t> after;
};

struct capture {
  cudaStream_t origin;
  std::vector<piece> pieces;
  std::set<cudaStream_t> streams{};
  std::atomic<bool> invalid = false;
  bool ended = false;
};

}  // namespace fake

struct CUstream_st {
  CUstream_st() : thread([this] { run(); }) { ++fake::streams; }
  ~CUstream_st() {
    push({});
    thread.join();
    --fake::streams;
  }
  void give(std::function<void()> work) {
    if (captured == nullptr) {
      ++fake::work_given;
      return push(std::move(work));
    }
    captured->pieces.push_back({std::move(work), after});
    after = {captured->pieces.size() - 1};
  }
  void push(std::function<void()> work) {
    std::lock_guard const lock(mutex);
    queue.push_back(std::move(work));
    come.notify_all();
  }
  void run() {
    std::minstd_rand random(static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(this) >> 6));
    while (true) {
      std::unique_lock lock(mutex);
      come.wait(lock, [this] { return !queue.empty(); });
      auto const work = std::move(queue.front());
      queue.pop_front();
      lock.unlock();
      if (!work) return;
      if (int const most = fake::longest_pause; most > 0)
        std::this_thread::sleep_for(
            std::chrono::microseconds(random() % static_cast<unsigned>(most)));
      work();
    }
  }
  std::mutex mutex;
  std::condition_variable come;
  std::deque<std::function<void()>> queue;
  // The capture in which the stream takes part. Only the program's thread uses this pointer, not
  // the stream's own thread.
  std::shared_ptr<fake::capture> captured;
  std::vector<std::size_t> after;  // the pieces that the next piece must come after
  std::thread thread;
};

struct CUevent_st {
  std::mutex mutex;
  std::shared_ptr<fake::point> last;
  // The capture in which the event was last recorded, if any.
  std::shared_ptr<fake::capture> captured;
  std::vector<std::size_t> after;

  /// Sets `now` to the last recorded point of the event. If the event was last recorded in a
  /// capture, invalidates this capture and returns false.
  bool ask(std::shared_ptr<fake::point>& now) {
    std::lock_guard const lock(mutex);
    now = last;
    if (captured != nullptr) captured->invalid = true;
    return captured == nullptr;
  }
};

struct CUgraph_st {
  std::vector<fake::piece> pieces;
};
struct CUgraphExec_st {
  std::shared_ptr<std::vector<fake::piece>> pieces;
};

namespace fake {

/// Executes all pieces of work in a random order that respects their dependencies.
inline void run_in_some_order(std::vector<piece> const& pieces, unsigned seed) {
  std::minstd_rand random(seed);
  std::vector<std::size_t> open(pieces.size()), ready;
  std::vector<std::vector<std::size_t>> followers(pieces.size());
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    open[i] = pieces[i].after.size();
    for (auto const before : pieces[i].after) followers[before].push_back(i);
    if (open[i] == 0) ready.push_back(i);
  }
  while (!ready.empty()) {
    std::swap(ready[random() % ready.size()], ready.back());
    std::size_t const i = ready.back();
    ready.pop_back();
    pieces[i].work();
    for (auto const f : followers[i])
      if (--open[f] == 0) ready.push_back(f);
  }
}

/// Returns whether the origin stream has joined all work of a capture: every piece must come before
/// another piece or before the end of the origin stream. `last` lists the pieces that come directly
/// before that end.
inline bool is_joined(capture const& c, std::vector<std::size_t> const& last) {
  std::vector<bool> followed(c.pieces.size());
  for (auto const& p : c.pieces)
    for (auto const before : p.after) followed[before] = true;
  for (auto const i : last) followed[i] = true;
  return std::find(followed.begin(), followed.end(), false) == followed.end();
}

inline cudaError_t invalidate(cudaStream_t s, cudaError_t why) {
  s->captured->invalid = true;
  return why;
}

}  // namespace fake

extern "C" {

cudaError_t cudaStreamIsCapturing(cudaStream_t s, cudaStreamCaptureStatus* status) {
  *status = s->captured == nullptr ? cudaStreamCaptureStatusNone
            : s->captured->invalid ? cudaStreamCaptureStatusInvalidated
                                   : cudaStreamCaptureStatusActive;
  return cudaSuccess;
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  thread_local cudaStreamCaptureMode mine = cudaStreamCaptureModeGlobal;
  std::swap(mine, *mode);
  return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t s, cudaStreamCaptureMode mode) {
  if (s->captured != nullptr) return cudaErrorIllegalState;
  // In this mode, the watchdog's thread could not query events during a capture.
  if (mode == cudaStreamCaptureModeGlobal) return cudaErrorInvalidValue;
  s->captured = std::make_shared<fake::capture>();
  s->captured->origin = s;
  s->captured->streams.insert(s);
  s->after.clear();
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t* made) {
  *made = nullptr;
  auto const all = s->captured;
  if (all == nullptr || all->origin != s) return cudaErrorStreamCaptureUnmatched;
  bool const joined = fake::is_joined(*all, s->after);
  for (auto const member : all->streams) {
    member->captured = nullptr;
    member->after.clear();
  }
  all->ended = true;
  if (all->invalid) return cudaErrorStreamCaptureInvalidated;
  if (!joined) return cudaErrorStreamCaptureUnjoined;
  *made = new CUgraph_st{all->pieces};
  ++fake::graphs;
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t g) { return delete g, --fake::graphs, cudaSuccess; }
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t g, unsigned long long) {
  *made = new CUgraphExec_st{std::make_shared<std::vector<fake::piece>>(g->pieces)};
  return ++fake::graphs, cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t g) {
  return delete g, --fake::graphs, cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t g, cudaStream_t s) {
  if (s->captured != nullptr) return fake::invalidate(s, cudaErrorStreamCaptureUnsupported);
  static std::atomic<unsigned> seed = 1;
  s->give([pieces = g->pieces] { fake::run_in_some_order(*pieces, ++seed); });
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* e, unsigned) {
  return *e = new CUevent_st, ++fake::events, cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t e) { return delete e, --fake::events, cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s) {
  auto const here = std::make_shared<fake::point>();
  {
    std::lock_guard const lock(e->mutex);
    e->captured = s->captured;
    e->after = s->after;
    if (s->captured != nullptr) return cudaSuccess;
    e->last = here;
  }
  s->give([here] { here->reach(); });
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t e) {
  std::shared_ptr<fake::point> last;
  if (!e->ask(last)) return cudaErrorCapturedEvent;
  return last == nullptr || last->is_reached() ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaEventSynchronize(cudaEvent_t e) {
  std::shared_ptr<fake::point> last;
  if (!e->ask(last)) return cudaErrorCapturedEvent;
  if (last != nullptr) last->wait();
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned) {
  std::lock_guard const lock(e->mutex);
  if (e->captured != nullptr) {
    if (e->captured->ended) return cudaErrorCapturedEvent;
    if (s->captured == nullptr) {
      s->captured = e->captured;
      s->captured->streams.insert(s);
      s->after.clear();
    } else if (s->captured != e->captured) {
      e->captured->invalid = true;
      return fake::invalidate(s, cudaErrorStreamCaptureMerge);
    }
    s->after.insert(s->after.end(), e->after.begin(), e->after.end());
    std::sort(s->after.begin(), s->after.end());
    s->after.erase(std::unique(s->after.begin(), s->after.end()), s->after.end());
    return cudaSuccess;
  }
  if (e->last == nullptr) return cudaSuccess;
  if (s->captured != nullptr) return fake::invalidate(s, cudaErrorStreamCaptureIsolation);
  s->give([last = e->last] { last->wait(); });
  return cudaSuccess;
}
}
