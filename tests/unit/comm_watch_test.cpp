// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the parts of the watchdog: the record of operations, reports, the diagnosis, the file of
// reports, the sockets, questions to other ranks, the detection of processes that end, and the
// settings. tests/scripts/faults.sh tests the complete watchdog on 4 ranks.

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <support/decimal_comma.hpp>
#include <support/message_of.hpp>
#include <support/spaced_digits.hpp>
#include <support/temporary_folder.hpp>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ashlar/comm/watch/diagnosis.hpp>
#include <ashlar/comm/watch/flight_record.hpp>
#include <ashlar/comm/watch/inquiry.hpp>
#include <ashlar/comm/watch/membership.hpp>
#include <ashlar/comm/watch/neighbour.hpp>
#include <ashlar/comm/watch/peer_socket.hpp>
#include <ashlar/comm/watch/record_file.hpp>
#include <ashlar/comm/watch/settings.hpp>
#include <ashlar/io/json/flight_file.hpp>

namespace ashlar_test {
namespace {

namespace watch = ashlar::watch;
using namespace std::chrono_literals;

ashlar::topology const two_by_two{{"node", 2}, {"gpu", 2}};

std::uint64_t begin(watch::flight_record& r, ashlar::axis_list const& axes, std::uint64_t ticket,
                    char const* label = nullptr) {
  auto const what = ashlar::flat_all_reduce(8, axes, two_by_two, {}, ashlar::reduction::sum);
  return r.began({&what, ashlar::element_type::f32, nullptr, nullptr, ticket, label});
}

TEST_CASE("a record on the host knows for how long its thread has waited") {
  watch::flight_record record(two_by_two);
  CHECK(record.tick() < 0);
  begin(record, {1}, 1);
  CHECK(record.tick() < 0);  // an operation is open, but the thread does not wait for it
  {
    watch::flight_record::waiting const noted(record);
    std::this_thread::sleep_for(20ms);
    record.tick();
    std::this_thread::sleep_for(20ms);
    CHECK(record.tick() >= 0.02);
    begin(record, {0}, 1);  // a pending operation begins: the thread still makes progress
    CHECK(record.tick() < 0.02);
  }
  CHECK(record.tick() < 0);
}

TEST_CASE("an operation on a device waits from the end of the operation before it") {
  watch::flight_record record(two_by_two, true);
  auto const one = begin(record, {1}, 1);
  begin(record, {1}, 2);
  record.tick();
  std::this_thread::sleep_for(30ms);
  CHECK(record.tick() >= 0.03);
  auto const ended = watch::flight_record::clock::now();
  record.ended_up_to(one);
  double const waited = record.tick();
  CHECK(waited >= 0);
  CHECK(waited <=
        std::chrono::duration<double>(watch::flight_record::clock::now() - ended).count());
}

TEST_CASE("a report has the last operations") {
  watch::flight_record record(two_by_two, false, 3);
  record.set_step(7);
  record.ended(record.began("a barrier"));
  record.ended(begin(record, {0, 1}, 1));
  begin(record, {1}, 1, "0.weight");
  record.set_work("reads a file");
  begin(record, {1}, 2, "a label of more characters than an entry has room for");
  auto const r = record.report(3, 1.5);
  CHECK(r.rank == 3);
  CHECK(r.is_waiting());
  REQUIRE(r.operations.size() == 3);
  CHECK(r.operations[0].text == "all-reduce along node+gpu of 8 float sum");
  CHECK(r.operations[0].has_ended);
  CHECK(r.operations[1].text == "all-reduce along gpu of 8 float sum (0.weight)");
  CHECK(r.operations[1].axes == "gpu");
  CHECK(r.operations[1].step == 7);
  CHECK(has(r.operations[2].text, "(a label of more characters than an entr"));
  CHECK(r.awaited() == &r.operations[1]);
  CHECK(r.work == "reads a file");
  CHECK(r.begun == std::map<std::string, std::uint64_t>{{"", 1}, {"gpu", 2}, {"node+gpu", 1}});
  CHECK(watch::report_from_lines(to_lines(r)) == r);
}

TEST_CASE("operations of a part of the mesh are told from those of the whole") {
  // A part of the mesh consists of the ranks 3 and 1, in this order. Its axis is called "pair".
  auto const report_of = [](int rank, bool comes) {
    watch::flight_record record(two_by_two);
    int const part = record.add_part({{"pair", 2}}, {3, 1}, rank == 3 ? 0 : 1);
    ashlar::topology const pair{{"pair", 2}};
    auto const what = ashlar::flat_all_reduce(8, {0}, pair, {}, ashlar::reduction::sum);
    record.ended(record.began("the creation of groups of ranks", part));
    if (comes) record.began({&what, ashlar::element_type::f32, nullptr, nullptr, 1, nullptr}, part);
    return record.report(rank, comes ? 5 : -1);
  };
  auto const waits = report_of(3, true), other = report_of(1, false);
  CHECK(waits.begun == std::map<std::string, std::uint64_t>{{"@3,1", 1}, {"pair@3,1", 1}});
  CHECK(watch::report_from_lines(to_lines(waits)) == waits);
  watch::rank_report idle[2];
  idle[1].rank = 2;
  CHECK(has(watch::diagnose(two_by_two, std::vector{idle[0], other, idle[1], waits}),
            "Rank 3 has waited for 5.0 s in all-reduce along pair of 8 float sum (number 1 along "
            "pair), for rank 1. Rank 1 makes no transfer now: its last one, the creation of groups "
            "of ranks (number 1), began "));
}

/// Returns a report of a rank that has begun `number` operations along "gpu". If `waits` is not
/// negative, the rank has waited for the last operation for `waits` seconds.
watch::rank_report at(int rank, std::uint64_t number, double waits,
                      std::string const& text = "all-gather along gpu") {
  watch::rank_report r;
  r.rank = rank;
  r.host = "n1";
  r.process = 100 + rank;
  r.waits = waits;
  r.begun["gpu"] = number;
  r.operations = {{number, "gpu", waits < 0, 2, 5, text}};
  return r;
}

TEST_CASE("a report is written and read in every locale") {
  auto const r = at(1234, 56789, 1.5);
  auto const usual = to_lines(r);
  spaced_digits const locale;
  CHECK(to_lines(r) == usual);
  CHECK(watch::report_from_lines(usual) == r);
}

TEST_CASE("the diagnosis names the ranks that have not come") {
  auto const said = [](std::vector<watch::rank_report> const& reports) {
    return watch::diagnose(two_by_two, reports);
  };
  CHECK(said({at(0, 4, -1), at(1, 4, -1), at(2, 4, -1), at(3, 4, -1)}) == "");
  CHECK(
      said({at(0, 4, 5), at(1, 3, -1), at(2, 9, -1), at(3, 9, -1)}) ==
      "Rank 0 has waited for 5.0 s in all-gather along gpu (number 4 along gpu, step 5), for rank "
      "1. Rank 1 makes no transfer now: its last one, all-gather along gpu (number 3 along gpu, "
      "step 5), began 2.0 s ago. All ranks must make the same calls in the same order.");
  CHECK(
      said({at(0, 4, 5), at(1, 4, 4.5, "all-reduce along gpu"), at(2, 9, -1), at(3, 9, -1)}) ==
      "Rank 0 has waited for 5.0 s in all-gather along gpu (number 4 along gpu, step 5), for rank "
      "1. Rank 1 waits in all-reduce along gpu (number 4 along gpu, step 5), for rank 0. All "
      "ranks must make the same calls in the same order.");
  CHECK(said({at(0, 4, 5), at(1, 4, 4), at(2, 9, -1), at(3, 9, -1)}) ==
        "Ranks 0 and 1 have waited for 5.0 s in all-gather along gpu (number 4 along gpu, step 5), "
        "for which all have come: look at the network.");
  auto gone = at(3, 0, -1);
  gone.silence = "its process 103 on n1 is stopped";
  CHECK(said({at(0, 4, -1), at(1, 4, -1), at(2, 9, 61), gone}) ==
        "Rank 2 has waited for 61 s in all-gather along gpu (number 9 along gpu, step 5), for rank "
        "3. Rank 3 does not answer: its process 103 on n1 is stopped.");

  auto busy = at(1, 3, -1);
  busy.work = "writes a checkpoint";
  CHECK(has(said({at(0, 4, 61), busy, at(2, 9, -1), at(3, 9, -1)}),
            ", for rank 1. Rank 1 writes a checkpoint."));

  ashlar::topology const wide{{"gpu", 8}};
  std::vector<watch::rank_report> many{at(0, 4, 5)};
  for (int r = 1; r < 8; ++r) many.push_back(at(r, 3, -1));
  auto const text = watch::diagnose(wide, many);
  CHECK(has(text, "for ranks 1, 2, 3 and 4 more."));
  CHECK(has(text, " 4 more are not in a transfer."));
}

TEST_CASE("a flight record is read as it was written") {
  std::vector<watch::rank_report> reports{at(0, 4, 5.25), at(1, 3, -1), at(2, 9, -1), at(3, 0, -1)};
  reports[0].operations[0].text = "a \"quoted\" \\ text\n";
  reports[1].work = "writes a checkpoint";
  reports[3] = {};
  reports[3].rank = 3;
  reports[3].silence = "its process has ended";
  temporary_folder const folder;
  auto const path = folder.path();
  auto const said = watch::write_flight_file(path.string(), 2,
                                             watch::flight_text(two_by_two, "why", reports));
  auto const name = path / ("ashlar_flight_2_" + std::to_string(::getpid()) + ".json");
  CHECK(said == "The flight record is " + name.string() + "; ashlar-flight reads it.");
  auto const file = ashlar::io::load_flight(name.string());
  CHECK(file.mesh == two_by_two);
  CHECK(file.diagnosis == "why");
  CHECK(file.ranks == reports);
  CHECK(has(watch::write_flight_file(path.string(), 2, "again"),
            "_" + std::to_string(::getpid()) + "_2.json; ashlar-flight reads it."));
  CHECK(has(watch::write_flight_file((path / "none").string(), 2, ""), "No such file"));
  CHECK(watch::write_flight_file("", 2, "") == "");
  // The process may write at most 4 bytes to a file. The text fits in the buffer of the stream, so
  // only std::fclose reports the error.
  struct rlimit before {};
  getrlimit(RLIMIT_FSIZE, &before);
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit const few{4, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &few);
  auto const cut = watch::write_flight_file(path.string(), 3, "too long");
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  CHECK(has(cut, ".json cannot be written: File too large. ASHLAR_FLIGHT_RECORDS names another"));
  CHECK_FALSE(
      std::filesystem::exists(path / ("ashlar_flight_3_" + std::to_string(::getpid()) + ".json")));
}

/// Sends bytes to a UDP port of this host, as any foreign program can.
void send_as_stranger(int port, std::string const& bytes) {
  int const s = ::socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(::sendto(s, bytes.data(), bytes.size(), 0, reinterpret_cast<sockaddr*>(&to), sizeof to) >=
          0);
  ::close(s);
}

TEST_CASE("watchdogs talk to each other, and not to strangers") {
  watch::peer_socket a(true), b(false);
  REQUIRE(a.port() != 0);
  REQUIRE(b.port() != 0);
  auto own = watch::own_contact();
  auto first = own, second = own;
  first.port = a.port();
  second.port = b.port();
  CHECK(watch::unpack(watch::pack(first)).port == first.port);
  CHECK(watch::unpack(watch::pack(first)).host == own.host);
  CHECK(watch::unpack(watch::pack(first)).process == ::getpid());
  CHECK(watch::unpack(watch::pack(first)).host_name == own.host_name);
  own.addresses = {1, 2, 3, 0xffffffff};
  CHECK(watch::unpack(watch::pack(own)).addresses == own.addresses);
  watch::token secret{};
  watch::draw_token(secret);
  a.introduce(0, {first, second}, secret);
  b.introduce(1, {first, second}, secret);
  a.send(1, watch::peer_socket::kind::question, "where?");
  auto const m = b.receive(1s);
  REQUIRE(m.has_value());
  CHECK(m->from == 0);
  CHECK(m->what == watch::peer_socket::kind::question);
  CHECK(m->text == "where?");
  a.send(1, watch::peer_socket::kind::answer, std::string(100'000, 'x'));
  CHECK(b.receive(1s)->text.size() == watch::peer_socket::most_text);

  send_as_stranger(b.port(), "");
  send_as_stranger(b.port(), "!");
  send_as_stranger(b.port(), std::string(21, '!'));
  send_as_stranger(b.port(), std::string(60'000, '!'));
  std::string forged(21, '\0');
  std::memcpy(forged.data(), secret.data(), sizeof secret);
  forged[16] = 2;  // the sender would be rank 2, which does not exist
  send_as_stranger(b.port(), forged);
  std::string guessed(21, '\0');  // from rank 0, but only the last word of the token is right
  auto claimed = secret;
  for (int i = 0; i < 3; ++i) claimed[static_cast<std::size_t>(i)] ^= 1;
  std::memcpy(guessed.data(), claimed.data(), sizeof claimed);
  send_as_stranger(b.port(), guessed);
  for (int i = 0; i < 6; ++i) CHECK_FALSE(b.receive(100ms).has_value());
  a.send(1, watch::peer_socket::kind::end);
  CHECK(b.receive(1s)->what == watch::peer_socket::kind::end);
}

TEST_CASE("a rank asks the others why it waits, and tells them that it leaves") {
  using kind = watch::peer_socket::kind;
  ashlar::topology const pair{{"gpu", 2}};
  watch::peer_socket low(true), high(true);
  auto first = watch::own_contact(), second = first;
  first.port = low.port();
  second.port = high.port();
  watch::token secret{};
  watch::draw_token(secret);
  low.introduce(0, {first, second}, secret);
  high.introduce(1, {first, second}, secret);
  watch::settings wanted{.timeout = 1s, .folder = ""};
  watch::inquiry question(pair, wanted, high);
  std::atomic<bool> is_done = false;
  auto const own = at(1, 4, 2);
  // Rank 1 asks, and rank 0 answers with the report `answer`, or not at all if `answer` is null.
  auto const ask = [&](watch::rank_report const* answer) {
    question.ask(
        own,
        [&](auto time) {
          auto const asked = low.receive(0ms);
          if (asked && asked->what == kind::question && answer != nullptr)
            low.send(1, kind::answer, to_lines(*answer));
          if (auto const m = high.receive(time)) question.add_answer(m->from, m->text);
        },
        is_done);
  };
  auto computes = at(0, 3, -1), waits = at(0, 4, 1.5);
  ask(&computes);
  CHECK(question.lower_reporter() == -1);
  CHECK_FALSE(question.must_wait_on(2));
  CHECK(has(question.findings("", 2), "Rank 1 has waited for 2.0 s in all-gather along gpu"));
  ask(&waits);
  CHECK(question.lower_reporter() == 0);
  computes.work = "writes a file";
  ask(&computes);
  CHECK(question.must_wait_on(2));
  CHECK_FALSE(question.must_wait_on(10));
  auto blocked = waits;  // rank 0 has long work, but waits for other ranks meanwhile
  blocked.work = "writes a file";
  ask(&blocked);
  CHECK_FALSE(question.must_wait_on(2));
  ask(nullptr);
  CHECK(has(question.findings("", 2), "Rank 0 does not answer: its process "));
  question.forget();
  question.add_answer(0, to_lines(waits));
  is_done = true;
  ask(&waits);
  CHECK(question.lower_reporter() == -1);

  while (low.receive(0ms)) {
  }
  {
    watch::membership present(high, 1);
    CHECK_FALSE(present.has_left());
    watch::membership::leave_all();
    CHECK(present.has_left());
    CHECK(low.receive(1s)->what == kind::leave);
  }
  CHECK(low.receive(1s)->what == kind::leave);
  watch::membership::leave_all();
  CHECK_FALSE(low.receive(0ms).has_value());
}

TEST_CASE("a rank waits for longer while no other host answers") {
  ashlar::topology const four{{"gpu", 4}};
  watch::peer_socket socket(false);
  auto const own = watch::own_contact();
  auto far = own, farther = own;
  far.host = own.host + 1;
  farther.host = own.host + 2;
  watch::token const secret{};
  socket.introduce(0, {own, own, far, farther}, secret);  // without ports: nothing is sent
  watch::settings wanted{.timeout = 1s, .folder = ""};
  watch::inquiry question(four, wanted, socket);
  auto const ask = [&](std::vector<int> const& answering) {
    std::atomic<bool> is_done = false;
    question.ask(
        at(0, 4, 2),
        [&](auto) {
          for (int const r : answering) question.add_answer(r, to_lines(at(r, 3, -1)));
          is_done = true;
        },
        is_done);
  };
  ask({1});
  CHECK(question.must_wait_on(2));
  CHECK_FALSE(question.must_wait_on(10));
  ask({1, 3});
  CHECK_FALSE(question.must_wait_on(2));
  ask({1, 2, 3});
  CHECK_FALSE(question.must_wait_on(2));
}

TEST_CASE("a child process does not leave the mesh of its parent") {
  watch::peer_socket low(true), high(true);
  auto first = watch::own_contact(), second = first;
  first.port = low.port();
  second.port = high.port();
  watch::token const secret{};
  high.introduce(1, {first, second}, secret);
  low.introduce(0, {first, second}, secret);
  std::optional<watch::membership> present;
  present.emplace(high, 1);
  auto const child = ::fork();
  if (child == 0) {
    watch::membership::leave_all();
    present.reset();
    ::_exit(0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
  CHECK_FALSE(low.receive(0ms).has_value());
  CHECK_FALSE(present->has_left());
  present.reset();
  CHECK(low.receive(1s)->what == watch::peer_socket::kind::leave);
}

TEST_CASE("a process that ends is noticed, unless it has left before") {
  auto const child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  auto const own = watch::own_contact();
  auto other = own;
  other.process = child;
  watch::neighbour next;
  next.observe(0, {own, other});
  CHECK(next.rank() == 1);
  CHECK_FALSE(next.has_ended());
  CHECK(has(watch::state_of_process(other, own), "runs but has left this mesh"));
  ::kill(child, SIGSTOP);
  ::waitpid(child, nullptr, WUNTRACED);
  CHECK(has(watch::state_of_process(other, own), "is stopped, by SIGSTOP or a debugger"));
  ::kill(child, SIGKILL);
  for (int i = 0; i < 500 && !next.has_ended(); ++i) std::this_thread::sleep_for(2ms);
  CHECK(next.has_ended());
  CHECK(has(watch::state_of_process(other, own), "has ended"));
  ::waitpid(child, nullptr, 0);
  CHECK(has(watch::state_of_process(other, own), "has ended"));
  watch::neighbour late;  // observes a process that has already ended
  late.observe(0, {own, other});
  CHECK(late.has_ended());
  late.left(1);
  CHECK(late.rank() == -1);
  CHECK_FALSE(late.has_ended());
  next.observe_none();
  CHECK(next.rank() == -1);
  CHECK_FALSE(next.has_ended());
  other.host = own.host + 1;
  CHECK(has(watch::state_of_process(other, own), "or the network is cut"));
}

TEST_CASE("ASHLAR_TIMEOUT is a number of seconds, perhaps with the word warn, or off") {
  auto const with = [](char const* text) {
    ::setenv("ASHLAR_TIMEOUT", text, 1);
    auto const s = watch::settings_from_environment();
    ::unsetenv("ASHLAR_TIMEOUT");
    return std::to_string(s.timeout.count()) + (s.only_warns ? " warns" : "");
  };
  CHECK(with("") == "60000");
  CHECK(with("5") == "5000");
  CHECK(with("0.25") == "250");
  CHECK(with(".5") == "500");
  CHECK(with("1e2") == "100000");
  CHECK(with("90,warn") == "90000 warns");
  CHECK(with("off") == "0");
  for (char const* bad : {"0", "-1", "nan", "inf", "1e999", " 5", "+5", "0x5", "5s", ",warn", "5,",
                          "5,end", "0,25", "1e7", "on"}) {
    CAPTURE(bad);
    CHECK(
        has(message_of([&] { with(bad); }), "mesh: ASHLAR_TIMEOUT is '" + std::string(bad) + "'"));
  }
  ::unsetenv("ASHLAR_TIMEOUT");
  // The number has a point also in locales that write a comma.
  decimal_comma const locale;
  CHECK(with("0.25,warn") == "250 warns");
}

}  // namespace
}  // namespace ashlar_test
