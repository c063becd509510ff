// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Reads and writes plans in pipeline stages as JSON files, which people can read and write too:
//
//   { "format": "ashlar pipeline", "version": 1, "mesh": "node=128,gpu=8",
//     "axis": "node", "stages": [0, 85, 169, 253],
//     "input": [32, 2048], "micro_batches": 32,
//     "elements": [ … as in plan_file.hpp, on the mesh of one stage, here node=32,gpu=8 ] }
//
//   axis            the mesh axis that is divided into stages
//   stages          the index of each stage's first element
//   input           the extents of the input of one micro-batch
//   micro_batches   the number of micro-batches in a step
//
// A pipeline of one stage has "stages": [0]. A pipeline whose stages are all on one part of the
// mesh has no "axis". If layers are recomputed in the backward pass, the version is 2. Then an
// entry such as "recomputed": [4, 2, 0, 0] has the number of recomputed segments of each stage.
//
// Files of versions 1 and 2 have the schedule 1F1B. If the plan has a schedule of its own, the
// version is 3. In place of "stages", the file then has
//
//   cuts          where the net is cut, as text (search/cut_text.hpp):
//                 "embedding block*5 | block*7 | layer_norm linear softmax_cross_entropy"
//   recomputed    as in version 2
//
// and one of
//
//   warm_ups      how many forward passes each part runs before its first backward pass:
//                 [7, 5, 3, 1]
//   schedule      a name, such as "interleaved:2" (search/schedule_choice.hpp), or a list with one
//                 text for each part, which has the passes of the part (step/pipeline/text.hpp):
//                 ["0: F0 F1 B0 B1", "1: F0 B0 F1 B1"]
//
// The other versions add entries that plan_file.hpp describes. A file has the lowest version that
// has all entries of the plan:
//
//   4   "update" of parameters that are updated at another placement than that at which they are
//       stored
//   5   "wire" of parameters whose gradients have wires
//   6   "plain_steps" of a training that has plain steps
//   7   "imbalance" of elements that route tokens, in every net with mixtures of experts
//
// Loading a file checks that
//
//   the file is for the given mesh and net,
//   the number of parts divides the extent of the axis,
//   the schedule has the plan's numbers of stages and micro-batches, and can run,
//   no stage begins inside a residual,
//   the rule tables allow every element's placements.
//
// Costs are not stored: loading computes the costs for the given machine.

#include <utility>

#include <ashlar/io/json/plan_file.hpp>
#include <ashlar/search/cut_text.hpp>
#include <ashlar/search/price_pipeline.hpp>
#include <ashlar/search/schedule_choice.hpp>
#include <ashlar/search/stages.hpp>
#include <ashlar/step/pipeline/check.hpp>

