// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A rank of a stale training (stale_reads.hpp) that sends letters through the mailbox of a mesh.

#include <memory>

#include <support/stale_reads.hpp>

#include <ashlar/comm/mesh.hpp>

namespace ashlar_test {

struct worker_with_mail {
  /// `pause` is called each time the rank has taken the letters that have arrived.
  worker_with_mail(ashlar::mesh const& m, int staleness, void (*pause)())
      : mesh(m), pauses(pause), worker(m.rank(), m.ranks(), staleness),
        letters(m.open_mailbox([this](int from, int kind, std::span<std::byte const> text) {
          worker.exchange.take(from, kind, text);
        })) {
    worker.exchange.open(*letters);
  }
  worker_with_mail(worker_with_mail const&) = delete;
  worker_with_mail& operator=(worker_with_mail const&) = delete;

  void serve() const {
    mesh.progress();
    pauses();
  }
  void step(std::int64_t step) {
    worker.begin_step(step, [this] { serve(); });
    worker.end_step(step);
  }
  void settle(std::int64_t steps) {
    worker.settle(steps, [this] { serve(); });
    mesh.barrier();
  }

  ashlar::mesh mesh;
  void (*pauses)();
  counting_worker<ashlar::mpi::mailbox> worker;
  std::unique_ptr<ashlar::mpi::mailbox> letters;
};

}  // namespace ashlar_test
