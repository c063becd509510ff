// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Trains nets so that two versions of the library can be compared bit by bit (tests/same_bits.sh).
// Rank 0 prints one line per case, with columns separated by tabs:
//
//   name   net | mesh | plan | transport | optimizer
//   plan   the fingerprint of the training plan. If it differs between two versions of the library,
//          these versions trained under different plans.
//   loss   the loss of each step, as hexadecimal numbers
//   norm   the norm of the gradient in each step, as hexadecimal numbers
//   hash   the FNV-1a hash of the bits of all parameters after the last step, in the order of the
//          net
//
// The same source must compile against both versions. The source therefore calls only functions
// that stay the same from version to version: describe, the search, layer_choices, place, the
// trainer, for_each_parameter and to_full. It includes no other header of tests/.

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include <ashlar/ashlar.hpp>
#include <ashlar/search/optimal.hpp>

namespace ashlar_bits {

namespace nn = ashlar::nn;
namespace search = ashlar::search;
namespace train = ashlar::train;

/// A machine on which messages are nearly free and bytes are expensive, so that plans of
/// redistributions consist of as many steps as possible.
inline constexpr ashlar::machine bandwidth_bound{{1e-12, 1e-9}, {1e-12, 4e-9}, 1e11, 1e10, 0};
/// A machine on which computing is expensive and communication is cheap, so that the best plans
/// split tensors.
inline constexpr ashlar::machine slow_ranks{{1e-9, 1e-12}, {1e-9, 1e-12}, 1e6, 1e6, 0};

/// Returns meshes of n ranks: the mesh of one axis, and each mesh of two axes whose extents are
/// above 1. For some n, also returns a mesh with an axis of extent 1 or with three axes.
inline std::vector<ashlar::topology> meshes(int n) {
  std::vector<ashlar::topology> all{{{"gpu", n}}};
  for (int a = 2; a < n; ++a)
    if (n % a == 0) all.push_back({{"node", a}, {"gpu", n / a}});
  if (n <= 3) all.push_back({{"node", 1}, {"gpu", n}});
  if (n == 4) all.push_back({{"node", 2}, {"one", 1}, {"gpu", 2}});
  if (n == 6) all.push_back({{"node", 2}, {"gpu", 3}, {"one", 1}});
  if (n == 8) all.push_back({{"node", 2}, {"gpu", 2}, {"core", 2}});
  return all;
}

/// Returns a training plan with a pseudo-random choice for each element of the net. Consecutive
/// elements get very different placements, so that many tensors are redistributed. The first k
/// segments are recomputed, where k is pseudo-random too.
template <class Plan, class Problem>
constexpr Plan scattered(Problem const& net, ashlar::topology const& t, std::size_t seed) {
  auto const draw = [&](std::size_t n) {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return seed / 65536 % n;
  };
  Plan plan;
  plan.mesh = t;
  for (int i = 0; i < net.size(); ++i) {
    if (net[i].kind == search::element_kind::residual_end) {
      auto const begin = plan[net[i].partner];
      plan.choices.push_back(begin);
      continue;
    }
    auto const all = search::layer_choices(net.spec(i), t, search::trivial_axes::all_rows);
    plan.choices.push_back(all[draw(all.size())]);
  }
  plan.micro_batches = net.micro_batches;
  plan.recomputed = static_cast<int>(draw(static_cast<std::size_t>(net.segments) + 1));
  plan.input = net.spec(0).x;
  plan.problem_hash = search::hash(net);
  return plan;
}

/// Returns the data of a step, the same on every rank. About every fifth target is negative. The
/// loss ignores negative targets.
template <class Input, class Batch>
train::batch_data<Input> random_batch(Batch const& batch, int vocabulary, int classes,
                                      unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  train::batch_data<Input> data;
  auto const extents = batch.extents();
  auto const inputs = extents.elements() * batch.micro_batches;
  bool const is_tokens = std::is_same_v<Batch, nn::token_batch>;
  auto const rows = is_tokens ? inputs : extents[0] * batch.micro_batches;
  for (std::int64_t i = 0; i < inputs; ++i) {
    if constexpr (std::is_same_v<Input, std::int32_t>)
      data.inputs.push_back(static_cast<Input>(random() % static_cast<unsigned>(vocabulary)));
    else data.inputs.push_back(static_cast<Input>(normal(random)));
  }
  for (std::int64_t i = 0; i < rows; ++i) {
    auto const target = static_cast<std::int32_t>(random() % static_cast<unsigned>(classes));
    data.targets.push_back(random() % 5 == 0 ? -1 : target);
  }
  if (rows > 0) data.targets[0] = 0;
  return data;
}

/// The command-line options of main.cpp.
struct settings {
  std::uint64_t seed = 3;  ///< the seed of parameters, dropout and data
  int plans = 2;           ///< the number of random plans per net and mesh
  std::string only;        ///< a part of the name of a net, or empty for all nets
};

/// Returns the FNV-1a hash of the bits of all parameters. Collective.
template <class Model>
std::uint64_t hash_of_parameters(Model& model) {
  std::uint64_t h = 1469598103934665603ull;
  using T = ashlar::accumulation_t<typename Model::value_type>;
  model.for_each_parameter([&](auto& p) {
    auto const full = [&] {
      if constexpr (requires { ashlar::to_full<T>(p.value()); })
        return ashlar::to_full<T>(p.value());
      else return to_full(p.value());  // older versions: nn::parameter holds only one tensor type
    }();
    auto const* bytes = reinterpret_cast<unsigned char const*>(full.data());
    for (std::size_t i = 0; i < full.size() * sizeof(full[0]); ++i)
      h = (h ^ bytes[i]) * 1099511628211ull;
  });
  return h;
}

/// Trains the nets that are passed to run() and run_typed(), and prints a line for each case.
class suite {
 public:
  suite(settings const& asked, int rank, int ranks) : asked_(asked), rank_(rank), ranks_(ranks) {}

