// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The connections that a listening socket has accepted and that have not sent their complete
// message yet. All are read at the same time, so that none of them keeps the others waiting. A
// guest is such a connection. It is dropped if its message is not complete after two seconds, or if
// it is the oldest of too many guests.

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <deque>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/socket.h>

#include <ashlar/comm/nccl/tcp_socket.hpp>

namespace ashlar::nccl::detail {

/// `Message` is a trivially copyable type, of which each guest sends one object.
template <class Message>
class tcp_guests {
 public:
  using clock = tcp_socket::clock;

  /// `door` is the listening socket, which must outlive this object.
  explicit tcp_guests(tcp_socket const& door) : door_(door) {}

  /// Waits until something arrives or the two seconds of the oldest guest are over. Returns false
  /// if `end` passes.
  bool wait_until(clock::time_point end) const {
    std::vector<pollfd> all{{door_.fd(), POLLIN, 0}};
    for (auto const& g : guests_) all.push_back({g.socket.fd(), POLLIN, 0});
    auto const next = guests_.empty() ? end : std::min(end, guests_.front().end);
    auto const left = std::chrono::ceil<std::chrono::milliseconds>(next - clock::now()).count();
    ::poll(all.data(), all.size(), left > 0 ? static_cast<int>(left) : 0);
    return clock::now() < end;
  }

  /// Accepts the connections and reads the bytes that have arrived. Calls receive(socket, message)
  /// for each guest whose message is complete, and forgets the guest. Stops if `receive` returns
  /// false.
  template <class Receive>
  void hear(Receive const& receive) {
    welcome();
    for (auto& g : guests_)
      if (g.reads() && !receive(std::move(g.socket), g.said)) break;
    auto const now = clock::now();
    std::erase_if(guests_, [&](guest const& g) { return !g.socket || g.end <= now; });
  }

 private:
  struct guest {
    tcp_socket socket;
    clock::time_point end;
    Message said{};
    std::size_t got = 0;

    /// Reads what has arrived. Returns whether the message is complete. Closes the socket if the
    /// peer has closed it.
    bool reads() {
      if (!socket) return false;
      auto const n = ::recv(socket.fd(), reinterpret_cast<char*>(&said) + got, sizeof said - got,
                            MSG_DONTWAIT);
      if (n > 0) got += static_cast<std::size_t>(n);
      else if (n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
        socket = tcp_socket();
      return socket && got == sizeof said;
    }
  };
  static constexpr std::size_t most_guests = 256;
  static constexpr std::chrono::seconds most_silence{2};

  /// Accepts waiting connections, at most most_guests in one call. If there are too many guests or
  /// file descriptors, drops the oldest guest.
  void welcome() {
    for (std::size_t i = 0; i < most_guests; ++i) {
      tcp_socket s(::accept4(door_.fd(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!s && errno != EMFILE && errno != ENFILE) return;
      if ((!s || guests_.size() == most_guests) && !guests_.empty()) guests_.pop_front();
      if (s) guests_.push_back({std::move(s), clock::now() + most_silence});
      else if (guests_.empty()) return;
    }
  }

  tcp_socket const& door_;
  std::deque<guest> guests_;  // the oldest first
};

}  // namespace ashlar::nccl::detail
