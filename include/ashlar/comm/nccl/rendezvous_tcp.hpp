// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Distributes rank 0's unique id (NCCL's) by TCP. Rank 0 listens on its port until all other ranks
// have connected and identified themselves, or until a fault ends the rendezvous. A passed deadline
// is a fault, too. At the end of the rendezvous, rank 0 answers all connected ranks at once. So
// either every rank gets the id, or every connected rank gets the fault.
//
//   a rank sends     a magic word, a hash of the job's name, the number of ranks,
//                    and its rank                                                  24 bytes
//   rank 0 answers   a fault code (0: none), the number of missing ranks, the
//                    first of them, and the id                                     140 bytes
//
//   fault   wrong_size     the ranks were given different numbers of ranks
//           taken_twice    two processes claim the same rank, or a rank is out of range
//           incomplete     the deadline has passed; the answer contains the number of missing ranks
//
// The job's name (ASHLAR_JOB_ID) is the token by which rank 0 knows its ranks. A peer that sends
// anything else, such as a port scanner or a rank of another job, gets no answer and is
// disconnected. A rank that is disconnected tries again until the deadline.
//
// Other programs cannot keep the ranks from meeting, because rank 0 reads from all connections at
// the same time (tcp_guests.hpp). If the ranks use the loopback address of one host, rank 0 listens
// there only. Anyone who can read the network traffic between the nodes can read the token and the
// id, so the network must be trusted. Numbers are sent in little-endian order, which is that of all
// machines on which NCCL runs.

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <ashlar/comm/nccl/launch.hpp>
#include <ashlar/comm/nccl/tcp_guests.hpp>
#include <ashlar/comm/nccl/tcp_socket.hpp>
#include <ashlar/comm/nccl/unique_id.hpp>

namespace ashlar::nccl {
namespace detail {

struct tcp_hello {
  char word[8];
  std::uint64_t job;
  std::int32_t size, rank;
};
struct tcp_answer {
  enum fault : std::int32_t { none, wrong_size, taken_twice, incomplete };
  std::int32_t fault;
  std::int32_t missing;  ///< number of missing ranks
  std::int32_t first_missing;
  unique_id id;
};

class tcp_rendezvous {
 public:
  using clock = tcp_socket::clock;

  tcp_rendezvous(launch const& here, std::chrono::milliseconds deadline)
      : here_(here), end_(clock::now() + deadline), deadline_(deadline) {
    std::memcpy(hello_.word, "ashlar01", 8);
    hello_.job = 14695981039346656037ull;
    for (char const c : here.job)
      hello_.job = (hello_.job ^ static_cast<unsigned char>(c)) * 1099511628211ull;
    hello_.size = here.size;
    hello_.rank = here.rank;
  }

  void give(unique_id const& id) {
    tcp_socket const door = listen();
    std::vector<tcp_socket> ranks(static_cast<std::size_t>(here_.size));
    tcp_guests<tcp_hello> guests(door);
    tcp_answer answer{tcp_answer::none, here_.size - 1, 0, id};
    while (answer.missing > 0 && answer.fault == tcp_answer::none) {
      if (!guests.wait_until(end_)) {
        answer.fault = tcp_answer::incomplete;
        break;
      }
      guests.hear([&](tcp_socket peer, tcp_hello const& said) {
        receive(std::move(peer), said, ranks, answer);
        return answer.fault == tcp_answer::none;
      });
    }
    for (int r = here_.size - 1; r > 0; --r)
      if (!ranks[static_cast<std::size_t>(r)]) answer.first_missing = r;
    if (answer.fault != tcp_answer::none) answer.id = {};
    for (auto const& rank : ranks)
      if (rank) rank.write_all(&answer, sizeof answer);
    if (answer.fault != tcp_answer::none) fail(answer);
  }

  unique_id take() {
    tcp_answer answer{};
    std::string last = "no process answers";
    while (true) {
      if (tcp_socket const master = connect(last); master) {
        if (!master.write_all(&hello_, sizeof hello_) ||
            !master.read_all(&answer, sizeof answer, end_ + grace))
          last = "a process there does not answer, perhaps rank 0 of another job or with another "
                 "ASHLAR_JOB_ID";
        else if (answer.fault == tcp_answer::none) return answer.id;
        else fail(answer);
      }
      if (clock::now() >= end_) fail(last);
      std::this_thread::sleep_for(pause_);
      if (pause_ < std::chrono::milliseconds(200)) pause_ *= 2;
    }
  }

 private:
  using addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

  addresses resolve(char const* host, int flags) const {
    addrinfo wanted{}, *found = nullptr;
    wanted.ai_family = AF_UNSPEC;
    wanted.ai_socktype = SOCK_STREAM;
    wanted.ai_flags = flags;
    std::string const port = std::to_string(here_.port);
    if (::getaddrinfo(host, port.c_str(), &wanted, &found) != 0) found = nullptr;
    return {found, [](addrinfo* list) {
              if (list != nullptr) ::freeaddrinfo(list);
            }};
  }

