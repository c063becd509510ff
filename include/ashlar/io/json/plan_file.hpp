// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Reads and writes plans as JSON files, which people can read and write too. An element is a layer
// of the net, the begin or end of a residual or skip, or the begin, turn or end of a branch:
//
//   { "format": "ashlar plan", "version": 1, "mesh": "node=2,gpu=2", "input": [8, 256],
//     "micro_batches": 1,
//     "elements": [
//       { "name": "linear", "x": "[S(0),B]", "y": "[S(0),S(2)]", "dy": …, "dx": …,
//         "parameters": [ { "name": "weight", "use": …, "grad": …, "store": … } ],
//         "statistics": [ { "from": …, "to": … } ] }, … ] }
//
// x and y are the placements of an element's input and output, dx and dy those of their gradients.
// A layer uses a parameter at placement "use" and makes its gradient at "grad". The parameter is
// stored at "store". The versions after 1 add these entries, and a file has the lowest version that
// has all entries of its plan:
//
//   2    "recomputed": 8, the number of segments that the backward pass recomputes
//   3    "interleaved": 2, if micro-batches take turns (step/turns.hpp)
//   4    "update" of each parameter that is updated at another placement than "store"
//   5    "rows": true of each parameter whose gradient is kept in rows (step/row_exchange.hpp)
//   6    "wire": "int8+feedback" of each parameter whose gradient has a wire (plan/wire.hpp)
//   7    "delay": 1 of each parameter whose gradient is delayed by 1 step (sync/delayed.hpp)
//   8    "plain_steps": 30, the number of steps that send gradients without their wires
//   9    "imbalance": 1.2 of each element that routes tokens in a mixture of experts, which is
//        moe_options::imbalance of the net
//   10   "staleness": 4, if parameters are stale (plan::staleness)
//
// From version 3 on, a file always has "recomputed" and "interleaved". Loading a file checks that
// it is for the given mesh and net, and that the rule tables allow every element's placements.
// Costs are not stored: loading computes the costs for the given machine.

#include <ashlar/io/json/json_file.hpp>
#include <ashlar/io/json/plan_entries.hpp>
#include <ashlar/mesh/text.hpp>
#include <ashlar/plan/wire_named.hpp>
#include <ashlar/search/cost.hpp>
#include <ashlar/search/legal.hpp>
#include <ashlar/step/own_plan.hpp>
#include <ashlar/step/staleness.hpp>

