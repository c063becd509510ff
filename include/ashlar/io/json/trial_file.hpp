// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Reads and writes logs of trials (sync/tuning/trial.hpp) as JSON files. sync::tune can start from
// such a file, on the cluster of the trials or on another one:
//
//   { "format": "ashlar trials", "version": 1, "parameters": 1234,
//     "trials": [
//       { "space": 5678, "seconds": 0.25, "predicted": 0.24, "influences": [ 9 numbers ],
//         "totals": [ 12 numbers ], "picks": [ 0, 3, … ], "owners": [ -1, 2, … ],
//         "division": { "kind": "by bytes", "size": 26214400, "first": -1 } }, … ] }
//
// "parameters" is the hash of the names and extents of the net's parameters. "space" is the hash of
// net, mesh, layouts and machine. "influences" and "totals" are features of the strategy
// (sync/tuning/influences.hpp, sync/tuning/strategy_features.hpp). "picks" has the number of the
// strategy of each parameter, and "owners" the owner of each parameter, or -1 if it has none.
// "kind" is "best", "by bytes" or "by number". All seconds are positive. Influences are between -10
// and 10. Unknown keys are errors.

#include <cmath>
#include <limits>
#include <string>

#include <ashlar/io/json/json_file.hpp>
#include <ashlar/sync/tuning/trial.hpp>

namespace ashlar::io {

inline constexpr int trials_version = 1;

namespace detail {

inline constexpr char const* bucketing_names[] = {"best", "by bytes", "by number"};

inline std::uint64_t hash_at(nlohmann::json const& j, char const* key) {
  auto const& value = j.at(key);
  if (!value.is_number_unsigned()) throw error(key, "must be a whole number that is not negative.");
  return value.get<std::uint64_t>();
}

inline double positive_at(nlohmann::json const& j, char const* key) {
  if (!j.at(key).is_number()) throw error(key, "must be a number.");
  double const value = j.at(key).get<double>();
  if (value > 0 && value <= 1e9) return value;
  throw error(key, "must be a number of seconds from 0 to 1e9, and not 0.");
}

/// Reads N numbers. Throws ashlar::error if there are more or fewer, or if one is above `most` or
/// below -most.
template <std::size_t N>
void read_numbers(nlohmann::json const& j, char const* key, double most,
                  std::array<double, N>& into) {
  auto const& list = j.at(key);
  if (!list.is_array() || list.size() != N)
    throw error(key, "must be a list of " + std::to_string(N) + " numbers.");
  for (std::size_t k = 0; k < N; ++k) {
    if (!list[k].is_number()) throw error(key, "must be a list of numbers.");
    into[k] = list[k].get<double>();
    if (!(std::abs(into[k]) <= most)) throw error(key, "has a number that is too large.");
  }
}

inline std::vector<int> read_ints(nlohmann::json const& j, char const* key, int least) {
  std::vector<int> made;
  if (!j.at(key).is_array()) throw error(key, "must be a list of whole numbers.");
  for (auto const& value : j.at(key)) {
    auto const number = whole_number(value, key);
    if (number < least || number > std::numeric_limits<int>::max())
      throw error(key, std::to_string(number) + " is out of range.");
    made.push_back(static_cast<int>(number));
  }
  return made;
}

inline search::bucket_rule division_of(nlohmann::json const& j) {
  refuse_unknown_keys(j, "division", {"kind", "size", "first"});
  search::bucket_rule rule;
  auto const kind = j.at("kind").get<std::string>();
  int number = -1;
  for (int k = 0; k < 3; ++k)
    if (kind == bucketing_names[k]) number = k;
  if (number < 0)
    throw error("kind", "\"" + kind + "\" is not one of best, by bytes and by number.");
  rule.kind = static_cast<search::bucketing>(number);
  rule.size = whole_number(j.at("size"), "size");
  rule.first = whole_number(j.at("first"), "first");
  if (rule.size < 0 || rule.first < -1) throw error("division", "a size is negative.");
  return rule;
}

inline sync::trial trial_of(nlohmann::json const& j) {
  refuse_unknown_keys(
      j, "trial",
      {"space", "seconds", "predicted", "influences", "totals", "picks", "owners", "division"});
  sync::trial t;
  t.space = hash_at(j, "space");
  t.seconds = positive_at(j, "seconds");
  t.predicted = positive_at(j, "predicted");
  read_numbers(j, "influences", 10, t.slopes);
  read_numbers(j, "totals", 1e100, t.totals);
  t.strategy.picks = read_ints(j, "picks", 0);
  t.strategy.owners = read_ints(j, "owners", -1);
  if (t.strategy.picks.size() != t.strategy.owners.size())
    throw error("owners", "there must be as many as picks.");
  t.strategy.division = division_of(j.at("division"));
  return t;
}

/// Returns the log that the parsed content of a file describes.
inline sync::trial_log trials_of(nlohmann::json const& j) {
  check_format(j, "ashlar trials", trials_version);
  refuse_unknown_keys(j, "trials", {"format", "version", "parameters", "trials"});
  sync::trial_log log;
  log.parameters = hash_at(j, "parameters");
  auto const& list = j.at("trials");
  if (!list.is_array()) throw error("trials", "must be a list.");
  for (std::size_t k = 0; k < list.size(); ++k) {
    auto const place = "trial " + std::to_string(k);
    try {
      log.trials.push_back(trial_of(list[k]));
    } catch (nlohmann::json::exception const& e) {
      throw error(place, std::string("lacks an entry or has one of the wrong type: ") + e.what());
    } catch (error const& e) {
      throw error(place, e.what());
    }
  }
  return log;
}

}  // namespace detail

/// Writes a log of trials to a file. Throws ashlar::error if the file cannot be written.
inline void save_trials(std::string const& path, sync::trial_log const& log) {
  nlohmann::ordered_json j;
  j["format"] = "ashlar trials";
  j["version"] = trials_version;
  j["parameters"] = log.parameters;
  j["trials"] = nlohmann::ordered_json::array();
  for (auto const& t : log.trials) {
    nlohmann::ordered_json one;
    one["space"] = t.space;
    one["seconds"] = t.seconds;
    one["predicted"] = t.predicted;
    one["influences"] = t.slopes;
    one["totals"] = t.totals;
    one["picks"] = t.strategy.picks;
    one["owners"] = t.strategy.owners;
    auto const& rule = t.strategy.division;
    one["division"] = {{"kind", detail::bucketing_names[static_cast<int>(rule.kind)]},
                       {"size", rule.size},
                       {"first", rule.first}};
    j["trials"].push_back(one);
  }
  detail::write_json(path, j, "save_trials");
}

/// Reads a log of trials. Throws ashlar::error if the file cannot be read or is not such a log; the
/// error names the file, the trial and what is wrong with it.
inline sync::trial_log load_trials(std::string const& path) {
  auto const j = detail::read_json(path, "load_trials");
  return detail::interpret(path, "load_trials", [&] { return detail::trials_of(j); });
}

}  // namespace ashlar::io
