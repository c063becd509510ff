// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Divides the data of a crossing, which is a move of a tensor between two disjoint meshes, among
// the ports that can send it. A port is a node's network interface or a single rank
// (port_task.hpp). The division makes the largest load, the elements that one port sends, as small
// as possible. A task, which is an amount of data with one set of receivers, may be cut among all
// ports that have the data.
//
// Let U be a set of ports, and size(U) the elements of the tasks that only ports of U have. The
// ports of U must send these elements, so some port sends at least size(U) / |U|. The division is a
// flow from tasks to ports, with a permitted load for each port. A search looks for a port with
// room. If all ports that it reaches are full, they are such a set U, and the permitted load rises
// to size(U) / |U|. Hence the largest load of the result is the least possible, or at most the load
// that is permitted at first.

#include <vector>

#include <ashlar/plan/crossing/port_task.hpp>
#include <ashlar/support/scratch.hpp>

namespace ashlar {

/// A range of the elements of a task, in row-major order, and the port that sends it.
struct sender_share {
  int task = 0, sender = 0;
  std::int64_t begin = 0, size = 0;
  friend constexpr bool operator==(sender_share const&, sender_share const&) = default;
};

struct sender_shares {
  std::vector<sender_share> shares;  ///< sorted by task
  /// A lower bound of the largest load: in every division, some port sends at least this many
  /// elements. The bound is 0 if no port had to send more than the load that was permitted at
  /// first.
  std::int64_t least_load = 0;
};

namespace detail {

class sender_flow {
 public:
  constexpr explicit sender_flow(port_problem const& p)
      : problem_(p), load_(static_cast<std::size_t>(p.ports)), first_(p.tasks.size() + 1),
        by_(load_.size()), from_(by_), reached_(load_.size()), queue_(load_.size()) {
    std::size_t n = 0;
    for (std::size_t i = 0; i < p.tasks.size(); ++i) {
      first_.data()[i] = n;
      n += p.tasks.data()[i].senders.size();
    }
    first_.data()[p.tasks.size()] = n;
    amount_ = scratch<std::int64_t>(n);
  }

  constexpr sender_shares run(std::int64_t least) {
    most_ = least;
    sender_shares result;
    // Tasks with few senders come first, since tasks with more senders can avoid those senders.
    std::size_t widest = 0;
    for (auto const& t : problem_.tasks) widest = std::max(widest, t.senders.size());
    for (std::size_t width = 1; width <= widest; ++width)
      for (std::size_t i = 0; i < problem_.tasks.size(); ++i)
        if (problem_.tasks.data()[i].senders.size() == width) place(static_cast<int>(i));
    for (std::size_t i = 0; i < problem_.tasks.size(); ++i) {
      auto const& t = problem_.tasks.data()[i];
      std::int64_t begin = 0;
      for (std::size_t k = 0; k < t.senders.size(); ++k) {
        auto const n = amount_.data()[first_.data()[i] + k];
        if (n > 0) result.shares.push_back({static_cast<int>(i), t.senders.data()[k], begin, n});
        begin += n;
      }
    }
    result.least_load = least_load_;
    return result;
  }

 private:
  constexpr std::int64_t& amount(int task, std::size_t k) {
    return amount_.data()[first_.data()[task] + k];
  }

  constexpr void place(int task) {
    auto const& t = problem_.tasks.data()[task];
    std::int64_t left = t.size;
    // The whole task goes to the port with the least load if it fits there.
    std::size_t least = 0;
    for (std::size_t k = 1; k < t.senders.size(); ++k)
      if (load_.data()[t.senders.data()[k]] < load_.data()[t.senders.data()[least]]) least = k;
    if (load_.data()[t.senders.data()[least]] + left <= most_) {
      amount(task, least) += left;
      load_.data()[t.senders.data()[least]] += left;
      return;
    }
    while (left > 0) {
      int const free = reach(task);
      if (free < 0) raise();
      else left -= push(task, free, left);
    }
  }

