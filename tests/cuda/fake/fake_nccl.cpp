// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Defines the fake NCCL of fake_cuda.hpp.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include <ashlar/comm/element_pointer.hpp>

#include "fake_cuda.hpp"

namespace {

std::atomic<int> communicators = 0;
std::atomic<ncclResult_t> forced = ncclSuccess;
std::atomic<ncclResult_t> forced_of_group = ncclSuccess;

enum class kind { all_gather, reduce_scatter, all_reduce, all_to_all, broadcast, reduce };

/// The arguments with which one member calls a collective.
struct part {
  kind what;
  std::size_t count;
  ncclDataType_t type;
  ncclRedOp_t op;
  void const* from;
  void* to;
  int root = 0;
};
/// A message that was sent and perhaps not yet received.
struct post {
  void const* from;
  std::size_t bytes;
  bool taken = false;
};

ashlar::element_type type_of(ncclDataType_t type) {
  using ashlar::element_type;
  switch (type) {
    case ncclFloat64: return element_type::f64;
    case ncclInt32: return element_type::i32;
    case ncclInt64: return element_type::i64;
    case ncclBfloat16: return element_type::bf16;
    default: return element_type::f32;
  }
}
std::size_t bytes_of(ncclDataType_t type) {
  return static_cast<std::size_t>(size_of(type_of(type)));
}

/// Computes maxima or minima as NCCL does. NCCL ignores a NaN unless all values are NaN.
template <class T>
void extrema(bool largest, std::size_t n, std::vector<void const*> const& from, std::byte* to) {
  for (std::size_t i = 0; i < n; ++i) {
    T best = static_cast<T const*>(from[0])[i];
    for (auto const* values : from) {
      T const value = static_cast<T const*>(values)[i];
      if (best != best || (largest ? value > best : value < best)) best = value;
    }
    reinterpret_cast<T*>(to)[i] = best;
  }
}

void execute(std::vector<part> const& all) {
  std::size_t const p = all.size();
  part const& x = all[0];
  std::size_t const bytes = x.count * bytes_of(x.type);
  bool const moves = x.what == kind::all_gather || x.what == kind::all_to_all;
  std::vector<std::vector<std::byte>> results(p, std::vector<std::byte>(moves ? p * bytes : bytes));
  auto const root = static_cast<std::size_t>(x.root);
  if (x.what == kind::broadcast) {
    std::vector<std::byte> const sent(static_cast<std::byte const*>(all[root].from),
                                      static_cast<std::byte const*>(all[root].from) + bytes);
    for (auto const& member : all) std::memcpy(member.to, sent.data(), bytes);
    return;
  }
  for (std::size_t j = 0; j < p; ++j) {
    std::vector<void const*> addends;
    for (std::size_t i = 0; i < p; ++i) {
      auto const* from = static_cast<std::byte const*>(all[i].from);
      if (moves)
        std::memcpy(results[j].data() + i * bytes,
                    from + (x.what == kind::all_to_all ? j * bytes : 0), bytes);
      addends.push_back(from + (x.what == kind::reduce_scatter ? j * bytes : 0));
    }
    if (moves) continue;
    auto const op = x.op == ncclSum   ? ashlar::reduction::sum
                    : x.op == ncclMax ? ashlar::reduction::max
                                      : ashlar::reduction::min;
    auto* const to = results[j].data();
    if (op != ashlar::reduction::sum && x.type == ncclFloat)
      extrema<float>(op == ashlar::reduction::max, x.count, addends, to);
    else if (op != ashlar::reduction::sum && x.type == ncclDouble)
      extrema<double>(op == ashlar::reduction::max, x.count, addends, to);
    else if (op != ashlar::reduction::sum && x.type == ncclBfloat16)
      extrema<ashlar::bfloat16>(op == ashlar::reduction::max, x.count, addends, to);
    else
      ashlar::reduce_runs(op, static_cast<std::int64_t>(x.count), addends,
                          ashlar::element_pointer(to, type_of(x.type)));
  }
  for (std::size_t j = 0; j < p; ++j)
    if (x.what != kind::reduce || j == root)
      std::memcpy(all[j].to, results[j].data(), results[j].size());
}

/// The state that all members of a communicator share.
struct shared_state {
  explicit shared_state(int ranks) : members(static_cast<std::size_t>(ranks)) {}

  std::size_t const members;
  std::mutex mutex;
  std::condition_variable come;
  std::size_t arrived = 0;  // members that have created their communicator
  bool broken = false;      // a member aborted, or the members' calls differ
  std::map<std::uint64_t, std::map<int, part>> meetings;
  std::map<std::uint64_t, std::size_t> left;
  std::map<std::pair<int, int>, std::deque<std::shared_ptr<post>>> posts;
  struct split_of {
    std::map<int, std::pair<int, int>> members;  // rank -> color, key
    std::map<int, std::shared_ptr<shared_state>> children;
  };
  std::map<int, split_of> splits;

  void break_down() {
    std::lock_guard const lock(mutex);
    broken = true;
    come.notify_all();
  }