  int ranks() const { return ranks_; }
  bool wants(std::string const& net) const {
    return asked_.only.empty() || net.find(asked_.only) != std::string::npos;
  }

  /// Trains a net on every mesh, under the plan that the search finds and under random plans.
  template <class T, class Net, class Batch>
  void run(std::string const& name, Net const& net, Batch const& batch, int vocabulary,
           int classes) {
    if (!wants(name)) return;
    auto const fixed = nn::describe<T>(net, batch);
    search::problem const problem = any_length(fixed);
    for (auto const& t : meshes(ranks_)) {
      std::string const at = name + " | " + to_string(t) + " | ";
      auto const searched = search::optimal(problem, t, slow_ranks);
      train_under<T>(at + "searched", net, batch, t, slow_ranks, searched, searched, vocabulary,
                     classes);
      for (int i = 0; i < asked_.plans; ++i) {
        std::size_t const seed = hash_of(at) + static_cast<std::size_t>(i);
        auto const plan = scattered<search::plan>(problem, t, seed % 2147483648);
        auto const& machine = i % 2 == 0 ? bandwidth_bound : ashlar::machines::workstation;
        train_under<T>(at + "random " + std::to_string(i), net, batch, t, machine, plan, plan,
                       vocabulary, classes);
      }
    }
  }

  /// Trains a net under a plan that is known at compile time. Does nothing unless the plan is for
  /// the present number of ranks.
  template <class T, auto const& Plan, class Net, class Batch>
  void run_typed(std::string const& name, Net const& net, Batch const& batch,
                 ashlar::machine const& machine, int vocabulary, int classes) {
    if (Plan.mesh.ranks() != ranks_ || !wants(name)) return;
    train_under<T>(name + " | " + to_string(Plan.mesh) + " | typed", net, batch, Plan.mesh, machine,
                   Plan, nn::constant<Plan>, vocabulary, classes);
  }

