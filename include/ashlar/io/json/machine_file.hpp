// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Reads and writes descriptions of machines (machine/machine.hpp) as JSON files. All numbers are in
// seconds, bytes, and floating-point operations per second:
//
//   { "format": "ashlar machine", "version": 2, "note": "4 ranks of host, measured",
//     "intra": { "alpha": 2e-6, "beta": 2e-10, "all-reduce": { "alpha": 3e-6, "beta": 3e-10 } },
//     "inter": { "alpha": 2e-6, "beta": 2e-10 },
//     "flops": 1e11, "gemm_half": 20, "memory_bandwidth": 1e10, "memory": 0 }
//
// "intra" describes the links inside a node and "inter" the links between nodes, by the seconds per
// message (alpha) and per byte (beta). Each of these two entries may also have links for single
// collectives, such as "all-reduce" here. "gemm_half" says how much slower small matrix products
// are (machine/gemm.hpp). "flow", the least seconds per byte from one rank to a rank of another
// node, is 0 (no limit) if it is missing. The note is optional. Files of version 1 have no note, no
// links for single collectives, no gemm_half and no flow. Unknown keys are errors, so that misspelt
// keys are not ignored.

#include <limits>

#include <ashlar/io/json/json_file.hpp>
#include <ashlar/machine/machine_fault.hpp>
#include <ashlar/machine/presets.hpp>

namespace ashlar::io {

inline constexpr int machine_version = 2;

namespace detail {

inline link link_of(nlohmann::json const& j) {
  return {j.at("alpha").get<double>(), j.at("beta").get<double>()};
}

/// Returns the JSON form of one tier of links (inside a node, or between nodes). It has alpha and
/// beta of `general`, and one entry with alpha and beta for each collective in `single`. These
/// collectives were measured separately.
inline nlohmann::ordered_json tier_json(link const& general, collective_links const& single) {
  auto const as_json = [](link const& l) {
    return nlohmann::ordered_json{{"alpha", l.alpha}, {"beta", l.beta}};
  };
  auto j = as_json(general);
  for (int k = 0; k < collective_links::kinds; ++k) {
    auto const kind = static_cast<collective>(k);
    if (single.has(kind)) j[to_string(kind)] = as_json(single[kind]);
  }
  return j;
}

/// Reads one tier of links (inside a node, or between nodes) from entry `name` of j. The entry has
/// the form that tier_json writes.
inline void read_tier(nlohmann::json const& j, char const* name, int version, link& general,
                      collective_links& single) {
  nlohmann::json const& tier = j.at(name);
  std::vector<std::string_view> known{"alpha", "beta"};
  if (version > 1)
    for (int k = 0; k < collective_links::kinds; ++k)
      known.push_back(to_string(static_cast<collective>(k)));
  refuse_unknown_keys(tier, name, known);
  general = link_of(tier);
  for (int k = 0; k < collective_links::kinds; ++k) {
    auto const kind = static_cast<collective>(k);
    auto const found = tier.find(to_string(kind));
    if (found == tier.end()) continue;
    refuse_unknown_keys(*found, std::string(name) + ", " + to_string(kind), {"alpha", "beta"});
    single.set(kind, link_of(*found));
  }
}

}  // namespace detail

/// Writes a machine, with an optional note for human readers. Throws ashlar::error if the file
/// cannot be written.
inline void save_machine(std::string const& path, machine const& m, std::string const& note = "") {
  nlohmann::ordered_json j;
  j["format"] = "ashlar machine";
  j["version"] = machine_version;
  if (!note.empty()) j["note"] = note;
  j["intra"] = detail::tier_json(m.intra, m.intra_of);
  j["inter"] = detail::tier_json(m.inter, m.inter_of);
  j["flops"] = m.flops;
  j["gemm_half"] = m.gemm_half;
  j["memory_bandwidth"] = m.memory_bandwidth;
  j["memory"] = m.memory;
  if (m.flow > 0) j["flow"] = m.flow;
  detail::write_json(path, j, "save_machine");
}

namespace detail {

/// Returns the machine that the parsed content of a file describes.
inline machine machine_of(nlohmann::json const& j) {
  bool const first = check_format(j, "ashlar machine", machine_version) == 1;
  if (first)
    refuse_unknown_keys(
        j, "machine",
        {"format", "version", "intra", "inter", "flops", "memory_bandwidth", "memory"});
  else
    refuse_unknown_keys(j, "machine",
                        {"format", "version", "note", "intra", "inter", "flops", "gemm_half",
                         "memory_bandwidth", "memory", "flow"});
  machine m;
  int const version = first ? 1 : machine_version;
  read_tier(j, "intra", version, m.intra, m.intra_of);
  read_tier(j, "inter", version, m.inter, m.inter_of);
  m.flops = j.at("flops").get<double>();
  if (!first) m.gemm_half = j.at("gemm_half").get<double>();
  m.memory_bandwidth = j.at("memory_bandwidth").get<double>();
  if (j.contains("flow")) m.flow = j.at("flow").get<double>();
  auto const& memory = j.at("memory");
  if (!memory.is_number_integer() || memory < 0 ||
      memory > std::numeric_limits<std::int64_t>::max())
    throw error("memory", "must be a whole number of bytes, or 0 for no limit.");
  m.memory = memory.get<std::int64_t>();
  if (auto const wrong = fault_of(m)) throw error(name_of(wrong), text_of(wrong));
  return m;
}

}  // namespace detail

/// Reads a machine from a file. Throws ashlar::error with the file's name and what is wrong with
/// the file.
inline machine load_machine(std::string const& path) {
  auto const j = detail::read_json(path, "load_machine");
  return detail::interpret(path, "load_machine", [&] { return detail::machine_of(j); });
}

/// Returns the machine that a command-line argument names, which is a preset of machine/presets.hpp
/// or a file. Throws ashlar::error if the argument is neither.
inline machine machine_from(std::string const& text) {
  if (machine const* const known = find_machine(text)) return *known;
  std::error_code failed;
  if (!std::filesystem::exists(text, failed)) {
    std::string names;
    for (auto const& m : named_machines) names += (names.empty() ? "" : ", ") + std::string(m.name);
    throw error("machine", "\"" + text + "\" is neither a file nor one of " + names + ".");
  }
  return load_machine(text);
}

}  // namespace ashlar::io
