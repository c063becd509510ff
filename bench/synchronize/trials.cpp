// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#include "trials.hpp"

#include <cstdint>

#include <ashlar/step/build.hpp>
#include <ashlar/step/overlapped.hpp>
#include <ashlar/sync/all_reduce.hpp>
#include <ashlar/sync/hybrid.hpp>
#include <ashlar/sync/owners.hpp>
#include <ashlar/sync/zero.hpp>

namespace ashlar_bench {

namespace sync = ashlar::sync;
using search::bucketing;

double seconds_of(search::problem const& net, search::plan const& plan, ashlar::machine const& m,
                  search::bucket_rule const& rule) {
  search::overlap_options o;
  o.limit = m.memory;
  o.division = rule;
  return search::overlapped(search::build(net, plan, m), m, o).seconds;
}

std::vector<named_rule> all_rules() {
  constexpr std::int64_t mib = 1 << 20;
  std::vector<named_rule> list{{"the best", {}},
                               {"none", {bucketing::by_bytes, 0}},
                               {"DDP: 25 MiB; first 1 MiB", {bucketing::by_bytes, 25 * mib, mib}},
                               {"all in one", {bucketing::by_bytes, std::int64_t{1} << 60}}};
  for (int const size : {1, 4, 16, 64, 128, 256})
    list.push_back({std::to_string(size) + " MiB", {bucketing::by_bytes, size * mib}});
  for (int const count : {8, 32, 64, 128, 512})
    list.push_back({"chunk " + std::to_string(count), {bucketing::by_number, count}});
  return list;
}

std::vector<trial> builder_trials(search::problem const& net, search::plan const& plain,
                                  ashlar::machine const& m) {
  struct builder {
    std::string name;
    search::plan plan;
    bool is_of_paper;
  };
  std::vector<builder> builders{{"all-reduce", sync::all_reduce{}(net, plain, m), true},
                                {"servers with copies", sync::owners{}(net, plain, m), true},
                                {"servers", sync::owners{sync::reads::at_use}(net, plain, m), true},
                                {"partitioned servers", sync::zero<3>{}(net, plain, m), true},
                                {"ZeRO-1", sync::zero<1>{}(net, plain, m), false}};
  if (plain.mesh.axes() > 1)
    for (auto const& axis : plain.mesh.axis)
      for (auto const values : {sync::reads::local_copies, sync::reads::at_use})
        builders.push_back({"hybrid along " + std::string(axis.name.view()) +
                                (values == sync::reads::at_use ? " at use" : ""),
                            sync::hybrid{axis.name.view(), values}(net, plain, m), false});
  std::vector<trial> list;
  for (auto const& b : builders)
    for (auto const& [name, rule] : all_rules()) {
      // The paper's builders have buckets of fixed sizes, so a trial with the library's own
      // division is not a trial of the paper.
      bool const is_of_paper = b.is_of_paper && rule.kind != bucketing::best;
      list.push_back({b.name, name, is_of_paper, seconds_of(net, b.plan, m, rule)});
    }
  return list;
}

}  // namespace ashlar_bench
