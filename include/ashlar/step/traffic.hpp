// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The bytes that a rank receives in a program, per kind of collective. received_at returns the
// exact bytes of the rank at given coordinates. received_at_most returns the bytes that the cost
// model uses, which are an upper bound for every rank (plan/redistribution_step.hpp). Exchanges of
// halos count as permutes, and exchanges of rows as all-gathers. The bytes of rows depend on the
// ids of a batch, so both functions count predicted bytes for them (row_exchange.hpp).

#include <ashlar/step/transfer.hpp>

namespace ashlar::search {
inline namespace step {

/// What a rank receives in a program, per kind of collective: the number of steps of
/// redistributions and of exchanges, and their bytes.
struct collective_totals {
  struct entry {
    std::int64_t steps = 0;  ///< number of steps and exchanges of this kind
    double bytes = 0;        ///< received bytes; a double, because sums may exceed 63 bits
    friend constexpr bool operator==(entry const&, entry const&) = default;
  };
  entry of[9];

  constexpr entry const& operator[](collective kind) const { return of[static_cast<int>(kind)]; }
  constexpr double bytes() const {
    double sum = 0;
    for (auto const& e : of) sum += e.bytes;
    return sum;
  }
  friend constexpr bool operator==(collective_totals const&, collective_totals const&) = default;
};

namespace step_detail {

template <class Received, class Halo>
constexpr collective_totals totals_of(program const& p, Received received, Halo halo) {
  collective_totals totals;
  for (auto const& a : p.actions) {
    if (a.rows_bytes > 0) {
      auto& own = totals.of[static_cast<int>(collective::all_gather)];
      ++own.steps;
      own.bytes += double(a.rows_bytes);
    }
    if (a.halo < 0) continue;
    auto& own = totals.of[static_cast<int>(collective::permute)];
    ++own.steps;
    own.bytes += double(halo(a));
  }
  for (auto const& m : p.moves) {
    auto const& path = p.path_of(m);
    for (auto const& s : path.steps) {
      if (!communicates(s.kind)) continue;
      auto& own = totals.of[static_cast<int>(s.carried_by())];
      ++own.steps;
      own.bytes += double(received(path, s).elements) * s.unit_bytes(path.element_size);
    }
  }
  return totals;
}

}  // namespace step_detail

/// Returns the bytes that the rank at coordinates `c` receives in an exchange of halos.
constexpr std::int64_t halo_bytes_at(program const& p, action const& a, coordinates const& c) {
  auto const& halo = p.halo_of(a);
  return halo.received(p.mesh, c, a.kind == action_kind::add_halo) * p.element_size;
}

/// Returns the totals of the rank at coordinates `c`.
constexpr collective_totals received_at(program const& p, coordinates const& c) {
  return step_detail::totals_of(
      p,
      [&](redistribution_plan const& path, auto const& s) {
        return step_traffic(s, path.extents, p.mesh, c);
      },
      [&](action const& a) { return halo_bytes_at(p, a, c); });
}

/// Returns the totals that the cost model uses. Each step of a redistribution counts the elements
/// of transfer_traffic. No rank receives more.
constexpr collective_totals received_at_most(program const& p) {
  return step_detail::totals_of(
      p,
      [&](redistribution_plan const& path, auto const& s) {
        return transfer_traffic(path, s, p.mesh);
      },
      [](action const& a) { return a.halo_bytes; });
}

/// The seconds and the received bytes of one element of the layer chain in a step, on the busiest
/// rank.
struct element_totals {
  double work = 0, activations = 0, gradients = 0, parameters = 0;  ///< seconds
  double received = 0;                                              ///< bytes
  constexpr double communication() const { return activations + gradients + parameters; }
};

/// Returns the seconds and bytes of all elements. Statistics and halos of x count as activations,
/// halos of dx as gradients, and exchanges of rows as parameters. Every redistribution counts as if
/// it were in no bucket.
constexpr std::vector<element_totals> element_table(program const& p) {
  std::vector<element_totals> table(static_cast<std::size_t>(p.elements));
  for (auto const& a : p.actions) {
    auto& own = table[static_cast<std::size_t>(a.element)];
    own.work += a.seconds;
    bool const forward = a.kind == action_kind::exchange_halo;
    (forward ? own.activations : own.gradients) += a.halo_seconds;
    own.parameters += a.rows_seconds;
    own.received += double(a.halo_bytes + a.rows_bytes);
  }
  for (auto const& m : p.moves) {
    auto const& path = p.path_of(m);
    auto& own = table[static_cast<std::size_t>(m.element)];
    (m.what == moved::gradient    ? own.gradients
     : m.what == moved::parameter ? own.parameters
                                  : own.activations) += path.seconds;
    for (auto const& s : path.steps)
      own.received += double(transfer_traffic(path, s, p.mesh).elements) *
                      s.unit_bytes(path.element_size);
  }
  return table;
}

}  // namespace step
}  // namespace ashlar::search
