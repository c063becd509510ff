// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The socket by which the watchdogs of a mesh talk to each other (UDP over IPv4).
//
// Each message begins with the token of the mesh: 128 random bits, which rank 0 draws and sends
// over the mesh's transport. The socket drops messages without the token and never answers them. So
// a foreign program learns nothing. It cannot keep a connection open either, because UDP has no
// connections. Anyone who can read the network traffic between the nodes can read the token, and
// could then end the job. If all ranks are on one host, the socket is bound to the loopback address
// and no message leaves the host.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ashlar/comm/watch/contact.hpp>
#include <ashlar/config.hpp>

namespace ashlar::watch {

inline constexpr std::size_t token_words = 4;
using token = std::array<std::int32_t, token_words>;

/// Draws a token from the system's random numbers.
ASHLAR_INLINE void draw_token(std::span<std::int32_t, token_words> words);

class peer_socket {
 public:
  enum class kind : char {
    question = '?',  ///< asks for a report
    answer = '=',    ///< a report (rank_report.hpp)
    end = '!',       ///< the job ends
    leave = '-',     ///< the sender leaves the mesh
    wake = '.'       ///< from a process to itself
  };
  struct message {
    kind what = kind::wake;
    int from = 0;  ///< rank of the sender
    std::string text;
  };

  /// Opens the socket. `is_one_host` tells whether all ranks of the mesh are on this host. If the
  /// system permits no socket, port() is 0 and nothing is sent or received.
  explicit peer_socket(bool is_one_host);
  peer_socket(peer_socket const&) = delete;
  peer_socket& operator=(peer_socket const&) = delete;
  ~peer_socket();

  int port() const { return port_; }

  /// Must be called before the first send. `ranks` has the contacts of all ranks of the mesh.
  void introduce(int rank, std::vector<contact> ranks,
                 std::span<std::int32_t const, token_words> secret) {
    rank_ = rank;
    ranks_ = std::move(ranks);
    std::copy(secret.begin(), secret.end(), secret_.begin());
  }
  std::vector<contact> const& ranks() const { return ranks_; }

  /// Sends a message to a rank. Texts of more than `most_text` characters are cut. Does not wait,
  /// and ignores errors, because a rank that needs an answer asks again.
  void send(int rank, kind what, std::string const& text = "") const;
  static constexpr std::size_t most_text = 40'000;

  /// Waits for up to `time` for a message. Returns nothing if there is none, or if the next one is
  /// not from a watchdog of this mesh. Returns early if the file descriptor `other` becomes
  /// readable.
  std::optional<message> receive(std::chrono::milliseconds time, int other = -1) const;

 private:
  // The header consists of the token, the rank of the sender, and the kind of message.
  static constexpr std::size_t head_bytes = sizeof(token) + sizeof(std::int32_t) + 1;

  int socket_ = -1, port_ = 0, rank_ = 0;
  std::vector<contact> ranks_;
  token secret_{};
};

}  // namespace ashlar::watch

#if ASHLAR_DEFINES(COMM)
#include <cstring>
#include <random>

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace ashlar::watch {

ASHLAR_INLINE void draw_token(std::span<std::int32_t, token_words> words) {
  std::random_device draw;
  for (auto& word : words) word = static_cast<std::int32_t>(draw());
}

ASHLAR_INLINE peer_socket::peer_socket(bool is_one_host) {
  socket_ = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket_ < 0) return;
  sockaddr_in own{};
  own.sin_family = AF_INET;
  own.sin_addr.s_addr = htonl(is_one_host ? INADDR_LOOPBACK : INADDR_ANY);
  socklen_t size = sizeof own;
  if (::bind(socket_, reinterpret_cast<sockaddr*>(&own), size) == 0 &&
      ::getsockname(socket_, reinterpret_cast<sockaddr*>(&own), &size) == 0)
    port_ = ntohs(own.sin_port);
}

ASHLAR_INLINE peer_socket::~peer_socket() {
  if (socket_ >= 0) ::close(socket_);
}

ASHLAR_INLINE void peer_socket::send(int rank, kind what, std::string const& text) const {
  auto const& to = ranks_[static_cast<std::size_t>(rank)];
  if (socket_ < 0 || to.port == 0) return;
  std::string bytes(head_bytes, '\0');
  std::memcpy(bytes.data(), secret_.data(), sizeof secret_);
  std::memcpy(bytes.data() + sizeof secret_, &rank_, sizeof rank_);
  bytes[head_bytes - 1] = static_cast<char>(what);
  bytes.append(text, 0, most_text);
  auto const send_to = [&](std::uint32_t address) {
    sockaddr_in peer{};
    peer.sin_family = AF_INET;
    peer.sin_port = htons(static_cast<std::uint16_t>(to.port));
    peer.sin_addr.s_addr = address;
    (void)::sendto(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL,
                   reinterpret_cast<sockaddr*>(&peer), sizeof peer);
  };
  if (to.host == ranks_[static_cast<std::size_t>(rank_)].host)
    return send_to(htonl(INADDR_LOOPBACK));
  for (auto const address : to.addresses)
    if (address != 0) send_to(address);
}

ASHLAR_INLINE std::optional<peer_socket::message>
peer_socket::receive(std::chrono::milliseconds time, int other) const {
  pollfd both[] = {{socket_, POLLIN, 0}, {other, POLLIN, 0}};  // poll skips negative descriptors
  ::poll(both, 2, static_cast<int>(time.count()));
  if ((both[0].revents & POLLIN) == 0) return std::nullopt;
  std::string bytes(head_bytes + most_text, '\0');
  auto const got = ::recv(socket_, bytes.data(), bytes.size(), 0);
  if (got < static_cast<long>(head_bytes)) return std::nullopt;
  bytes.resize(static_cast<std::size_t>(got));
  // The comparison takes the same time wherever the token differs.
  token claimed;
  std::memcpy(claimed.data(), bytes.data(), sizeof claimed);
  std::int32_t difference = 0;
  for (std::size_t i = 0; i < claimed.size(); ++i) difference |= claimed[i] ^ secret_[i];
  message m;
  std::memcpy(&m.from, bytes.data() + sizeof claimed, sizeof m.from);
  m.what = static_cast<kind>(bytes[head_bytes - 1]);
  if (difference != 0 || m.from < 0 || m.from >= static_cast<int>(ranks_.size()))
    return std::nullopt;
  m.text = bytes.substr(head_bytes);
  return m;
}

}  // namespace ashlar::watch
#endif
