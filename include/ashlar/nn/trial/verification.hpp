// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The trials of nn::verify (verify.hpp), for layers of any type.

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <ashlar/nn/trial/finite_differences.hpp>
#include <ashlar/search/choices.hpp>

namespace ashlar::nn::detail {

/// Tries one layer: its passes in one process, and each signature row on simulated meshes.
class verification {
 public:
  explicit verification(trial_layer const& layer)
      : layer_(layer), spec_(layer.spec), known_(layer.values == element_type::f64 ? 1e-9 : 1e-4) {
    check_type();
    data_ = make_trial_data(layer_);
    std::int64_t most = spec_.x.elements() + spec_.y.elements();
    for (auto const& p : spec_.parameters) most += p.extents.elements();
    margin_ = static_cast<std::size_t>(most) * sizeof(double);
  }

  /// Returns the number of trials. There are two for each signature row: one on meshes with one
  /// axis, and one on a mesh with two axes.
  int trials() const { return 2 * rows(); }

  /// Tries the passes in one process. Checks only every `parts`-th gradient element by finite
  /// differences, beginning with number `part`, so that several ranks can divide this work.
  void one_process(int part, int parts) {
    step::layer_choice lies;
    auto const whole = placement::all_broadcast(1);
    lies.x = lies.y = lies.dy = lies.dx = whole;
    lies.parameters.resize(spec_.parameters.size());
    for (auto& p : lies.parameters) p = {whole, whole, whole};
    lies.statistics.resize(spec_.statistics.size());
    for (auto& s : lies.statistics) s = {whole, whole};
    auto const where = name() + " on one process";
    simulated_layer simulated(layer_, lies, ranks_of({{"rank", 1}}), where);
    judge j{known_, where};
    simulated.give(data_);
    simulated.forward(j);
    simulated.backward(j);
    check_differences(simulated, layer_, data_, known_, where, part, parts);
  }

  /// Performs trial number `i`. If i < rows(), tries signature row i on meshes with one axis.
  /// Otherwise, tries row i - rows() on a mesh with two axes: once on both axes, and once with the
  /// next row on the second axis.
  void trial(int i) {
    int const row = i % rows();
    if (i < rows()) {
      for (int const p : rank_counts(row)) run({{"rank", p}}, {row});
      return;
    }
    int const next = (row + 1) % rows();
    run({{"first", 2}, {"second", 3}}, {row, row});
    if (next != row) run({{"first", 2}, {"second", 3}}, {row, next});
  }

 private:
  int rows() const { return spec_.rows.size(); }
  std::string name() const { return spec_.name.text; }

  /// Throws unless the passes and the output of the layer's class agree with the spec. layer_node
  /// checks the statistics, and check_spec the parameters.
  void check_type() const {
    if (layer_.y_rank != spec_.y.rank() && !layer_.is_loss)
      throw error(name(), "its output has " + std::to_string(spec_.y.rank()) +
                              " dims, but its type says " + std::to_string(layer_.y_rank) +
                              " in y_rank.");
    using form = step::backward_form;
    auto const demand = [&](step::action_kind kind, char const* pass, bool needed) {
      if (needed && !layer_.has(kind))
        throw error(name(),
                    std::string("its spec says in layer_spec::backward that it has the pass ") +
                        pass + ", but it has none.");
    };
    auto const b = spec_.backward;
    demand(step::action_kind::backward, "backward", b == form::whole || b == form::separable);
    demand(step::action_kind::weight_gradient, "weight_gradient", b != form::whole);
    demand(step::action_kind::input_gradient, "input_gradient", b == form::halves);
  }