  /// Searches breadth first for a port with room, which means that its load is below the permitted
  /// one. The search starts at the senders of `task`. It continues from a port to the other senders
  /// of the tasks that the port has taken, because these could take over load. Returns the port, or
  /// -1 if no port that is reached has room.
  constexpr int reach(int task) {
    std::size_t in = 0, out = 0;
    for (auto& r : reached_) r = false;
    auto const visit = [&](int port, int by) {
      if (reached_.data()[port]) return;
      reached_.data()[port] = true;
      by_.data()[port] = by;
      queue_.data()[in++] = port;
    };
    for (int const s : problem_.tasks.data()[task].senders) visit(s, task);
    while (out < in) {
      int const port = queue_.data()[out++];
      if (load_.data()[port] < most_) return port;
      for (std::size_t i = 0; i < problem_.tasks.size(); ++i) {
        auto const& t = problem_.tasks.data()[i];
        if (t.senders.size() < 2) continue;
        int const k = index(t, port);
        if (k < 0 || amount(static_cast<int>(i), static_cast<std::size_t>(k)) == 0) continue;
        for (int const s : t.senders) {
          if (!reached_.data()[s]) from_.data()[s] = port;
          visit(s, static_cast<int>(i));
        }
      }
    }
    return -1;
  }
  static constexpr int index(port_task const& t, int port) {
    for (std::size_t k = 0; k < t.senders.size(); ++k)
      if (t.senders.data()[k] == port) return static_cast<int>(k);
    return -1;
  }

  /// Moves load along the path to port `free` that `reach` found. Elements of `task` take the room
  /// that this makes. Returns the number of these elements, which is at most `left`.
  constexpr std::int64_t push(int task, int free, std::int64_t left) {
    std::int64_t size = std::min(left, most_ - load_.data()[free]);
    for (int port = free; by_.data()[port] != task; port = from_.data()[port])
      size = std::min(size, of(by_.data()[port], from_.data()[port]));
    load_.data()[free] += size;
    int port = free;
    for (; by_.data()[port] != task; port = from_.data()[port]) {
      of(by_.data()[port], port) += size;
      of(by_.data()[port], from_.data()[port]) -= size;
    }
    of(task, port) += size;
    return size;
  }
  constexpr std::int64_t& of(int task, int port) {
    return amount(task, static_cast<std::size_t>(index(problem_.tasks.data()[task], port)));
  }

  /// Raises the permitted load to size(U) / |U|, rounded up, where U is the set of ports that the
  /// last search reached (see the top of this file).
  constexpr void raise() {
    std::int64_t sum = 0, ports = 0;
    for (bool const r : reached_) ports += r;
    for (auto const& t : problem_.tasks) {
      bool inside = true;
      for (int const s : t.senders) inside = inside && reached_.data()[s];
      if (inside) sum += t.size;
    }
    most_ = least_load_ = (sum + ports - 1) / ports;
  }

  port_problem const& problem_;
  scratch<std::int64_t> load_;
  scratch<std::size_t> first_;    ///< for each task: the index of its first amount
  scratch<std::int64_t> amount_;  ///< elements that a sender sends of a task, by task and sender
  /// For each port that the last search reached: the task by which the port was reached, and the
  /// port before it on the path.
  scratch<int> by_, from_;
  scratch<bool> reached_;
  scratch<int> queue_;
  std::int64_t most_ = 0, least_load_ = 0;
};

}  // namespace detail

/// Divides the tasks so that no port (port_task.hpp) sends more than `least` elements. If this is
/// impossible, the busiest sender sends as few elements as possible.
constexpr sender_shares share_senders(port_problem const& p, std::int64_t least) {
  return detail::sender_flow(p).run(least);
}

/// Returns a lower bound of the number of elements that the busiest port (port_task.hpp) sends or
/// receives, for every order of the data and every choice of senders. The bound is the larger of
/// two numbers of elements: the most that any port has to receive, and the most that any port has
/// to send if the data are divided among the senders in the best way.
constexpr std::int64_t least_elements(port_problem const& p) {
  auto const received = p.most_received();
  return std::max(received, share_senders(p, received).least_load);
}

}  // namespace ashlar
