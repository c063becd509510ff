// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Saves a training run to a folder and resumes it: the values of all parameters, the state of the
// optimizer and the number of steps. The run can go on with another number of ranks, another mesh
// and another plan, with other pipeline stages or none.
//
//   train::trainer trainer(model, train::adam_w{});
//   checkpoint::resume("run", trainer);                   // nothing happens in an empty folder
//   while (trainer.steps_done() < 1000) {
//     trainer.step(batch_of(trainer.steps_done()));
//     if (trainer.steps_done() % 100 == 0) checkpoint::save("run", trainer, {.keep = 3});
//   }
//
// A training run that is resumed on the same mesh with the same plan continues bit for bit as if it
// had not been interrupted. For this, its data and its schedule must be functions of the step. The
// model must be placed with the same seed, on which dropout depends. Some checkpoints have more:
//
// - If gradients have wires with feedback (sync/encoded.hpp), the errors of the wires. With another
//   plan or mesh, or other pipeline stages, a run cannot use them, so its errors begin with zeros.
// - If gradients are delayed (sync/delayed.hpp), the gradients that the next updates will take.
//   With another plan or mesh, a run ignores them: its first updates take the gradients of its own
//   first steps.
// - If wires have kept AdamW from squaring some gradients (train/sent_gradient.hpp), the numbers of
//   gradients that AdamW did square. A run with any plan continues these numbers.

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ashlar/checkpoint/load.hpp>
#include <ashlar/checkpoint/save.hpp>
#include <ashlar/train/trainer.hpp>

