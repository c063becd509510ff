// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests exchanges of halos on fake GPU ranks (fake_cuda.hpp).

#include <support/device_halos.hpp>
#include <support/device_instances.hpp>

#include "fake_ranks.hpp"

namespace ashlar_test {

TEST_CASE("halos on fake devices") {
  for (ashlar::topology const& t : {ashlar::topology{{"gpu", 3}}, {{"node", 2}, {"gpu", 2}}})
    fake::all_ranks(t.ranks(), [&](ashlar::nccl::world const& w) { exchange_halos({w, t}); });
}

}  // namespace ashlar_test