namespace ashlar::io {

inline constexpr int plan_version = 10;

namespace detail {

/// Returns the placements of all elements of a plan as JSON.
template <int N>
nlohmann::ordered_json elements_json(search::basic_problem<N> const& net,
                                     search::basic_plan<N> const& plan) {
  nlohmann::ordered_json list;
  for (int i = 0; i < plan.size(); ++i) {
    auto const& c = plan[i];
    nlohmann::ordered_json element;
    element["name"] = net.spec(i).name.text;
    element["x"] = to_string(c.x);
    element["y"] = to_string(c.y);
    element["dy"] = to_string(c.dy);
    element["dx"] = to_string(c.dx);
    for (int k = 0; k < c.parameters.size(); ++k) {
      element["parameters"].push_back({{"name", net.spec(i).parameters[k].name.text},
                                       {"use", to_string(c.parameters[k].use)},
                                       {"grad", to_string(c.parameters[k].grad)},
                                       {"store", to_string(c.parameters[k].store)}});
      if (c.parameters[k].is_updated_apart())
        element["parameters"].back()["update"] = to_string(c.parameters[k].update);
      if (c.parameters[k].in_rows) element["parameters"].back()["rows"] = true;
      if (auto const& wire = c.parameters[k].wire; !wire.is_exact())
        element["parameters"].back()["wire"] = to_string(wire);
      if (c.parameters[k].delay != 0) element["parameters"].back()["delay"] = c.parameters[k].delay;
    }
    for (auto const& s : c.statistics)
      element["statistics"].push_back({{"from", to_string(s.from)}, {"to", to_string(s.to)}});
    if (search::routes_tokens(net.spec(i))) element["imbalance"] = imbalance_of(net.spec(i));
    list.push_back(element);
  }
  return list;
}

}  // namespace detail

/// Writes the plan `plan` of `net` to a file. Throws ashlar::error if the plan is of another net or
/// the file cannot be written.
template <int N>
void save_plan(std::string const& path, search::basic_problem<N> const& net,
               search::basic_plan<N> const& plan) {
  search::require_own_plan("save_plan", net, plan);
  nlohmann::ordered_json j;
  j["format"] = "ashlar plan";
  bool const wires = search::has_wires(plan), rows = search::has_rows(plan);
  bool const delays = search::has_delays(plan), in_turns = plan.interleaved > 1;
  bool const experts = search::has_experts(net);
  bool const is_apart = search::updates_apart(plan) || rows || wires || delays ||
                        plan.plain_steps > 0 || experts || is_stale(plan);
  j["version"] = is_stale(plan)         ? plan_version
                 : experts              ? 9
                 : plan.plain_steps > 0 ? 8
                 : delays               ? 7
                 : wires                ? 6
                 : rows                 ? 5
                 : is_apart             ? 4
                 : in_turns             ? 3
                 : plan.recomputed > 0  ? 2
                                        : 1;
  j["mesh"] = to_string(plan.mesh);
  for (auto const n : plan.input.extent) j["input"].push_back(n);
  j["micro_batches"] = plan.micro_batches;
  if (in_turns || is_apart) j["interleaved"] = plan.interleaved;
  if (plan.recomputed > 0 || in_turns || is_apart) j["recomputed"] = plan.recomputed;
  if (plan.plain_steps > 0) j["plain_steps"] = plan.plain_steps;
  if (is_stale(plan)) j["staleness"] = plan.staleness;
  j["elements"] = detail::elements_json(net, plan);
  detail::write_json(path, j, "save_plan");
}

namespace detail {

/// Returns the placement in entry `key` of j. The tensor has `rank` dims and is on mesh
/// `t`. Throws ashlar::error if the placement is not valid for this tensor and mesh.
inline placement placement_of(nlohmann::json const& j, char const* key, int rank,
                              topology const& t) {
  auto const text = j.at(key).get<std::string>();
  placement const p = parse_placement(text);
  if (char const* const wrong = check(p, rank, t)) throw error(key, "\"" + text + "\": " + wrong);
  return p;
}

/// Returns the placements of one element of a file. Throws ashlar::error if the placements do not
/// fit the layer `spec` of the net. `known` says which entries the file's version has. The turn of
/// a branch has no rule table, since the branch's ends determine its placements. Elements of
/// gradients have `accumulation_size` bytes.
inline search::layer_choice choice_of(nlohmann::json const& j, search::layer_spec const& spec,
                                      search::element_kind kind, topology const& t,
                                      later_entries const& known, int accumulation_size) {
  std::vector<std::string_view> keys{"name", "x", "y", "dy", "dx", "parameters", "statistics"};
  bool const routes = known.imbalance && search::routes_tokens(spec);
  if (routes) keys.push_back("imbalance");
  refuse_unknown_keys(j, "element", keys);
  if (auto const name = j.at("name").get<std::string>(); name != spec.name.text)
    throw error("name", "is \"" + name + "\", but the net has \"" + spec.name.text +
                            "\": the plan is for another net.");
  if (routes) check_imbalance(j, spec);
  search::layer_choice c;
  c.x = placement_of(j, "x", spec.x.rank(), t);
  c.y = placement_of(j, "y", spec.y.rank(), t);
  c.dy = placement_of(j, "dy", spec.y.rank(), t);
  c.dx = placement_of(j, "dx", spec.x.rank(), t);
  auto const entries = [&](char const* key) {
    return j.contains(key) ? j.at(key) : nlohmann::json::array();
  };
  auto const parameters = entries("parameters"), statistics = entries("statistics");
  if (static_cast<int>(parameters.size()) != spec.parameters.size() ||
      static_cast<int>(statistics.size()) != spec.statistics.size())
    throw error("parameters", "the layer has " + std::to_string(spec.parameters.size()) +
                                  " parameters and " + std::to_string(spec.statistics.size()) +
                                  " statistics, but the file has " +
                                  std::to_string(parameters.size()) + " and " +
                                  std::to_string(statistics.size()) + ".");
  for (int k = 0; k < spec.parameters.size(); ++k) {
    auto const& p = parameters[static_cast<std::size_t>(k)];
    refuse_unknown_entries(p, known);
    if (auto const name = p.at("name").get<std::string>(); name != spec.parameters[k].name.text)
      throw error("name", "is \"" + name + "\", but the layer has \"" +
                              spec.parameters[k].name.text + "\".");
    int const rank = spec.parameters[k].extents.rank();
    search::parameter_choice choice{placement_of(p, "use", rank, t),
                                    placement_of(p, "grad", rank, t),
                                    placement_of(p, "store", rank, t)};
    if (choice.store.has_partial()) throw error("store", "a parameter cannot be stored partial.");
    if (p.contains("update")) choice.set_update(placement_of(p, "update", rank, t));
    choice.in_rows = p.value("rows", false);
    if (p.contains("wire")) choice.wire = wire_named("wire", p.at("wire").get<std::string>());
    if (p.contains("delay")) choice.delay = delay_of(p);
    if (char const* const wrong = storage_fault(choice, spec.parameters[k], t))
      throw error(choice.delay < 0 || (choice.in_rows && choice.delay > 0)              ? "delay"
                  : choice.in_rows                                                      ? "rows"
                  : wire_fault(choice.wire, spec.parameters[k].extents, choice.grad, t) ? "wire"
                                                                                        : "update",
                  wrong);
    if (char const* const wrong = element_fault(choice.wire, accumulation_size))
      throw error("wire", wrong);
    c.parameters.push_back(choice);
  }
  for (int k = 0; k < spec.statistics.size(); ++k) {
    auto const& s = statistics[static_cast<std::size_t>(k)];
    refuse_unknown_keys(s, "statistic", {"from", "to"});
    int const rank = spec.statistics[k].rank();
    c.statistics.push_back({placement_of(s, "from", rank, t), placement_of(s, "to", rank, t)});
  }
  if (kind == search::element_kind::branch_turn || search::is_legal(c, spec, t)) return c;
  throw error("element",
              "these placements match no row of the layer's rule table on some axis: x " +
                  to_string(c.x) + ", y " + to_string(c.y) + ", dy " + to_string(c.dy) + ", dx " +
                  to_string(c.dx) + ".");
}

/// Throws ashlar::error unless the file is for mesh `t` and has the input extents and the number of
/// micro-batches of `net`.
template <int N>
void check_mesh_and_batch(nlohmann::json const& j, search::basic_problem<N> const& net,
                          topology const& t) {
  if (auto const mesh = parse_topology(j.at("mesh").get<std::string>()); !(mesh == t))
    throw error("mesh",
                "the plan is for " + to_string(mesh) + ", but the mesh is " + to_string(t) + ".");
  shape input;
  for (auto const& n : j.at("input")) input.extent.push_back(whole_number(n, "input"));
  if (!(input == net.spec(0).x))
    throw error("input", "the plan is for batches of " + to_string(input) + ", but they are " +
                             to_string(net.spec(0).x) + ".");
  if (auto const n = whole_number(j.at("micro_batches"), "micro_batches"); n != net.micro_batches)
    throw error("micro_batches", "the plan is for " + std::to_string(n) + ", but a step has " +
                                     std::to_string(net.micro_batches) + ".");
}

/// Returns the placements of all elements of a file. Throws ashlar::error if the placements do not
/// fit the layers of the net or the mesh `t`.
template <int N>
auto choices_of(nlohmann::json const& elements, search::basic_problem<N> const& net,
                topology const& t, later_entries const& known) {
  if (static_cast<int>(elements.size()) != net.size())
    throw error("elements", "the plan has " + std::to_string(elements.size()) +
                                ", but the net has " + std::to_string(net.size()) +
                                ": it is for another net.");
  search::basic_plan<N> plan;
  for (int i = 0; i < net.size(); ++i) {
    try {
      plan.choices.push_back(choice_of(elements[static_cast<std::size_t>(i)], net.spec(i),
                                       net[i].kind, t, known, net.accumulation_size));
    } catch (error const& e) {
      throw error("element " + std::to_string(i) + " (" + net.spec(i).name.text + ")", e.what());
    }
  }
  for (int i = 0; i < net.size(); ++i)
    if (int const begin = search::broken_joint(net, plan, i); begin >= 0)
      throw error("element " + std::to_string(i),
                  net[i].kind == search::element_kind::branch_turn
                      ? "the turn of a branch must have x and dx as the branch's end, and y and dy "
                        "as its begin, element " +
                            std::to_string(begin) + "."
                      : "the end of a residual must have the placements of its start, element " +
                            std::to_string(begin) + ".");
  return plan.choices;
}

/// Returns the plan that the parsed content of a file describes. Throws ashlar::error if the plan
/// does not fit the net or the mesh.
template <int N>
search::basic_plan<N> plan_of(nlohmann::json const& j, search::basic_problem<N> const& net,
                              topology const& t, machine const& m) {
  if (j.is_object() && j.value("format", nlohmann::json()) == "ashlar pipeline")
    throw error(
        "format",
        "this is a plan in pipeline stages: io::load_pipeline reads it, and train_gpt takes it "
        "as --pipeline FILE.");
  auto const version = check_format(j, "ashlar plan", plan_version);
  bool const first = version == 1;
  if (first)
    refuse_unknown_keys(j, "plan",
                        {"format", "version", "mesh", "input", "micro_batches", "elements"});
  else if (version == 2)
    refuse_unknown_keys(
        j, "plan",
        {"format", "version", "mesh", "input", "micro_batches", "recomputed", "elements"});
  else {
    std::vector<std::string_view> keys{"format",        "version",     "mesh",       "input",
                                       "micro_batches", "interleaved", "recomputed", "elements"};
    if (version >= 8) keys.push_back("plain_steps");
    if (version >= 10) keys.push_back("staleness");
    refuse_unknown_keys(j, "plan", keys);
  }
  check_mesh_and_batch(j, net, t);
  if (auto const n = interleaved_of(j); n != net.interleaved)
    throw error("interleaved", std::to_string(n) + " micro-batches take turns in the plan, but " +
                                   std::to_string(net.interleaved) +
                                   " in the problem. Set problem::interleaved to " +
                                   std::to_string(n) + ".");
  search::basic_plan<N> plan;
  plan.mesh = t;
  if (!first) {
    auto const n = whole_number(j.at("recomputed"), "recomputed");
    if (n < 0 || n > net.segments)
      throw error("recomputed", std::to_string(n) + " segments, but only " +
                                    std::to_string(net.segments) + " can be recomputed.");
    plan.recomputed = static_cast<int>(n);
  }
  plan.plain_steps = plain_steps_of(j);
  plan.choices = choices_of<N>(j.at("elements"), net, t,
                               {.update = version >= 4,
                                .rows = version >= 5,
                                .wire = version >= 6,
                                .delay = version >= 7,
                                .imbalance = version >= 9});
  plan.staleness = staleness_of(j);
  if (char const* const wrong = search::staleness_fault(net, plan, m))
    throw error("staleness", wrong);
  search::predict(plan, net, m);
  plan.gap = 1;
  return plan;
}

}  // namespace detail

/// The entries of a plan file that a program needs to describe the net. The program reads these
/// entries first, then describes the net, and then loads the plan.
struct plan_head {
  bool in_stages = false;  ///< whether the file is a pipeline (pipeline_file.hpp)
  int micro_batches = 1;   ///< the number of micro-batches with which the net must be described
  int interleaved = 1;     ///< how many micro-batches take turns, as in problem::interleaved
};

/// Reads the head of a plan file and does not check the other entries. Throws ashlar::error if the
/// file is not a plan.
inline plan_head load_plan_head(std::string const& path) {
  auto const j = detail::read_json(path, "load_plan_head");
  return detail::interpret(path, "load_plan_head", [&] {
    auto const format = j.at("format").template get<std::string>();
    auto const n = detail::whole_number(j.at("micro_batches"), "micro_batches");
    if (format != "ashlar plan" && format != "ashlar pipeline")
      throw error("format", "the format is \"" + format + "\", but a plan is needed.");
    if (n < 1 || n > std::numeric_limits<int>::max())
      throw error("micro_batches", std::to_string(n) + ": a step needs 1 or more.");
    return plan_head{format == "ashlar pipeline", static_cast<int>(n), detail::interleaved_of(j)};
  });
}

/// Reads a plan of `net` on mesh `t` from a file. The predicted costs of the result are computed
/// for machine `m`. Its gap is 1, because a file contains no proof of a lower bound. Throws
/// ashlar::error with the file's name and what is wrong with the file.
template <int N>
search::basic_plan<N> load_plan(std::string const& path, search::basic_problem<N> const& net,
                                topology const& t, machine const& m) {
  auto const j = detail::read_json(path, "load_plan");
  return detail::interpret(path, "load_plan", [&] { return detail::plan_of(j, net, t, m); });
}

}  // namespace ashlar::io
