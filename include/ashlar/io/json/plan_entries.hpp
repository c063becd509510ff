// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The numbers in a plan file (plan_file.hpp) or a pipeline file (pipeline_file.hpp), and the
// entries that each version of these files permits. The functions that read an entry throw
// ashlar::error with its name if it is not a number of the right kind.

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <ashlar/io/json/json_file.hpp>
#include <ashlar/step/problem.hpp>
#include <ashlar/step/staleness.hpp>

namespace ashlar::io::detail {

/// Says which entries parameters may have in addition to those of version 1, and whether elements
/// that route tokens have an imbalance.
struct later_entries {
  bool update = false, rows = false, wire = false, delay = false, imbalance = false;
};

/// Throws ashlar::error if a parameter of a file has an entry that the file's version does not
/// have.
inline void refuse_unknown_entries(nlohmann::json const& p, later_entries const& known) {
  std::vector<std::string_view> keys{"name", "use", "grad", "store"};
  if (known.update) keys.push_back("update");
  if (known.rows) keys.push_back("rows");
  if (known.wire) keys.push_back("wire");
  if (known.delay) keys.push_back("delay");
  refuse_unknown_keys(p, "parameter", keys);
}

/// Returns moe_options::imbalance of an element that routes tokens.
inline double imbalance_of(search::layer_spec const& spec) {
  return double(spec.y.fullest) / evenly_full;
}

/// Throws ashlar::error if the entry "imbalance" of an element that routes tokens differs from the
/// imbalance of this layer in the net.
inline void check_imbalance(nlohmann::json const& element, search::layer_spec const& spec) {
  double const own = imbalance_of(spec);
  double const imbalance = element.at("imbalance").get<double>();
  auto const text = [](double value) { return nlohmann::json(value).dump(); };
  if (!(imbalance >= 1 && imbalance <= 1000))
    throw error("imbalance", text(imbalance) +
                                 " is not the number of tokens of the fullest rank over the mean. "
                                 "Write a number from 1 to 1000.");
  if (imbalance != own)
    throw error(
        "imbalance",
        "the plan is for " + text(imbalance) + ", but the net has " + text(own) +
            ". Set moe_options::imbalance, which plan and train_gpt take as --imbalance, to " +
            text(imbalance) + ", or search again for this net.");
}

/// Returns by how many steps the gradient of a parameter is delayed, or -1 if the number is out of
/// range. The caller refuses -1.
inline int delay_of(nlohmann::json const& p) {
  auto const steps = whole_number(p.at("delay"), "delay");
  return steps < 0 || steps > search::most_delay ? -1 : static_cast<int>(steps);
}

/// Returns how many micro-batches take turns (step/turns.hpp) in the plan of a file, or 1 if the
/// file does not say.
inline int interleaved_of(nlohmann::json const& j) {
  if (!j.contains("interleaved")) return 1;
  auto const n = whole_number(j.at("interleaved"), "interleaved");
  if (n < 1 || n > whole_number(j.at("micro_batches"), "micro_batches"))
    throw error("interleaved", std::to_string(n) +
                                   " micro-batches cannot take turns. Write a number from 1 to "
                                   "that of the step's micro-batches.");
  return static_cast<int>(n);
}

/// Returns the number of first steps that send gradients exactly (plan::plain_steps), or 0 if the
/// file has no such number.
inline int plain_steps_of(nlohmann::json const& j) {
  if (!j.contains("plain_steps")) return 0;
  auto const n = whole_number(j.at("plain_steps"), "plain_steps");
  if (n < 0 || n > std::numeric_limits<int>::max())
    throw error("plain_steps", std::to_string(n) + ": write the number of steps, 0 or more.");
  return static_cast<int>(n);
}

/// Returns the staleness (plan::staleness) of a file, or search::synchronous if the file has none.
/// Returns -1 if the number is out of range; the caller refuses -1.
inline int staleness_of(nlohmann::json const& j) {
  if (!j.contains("staleness")) return search::synchronous;
  auto const n = whole_number(j.at("staleness"), "staleness");
  return n < 0 || n > std::numeric_limits<int>::max() ? -1 : static_cast<int>(n);
}

}  // namespace ashlar::io::detail
