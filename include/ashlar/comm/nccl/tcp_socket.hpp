// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A socket for the rendezvous of ranks. It sends and receives complete messages, with deadlines.
//
// If a signal interrupts a system call, the call is repeated.
//
//   wait_for    returns whether something happens before the deadline, such as the arrival of data
//   read_all    returns false if the deadline passes or the peer closes the connection
//   write_all   returns false if the peer closes the connection; it does not wait, because a
//               message fits into the socket's buffer

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace ashlar::nccl::detail {

/// Owns a file descriptor, which the destructor closes.
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

  /// Returns whether one of `events` occurred before `end`.
  bool wait_for(short events, clock::time_point end) const {
    pollfd one{fd_, events, 0};
    return repeated([&] {
             auto const left = std::chrono::ceil<std::chrono::milliseconds>(end - clock::now());
             return ::poll(&one, 1, static_cast<int>(std::max(left.count(), std::int64_t{0})));
           }) > 0;
  }
  bool read_all(void* data, std::size_t bytes, clock::time_point end) const {
    for (auto* at = static_cast<char*>(data); bytes > 0;) {
      if (!wait_for(POLLIN, end)) return false;
      auto const n = repeated([&] { return ::recv(fd_, at, bytes, 0); });
      if (n <= 0) return false;
      at += n;
      bytes -= static_cast<std::size_t>(n);
    }
    return true;
  }
  bool write_all(void const* data, std::size_t bytes) const {
    for (auto const* at = static_cast<char const*>(data); bytes > 0;) {
      auto const n = repeated([&] { return ::send(fd_, at, bytes, MSG_NOSIGNAL); });
      if (n <= 0) return false;
      at += n;
      bytes -= static_cast<std::size_t>(n);
    }
    return true;
  }

 private:
  /// Returns the result of call(), repeated while a signal interrupts it.
  template <class Call>
  static auto repeated(Call const& call) -> decltype(call()) {
    for (;;)
      if (auto const result = call(); result >= 0 || errno != EINTR) return result;
  }

  int fd_;
};

}  // namespace ashlar::nccl::detail
