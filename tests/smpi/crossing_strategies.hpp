// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The strategies that "On Optimizing the Communication of Model Parallelism" compares (sections
// 3.1, 3.2, 5.1), written in plain MPI calls on bytes. From the library's crossings they use only
// the list of unit tasks. A unit task is a slice of the tensor with the ranks that hold it and the
// ranks that need it.
//
//   send_receive   The sender sends the task to each receiving rank in turn.
//   gather_inside  The sender sends each rank of a receiving node one part of the task, node after
//                  node. Then the ranks of each node gather the parts in a ring.
//   gather_all     The sender sends one part to each receiving rank. When all of them have their
//                  parts, all receiving ranks gather the parts in one ring. (If some ranks began to
//                  gather earlier, they would slow down the sender. With three receiving nodes of
//                  two ranks, this would take 2.5 t instead of 1.83 t, where t is the time that the
//                  whole tensor needs to pass the link of one node.)
//   broadcast      The task goes from the sender through all receiving ranks, node by node, in 100
//                  chunks. A rank passes a chunk on when it has received the whole chunk.
//
// The parts of a task are as equal as possible, even if the number of ranks does not divide the
// task. (In that case Alpa sends whole copies.) A rank carries out its tasks one after the other,
// in the order of the list. Within a task, a rank sends one message at a time, and receives
// meanwhile.
//
// In an exclusive list, a node sends only one task at a time and receives only one task at a time,
// as the paper's formula 3 demands. The ranks of a node take turns: a rank that has finished sends
// an empty message to the ranks that wait for it.

#include <map>
#include <utility>
#include <vector>

#include <mpi.h>
#include <time.h>

#include <ashlar/plan/crossing/balanced_order.hpp>
#include <ashlar/plan/crossing/naive_order.hpp>
#include <ashlar/plan/crossing/plan_crossing.hpp>

namespace ashlar_test {

enum class strategy { send_receive, gather_inside, gather_all, broadcast };

struct strategy_message {
  int from = 0, to = 0;
  std::int64_t bytes = 0;
  int needs = 0;  ///< the sender must first have received this many messages of this task
};

/// A task with its messages. Every rank sends and receives its messages in the order of `messages`.
struct strategy_task {
  int sender = 0;
  std::vector<int> receivers;
  std::vector<strategy_message> messages;
  std::vector<std::pair<int, int>> waits_for;  ///< before the task: `second` waits for `first`
  std::vector<std::pair<int, int>> lets_go;    ///< after the task: `first` lets `second` go on
};

namespace detail {

inline std::vector<std::int64_t> parts_of(std::int64_t bytes, std::size_t count) {
  std::vector<std::int64_t> parts;
  for (int i = 0; i < static_cast<int>(count); ++i)
    parts.push_back(ashlar::balanced_part({0, bytes}, static_cast<int>(count), i).size);
  return parts;
}

inline void add_ring(std::vector<strategy_message>& messages, std::vector<int> const& ranks,
                     std::vector<std::int64_t> const& parts) {
  std::size_t const n = ranks.size();
  for (std::size_t step = 0; step + 1 < n; ++step)
    for (std::size_t i = 0; i < n; ++i)
      messages.push_back(
          {ranks[i], ranks[(i + 1) % n], parts[(i + n - step) % n], static_cast<int>(step)});
}

/// Appends the messages of one task. `groups` are the receiving ranks by node.
inline void add_task(std::vector<strategy_task>& list, strategy how, std::int64_t bytes, int sender,
                     std::vector<std::vector<int>> groups) {
  strategy_task made{sender, {}, {}, {}, {}};
  for (auto const& g : groups) made.receivers.insert(made.receivers.end(), g.begin(), g.end());
  auto const all = made.receivers;
  switch (how) {
    case strategy::send_receive:
      for (int const r : all) made.messages.push_back({sender, r, bytes, 0});
      break;
    case strategy::gather_all: groups = {all}; [[fallthrough]];
    case strategy::gather_inside: {
      strategy_task rings = made;
      for (auto const& g : groups) {
        auto const parts = parts_of(bytes, g.size());
        for (std::size_t i = 0; i < g.size(); ++i)
          made.messages.push_back({sender, g[i], parts[i], 0});
        add_ring(rings.messages, g, parts);
      }
      if (how == strategy::gather_all)
        for (std::size_t i = 0; i + 1 < all.size(); ++i)
          rings.waits_for.emplace_back(all.back(), all[i]);
      list.push_back(std::move(made));
      list.push_back(std::move(rings));
      return;
    }
    case strategy::broadcast:
      auto const chunks = parts_of(bytes, all.size() == 1 ? 1 : 100);
      for (int c = 0; c < static_cast<int>(chunks.size()); ++c)
        for (std::size_t hop = 0; hop < all.size(); ++hop)
          made.messages.push_back({hop == 0 ? sender : all[hop - 1], all[hop],
                                   chunks[static_cast<std::size_t>(c)], hop == 0 ? 0 : c + 1});
      break;
  }
  list.push_back(std::move(made));
}

}  // namespace detail

/// Returns the tasks with their messages, in the order of `order`. If several ranks of the sending
/// node hold a task and `in_turns` is true, the rank with the least load so far sends. If
/// `in_turns` is false, the lowest rank sends.
inline std::vector<strategy_task> strategy_list(strategy how,
                                                std::vector<ashlar::unit_task> const& tasks,
                                                ashlar::list_order const& order, bool in_turns,
                                                bool exclusive, int element_size,
                                                ashlar::topology const& whole) {
  ashlar::nodes_of_mesh const nodes(whole);
  std::vector<strategy_task> list;
  std::map<int, std::int64_t> load;           // by rank: bytes sent so far
  std::map<int, std::vector<int>> sent, got;  // by node: ranks of the last task sent or received
  for (int const i : order.tasks) {
    auto const& t = tasks[static_cast<std::size_t>(i)];
    std::int64_t const bytes = t.region.elements() * element_size;
    auto const owners = nodes.in_node(t.owners, order.senders[static_cast<std::size_t>(i)]);
    int sender = owners.front();
    if (in_turns)
      for (int const r : owners)
        if (load[r] < load[sender]) sender = r;
    std::vector<std::vector<int>> groups;
    for (int const n : nodes.of(t.receivers)) groups.push_back(nodes.in_node(t.receivers, n));
    auto const first = list.size();
    detail::add_task(list, how, bytes, sender, groups);
    for (auto const& m : list[first].messages)
      if (m.from == sender) load[sender] += m.bytes;
    if (exclusive) {
      auto const wait = [&](std::map<int, std::vector<int>>& last, std::vector<int> const& next) {
        auto& before = last[nodes.node(next.front())];
        for (int const from : before)
          for (int const to : next)
            if (from != to) list[first].waits_for.emplace_back(from, to);
        before = next;
      };
      wait(sent, {sender});
      for (auto const& g : groups) wait(got, g);
    }
  }
  // Each pair in the waits_for of a task is also added to the lets_go of an earlier task: the last
  // earlier task in which the first rank of the pair takes part.
  for (std::size_t i = 0; i < list.size(); ++i)
    for (auto const& turn : list[i].waits_for)
      for (std::size_t k = i; k-- > 0;) {
        auto const& r = list[k].receivers;
        if (list[k].sender != turn.first && std::find(r.begin(), r.end(), turn.first) == r.end())
          continue;
        list[k].lets_go.push_back(turn);
        break;
      }
  return list;
}

/// Carries out the messages of one rank.
class strategy_runner {
 public:
  strategy_runner(MPI_Comm comm, ashlar::topology const& whole, ashlar::machine const& m)
      : comm_(comm), nodes_(whole), machine_(m) {
    MPI_Comm_rank(comm, &rank_);
  }

