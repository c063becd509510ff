// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Passes arbitrary bytes to the readers of JSON: plans, pipelines, machines, indexes of
// checkpoints, headers of safetensors files, flight records and logs of trials. A reader must
// return a value or throw ashlar::error. A reader is faulty if it throws any other exception, or if
// it accepts wrong contents, such as a plan that the rules of the layers do not permit.

#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>

#include <ashlar/comm/watch/diagnosis.hpp>
#include <ashlar/io/json/checkpoint_index.hpp>
#include <ashlar/io/json/flight_file.hpp>
#include <ashlar/io/json/machine_file.hpp>
#include <ashlar/io/json/pipeline_file.hpp>
#include <ashlar/io/json/plan_file.hpp>
#include <ashlar/io/json/trial_file.hpp>
#include <ashlar/signature/training_row.hpp>

namespace ashlar_test {

/// Returns a net with parameters and statistics: a residual around a linear layer, followed by a
/// loss. The residual is a segment, so a plan may recompute it.
inline ashlar::search::problem const& fuzzed_net() {
  static ashlar::search::problem const net = [] {
    using namespace ashlar;
    search::problem p;
    shape const x{8, 6};
    search::layer_spec sum, linear, loss;
    sum.name = "residual";
    sum.x = sum.y = linear.x = linear.y = loss.x = x;
    sum.rows = independent_training_rows(2);
    linear.name = "linear";
    linear.parameters.push_back({"weight", {6, 6}, true});
    linear.parameters.push_back({"bias", {6}, false});
    linear.rows = linear_training_rows("md", "df", "mf", "f");
    loss.name = "cross_entropy";
    loss.statistics.push_back({8});
    loss.statistics.push_back({8});
    loss.rows = cross_entropy_training_rows(2);
    p.add(sum, search::element_kind::residual_begin, 2);
    p.add(linear);
    p.add(sum, search::element_kind::residual_end, 0);
    p.add_segment(0);
    p.add(loss);
    return p;
  }();
  return net;
}

inline ashlar::topology fuzzed_mesh() { return {{"node", 2}, {"gpu", 3}}; }

/// Returns how many of the readers accept the bytes. Ends the program with std::abort if a reader
/// accepts wrong contents.
inline int accepted_by_readers(std::string_view text) {
  namespace io = ashlar::io::detail;
  int accepted = 0;
  auto const attempt = [&](auto read) {
    try {
      std::istringstream in{std::string(text)};
      auto const j = io::parse_json(in, "fuzzed.json", "load");
      io::interpret("fuzzed.json", "load", [&] { read(j); });
      ++accepted;
    } catch (ashlar::error const&) {
    }
  };
  attempt([](nlohmann::json const& j) { io::machine_of(j); });
  attempt([](nlohmann::json const& j) {
    auto const file = io::flight_of(j);
    (void)ashlar::watch::diagnose(file.mesh, file.ranks);
  });
  attempt([](nlohmann::json const& j) {
    for (auto const& t : io::trials_of(j).trials)
      if (!(t.seconds > 0) || t.strategy.picks.size() != t.strategy.owners.size()) std::abort();
  });
  auto const check = [](ashlar::search::plan const& plan) {
    for (int i = 0; i < plan.size(); ++i)
      if (!ashlar::search::is_legal(plan[i], fuzzed_net().spec(i), plan.mesh)) std::abort();
  };
  attempt([&](nlohmann::json const& j) {
    check(io::plan_of(j, fuzzed_net(), fuzzed_mesh(), ashlar::machines::workstation));
  });
  attempt([&](nlohmann::json const& j) {
    auto const p = io::pipeline_of(j, fuzzed_net(), fuzzed_mesh(), ashlar::machines::workstation);
    check(p.chosen);
    if (!(whole_mesh(p) == fuzzed_mesh()) || p.stages.back().last != fuzzed_net().size())
      std::abort();
  });
  attempt([](nlohmann::json const& j) {
    for (auto const& [name, t] : io::checkpoint_index_of(j).tensors) {
      std::int64_t values = 0;  // all pieces must be inside the tensor and contain all its values
      for (auto const& p : t.pieces) {
        values += p.where.elements();
        for (int d = 0; d < t.extents.rank(); ++d)
          if (p.where[d].begin < 0 || p.where[d].end() > t.extents[d]) std::abort();
      }
      if (values != t.extents.elements()) std::abort();
    }
  });
  attempt([](nlohmann::json const& j) {
    for (auto const& e : io::header_of(j, 40).entries)
      if (e.begin < 0 || e.end > 40) std::abort();
  });
  return accepted;
}

}  // namespace ashlar_test