namespace ashlar::io {

inline constexpr int pipeline_version = 7;

namespace detail {

/// Writes a schedule in the shortest of its forms that schedule_in reads.
inline void put_schedule(nlohmann::ordered_json& j, pipelines::schedule const& s) {
  auto const permitted = [&](std::string const& name) {
    return search::schedule_choices(name, {}).front().permits(s.positions, s.micro_batches);
  };
  if (auto const name = search::name_of(s); name && permitted(*name)) {
    j["schedule"] = *name;
  } else if (auto const depths = search::warm_ups_of(s)) {
    j["warm_ups"] = *depths;
  } else {
    auto const text = pipelines::to_string(s);
    for (std::size_t at = 0, end = 0; at < text.size(); at = end + 1) {
      end = text.find('\n', at);
      j["schedule"].push_back(text.substr(at, end - at));
    }
  }
}

}  // namespace detail

/// Writes the pipeline `p` of `net` to a file. Throws ashlar::error if the plan is of another net
/// or has delayed gradients, stale parameters or gradients in rows, which pipeline stages do not
/// support. Also throws if the file cannot be written.
template <int N>
void save_pipeline(std::string const& path, search::basic_problem<N> const& net,
                   search::pipeline_plan const& p) {
  if (search::has_delays(p.chosen))
    throw error("save_pipeline",
                "delayed gradients are not for pipeline stages. Give a plan without delays.");
  if (search::is_stale(p.chosen))
    throw error("save_pipeline",
                "stale parameters are not for pipeline stages. Give a plan without staleness, or "
                "save a plan of one stage with save_plan.");
  if (search::has_rows(p.chosen))
    throw error("save_pipeline",
                "gradients in rows are not for pipeline stages. Give a plan without sync::rows, or "
                "save a plan of one stage with save_plan.");
  search::require_own_plan("save_pipeline", net, p.chosen);
  nlohmann::ordered_json j;
  j["format"] = "ashlar pipeline";
  bool const own_order = !p.order.order.empty();
  bool const wires = search::has_wires(p.chosen), is_apart = search::updates_apart(p.chosen);
  j["version"] = search::has_experts(net)   ? pipeline_version
                 : p.chosen.plain_steps > 0 ? 6
                 : wires                    ? 5
                 : is_apart                 ? 4
                 : own_order                ? 3
                 : p.chosen.recomputed > 0  ? 2
                                            : 1;
  topology const whole = whole_mesh(p);
  j["mesh"] = to_string(whole);
  if (p.axis >= 0 && p.parts() > 1) j["axis"] = whole.axis[p.axis].name.view();
  if (own_order) {
    j["cuts"] = search::cut_text(net, limits_of(p));
    detail::put_schedule(j, p.order);
  } else {
    for (auto const& s : p.stages) j["stages"].push_back(s.first);
  }
  if (own_order || p.chosen.recomputed > 0)
    for (auto const& s : p.stages) j["recomputed"].push_back(s.recomputed);
  for (auto const n : p.chosen.input.extent) j["input"].push_back(n);
  j["micro_batches"] = p.micro_batches();
  if (p.chosen.plain_steps > 0) j["plain_steps"] = p.chosen.plain_steps;
  j["elements"] = detail::elements_json(net, p.chosen);
  detail::write_json(path, j, "save_pipeline");
}

namespace detail {

/// Reads the entry "stages" of a file. Returns the index of each stage's first element, followed by
/// the number of elements of the net. Throws ashlar::error if the entry is not valid.
template <int N>
std::vector<int> stage_limits_of(nlohmann::json const& j, search::basic_problem<N> const& net) {
  auto const cuts = search::detail::cutting_points(net);
  std::vector<int> limits;
  if (!j.is_array()) throw error("stages", "must be a list of element numbers.");
  for (auto const& entry : j) {
    auto const at = whole_number(entry, "stages");
    if (limits.empty() ? at != 0 : at <= limits.back() || at >= net.size())
      throw error("stages", "must begin at element 0 and increase up to " +
                                std::to_string(net.size() - 1) + ", the net's last element.");
    if (std::find(cuts.begin(), cuts.end(), at) == cuts.end())
      throw error("stages", "a stage begins at element " + std::to_string(at) +
                                ", inside a residual: cut the chain in front of it.");
    limits.push_back(static_cast<int>(at));
  }
  if (limits.empty()) throw error("stages", "the list is empty.");
  limits.push_back(net.size());
  return limits;
}

/// Reads the entry "axis" of a file. Returns the mesh axis that is divided into stages, or -1 if
/// there is only one part. Throws ashlar::error if the entry is not valid.
inline int stage_axis_of(nlohmann::json const& j, topology const& t, int stages) {
  if (stages == 1) {
    if (j.contains("axis")) throw error("axis", "must be omitted for a single stage.");
    return -1;
  }
  auto const name = j.at("axis").get<std::string>();
  int axis = 0;
  while (axis < t.axes() && t.axis[axis].name.view() != name) ++axis;
  if (axis == t.axes())
    throw error("axis", "the mesh " + to_string(t) + " has no axis \"" + name + "\".");
  if (t.extent(axis) % stages != 0)
    throw error("stages", std::to_string(stages) + " stages do not divide the " +
                              std::to_string(t.extent(axis)) + " positions along " + name + ".");
  return axis;
}

/// Reads the entry "recomputed" of a file. Returns, for each stage, the number of segments (such as
/// copies of a repeat) that the backward pass recomputes. `limits` is the result of
/// stage_limits_of. Throws ashlar::error if a number is not valid.
template <int N>
std::vector<int> recomputed_of(nlohmann::json const& j, search::basic_problem<N> const& net,
                               std::vector<int> const& limits) {
  std::vector<int> list;
  if (!j.is_array() || j.size() + 1 != limits.size())
    throw error("recomputed", "must be a list of one number for each of the " +
                                  std::to_string(limits.size() - 1) + " stages.");
  for (auto const& entry : j) {
    auto const n = whole_number(entry, "recomputed");
    int const has = search::stage_of(net, limits[list.size()], limits[list.size() + 1], 1).segments;
    if (n < 0 || n > has)
      throw error("recomputed", std::to_string(n) + " segments of stage " +
                                    std::to_string(list.size()) + ", but only " +
                                    std::to_string(has) + " can be recomputed.");
    list.push_back(static_cast<int>(n));
  }
  return list;
}

/// Reads the schedule of a file with an entry "cuts", of version 3 or above. Throws ashlar::error
/// if the schedule does not have the numbers of stages and micro-batches of the plan, or if it
/// cannot run.
inline pipelines::schedule schedule_in(nlohmann::json const& j, int stages, int micro_batches) {
  if (j.contains("warm_ups") == j.contains("schedule"))
    throw error("schedule", "a file with \"cuts\" has either \"schedule\" or \"warm_ups\".");
  pipelines::schedule s;
  if (j.contains("warm_ups")) {
    std::vector<int> depths;
    for (auto const& entry : j.at("warm_ups")) {
      auto const n = whole_number(entry, "warm_ups");
      if (n < 1 || n > micro_batches)
        throw error("warm_ups", std::to_string(n) +
                                    " is not a number of forward passes from 1 to " +
                                    std::to_string(micro_batches) + ", the micro-batches.");
      depths.push_back(static_cast<int>(n));
    }
    s = pipelines::with_warm_ups(depths, micro_batches);
  } else if (auto const& text = j.at("schedule"); text.is_string()) {
    auto const name = text.get<std::string>();
    auto const choices = search::schedule_choices(name, {});
    auto const choice = choices.front();
    if (choice.fits_costs())
      throw error("schedule", "\"" + name +
                                  "\" names no order of passes. Write the passes of each "
                                  "part, as in \"0: F0 F1 B0 B1\".");
    int const parts = stages / choice.chunks;
    if (stages % choice.chunks != 0 || !choice.permits(parts, micro_batches))
      throw error("schedule", "there is no schedule \"" + name + "\" of " + std::to_string(stages) +
                                  " stages and " + std::to_string(micro_batches) +
                                  " micro-batches.");
    s = search::make_schedule(choice, parts, micro_batches, {}, {});
  } else {
    std::string lines;
    for (auto const& line : text) lines += line.get<std::string>() + "\n";
    s = pipelines::parse_schedule(lines);
  }
  if (s.stages() != stages || s.micro_batches != micro_batches)
    throw error("schedule", "it is of " + std::to_string(s.stages()) + " stages and " +
                                std::to_string(s.micro_batches) + " micro-batches, not of " +
                                std::to_string(stages) + " and " + std::to_string(micro_batches) +
                                ".");
  if (auto const fault = pipelines::fault_of(s); !fault.empty()) throw error("schedule", fault);
  return s;
}

/// Returns the pipeline that the parsed content of a file describes. Throws ashlar::error if the
/// pipeline does not fit the net or the mesh.
template <int N>
search::pipeline_plan pipeline_of(nlohmann::json const& j, search::basic_problem<N> const& net,
                                  topology const& t, machine const& m) {
  int const version = check_format(j, "ashlar pipeline", pipeline_version);
  bool const own_order = version == 3 || (version > 3 && !j.contains("stages"));
  if (version == 1)
    refuse_unknown_keys(
        j, "pipeline",
        {"format", "version", "mesh", "axis", "stages", "input", "micro_batches", "elements"});
  else {
    std::vector<std::string_view> keys{"format",     "version", "mesh",          "axis",
                                       "recomputed", "input",   "micro_batches", "elements"};
    if (own_order) keys.insert(keys.end(), {"cuts", "schedule", "warm_ups"});
    else keys.push_back("stages");
    if (version >= 6) keys.push_back("plain_steps");
    refuse_unknown_keys(j, "pipeline", keys);
  }
  check_mesh_and_batch(j, net, t);
  auto const limits = !own_order ? stage_limits_of(j.at("stages"), net)
                                 : search::parse_cut(net, j.at("cuts").get<std::string>());
  int const stages = static_cast<int>(limits.size()) - 1;
  pipelines::schedule order;
  if (own_order) order = schedule_in(j, stages, net.micro_batches);
  int const parts = !own_order ? stages : order.positions, axis = stage_axis_of(j, t, parts);
  search::basic_plan<N> chosen;
  chosen.mesh = search::stage_mesh(t, axis, parts);
  chosen.plain_steps = plain_steps_of(j);
  chosen.gap = 1;
  chosen.choices = choices_of<N>(
      j.at("elements"), net, chosen.mesh,
      {.update = version >= 4, .wire = version >= 5, .imbalance = version >= 7});
  bool const keeps_all = version == 1 || (version > 3 && !j.contains("recomputed"));
  auto const recomputed = keeps_all ? std::vector<int>(limits.size() - 1)
                                    : recomputed_of(j.at("recomputed"), net, limits);
  return search::price_pipeline(net, chosen, limits, recomputed, axis, net.micro_batches, m,
                                std::move(order));
}

}  // namespace detail

/// Reads a pipeline of `net` on mesh `t` (the mesh of all ranks) from a file. The predicted costs
/// of the result are computed for machine `m`. `net` must have the number of micro-batches that the
/// file states (load_plan_head returns this number). The lower bound of the result is 0 and its gap
/// is 1, because a file contains no proof of a lower bound. Throws ashlar::error with the file's
/// name and what is wrong with the file.
template <int N>
search::pipeline_plan load_pipeline(std::string const& path, search::basic_problem<N> const& net,
                                    topology const& t, machine const& m) {
  auto const j = detail::read_json(path, "load_pipeline");
  return detail::interpret(path, "load_pipeline",
                           [&] { return detail::pipeline_of(j, net, t, m); });
}

}  // namespace ashlar::io