namespace ashlar::checkpoint {

/// Returns the arrays of a training run: the values of the parameters, and the arrays of the
/// optimizer with names such as "first_moment/0.table".
template <class Model, class Optimizer>
std::vector<stored_array> arrays_of(train::trainer<Model, Optimizer>& t) {
  std::vector<stored_array> arrays;
  t.for_each_array([&](std::string const& name, element_type type, auto const& like, void* shard) {
    arrays.push_back(array_like(name, like, type, shard));
  });
  return arrays;
}

/// The names of arrays with the errors of wires begin with this text.
inline constexpr char const* wire_prefix = "wire_errors.";

/// Returns the arrays with the errors of wires. They fit only the same plan on the same mesh.
template <class Model, class Optimizer>
std::vector<stored_array> wire_arrays_of(train::trainer<Model, Optimizer>& t) {
  std::vector<stored_array> arrays;
  t.for_each_wire_array([&](std::string const& name, auto const& rows, void* shard) {
    arrays.push_back(array_like(name, rows, element_type::f32, shard));
  });
  return arrays;
}

/// The names of arrays with delayed gradients begin with this text and the age of the gradient in
/// steps.
inline constexpr char const* delayed_prefix = "delayed_gradient.";

/// Returns the arrays with delayed gradients. They fit only the same plan on the same mesh.
template <class Model, class Optimizer>
std::vector<stored_array> delayed_arrays_of(train::trainer<Model, Optimizer>& t) {
  std::vector<stored_array> arrays;
  t.delayed().for_each_array(
      delayed_prefix, [&](std::string const& name, element_type type, auto const& like,
                          void* shard) { arrays.push_back(array_like(name, like, type, shard)); });
  return arrays;
}

/// Returns all arrays of a checkpoint.
template <class Model, class Optimizer>
std::vector<stored_array> all_arrays_of(train::trainer<Model, Optimizer>& t) {
  auto arrays = arrays_of(t);
  for (auto& a : wire_arrays_of(t)) arrays.push_back(std::move(a));
  for (auto& a : delayed_arrays_of(t)) arrays.push_back(std::move(a));
  return arrays;
}

/// Reads the parameters of a model from safetensors files that other programs made. `map` is the
/// `views_of` or the `name_of` of load_files (load.hpp), such as gpt2_views(). The names of the
/// arrays are nn::parameter::path(). If `map` has a member check(problem, files), as llama_views
/// has, load_parameters first calls it to compare the net with the files. Every rank must call
/// load_parameters. Throws the errors of check() and of load_files on every rank; after an error of
/// load_files, the parameters may have been changed. Communicates: what load_files and
/// model::renew() do, and a reduction of 8 bytes after check().
template <class Model, class Map>
void load_parameters(std::vector<std::filesystem::path> const& files, Model& model, Map const& map,
                     load_options const& options = {}) {
  if constexpr (requires { map.check(model.problem(), files); })
    work_together(model.mesh(), "checkpoint::load", "reads a checkpoint",
                  [&] { map.check(model.problem(), files); });
  std::vector<stored_array> arrays;
  model.for_each_parameter([&](auto& p) {
    arrays.push_back(array_like(p.path(), p.value(), p.value().type(), p.value().data()));
  });
  load_files(files, model.mesh(), arrays, map, options);
  model.for_each_parameter([](auto& p) { p.round(); });
  model.renew();
}

/// The key in a checkpoint's metadata for the seed of the model.
inline constexpr char const* seed_key = "ashlar seed";

/// The key in the metadata for the plan, the mesh and the stages to which the errors of wires
/// belong.
inline constexpr char const* wire_key = "ashlar wires";

/// The key in the metadata for delayed gradients. Its value is the first step whose gradients the
/// training has (trainer::first_gradient), then the plan, the mesh and the stages.
inline constexpr char const* delay_key = "ashlar delays";

/// The key in the metadata for the numbers of squares in the averages of squared gradients.
inline constexpr char const* squares_key = "ashlar squares";

/// Returns a text that is the same for equal plans on equal meshes, with equal pipeline stages or
/// none.
template <class Model>
std::string plan_text(Model const& model) {
  std::string text = std::to_string(search::fingerprint(model.plan())) + " on " +
                     to_string(model.mesh().topology());
  if (model.pipeline() == nullptr) return text;
  text += " in stages on " + to_string(model.stage_mesh().topology()) + " up to";
  for (int const limit : model.pipeline()->limits) text += " " + std::to_string(limit);
  return text;
}

/// Returns the options with more metadata: the seed of the model, its plan if it has wires or
/// delays, and the numbers of squared gradients if updates did not square all. Replaces or drops
/// such entries of another training, which the metadata of a loaded index may contain.
template <class Model, class Optimizer>
save_options with_own_metadata(save_options options, train::trainer<Model, Optimizer> const& t) {
  for (auto const* key : {wire_key, delay_key, squares_key}) options.metadata.erase(key);
  options.metadata[seed_key] = std::to_string(t.model().seed());
  if (search::has_wires(t.model().plan())) options.metadata[wire_key] = plan_text(t.model());
  if (search::has_delays(t.model().plan()))
    options.metadata[delay_key] = std::to_string(t.first_gradient()) + " " + plan_text(t.model());
  if (auto squares = t.numbers_of_squares(); !squares.empty())
    options.metadata[squares_key] = std::move(squares);
  return options;
}

/// Writes a checkpoint of a training run. Every rank calls it, between steps. Throws ashlar::error
/// on every rank if any rank fails; then the checkpoints before it are still there, and training
/// may go on. Communicates a few bytes (checkpoint/save.hpp).
template <class Model, class Optimizer>
void save(std::filesystem::path const& folder, train::trainer<Model, Optimizer>& t,
          save_options const& options = {}) {
  save(folder, t.model().mesh(), all_arrays_of(t), t.steps_done(), with_own_metadata(options, t));
}

/// Continues from the newest complete checkpoint in a folder, and returns the index of this
/// checkpoint. If there is no complete checkpoint, returns nothing and leaves the trainer as it
/// was. Every rank calls it. Throws ashlar::error on every rank if the checkpoint is of another
/// net, optimizer or seed. This error, too, leaves the trainer as it was. Also throws if a file is
/// damaged or cannot be read. After this error, the parameters may have been changed.
template <class Model, class Optimizer>
std::optional<io::checkpoint_index> resume(std::filesystem::path const& folder,
                                           train::trainer<Model, Optimizer>& t,
                                           load_options const& options = {}) {
  auto const step = newest_step(folder, t.model().mesh());
  if (!step) return std::nullopt;
  auto const arrays = arrays_of(t);
  auto const refuse_others = [&](io::checkpoint_index const& index) {
    auto const stored = static_cast<std::size_t>(
        std::count_if(index.tensors.begin(), index.tensors.end(), [](auto const& it) {
          return !it.first.starts_with(wire_prefix) && !it.first.starts_with(delayed_prefix);
        }));
    if (stored != arrays.size())
      throw error("checkpoint::resume", folder.string() + " has " + std::to_string(stored) +
                                            " arrays, but this training has " +
                                            std::to_string(arrays.size()) +
                                            ". It is of another net or another optimizer.");
    if (auto const seed = index.metadata.find(seed_key);
        seed != index.metadata.end() && seed->second != std::to_string(t.model().seed()))
      throw error("checkpoint::resume", folder.string() + " has a training with seed " +
                                            seed->second + ", but this one has seed " +
                                            std::to_string(t.model().seed()) +
                                            ". Place the model with that seed.");
  };
  auto index = load(folder, t.model().mesh(), arrays, *step, options, refuse_others);
  t.continue_after(index.step);
  if (auto const squares = index.metadata.find(squares_key); squares != index.metadata.end())
    t.continue_squares(squares->second);
  auto verified = options;
  verified.verifies = false;
  auto const errors = wire_arrays_of(t);
  auto const plan = index.metadata.find(wire_key);
  if (!errors.empty() && plan != index.metadata.end() && plan->second == plan_text(t.model()))
    load(folder, t.model().mesh(), errors, *step, verified);
  auto const delays = index.metadata.find(delay_key);
  if (delays != index.metadata.end() && search::has_delays(t.model().plan())) {
    auto const space = delays->second.find(' ');
    if (space == std::string::npos || delays->second.substr(space + 1) != plan_text(t.model()))
      return index;
    load(folder, t.model().mesh(), delayed_arrays_of(t), *step, verified);
    t.continue_delayed(std::strtoll(delays->second.c_str(), nullptr, 10));
  }
  return index;
}

}  // namespace ashlar::checkpoint
