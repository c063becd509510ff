// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the rendezvous, which distributes NCCL's unique id from rank 0 to the other ranks, over TCP
// or through a file. The test runs 1 to 8 real processes, which arrive in any order. It also checks
// the errors if a process does not arrive, if two processes have the same rank, or if processes
// expect different numbers of ranks.

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/temporary_folder.hpp>
#include <sys/wait.h>

#include <ashlar/comm/nccl/rendezvous_file.hpp>
#include <ashlar/comm/nccl/rendezvous_tcp.hpp>

namespace ashlar_test {
namespace {

using namespace std::chrono_literals;
using ashlar::nccl::launch;
using ashlar::nccl::rendezvous;
using ashlar::nccl::unique_id;

unique_id id_of(int seed) {
  unique_id id{};
  for (std::size_t i = 0; i < id.size(); ++i)
    id[i] = static_cast<std::byte>((static_cast<int>(i) * 37 + seed) & 255);
  return id;
}

/// Returns a port that was free at the time of the call.
int free_port() {
  ashlar::nccl::detail::tcp_socket const s(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof at;
  REQUIRE(::bind(s.fd(), reinterpret_cast<sockaddr*>(&at), length) == 0);
  REQUIRE(::getsockname(s.fd(), reinterpret_cast<sockaddr*>(&at), &length) == 0);
  return ntohs(at.sin_port);
}

/// Runs processes concurrently and collects the text that each of them returns.
class processes {
 public:
  void start(std::function<std::string()> const& body) {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    pid_t const child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      std::string const said = body();
      auto const n = ::write(ends[1], said.data(), said.size());
      ::_exit(n == static_cast<ssize_t>(said.size()) ? 0 : 1);
    }
    ::close(ends[1]);
    all_.push_back({child, ends[0]});
  }
  std::vector<std::string> wait() {
    std::vector<std::string> said;
    for (auto const& [child, end] : all_) {
      std::string text;
      char buffer[512];
      for (ssize_t n; (n = ::read(end, buffer, sizeof buffer)) > 0;)
        text.append(buffer, static_cast<std::size_t>(n));
      ::close(end);
      int status = 0;
      ::waitpid(child, &status, 0);
      said.push_back(status == 0 ? text : "died");
    }
    all_.clear();
    return said;
  }

 private:
  std::vector<std::pair<pid_t, int>> all_;
};

launch at(rendezvous by, int rank, int size, int port, std::string const& file) {
  launch l;
  l.rank = rank;
  l.size = size;
  l.by = by;
  l.address = "127.0.0.1";
  l.port = port;
  l.file = file;
  return l;
}

/// Runs the rendezvous of the rank that `l` describes, with rank 0's id made from `seed`. Returns
/// "id: right" or "id: wrong" for the id that the rank received, or the message of the error.
std::string meet(launch const& l, int seed, std::chrono::milliseconds deadline) {
  return message_of([&] {
    unique_id const given = l.rank == 0 ? id_of(seed) : unique_id{};
    auto const got = l.by == rendezvous::tcp ? ashlar::nccl::rendezvous_by_tcp(l, given, deadline)
                                             : ashlar::nccl::rendezvous_by_file(l, given, deadline);
    throw ashlar::error("id", got == id_of(seed) ? "right" : "wrong");
  });
}

struct meeting {
  rendezvous by;
  temporary_folder files;
  int port = free_port();
  std::string file = files.file("id");

