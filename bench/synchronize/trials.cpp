// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#include "trials.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

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
      // The peers have fixed sizes, so the library's own division does not count as theirs.
      bool const is_of_paper = b.is_of_paper && rule.kind != bucketing::best;
      list.push_back({b.name, name, is_of_paper, seconds_of(net, b.plan, m, rule)});
    }
  return list;
}

bool sampler::is_split(double bytes) {
  constexpr double low = 1e5, high = 64 << 20;
  return bytes > low && uniform() < (bytes - low) / (high - low);
}

void sampler::deal(std::vector<search::parameter_choice>& picked,
                   std::vector<double> const& bytes) {
  auto const& t = plain_.mesh;
  std::vector<std::size_t> order;
  double total = 0;
  for (std::size_t k = 0; k < picked.size(); ++k)
    if (picked[k].updated_at().has_owned()) order.push_back(k), total += bytes[k];
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return bytes[a] > bytes[b]; });
  std::vector<double> load(static_cast<std::size_t>(t.ranks()), 0);
  double const equal = total / t.ranks();
  for (auto const k : order) {
    std::vector<double> weights;
    for (double const own : load) weights.push_back(std::exp((equal - own) / equal));
    auto const owner = std::discrete_distribution<std::size_t>(weights.begin(),
                                                               weights.end())(random_);
    load[owner] += bytes[k];
    auto const at = t.coordinates_of(static_cast<int>(owner));
    ashlar::placement owned = picked[k].updated_at();
    for (int a = 0; a < owned.axes(); ++a)
      if (owned[a].is_owned())
        owned = owned.with(a, ashlar::owned(at[static_cast<std::size_t>(a)]));
    if (picked[k].is_updated_apart()) picked[k].update = owned;
    else picked[k].store = owned;
  }
}

double sampler::next() {
  std::vector<search::parameter_choice> picked;
  std::vector<double> bytes;
  double reduced = 0;
  for (int i = 0; i < net_.size(); ++i)
    for (int k = 0; k < plain_[i].parameters.size(); ++k) {
      auto const& spec = net_.spec(i).parameters[k];
      if (spec.tie == search::tie_role::later) continue;
      auto const all = sync::strategies(plain_[i].parameters[k], spec.extents, plain_.mesh);
      bytes.push_back(double(spec.extents.elements()) * net_.accumulation_size);
      bool const by_server = uniform() < 0.5, in_parts = is_split(bytes.back());
      std::vector<search::parameter_choice> permitted;
      for (auto const& s : all) {
        auto const& at = s.updated_at();
        if (by_server && at.has_owned() != in_parts && !(at == sync::stored_as_used(s)))
          permitted.push_back(s);
      }
      picked.push_back(permitted.empty() ? all[0] : permitted[below(permitted.size())]);
      reduced += permitted.empty() ? bytes.back() : 0;
    }
  deal(picked, bytes);
  std::size_t at = 0;
  auto const plan = sync::changed_plan(
      "bench/synchronize", net_, plain_, machine_,
      [&](search::parameter_choice& p, ashlar::shape const&) { p = picked[at++]; });
  auto const groups = static_cast<double>(1 + below(20));
  return seconds_of(net_, plan, machine_,
                    {bucketing::by_bytes, static_cast<std::int64_t>(reduced / groups) + 1});
}

}  // namespace ashlar_bench
