// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A socket of a rendezvous: reads and writes whole messages, until a point in time.
//
//   wait_for    whether there is something to read or to accept before that point
//   read_all    false if it passes, or the other end goes
//   write_all   false if the other end goes; a message fits the socket's buffer, so it does not wait

#include <chrono>
#include <cstddef>
#include <utility>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace ashlar::nccl::detail {

/// A file descriptor that is closed at the end, and reads and writes until a point in time.
class tcp_socket {
 public:
  using clock = std::chrono::steady_clock;

  explicit tcp_socket(int fd = -1) : fd_(fd) {}
  tcp_socket(tcp_socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  tcp_socket& operator=(tcp_socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~tcp_socket() {
    if (fd_ >= 0) ::close(fd_);
  }
  int fd() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

  /// Whether `events` came before `end`.
  bool wait_for(short events, clock::time_point end) const {
    auto const left = std::chrono::ceil<std::chrono::milliseconds>(end - clock::now()).count();
    pollfd one{fd_, events, 0};
    return ::poll(&one, 1, left > 0 ? static_cast<int>(left) : 0) > 0;
  }
  bool read_all(void* data, std::size_t bytes, clock::time_point end) const {
    for (auto* at = static_cast<char*>(data); bytes > 0;) {
      if (!wait_for(POLLIN, end)) return false;
      auto const n = ::recv(fd_, at, bytes, 0);
      if (n <= 0) return false;
      at += n;
      bytes -= static_cast<std::size_t>(n);
    }
    return true;
  }
  bool write_all(void const* data, std::size_t bytes) const {
    for (auto const* at = static_cast<char const*>(data); bytes > 0;) {
      auto const n = ::send(fd_, at, bytes, MSG_NOSIGNAL);
      if (n <= 0) return false;
      at += n;
      bytes -= static_cast<std::size_t>(n);
    }
    return true;
  }

 private:
  int fd_;
};

}  // namespace ashlar::nccl::detail