  /// Listens on the loopback address if the ranks were given such an address. Otherwise listens on
  /// all network interfaces, because the name by which other nodes reach this node may not belong
  /// to any of this node's interfaces.
  tcp_socket listen() const {
    int last = EADDRNOTAVAIL;
    // Many systems give a host's own name a loopback address. So only localhost and addresses in
    // digits count as loopback here.
    auto const own = resolve(here_.address.c_str(), AI_NUMERICHOST);
    bool const is_local = here_.address == "localhost" ||
                          (own != nullptr && is_loopback(*own->ai_addr));
    auto const found = is_local ? resolve(here_.address.c_str(), 0) : resolve(nullptr, AI_PASSIVE);
    for (int family : {AF_INET6, AF_INET})  // an IPv6 socket accepts IPv4, too
      for (auto const* a = found.get(); a != nullptr; a = a->ai_next) {
        if (a->ai_family != family) continue;
        tcp_socket s(
            ::socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol));
        if (!s) continue;
        int const on = 1, off = 0;
        ::setsockopt(s.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (family == AF_INET6) ::setsockopt(s.fd(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
        if (::bind(s.fd(), a->ai_addr, a->ai_addrlen) == 0 && ::listen(s.fd(), SOMAXCONN) == 0)
          return s;
        last = errno;
      }
    fail(std::string("cannot listen: ") + std::strerror(last) +
         ". If another program uses the port, give another MASTER_PORT");
  }

  static bool is_loopback(sockaddr const& a) {
    if (a.sa_family == AF_INET)
      return ntohl(reinterpret_cast<sockaddr_in const&>(a).sin_addr.s_addr) >> 24 == 127;
    return a.sa_family == AF_INET6 &&
           IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<sockaddr_in6 const&>(a).sin6_addr);
  }

  tcp_socket connect(std::string& last) const {
    auto const found = resolve(here_.address.c_str(), 0);
    if (found == nullptr) last = "no machine has this name";
    for (auto const* a = found.get(); a != nullptr; a = a->ai_next) {
      tcp_socket s(
          ::socket(a->ai_family, a->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, a->ai_protocol));
      if (!s) continue;
      if (::connect(s.fd(), a->ai_addr, a->ai_addrlen) != 0) {
        int failed = errno;
        if (failed == EINPROGRESS) {
          socklen_t length = sizeof failed;
          failed = ETIMEDOUT;
          if (s.wait_for(POLLOUT, std::min(end_, clock::now() + std::chrono::seconds(5))))
            ::getsockopt(s.fd(), SOL_SOCKET, SO_ERROR, &failed, &length);
        }
        if (failed != 0) {
          last = std::strerror(failed);
          continue;
        }
      }
      return s;
    }
    return tcp_socket();
  }

  /// Handles the complete message of a peer, which may be a rank or an unrelated program.
  void receive(tcp_socket peer, tcp_hello const& said, std::vector<tcp_socket>& ranks,
               tcp_answer& answer) const {
    if (std::memcmp(said.word, hello_.word, sizeof said.word) != 0 || said.job != hello_.job)
      return;
    if (said.size != here_.size) answer.fault = tcp_answer::wrong_size;
    else if (said.rank < 1 || said.rank >= here_.size || ranks[static_cast<std::size_t>(said.rank)])
      answer.fault = tcp_answer::taken_twice;
    if (answer.fault != tcp_answer::none) {
      tcp_answer const told{answer.fault, 0, 0, {}};
      peer.write_all(&told, sizeof told);
      return;
    }
    ranks[static_cast<std::size_t>(said.rank)] = std::move(peer);
    --answer.missing;
  }

  [[noreturn]] void fail(tcp_answer const& answer) const {
    if (answer.fault == tcp_answer::wrong_size)
      fail("the ranks have different world sizes; that of this rank is " +
           std::to_string(here_.size));
    if (answer.fault == tcp_answer::taken_twice)
      fail("two processes have the same rank, or a rank is not below the world size");
    fail(std::to_string(answer.missing) + " of " + std::to_string(here_.size) +
         " ranks are missing, the first is rank " + std::to_string(answer.first_missing));
  }

  [[noreturn]] void fail(std::string const& what) const {
    throw error(
        "nccl::rendezvous",
        "rank " + std::to_string(here_.rank) + " at " + here_.address + ":" +
            std::to_string(here_.port) + ": " + what + " (within " +
            std::to_string(deadline_.count() / 1000) +
            " s). Give every rank the same MASTER_ADDR and MASTER_PORT of rank 0's node, its "
            "own RANK, and the same WORLD_SIZE; ASHLAR_NCCL_TIMEOUT gives more seconds.");
  }

  /// Extra time for reading the answer. If rank 0 started later than this rank, the deadline of
  /// rank 0 is later too. The answer of rank 0 is worth waiting for, because it names the missing
  /// ranks.
  static constexpr std::chrono::seconds grace{2};

  launch const& here_;
  clock::time_point end_;
  std::chrono::milliseconds deadline_, pause_{5};
  tcp_hello hello_{};
};

}  // namespace detail

/// On rank 0, gives `id` to the other ranks and returns it. On the other ranks, ignores `id` and
/// returns rank 0's id. Collective over all ranks of the program. Throws ashlar::error that names
/// the rank, the address and the fault.
inline unique_id rendezvous_by_tcp(launch const& here, unique_id const& id,
                                   std::chrono::milliseconds deadline) {
  return detail::share_id_at(detail::tcp_rendezvous(here, deadline), here.rank, id);
}

}  // namespace ashlar::nccl