  explicit meeting(rendezvous way) : by(way) {}
  launch rank(int r, int size) const { return at(by, r, size, port, file); }
};

constexpr rendezvous ways[] = {rendezvous::tcp, rendezvous::file};

TEST_CASE("every rank gets rank 0's id, whoever comes first") {
  for (rendezvous const by : ways)
    for (int size = 1; size <= 8; ++size) {
      meeting const m(by);
      processes ranks;
      for (int i = 0; i < size; ++i) {
        int const r = size % 2 == 0 ? i : size - 1 - i;
        ranks.start([&, r] {
          if (r == size / 2) std::this_thread::sleep_for(50ms);
          return meet(m.rank(r, size), 5 + size, 20s);
        });
      }
      for (auto const& said : ranks.wait()) CHECK(said == "id: right");
      CHECK(m.files.size() == 0);
    }
}

TEST_CASE("a missing rank is named in the error of the others") {
  for (rendezvous const by : ways) {
    meeting const m(by);
    processes ranks;
    for (int r : {0, 1, 3}) ranks.start([&, r] { return meet(m.rank(r, 4), 1, 1200ms); });
    auto const said = ranks.wait();
    CHECK(has(said[0], "1 of 4 ranks are missing, the first is rank 2"));
    for (int i = 1; i < 3; ++i)
      CHECK(has(said[static_cast<std::size_t>(i)],
                by == rendezvous::tcp ? "the first is rank 2" : "rank 0 has not answered"));
    CHECK(has(said[2], "rank 3 at "));
  }
}

TEST_CASE("no rank 0") {
  for (rendezvous const by : ways) {
    meeting const m(by);
    auto const said = meet(m.rank(1, 2), 1, 100ms);
    CHECK(has(said, by == rendezvous::tcp
                        ? "127.0.0.1:" + std::to_string(m.port) + ": Connection refused"
                        : m.file + ": rank 0 has not answered"));
  }
  auto nowhere = at(rendezvous::tcp, 1, 2, 4711, "");
  nowhere.address = "no-such-host.invalid";
  CHECK(has(meet(nowhere, 1, 50ms), "no machine has this name"));
}

TEST_CASE("files that an earlier run left behind are ignored") {
  meeting const m(rendezvous::file);
  {  // This run has the same size and no job name, and its rank 2 never arrives.
    processes ranks;
    for (int r : {0, 1}) ranks.start([&, r] { return meet(m.rank(r, 3), 1, 100ms); });
    ranks.wait();
  }
  CHECK(m.files.size() > 0);
  {  // This run ends after rank 0 has found a file of each rank.
    std::ofstream(m.file + ".2") << "- 3 00112233445566778899aabbccddeeff\n";
    processes ranks;
    ranks.start([&] { return meet(m.rank(0, 3), 2, 150ms); });
    ranks.wait();
  }
  CHECK(std::filesystem::exists(m.file));  // left behind by the second run
  processes ranks;
  for (int r : {2, 1, 0})
    ranks.start([&, r] {
      std::this_thread::sleep_for(r == 1 ? 60ms : 0ms);
      return meet(m.rank(r, 3), 9, 20s);
    });
  for (auto const& said : ranks.wait()) CHECK(said == "id: right");
  CHECK(m.files.size() == 0);
}

TEST_CASE("files of a run with another name are ignored") {
  meeting const m(rendezvous::file);
  std::ofstream(m.file) << "other 2 00\n00\n";
  CHECK(has(meet(m.rank(1, 2), 1, 50ms),
            "a run with the name and size other 2, but those of this run are - 2"));
}

TEST_CASE("a folder that does not exist") {
  meeting m(rendezvous::file);
  m.file = m.files.file("nowhere/id");
  CHECK(has(meet(m.rank(1, 2), 1, 50ms), "cannot be written"));
}

TEST_CASE("tcp: ranks with different settings get an error") {
  meeting const m(rendezvous::tcp);
  processes ranks;
  for (int r : {0, 1}) ranks.start([&, r] { return meet(m.rank(r, r == 1 ? 3 : 4), 1, 10s); });
  for (auto const& said : ranks.wait()) CHECK(has(said, "the ranks have different world sizes"));
  for (int r : {0, 1, 1}) ranks.start([&, r] { return meet(m.rank(r, 4), 1, 10s); });
  int heard = 0;
  for (auto const& said : ranks.wait()) heard += has(said, "two processes have the same rank");
  CHECK(heard == 3);
}

TEST_CASE("tcp: strangers and other jobs do not disturb") {
  meeting const m(rendezvous::tcp);
  processes ranks;
  ranks.start([&] { return meet(m.rank(0, 2), 3, 20s); });
  ranks.start([&] {  // an unrelated client sends an unknown request, then a short one
    for (char const* words : {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "?"}) {
      for (int tries = 0; tries < 400; ++tries) {
        ashlar::nccl::detail::tcp_socket const s(::socket(AF_INET, SOCK_STREAM, 0));
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        to.sin_port = htons(static_cast<std::uint16_t>(m.port));
        if (::connect(s.fd(), reinterpret_cast<sockaddr*>(&to), sizeof to) == 0) {
          s.write_all(words, std::strlen(words));
          break;
        }
        std::this_thread::sleep_for(5ms);
      }
    }
    return std::string("done");
  });
  ranks.start([&] {
    auto other = m.rank(1, 2);
    other.job = "another";
    return meet(other, 1, 300ms);
  });
  ranks.start([&] {
    std::this_thread::sleep_for(500ms);
    return meet(m.rank(1, 2), 3, 20s);
  });
  auto const said = ranks.wait();
  CHECK(said[0] == "id: right");
  CHECK(has(said[2], "perhaps rank 0 of another job"));
  CHECK(said[3] == "id: right");
}

/// Connects to a port of this host. Closing the returned socket resets the connection, so its local
/// port is free again at once. Otherwise, thousands of connections could use up all local ports.
ashlar::nccl::detail::tcp_socket connect_as_stranger(int port) {
  ashlar::nccl::detail::tcp_socket s(::socket(AF_INET, SOCK_STREAM, 0));
  linger const reset{1, 0};
  ::setsockopt(s.fd(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(static_cast<std::uint16_t>(port));
  for (int tries = 0; tries < 400; ++tries) {
    if (::connect(s.fd(), reinterpret_cast<sockaddr*>(&to), sizeof to) == 0) return s;
    std::this_thread::sleep_for(5ms);
  }
  return ashlar::nccl::detail::tcp_socket();
}

// The environment variable ASHLAR_STRANGERS sets the number of connections that are soon closed.
TEST_CASE("tcp: a flood of strangers, some of whom stay connected, does not keep the ranks apart") {
  char const* const asked = std::getenv("ASHLAR_STRANGERS");
  int const strangers = asked == nullptr ? 3000 : std::atoi(asked);
  meeting const m(rendezvous::tcp);
  processes ranks;
  ranks.start([&] { return meet(m.rank(0, 3), 3, 120s); });
  ranks.start([&] {
    std::mt19937 random(7);
    std::vector<ashlar::nccl::detail::tcp_socket> silent;
    for (int i = 0; i < 300; ++i) silent.push_back(connect_as_stranger(m.port));
    for (int i = 0; i < strangers; ++i) {
      auto const s = connect_as_stranger(m.port);
      if (!s) return "connection " + std::to_string(i) + " failed";
      std::string bytes(random() % 60, '\0');
      for (auto& c : bytes) c = static_cast<char>(random());
      if (i % 3 == 0) bytes = "ashlar01" + bytes;
      s.write_all(bytes.data(), bytes.size());
    }
    return meet(m.rank(1, 3), 3, 60s);
  });
  ranks.start([&] { return meet(m.rank(2, 3), 3, 120s); });
  auto const said = ranks.wait();
  CHECK(said[0] == "id: right");
  CHECK(said[1] == "id: right");
  CHECK(said[2] == "id: right");
}

TEST_CASE("tcp: a signal does not end the wait for an answer") {
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  ashlar::nccl::detail::tcp_socket const here(ends[0]), there(ends[1]);
  struct sigaction quiet {
  }, before{};
  quiet.sa_handler = [](int) {};
  REQUIRE(::sigaction(SIGUSR1, &quiet, &before) == 0);
  int const sent = 7;
  auto const waiting = ::pthread_self();
  std::thread other([&] {
    for (int turn = 0; turn < 5; ++turn) {
      std::this_thread::sleep_for(10ms);
      ::pthread_kill(waiting, SIGUSR1);
    }
    there.write_all(&sent, sizeof sent);
  });
  int got = 0;
  CHECK(here.read_all(&got, sizeof got, std::chrono::steady_clock::now() + 20s));
  other.join();
  CHECK(got == sent);
  ::sigaction(SIGUSR1, &before, nullptr);
}

TEST_CASE("tcp: on the loopback address, rank 0 is not reachable from outside") {
  ashlar::nccl::detail::tcp_socket const outside(::socket(AF_INET, SOCK_STREAM, 0));
  meeting const m(rendezvous::tcp);
  processes ranks;
  ranks.start([&] { return meet(m.rank(0, 2), 3, 20s); });
  REQUIRE(connect_as_stranger(m.port));  // rank 0 listens on m.port
  sockaddr_in any{};                     // the same port is free on other addresses of this host
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(0x7f000002);
  any.sin_port = htons(static_cast<std::uint16_t>(m.port));
  CHECK(::bind(outside.fd(), reinterpret_cast<sockaddr*>(&any), sizeof any) == 0);
  ranks.start([&] { return meet(m.rank(1, 2), 3, 20s); });
  for (auto const& said : ranks.wait()) CHECK(said == "id: right");
}

TEST_CASE("tcp: a port that is in use") {
  meeting const m(rendezvous::tcp);
  ashlar::nccl::detail::tcp_socket const s(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_port = htons(static_cast<std::uint16_t>(m.port));
  REQUIRE(::bind(s.fd(), reinterpret_cast<sockaddr*>(&here), sizeof here) == 0);
  REQUIRE(::listen(s.fd(), 1) == 0);
  CHECK(has(meet(m.rank(0, 2), 1, 100ms), "cannot listen: Address already in use"));
}

}  // namespace
}  // namespace ashlar_test
