// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests what the queue of a mesh's transfers counts, and what a child process must not do with it.

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ashlar/comm/operation_queue.hpp>

namespace ashlar_test {
namespace {

struct operation_without_end : ashlar::pending_operation {
  bool advance() override { return false; }
};

TEST_CASE("seconds that the program spent in transfers are not hidden") {
  ashlar::operation_queue whole;
  ashlar::operation_queue part(whole);
  CHECK(whole.seconds_hidden() == 0);
  operation_without_end one;
  part.add(one);
  CHECK_FALSE(whole.idle());
  CHECK(whole.seconds_hidden() == 0);  // the operation is still pending
  part.remove(one);
  double const hidden = whole.seconds_hidden();
  CHECK(hidden >= 0);
  part.count_waiting(2.5);
  CHECK(whole.seconds_hidden() == hidden - 2.5);
  CHECK(part.seconds_hidden() == hidden - 2.5);
}

TEST_CASE("a child process neither advances nor abandons the transfers of its parent") {
  ashlar::operation_queue queue;
  bool was_told = false;
  queue.on_abandon([&] { was_told = true; });
  auto const child = ::fork();
  if (child == 0) {
    bool const advances = !queue.is_abandoned();
    queue.abandon();
    ::_exit(advances || was_told ? 1 : 0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
  CHECK_FALSE(queue.is_abandoned());
  queue.abandon();
  CHECK(was_told);
  CHECK(queue.is_abandoned());
}

}  // namespace
}  // namespace ashlar_test
