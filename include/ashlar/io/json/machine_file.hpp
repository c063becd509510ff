// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Machines as JSON files, in seconds, bytes and operations per second:
//
//   { "format": "ashlar machine", "version": 1,
//     "intra": { "alpha": 2e-6, "beta": 2e-10 }, "inter": { "alpha": 2e-6, "beta": 2e-10 },
//     "flops": 1e11, "memory_bandwidth": 1e10, "memory": 0 }

#include <cmath>

#include <ashlar/io/json/json_file.hpp>
#include <ashlar/machine/machine.hpp>

namespace ashlar::io {

inline constexpr int machine_version = 1;

/// Writes a machine. Throws ashlar::error if the file cannot be written.
inline void save_machine(std::string const& path, machine const& m) {
  nlohmann::ordered_json j;
  j["format"] = "ashlar machine";
  j["version"] = machine_version;
  j["intra"] = {{"alpha", m.intra.alpha}, {"beta", m.intra.beta}};
  j["inter"] = {{"alpha", m.inter.alpha}, {"beta", m.inter.beta}};
  j["flops"] = m.flops;
  j["memory_bandwidth"] = m.memory_bandwidth;
  j["memory"] = m.memory;
  detail::write_json(path, j, "save_machine");
}

/// Reads a machine. Throws ashlar::error naming the file and what is wrong with it.
inline machine load_machine(std::string const& path) {
  auto const j = detail::read_json(path, "load_machine");
  return detail::interpret(path, "load_machine", [&] {
    detail::check_format(j, "ashlar machine", machine_version);
    auto const number = [](nlohmann::json const& entry, char const* key, bool may_be_zero) {
      double const value = entry.at(key).get<double>();
      if (!std::isfinite(value) || value < 0 || (value == 0 && !may_be_zero))
        throw error(key, "must be a finite number above zero.");
      return value;
    };
    machine m;
    m.intra = {number(j.at("intra"), "alpha", true), number(j.at("intra"), "beta", true)};
    m.inter = {number(j.at("inter"), "alpha", true), number(j.at("inter"), "beta", true)};
    m.flops = number(j, "flops", false);
    m.memory_bandwidth = number(j, "memory_bandwidth", false);
    m.memory = j.at("memory").get<std::int64_t>();
    if (m.memory < 0) throw error("memory", "must be a number of bytes, or 0 for no limit.");
    return m;
  });
}

}  // namespace ashlar::io
