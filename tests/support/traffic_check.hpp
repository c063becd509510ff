// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Counts the bytes of a redistribution or a product at three levels. The three counts must agree
// exactly on every rank, transfer by transfer:
//
//   predicted      step_traffic of the plan's steps         the bytes in the predicted cost
//   recorded       communication_log                        the bytes handed to the transport
//   asked of MPI   mpi_traffic.hpp, below the library       the bytes that the MPI calls move
//
//   traffic_check check(mesh);
//   redistribute(x, p);
//   CHECK(check.difference(predicted(m, plan)) == "");
//
// counted_redistribute(x, p) and counted_matmul(a, b, p) do all of this in one call.
//
// Only meshes that communicate by messages move all their data through MPI. A program that includes
// this header therefore uses messages for all its meshes. The exceptions are meshes from
// mesh_on(transport::shared_memory, …), whose transfers do not use MPI.

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <support/mpi_traffic.hpp>
#include <support/transport.hpp>

#include <ashlar/comm/communication_log.hpp>
#include <ashlar/mesh/text.hpp>
#include <ashlar/plan/matmul.hpp>

namespace ashlar_test {

inline int const messages_only = ::setenv("ASHLAR_SHARED_MEMORY", "off", 1);

using exchanges = std::vector<ashlar::collective_record>;

/// Returns the plan's collectives in which this rank takes part, with the bytes that the rank
/// receives.
inline exchanges predicted(ashlar::mesh const& m, ashlar::redistribution_plan const& plan) {
  exchanges all;
  for (auto const& s : plan.steps)
    if (communicates(s.kind))
      all.push_back({s.carried_by(), s.axes,
                     step_traffic(s, plan.extents, m.topology(), m.coordinate()).elements *
                         s.unit_bytes(plan.element_size)});
  return all;
}
/// Returns the collectives of a product's plan, with the bytes that this rank receives. If the
/// product is computed in panels one after another, the collectives are listed panel by panel.
inline exchanges predicted(ashlar::mesh const& m, ashlar::matmul_plan const& plan) {
  exchanges all;
  auto const add = [&](ashlar::redistribution_plan const& part) {
    for (auto const& e : predicted(m, part)) all.push_back(e);
  };
  auto const tensors = ashlar::detail::tensors_of(plan, plan.panels.letter);
  auto const is_whole = [&](auto const& x) { return plan.panels.letter == 0 || x.dim < 0; };
  for (int i = 0; i < 2; ++i)
    if (is_whole(tensors[i])) add(*tensors[i].plan);
  for (int panel = 0; panel < (plan.panels.letter == 0 ? 0 : plan.panels.count); ++panel)
    for (auto const& x : tensors)
      if (!is_whole(x))
        add(panel_plan(*x.plan, plan.panels, x.dim, panel, m.topology(), m.machine()));
  if (is_whole(tensors[2])) add(*tensors[2].plan);
  return all;
}

/// Counts the traffic of a mesh during the lifetime of this object.
class traffic_check {
 public:
  explicit traffic_check(ashlar::mesh const& m, transport on = transport::messages)
      : mesh_(m), log_(m), on_(on) {
    mpi_traffic::listen([this] { return static_cast<int>(log_.records().size()); });
  }
  traffic_check(traffic_check const&) = delete;
  traffic_check& operator=(traffic_check const&) = delete;
  ~traffic_check() { mpi_traffic::stop(); }

  ashlar::communication_log const& log() const { return log_; }

  /// Resets the counts.
  void clear() {
    log_.clear();
    mpi_traffic::calls.clear();
  }

  /// Compares predicted, recorded and MPI traffic. Returns a description of the first difference,
  /// or an empty text if all three agree. Pass in_order = false if transfers overlap, because their
  /// order may then differ from the plan.
  std::string difference(exchanges const& plan, bool in_order = true) const {
    auto const& recorded = log_.records();
    bool const as_planned = in_order ? recorded == plan
                                     : std::is_permutation(recorded.begin(), recorded.end(),
                                                           plan.begin(), plan.end());
    if (!as_planned) return " predicted [" + text(plan) + "], recorded [" + text(recorded) + "];";
    std::vector<std::int64_t> asked(recorded.size() + 1, 0);
    for (auto const& call : mpi_traffic::calls) {
      if (call.received_bytes == mpi_traffic::uncounted)
        return " MPI_" + call.name + " moves data and is not counted;";
      asked[static_cast<std::size_t>(call.stage)] += call.received_bytes;
    }
    if (asked[0] != 0) return " " + std::to_string(asked[0]) + " B asked of MPI but not recorded;";
    if (!in_order) {  // messages of overlapping transfers mix: compare only sums
      std::int64_t all_asked = 0, all_recorded = 0;
      for (auto const bytes : asked) all_asked += bytes;
      for (auto const& e : recorded) all_recorded += e.received_bytes;
      if (on_ != transport::messages) all_recorded = 0;
      return all_asked == all_recorded
                 ? ""
                 : " recorded " + std::to_string(all_recorded) + " B, asked of MPI " +
                       std::to_string(all_asked) + " B;";
    }
    for (std::size_t i = 0; i < recorded.size(); ++i)
      if (asked[i + 1] != (on_ == transport::messages ? recorded[i].received_bytes : 0))
        return " recorded [" + text({recorded[i]}) + "], asked of MPI " +
               std::to_string(asked[i + 1]) + " B;";
    return "";
  }

 private:
  std::string text(exchanges const& all) const {
    std::string line;
    for (auto const& e : all)
      line += std::string(line.empty() ? "" : "; ") + to_string(e.kind) + " along " +
              to_string(e.axes, mesh_.topology()) + " " + std::to_string(e.received_bytes) + " B";
    return line;
  }

  ashlar::mesh mesh_;
  ashlar::communication_log log_;
  transport on_;
};

/// Performs redistribute(x, to) and checks the bytes. `on` is the transport of x's mesh.
template <class X, class Target>
auto counted_redistribute(X const& x, Target const& to, transport on = transport::messages) {
  auto const expected = predicted(x.mesh(), plan_redistribution(x, to).plan);
  traffic_check const traffic(x.mesh(), on);
  auto const y = redistribute(x, to);
  CHECK(traffic.difference(expected) == "");
  return y;
}
/// Performs matmul(a, b, to) without panels, and checks the bytes.
template <class A, class B, class Target>
auto counted_matmul(A const& a, B const& b, Target const& to, transport on = transport::messages) {
  auto const expected = predicted(a.mesh(), plan_matmul(a, b, to));
  traffic_check const traffic(a.mesh(), on);
  auto const c = matmul(a, b, to);
  CHECK(traffic.difference(expected) == "");
  return c;
}

}  // namespace ashlar_test
