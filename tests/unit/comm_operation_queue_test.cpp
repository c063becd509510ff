// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests what the queue of a mesh's transfers counts.

#include <doctest/doctest.h>

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

}  // namespace
}  // namespace ashlar_test