  /// Returns the numbers of ranks on which to try row i:
  ///
  ///   2 and 3             always
  ///   for uneven shards   for each dim that the row splits, the smallest number that does not
  ///                       divide the dim's extent; 8 if all smaller numbers divide it
  ///   for an empty shard  n + 1, where n is the smallest extent of these dims, if n is below 8
  std::vector<int> rank_counts(int i) const {
    std::vector<int> counts{2, 3};
    std::int64_t least = 0;
    auto const look_at = [&](axis_placement const& role, shape const& extents) {
      if (!role.is_split()) return;
      std::int64_t const n = extents[role.dim];
      int uneven = 2;
      while (n % uneven == 0 && uneven < 8) ++uneven;
      counts.push_back(uneven);
      least = least == 0 ? n : std::min(least, n);
    };
    auto const& row = spec_.rows[i];
    look_at(row.x, spec_.x);
    look_at(row.y, spec_.y);
    for (int k = 0; k < row.use.size(); ++k) look_at(row.use[k], spec_.parameters[k].extents);
    if (least > 0 && least < 8) counts.push_back(static_cast<int>(least) + 1);
    std::sort(counts.begin(), counts.end());
    counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
    return counts;
  }

  void run(topology const& t, std::vector<int> const& rows) {
    search::detail::axis_rows chosen;
    std::string where = name() + ", " + step::row_text(spec_, rows[0]);
    for (int const i : rows) chosen.push_back(i);
    if (rows.size() > 1)
      where += " along one axis and " + step::row_text(spec_, rows[1]) + " along another";
    auto const lies = search::detail::assemble_choice(spec_, chosen, all_axes(t.axes()));
    if (!can_lie(lies) || !search::detail::keeps_blocks(lies, spec_, t)) return;
    where += " on " + to_string(t) + " ranks";
    simulated_layer simulated(layer_, lies, ranks_of(t), where);
    judge j{known_, where};
    simulated.give(data_);
    simulated.forward(j);
    simulated.backward(j);
  }

  /// Returns whether all placements of a layer's tensors are legal. For instance, a tensor must not
  /// be partial with a sum along one axis and with a maximum along another.
  bool can_lie(step::layer_choice const& c) const {
    auto const valid = [](placement const& p) { return check(p, max_rank, p.axes()) == nullptr; };
    bool all = valid(c.x) && valid(c.y) && valid(c.dy) && valid(c.dx);
    for (auto const& p : c.parameters) all = all && valid(p.use) && valid(p.grad);
    for (auto const& s : c.statistics) all = all && valid(s.from) && valid(s.to);
    return all;
  }

  std::vector<mesh> const& ranks_of(topology const& t) {
    auto& ranks = meshes_[to_string(t)];
    for (int r = static_cast<int>(ranks.size()); r < t.ranks(); ++r)
      ranks.push_back(fake_rank::make(MPI_COMM_SELF, t, r, margin_));
    return ranks;
  }

  trial_layer const& layer_;
  step::layer_spec const& spec_;
  truth known_;
  trial_data data_;
  std::size_t margin_ = 0;
  std::map<std::string, std::vector<mesh>> meshes_;
};

/// Throws the same error on every rank if any rank has an error. `mine` is the text of this rank's
/// error, or empty. `piece` is 0 if the error occurred in the passes in one process, and 1 + i if
/// it occurred in trial i. Of several errors, the one with the lowest `piece` is thrown, and among
/// these that of the lowest rank. Collective over the mesh.
inline void throw_first(mesh const& m, int piece, std::string const& mine) {
  constexpr std::int64_t none = std::int64_t(1) << 60;
  std::int64_t first = mine.empty() ? none : std::int64_t(piece) * m.ranks() + m.rank();
  m.all_reduce(std::span<std::int64_t>(&first, 1), reduction::min);
  if (first == none) return;
  int const root = static_cast<int>(first % m.ranks());
  std::int64_t length = static_cast<std::int64_t>(mine.size());
  m.broadcast(std::span<std::int64_t>(&length, 1), root);
  std::vector<std::int32_t> letters(mine.begin(), mine.end());
  letters.resize(static_cast<std::size_t>(length));
  m.broadcast(std::span<std::int32_t>(letters), root);
  std::string text;
  for (auto const letter : letters) text += static_cast<char>(letter);
  auto const end = text.find(": ");  // end of the operation's name
  throw error(text.substr(0, end), text.substr(end + 2));
}

}  // namespace ashlar::nn::detail