 private:
  /// Returns a hash of a text. Unlike std::hash, it is the same with every standard library.
  static std::size_t hash_of(std::string const& text) {
    std::uint64_t h = 1469598103934665603ull;
    for (char const c : text) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211ull;
    return static_cast<std::size_t>(h % 2147483648);
  }

  /// Trains a net under one plan: with adam_w on both transports (messages and shared memory), and
  /// with sgd on only one of these transports. On one rank, both optimizers use shared memory only.
  /// `form` is the plan as place() expects it: `plan` itself, or nn::constant<Plan> for a plan that
  /// is known at compile time.
  template <class T, class Net, class Batch, class Plan, class Form>
  void train_under(std::string const& name, Net const& net, Batch const& batch,
                   ashlar::topology const& t, ashlar::machine const& machine, Plan const& plan,
                   Form const& form, int vocabulary, int classes) {
    std::uint64_t const fingerprint = search::fingerprint(plan);
    for (bool const messages : {false, true}) {
      if (messages && ranks_ == 1) continue;
      if (messages) ::setenv("ASHLAR_SHARED_MEMORY", "off", 1);
      else ::unsetenv("ASHLAR_SHARED_MEMORY");
      ashlar::mesh const m(MPI_COMM_WORLD, t, machine);
      std::string const on = name + (messages ? " | messages | " : " | shared memory | ");
      train_case<T>(on + "adam_w", net, batch, m, fingerprint, form, vocabulary, classes,
                    train::adam_w{.lr = 0.01}, {});
      // The collectives of the two transports may round differently. Optimizers do not depend on
      // the transport, so sgd runs on only one transport. The plan's fingerprint determines which
      // transport is used.
      if (messages == (fingerprint % 2 == 0) || ranks_ == 1)
        train_case<T>(on + "sgd with clip", net, batch, m, fingerprint, form, vocabulary, classes,
                      train::sgd{.lr = 0.1, .momentum = 0.9, .weight_decay = 0.01}, {.clip = 0.5});
    }
  }

  template <class T, class Net, class Batch, class Form, class Optimizer>
  void train_case(std::string const& name, Net const& net, Batch const& batch,
                  ashlar::mesh const& m, std::uint64_t fingerprint, Form const& form,
                  int vocabulary, int classes, Optimizer const& optimizer,
                  train::trainer_options options) {
    using input = std::conditional_t<nn::takes_tokens<Net>(), std::int32_t, T>;
    std::string losses, norms;
    std::uint64_t hash = 0;
    try {
      auto model = nn::place<T>(net, m, form, asked_.seed);
      train::trainer trainer(model, optimizer, std::move(options));
      for (unsigned step = 0; step < 3; ++step) {
        auto const data = random_batch<input>(batch, vocabulary, classes,
                                              static_cast<unsigned>(asked_.seed) * 16 + step);
        auto const report = trainer.step(data);
        append(losses, report.loss);
        append(norms, report.gradient_norm);
      }
      hash = hash_of_parameters(model);
    } catch (ashlar::error const& e) {
      // This program assumes that every rank gets the same error, as is the case for errors of
      // nn::place and of the trainer. After an error on only some ranks, the later collectives of
      // the ranks would not match.
      losses += std::string(losses.empty() ? "" : " ") + "error: " + e.what();
    }
    if (rank_ != 0) return;
    std::printf("%s\tplan %016" PRIx64 "\t%s\t%s\t%016" PRIx64 "\n", name.c_str(), fingerprint,
                losses.c_str(), norms.c_str(), hash);
    std::fflush(stdout);
  }

  static void append(std::string& text, double value) {
    char number[40];
    std::snprintf(number, sizeof number, "%s%a", text.empty() ? "" : " ", value);
    text += number;
  }

  settings asked_;
  int rank_;
  int ranks_;
};

void run_features(suite& all);
void run_tokens(suite& all);
void run_images(suite& all);
void run_categories(suite& all);
void run_typed(suite& all);

}  // namespace ashlar_bits
