// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// How the watchdog of one rank reaches the watchdog of another: the host, the process, and the
// address of its socket. The ranks exchange their contacts once, when they create a mesh.

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include <ashlar/config.hpp>

namespace ashlar::watch {

struct contact {
  std::uint64_t host = 0;  ///< the same number for processes that see each other in /proc
  std::int32_t process = 0;
  std::int32_t port = 0;
  std::array<std::uint32_t, 4> addresses{};  ///< IPv4 addresses of the host's networks, or 0
  std::array<char, 40> host_name{};          ///< ends with 0

  /// The number of words of a packed contact. The ranks exchange packed contacts by an all-reduce.
  static constexpr int words = 18;  // 72 bytes
};

/// Returns this process's contact. Its port is still 0.
ASHLAR_INLINE contact own_contact();

ASHLAR_INLINE std::array<std::int32_t, contact::words> pack(contact const& c);
ASHLAR_INLINE contact unpack(std::span<std::int32_t const, contact::words> words);

/// Returns what the system of this host knows about the process with contact `c`, which does not
/// answer. An example is "its process 77 on n3 is stopped, by SIGSTOP or a debugger". `here` is
/// this rank's own contact.
ASHLAR_INLINE std::string state_of_process(contact const& c, contact const& here);

}  // namespace ashlar::watch

#if ASHLAR_DEFINES(COMM)
#include <cstring>
#include <fstream>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <unistd.h>

#include <ashlar/support/content_hash.hpp>

namespace ashlar::watch {

ASHLAR_INLINE contact own_contact() {
  contact c;
  c.process = static_cast<std::int32_t>(getpid());
  gethostname(c.host_name.data(), c.host_name.size() - 1);
  // Processes in different containers of one host do not see each other, so namespaces are part of
  // the identity.
  std::string identity = c.host_name.data();
  std::string line;
  if (std::ifstream in("/proc/sys/kernel/random/boot_id"); std::getline(in, line)) identity += line;
  for (char const* const space : {"/proc/self/ns/pid", "/proc/self/ns/net"}) {
    char text[64];
    if (auto const n = readlink(space, text, sizeof text); n > 0)
      identity.append(text, static_cast<std::size_t>(n));
  }
  c.host = content_hash(identity.data(), identity.size());
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return c;
  std::size_t count = 0;
  for (auto const* at = all; at != nullptr && count < c.addresses.size(); at = at->ifa_next) {
    bool const is_network = at->ifa_addr != nullptr && at->ifa_addr->sa_family == AF_INET &&
                            (at->ifa_flags & IFF_UP) != 0 && (at->ifa_flags & IFF_LOOPBACK) == 0;
    if (!is_network) continue;
    sockaddr_in address;
    std::memcpy(&address, at->ifa_addr, sizeof address);
    c.addresses[count++] = address.sin_addr.s_addr;
  }
  freeifaddrs(all);
  return c;
}

ASHLAR_INLINE std::array<std::int32_t, contact::words> pack(contact const& c) {
  std::array<std::int32_t, contact::words> words{};
  std::memcpy(&words[0], &c.host, 8);
  words[2] = c.process;
  words[3] = c.port;
  std::memcpy(&words[4], c.addresses.data(), 16);
  std::memcpy(&words[8], c.host_name.data(), c.host_name.size());
  return words;
}

ASHLAR_INLINE contact unpack(std::span<std::int32_t const, contact::words> words) {
  contact c;
  std::memcpy(&c.host, &words[0], 8);
  c.process = words[2];
  c.port = words[3];
  std::memcpy(c.addresses.data(), &words[4], 16);
  std::memcpy(c.host_name.data(), &words[8], c.host_name.size());
  c.host_name.back() = '\0';
  return c;
}

ASHLAR_INLINE std::string state_of_process(contact const& c, contact const& here) {
  std::string const process = "its process " + std::to_string(c.process) + " on " +
                              c.host_name.data();
  if (c.host != here.host)
    return process + " is stopped, has ended or has left this mesh, or the network is cut";
  std::ifstream in("/proc/" + std::to_string(c.process) + "/stat");
  std::string text;
  if (!std::getline(in, text)) return process + " has ended";
  // The state is the letter after the name, which is in parentheses.
  auto const name_end = text.rfind(')');
  char const state = name_end + 2 < text.size() ? text[name_end + 2] : '?';
  if (state == 'T' || state == 't') return process + " is stopped, by SIGSTOP or a debugger";
  if (state == 'Z' || state == 'X') return process + " has ended";
  return process + " runs but has left this mesh";
}

}  // namespace ashlar::watch
#endif
