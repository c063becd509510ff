// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the named machines: names are unique, and the numbers are plausible in the units of the
// library.

#include <set>

#include <doctest/doctest.h>

#include <ashlar/machine/gemm.hpp>
#include <ashlar/machine/presets.hpp>

namespace {

void check_sane(ashlar::link const& l) {
  CHECK(l.alpha >= 1e-7);
  CHECK(l.alpha <= 1e-4);
  CHECK(1 / l.beta >= 1e8);  // bytes per second
  CHECK(1 / l.beta <= 1e12);
}

}  // namespace

TEST_CASE("machines with a name are found by it, and no others") {
  std::set<std::string_view> names;
  for (auto const& m : ashlar::named_machines) {
    CHECK(ashlar::find_machine(m.name) == m.is);
    CHECK(names.insert(m.name).second);
  }
  CHECK(ashlar::find_machine("h200") == nullptr);
  CHECK(ashlar::find_machine("") == nullptr);
}

TEST_CASE("machines with a name have plausible numbers") {
  for (auto const& entry : ashlar::named_machines) {
    auto const& name = entry.name;
    auto const* const m = entry.is;
    CAPTURE(name);
    check_sane(m->intra);
    check_sane(m->inter);
    for (int k = 0; k < ashlar::collective_links::kinds; ++k) {
      auto const kind = static_cast<ashlar::collective>(k);
      if (m->intra_of.has(kind)) check_sane(m->intra_of[kind]);
      if (m->inter_of.has(kind)) check_sane(m->inter_of[kind]);
    }
    CHECK(m->flops >= 1e10);
    CHECK(m->flops <= 1e15);
    CHECK(m->memory_bandwidth >= 1e9);
    CHECK(m->memory_bandwidth <= 1e13);
    CHECK((m->memory == 0 || m->memory >= 8'000'000'000));
    // A large product runs near the peak. A tiny product does not, unless gemm_half is 0.
    CHECK(ashlar::gemm_stretch(*m, 16384, 16384, 16384) < 1.05);
    CHECK((m->gemm_half == 0 || ashlar::gemm_stretch(*m, 16, 16, 16) > 10));
  }
}

TEST_CASE("links within a node are no slower than between nodes, and the newer GPUs are faster") {
  namespace machines = ashlar::machines;
  for (auto const& m : ashlar::named_machines) {
    CHECK(m.is->intra.alpha <= m.is->inter.alpha);
    // The ranks of a node share the link between nodes. With 8 ranks per node, the β of each rank
    // is 8 times the β of the link.
    CHECK(m.is->intra.beta <= 8 * m.is->inter.beta);
  }
  CHECK(machines::p3_8xlarge.intra.beta > machines::a100_server.intra.beta);
  CHECK(machines::a100_server.intra.beta > machines::h200_server.intra.beta);
  CHECK(machines::piz_daint.flops < machines::p3_8xlarge.flops);
  CHECK(machines::p3_8xlarge.flops < machines::a100_server.flops);
  CHECK(machines::a100_server.flops < machines::h200_server.flops);
}