  void meet(std::uint64_t number, int rank, part const& mine) {
    std::unique_lock lock(mutex);
    auto& here = meetings[number];
    here[rank] = mine;
    if (here.size() == members) {
      std::vector<part> all;
      for (auto const& [r, x] : here) {
        all.push_back(x);
        if (x.what != mine.what || x.count != mine.count || x.type != mine.type ||
            x.op != mine.op || x.root != mine.root)
          broken = true;
      }
      if (!broken) execute(all);
      left[number] = members;
      come.notify_all();
    }
    come.wait(lock, [&] { return broken || left.count(number) > 0; });
    if (!broken && --left[number] == 0) {
      left.erase(number);
      meetings.erase(number);
    }
  }

  struct message {
    bool sends;
    void* data;
    std::size_t bytes;
    int peer;
  };
  void exchange(int rank, std::vector<message> const& messages) {
    std::unique_lock lock(mutex);
    std::vector<std::shared_ptr<post>> mine;
    for (auto const& m : messages)
      if (m.sends) {
        mine.push_back(std::make_shared<post>(post{m.data, m.bytes}));
        posts[{rank, m.peer}].push_back(mine.back());
      }
    come.notify_all();
    for (auto const& m : messages) {
      if (m.sends) continue;
      auto& from = posts[{m.peer, rank}];
      come.wait(lock, [&] { return broken || !from.empty(); });
      if (broken) return;
      auto const got = from.front();
      from.pop_front();
      if (got->bytes != m.bytes) {
        broken = true;
        come.notify_all();
        return;
      }
      std::memcpy(m.data, got->from, m.bytes);
      got->taken = true;
      come.notify_all();
    }
    come.wait(lock, [&] {
      for (auto const& p : mine)
        if (!p->taken && !broken) return false;
      return true;
    });
  }
};

std::mutex id_mutex;
std::map<std::string, std::shared_ptr<shared_state>> by_id;

}  // namespace

struct ncclComm {
  std::shared_ptr<shared_state> all;
  int rank;
  // The number of collectives of this communicator that this rank's streams have begun to execute.
  // A collective is counted when it is executed, not when it is submitted, because a replayed graph
  // executes its collectives again.
  std::shared_ptr<std::atomic<std::uint64_t>> called = std::make_shared<std::atomic<std::uint64_t>>(
      0);
  int splits = 0;
  // These members are used while this communicator is being split. `awaited` is the caller's
  // variable for the new communicator. `child` is the new communicator, or null if this rank is in
  // no new communicator.
  ncclComm_t* awaited = nullptr;
  ncclComm* child = nullptr;
  std::atomic<bool> finalized = false;
  std::string name = {};
};

namespace {

struct grouped {
  ncclComm_t comm;
  cudaStream_t stream;
  shared_state::message message;
};
thread_local int depth = 0;
thread_local std::vector<grouped> group;

ncclResult_t run_group() {
  std::map<std::pair<ncclComm_t, cudaStream_t>, std::vector<shared_state::message>> by_comm;
  for (auto const& g : group) by_comm[{g.comm, g.stream}].push_back(g.message);
  group.clear();
  for (auto const& [where, messages] : by_comm)
    fake::enqueue(where.second, [all = where.first->all, rank = where.first->rank,
                                 messages = messages] { all->exchange(rank, messages); });
  return ncclInProgress;
}

ncclResult_t collective(ncclComm_t comm, cudaStream_t stream, part const& x) {
  if (x.count == 0 || depth != 0) return ncclInvalidUsage;
  if (comm->awaited != nullptr) return ncclInvalidArgument;  // comm is being split
  fake::enqueue(stream, [all = comm->all, rank = comm->rank, called = comm->called, x] {
    all->meet((*called)++, rank, x);
  });
  return ncclInProgress;
}

std::mutex log_mutex;
std::map<std::pair<std::string, int>, std::vector<fake::logged_message>> logs;

ncclResult_t message(ncclComm_t comm, cudaStream_t stream, shared_state::message const& m) {
  if (m.bytes == 0 || m.peer == comm->rank) return ncclInvalidUsage;
  if (comm->awaited != nullptr) return ncclInvalidArgument;  // comm is being split
  {
    std::lock_guard const lock(log_mutex);
    logs[{comm->name, comm->rank}].push_back({m.sends, m.peer, m.bytes, depth});
  }
  group.push_back({comm, stream, m});
  return depth == 0 ? run_group() : ncclSuccess;
}

}  // namespace