  void run(std::vector<strategy_task> const& list) {
    for (auto const& task : list) {
      for (auto const& [from, to] : task.waits_for)
        if (to == rank_) MPI_Recv(nullptr, 0, MPI_BYTE, from, turn_tag, comm_, MPI_STATUS_IGNORE);
      run(task);
      for (auto const& [from, to] : task.lets_go)
        if (from == rank_) MPI_Send(nullptr, 0, MPI_BYTE, to, turn_tag, comm_);
    }
  }

 private:
  static constexpr int data_tag = 1, turn_tag = 2;

  void run(strategy_task const& task) {
    std::vector<strategy_message> sends, receives;
    std::int64_t most = 0;
    for (auto const& m : task.messages) {
      if (m.from == rank_) sends.push_back(m);
      if (m.to == rank_) receives.push_back(m);
      if (m.from == rank_ || m.to == rank_) most = std::max(most, m.bytes);
    }
    // There are three buffers, each for one message: one to send and two to receive into. The
    // contents of messages do not matter here.
    buffer_.resize(static_cast<std::size_t>(3 * most));
    MPI_Request requests[3]{MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    std::size_t sent = 0, posted = 0, done = 0;
    bool sending = false;
    while (sent < sends.size() || done < receives.size()) {
      for (; posted < receives.size() && posted < done + 2; ++posted)
        MPI_Irecv(buffer_.data() + static_cast<std::int64_t>(1 + posted % 2) * most,
                  static_cast<int>(receives[posted].bytes), MPI_BYTE, receives[posted].from,
                  data_tag, comm_, &requests[1 + posted % 2]);
      if (!sending && sent < sends.size() && sends[sent].needs <= static_cast<int>(done)) {
        // This send ends when the receiver has the message, so the next send does not overlap with
        // it.
        MPI_Issend(buffer_.data(), static_cast<int>(sends[sent].bytes), MPI_BYTE, sends[sent].to,
                   data_tag, comm_, &requests[0]);
        sending = true;
      }
      MPI_Request both[2]{requests[0],
                          done < receives.size() ? requests[1 + done % 2] : MPI_REQUEST_NULL};
      int which = 0;
      MPI_Waitany(2, both, &which, MPI_STATUS_IGNORE);
      if (which == 0) {
        requests[0] = MPI_REQUEST_NULL;
        sending = false;
        ++sent;
      } else {
        // SMPI does not charge messages that it does not buffer (message_costs.hpp).
        bool const inside = nodes_.node(receives[done].from) == nodes_.node(rank_);
        be_busy(inside ? machine_.intra.alpha : machine_.inter.alpha);
        ++done;
      }
    }
  }

  static void be_busy(double seconds) {
    timespec const wait{0, static_cast<long>(seconds * 1e9)};
    nanosleep(&wait, nullptr);
  }

  MPI_Comm comm_;
  ashlar::nodes_of_mesh nodes_;
  ashlar::machine machine_;
  int rank_ = 0;
  std::vector<std::byte> buffer_;
};

}  // namespace ashlar_test
