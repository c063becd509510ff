// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Finds out which rank is at fault when something is wrong with a training step:
//
//   batch_fault                the data of a step have other sizes than the model's batch, or an id
//                              or a target out of range; throws nothing
//   require_equal_batches      ranks passed different data; throws on every rank
//   compare_batches            the same before the passes of a step, for mixtures of experts
//   refuse_not_finite          the loss or the gradient norm is not finite; throws on every rank
//   refuse_no_targets          the mean of the loss leaves out every target
//   require_finite_factor      the schedule's factor of the learning rate must be finite
//   refuse_router              logits of a router are not finite; throws on every rank
//   compare_replicas           throws on every rank if ranks have different values of one parameter

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <ashlar/comm/agreement_in_sums.hpp>
#include <ashlar/comm/operation_label.hpp>
#include <ashlar/comm/throw_together.hpp>
#include <ashlar/plan/wire.hpp>
#include <ashlar/step/plan.hpp>
#include <ashlar/support/accumulation.hpp>
#include <ashlar/support/content_hash.hpp>
#include <ashlar/support/error.hpp>
#include <ashlar/tensor/gather.hpp>
#include <ashlar/train/batch_data.hpp>

namespace ashlar::train::detail {

/// Throws an error about a step that was given `inputs` inputs and `targets` targets.
template <class Model>
[[noreturn]] void refuse_sizes(Model const& model, std::size_t inputs, std::size_t targets) {
  std::int64_t const parts = model.micro_batches(), of_x = model.input_extents().elements();
  auto const context = model.inputs() - of_x;
  throw error("trainer", "a step takes " + std::to_string(model.inputs() * parts) + " inputs and " +
                             std::to_string(model.rows() * parts) + " targets, but was given " +
                             std::to_string(inputs) + " and " + std::to_string(targets) + "." +
                             (context > 0 ? " The last " + std::to_string(context) +
                                                " inputs of each micro-batch are its context."
                                          : ""));
}

/// Returns what is wrong with the whole batch of a step, or an empty text. Communicates nothing.
template <class Model, class Data>
std::string batch_fault(Model const& model, Data const& data) {
  auto const parts = static_cast<std::size_t>(model.micro_batches());
  auto const x = static_cast<std::size_t>(model.inputs());
  auto const rows = static_cast<std::size_t>(model.rows());
  return fault_of([&] {
    if (data.inputs.size() != x * parts || data.targets.size() != rows * parts)
      refuse_sizes(model, data.inputs.size(), data.targets.size());
    check_micro_batches(model, data);
  });
}

/// Throws an error that names a rank whose batch differs from that of rank 0. `hash` is the hash of
/// this rank's batch. Communicates: one all-reduce of 8 bytes per rank.
template <class Model>
[[noreturn]] void refuse_different_batches(Model& model, std::int64_t step, std::uint64_t hash) {
  auto const& mesh = model.mesh();
  std::vector<std::int64_t> all(static_cast<std::size_t>(mesh.ranks()));
  all[static_cast<std::size_t>(mesh.rank())] = static_cast<std::int64_t>(hash);
  mesh.all_reduce(std::span<std::int64_t>(all));
  auto const differs = [&](std::int64_t h) { return h != all[0]; };
  auto const other = std::find_if(all.begin() + 1, all.end() - 1, differs) - all.begin();
  throw error("trainer", "at step " + std::to_string(step) + " rank " + std::to_string(other) +
                             " has another batch than rank 0. Pass the whole batch, with the same "
                             "inputs and targets, on every rank, or on every rank its part.");
}

/// Returns the number by which ranks compare their batches. This is the result of hash_of(), which
/// is the same on all ranks if their data belong to the same batch. But if this rank's batch has a
/// fault, the number is one that no other rank returns. On a mesh of one rank, the number is 0.
template <class Mesh, class Hash>
std::uint64_t batch_hash(Mesh const& mesh, std::string const& fault, Hash const& hash_of) {
  if (mesh.ranks() == 1) return 0;
  return fault.empty() ? hash_of() : 2 + static_cast<std::uint64_t>(mesh.rank());
}

/// Throws an error on every rank if ranks passed different batches. Each rank has made its addends
/// agreement_of(hash), and `sums` has the sums of these addends over all ranks. `hash` is the hash
/// of this rank's batch. `fault` says what is wrong with the batch, or is empty.
template <class Model>
void require_equal_batches(Model& model, std::int64_t step,
                           std::span<double const, agreement_addends> sums, std::uint64_t hash,
                           std::string const& fault) {
  if (all_agree(sums, model.mesh().ranks())) return;
  throw_together(model.mesh(), "trainer", fault);
  refuse_different_batches(model, step, hash);
}
/// Compares the batches of all ranks before the passes of a step, and throws the errors of
/// require_equal_batches. Nets with mixtures of experts need this: with another batch, a rank would
/// derive other routes, and expect other rows than are sent.
/// Communicates: one all-reduce of 64 bytes.
template <class Model, class Hash>
void compare_batches(Model& model, std::int64_t step, std::string const& fault,
                     Hash const& hash_of) {
  auto const& mesh = model.mesh();
  auto const hash = batch_hash(mesh, fault, hash_of);
  auto sums = agreement_of(hash);
  operation_label const named(mesh, "comparison of batches");
  mesh.all_reduce(std::span<double>(sums));
  require_equal_batches(model, step, sums, hash, fault);
}

/// Throws an error if the factor of the learning rate that the schedule returned is not finite.
inline void require_finite_factor(std::int64_t step, double factor) {
  if (!std::isfinite(factor))
    throw error("trainer", "at step " + std::to_string(step) + " the schedule returns " +
                               std::to_string(factor) +
                               ", which is not a finite factor of the learning rate.");
}

/// Throws an error about a step whose targets are all left out of the mean of the loss.
[[noreturn]] inline void refuse_no_targets(std::int64_t step) {
  throw error("trainer",
              "at step " + std::to_string(step) +
                  " all targets are left out of the mean of the loss, which has no value "
                  "then. Pass a batch with a target that is not negative, or pass over "
                  "this batch.");
}

/// Returns this rank's values of a tensor of elements of type T, in host memory.
template <class T, class Model, class Tensor>
auto values_of(Model& model, Tensor const& tensor) {
  return ashlar::detail::host_values<T>(model.mesh().processor(), tensor.template data_as<T>(),
                                        tensor.local_elements());
}
/// Returns this rank's values of parameter `p`, at the placement at which the parameter is updated,
/// in host memory.
template <class Model, class Parameter>
auto values_of(Model& model, Parameter const& p) {
  return values_of<accumulation_t<typename Model::value_type>>(model, p.value());
}

/// Calls f(parameter, tensor, hash) for each tensor of a parameter that is kept between steps.
/// These are the values at the placement of the update and, if the parameter is stored at another
/// placement, the copy that is stored there. hash() returns the hash of this rank's shard.
template <class Model, class F>
void for_each_lasting(Model& model, F f) {
  model.for_each_parameter([&](auto const& p) {
    auto const hash_of = [](auto const& values) { return content_hash(std::span(values)); };
    f(p, p.value(), [&] { return hash_of(values_of(model, p)); });
    if (p.is_updated_apart())
      f(p, p.source(),
        [&] { return hash_of(values_of<typename Model::value_type>(model, p.source())); });
  });
}

/// Returns a sentence about the first inexact wire of a plan, or an empty text if there is none.
template <class Plan>
std::string text_of_wires(Plan const& chosen) {
  for (auto const& c : chosen.choices)
    for (auto const& p : c.parameters)
      if (!p.wire.is_exact())
        return " Gradients are sent as " + to_string(p.wire) +
               (p.wire.kind == wire_kind::half ? ", whose largest number is 65504." : ".");
  return {};
}

/// Throws an error that contains the loss and the gradient norm of a step. If a parameter has a
/// value that is not finite, the error names the first such parameter, and the first rank that has
/// such a value. Must be called before the step changes the parameters. Communicates: one
/// all-reduce of 8 bytes.
template <class Model>
[[noreturn]] void refuse_not_finite(Model& model, std::int64_t step, double loss,
                                    double gradient_norm) {
  // The index of the first parameter with a value that is not finite, and the rank, in one number:
  // index * ranks + rank. All ranks take the minimum of their numbers.
  auto first = std::numeric_limits<std::int64_t>::max();
  auto const& mesh = model.mesh();
  std::int64_t index = 0;
  std::vector<std::string> names;
  model.for_each_parameter([&](auto const& p) {
    auto const values = values_of(model, p);
    names.push_back(p.path());
    bool const is_finite = std::all_of(values.begin(), values.end(),
                                       [](auto v) { return std::isfinite(v); });
    if (!is_finite) first = std::min(first, index * mesh.ranks() + mesh.rank());
    ++index;
  });
  mesh.all_reduce(std::span(&first, 1), reduction::min);
  std::string text = "at step " + std::to_string(step) + " the loss is " + std::to_string(loss) +
                     " and the gradient norm " + std::to_string(gradient_norm) +
                     ". Parameters are as before this step";
  // The trainer has forgotten the delayed gradients, since one of them may be the cause.
  if (std::isfinite(loss) && search::has_delays(model.plan()))
    text += ", and delayed gradients are forgotten";
  if (first == std::numeric_limits<std::int64_t>::max()) text += "; try a smaller learning rate.";
  else
    text += ": " + names[static_cast<std::size_t>(first / mesh.ranks())] + " on rank " +
            std::to_string(first % mesh.ranks()) + " was not finite before it.";
  if (auto const& chosen = model.plan(); !search::is_plain_step(chosen, step)) {
    text += text_of_wires(chosen);
    if (any_parameter(chosen, [](auto const& p) { return p.wire.momentum; }))
      text += " The averages that they send contain this step: resume from a checkpoint.";
  }
  throw error("trainer", text);
}

/// Throws an error that names the first token for which a router's logits are not finite, with its
/// micro-batch and the element of the net. In a pipeline, only the ranks of the part that has this
/// router know the token. Communicates: two all-reduces of 8 bytes.
template <class Model>
[[noreturn]] void refuse_router(Model& model, std::int64_t step) {
  std::int64_t const elements = model.problem().size(), passes = model.micro_batches();
  auto const& fault = model.mixtures().fault;
  auto own = std::numeric_limits<std::int64_t>::max(), token = own;
  if (fault) own = fault->first.pass % passes * elements + fault->first.element;
  auto first = own;
  model.mesh().all_reduce(std::span(&first, 1), reduction::min);
  if (fault && own == first) token = fault->second;
  model.mesh().all_reduce(std::span(&token, 1), reduction::min);
  throw error("trainer", "at step " + std::to_string(step) + " the router's logits of token " +
                             std::to_string(token) + " of micro-batch " +
                             std::to_string(first / elements) + " are not finite in element " +
                             std::to_string(first % elements) +
                             " of the net, so it has no experts. Parameters are as before this "
                             "step. Lower the learning rate, or clip gradients.");
}

/// Throws an error on every rank if two ranks that hold the same part of a parameter have different
/// values of it. The usual cause is a wrong row in the signature table of a layer. If steps begin
/// with the renewal of stored copies (step::renewal_first), compares the copies that this step has
/// read. The copies of its new values are compared after the next step. Communicates: one
/// all-reduce, which has 8 bytes per rank for each tensor of for_each_lasting.
template <class Model>
void compare_replicas(Model& model, std::int64_t step) {
  auto const& mesh = model.mesh();
  auto const ranks = static_cast<std::size_t>(mesh.ranks());
  std::vector<std::int64_t> hashes;
  for_each_lasting(model, [&](auto const&, auto const&, auto const& hash) {
    hashes.resize(hashes.size() + ranks);
    hashes[hashes.size() - ranks + static_cast<std::size_t>(mesh.rank())] =
        static_cast<std::int64_t>(hash());
  });
  mesh.all_reduce(std::span(hashes));
  std::size_t first = 0;  // the position of the tensor's hashes in `hashes`
  for_each_lasting(model, [&](auto const& p, auto const& tensor, auto const&) {
    auto const& own = tensor.mesh();
    auto const of_model = [&](int rank) {
      return position_in(mesh.as_part(), own.as_part().ranks[static_cast<std::size_t>(rank)]);
    };
    for (int k = 0; k < own.ranks(); ++k) {
      auto c = own.topology().coordinates_of(k);
      for (int a = 0; a < own.axes(); ++a)
        if (tensor.placement()[a].is_broadcast()) c[static_cast<std::size_t>(a)] = 0;
      int const r = of_model(k), other = of_model(own.topology().rank_of(c));
      if (hashes[first + static_cast<std::size_t>(r)] ==
          hashes[first + static_cast<std::size_t>(other)])
        continue;
      throw error("trainer", "after step " + std::to_string(step) + " ranks " +
                                 std::to_string(other) + " and " + std::to_string(r) +
                                 " have different values of " + p.path() +
                                 ", although both hold the same part of it. Test the rules of its "
                                 "layer with nn::verify.");
    }
    first += ranks;
  });
}

}  // namespace ashlar::train::detail