namespace fake {
int live_communicators() { return communicators; }
std::vector<logged_message> take_messages(std::string const& name, int rank) {
  std::lock_guard const lock(log_mutex);
  return std::exchange(logs[{name, rank}], {});
}
void fail_communicators(ncclResult_t status) { forced = status; }
void fail_group(ncclResult_t status) { forced_of_group = status; }
}  // namespace fake

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  return *version = fake::fake_machine().nccl, ncclSuccess;
}
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static std::atomic<int> number = 1 << 20;  // larger than the numbers of fake::new_id
  int const mine = ++number;
  std::memset(id->internal, 0, sizeof id->internal);
  std::memcpy(id->internal, &mine, sizeof mine);
  return ncclSuccess;
}
char const* ncclGetErrorString(ncclResult_t) { return "a fake result"; }
char const* ncclGetLastError(ncclComm_t) { return ""; }

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int n, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  if (config->blocking != 0) return ncclInvalidUsage;
  std::lock_guard const lock(id_mutex);
  auto& all = by_id[std::string(id.internal, sizeof id.internal)];
  if (all == nullptr) all = std::make_shared<shared_state>(n);
  *comm = new ncclComm{all, rank};
  ++communicators;
  std::lock_guard const state(all->mutex);
  ++all->arrived;
  return ncclInProgress;
}

// As in NCCL, the new communicator is not ready when this function returns. After all ranks have
// called this function, ncclCommGetAsyncError(comm, ..) writes the new communicator to *child.
// Until then, `comm` refuses operations.
ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* child,
                           ncclConfig_t* config) {
  if (config->blocking != 0) return ncclInvalidUsage;
  if (comm->awaited != nullptr) return ncclInvalidArgument;
  *child = nullptr;
  comm->awaited = child;
  if (color != NCCL_SPLIT_NOCOLOR) {
    comm->child = new ncclComm{nullptr, -1};
    if (config->commName != nullptr) comm->child->name = config->commName;
    ++communicators;
  }
  std::lock_guard const lock(comm->all->mutex);
  comm->all->splits[comm->splits].members[comm->rank] = {color, key};
  return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state) {
  *state = forced;
  if (forced != ncclSuccess) return ncclSuccess;
  std::lock_guard const lock(comm->all->mutex);
  if (comm->all->broken) return *state = ncclRemoteError, ncclSuccess;
  if (comm->all->arrived < comm->all->members) return *state = ncclInProgress, ncclSuccess;
  if (comm->awaited == nullptr) return ncclSuccess;
  auto& s = comm->all->splits[comm->splits];
  if (s.members.size() < comm->all->members) return *state = ncclInProgress, ncclSuccess;
  if (comm->child != nullptr) {
    auto const mine = s.members[comm->rank];
    int size = 0, rank = 0;
    for (auto const& [r, m] : s.members) {
      if (m.first != mine.first) continue;
      ++size;
      rank += m.second < mine.second;
    }
    auto& all = s.children[mine.first];
    if (all == nullptr) {
      all = std::make_shared<shared_state>(size);
      all->arrived = all->members;
    }
    comm->child->all = all;
    comm->child->rank = rank;
  }
  ++comm->splits;
  *std::exchange(comm->awaited, nullptr) = std::exchange(comm->child, nullptr);
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) { return comm->finalized = true, ncclInProgress; }
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (!comm->finalized) std::abort();
  return delete comm, --communicators, ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  comm->all->break_down();
  if (comm->child != nullptr) delete comm->child, --communicators;
  return delete comm, --communicators, ncclSuccess;
}

ncclResult_t ncclGroupStart() { return ++depth, ncclSuccess; }
ncclResult_t ncclGroupEnd() {
  if (depth == 0) std::abort();  // no group has begun
  if (--depth > 0) return ncclSuccess;
  ncclResult_t const fault = forced_of_group.exchange(ncclSuccess);
  if (fault != ncclSuccess) return group.clear(), fault;
  return run_group();
}

ncclResult_t ncclSend(void const* from, size_t n, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return message(comm, stream, {true, const_cast<void*>(from), n * bytes_of(type), peer});
}
ncclResult_t ncclRecv(void* to, size_t n, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return message(comm, stream, {false, to, n * bytes_of(type), peer});
}
ncclResult_t ncclAllGather(void const* from, void* to, size_t n, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  return collective(comm, stream, {kind::all_gather, n, type, ncclSum, from, to});
}
ncclResult_t ncclAlltoAll(void const* from, void* to, size_t n, ncclDataType_t type,
                          ncclComm_t comm, cudaStream_t stream) {
  return collective(comm, stream, {kind::all_to_all, n, type, ncclSum, from, to});
}
ncclResult_t ncclBroadcast(void const* from, void* to, size_t n, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream) {
  return collective(comm, stream, {kind::broadcast, n, type, ncclSum, from, to, root});
}
ncclResult_t ncclReduce(void const* from, void* to, size_t n, ncclDataType_t type, ncclRedOp_t op,
                        int root, ncclComm_t comm, cudaStream_t stream) {
  return collective(comm, stream, {kind::reduce, n, type, op, from, to, root});
}
ncclResult_t ncclReduceScatter(void const* from, void* to, size_t n, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return collective(comm, stream, {kind::reduce_scatter, n, type, op, from, to});
}
ncclResult_t ncclAllReduce(void const* from, void* to, size_t n, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return collective(comm, stream, {kind::all_reduce, n, type, op, from, to});
}
}
