// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Computes the lower bound of memory_price.hpp.

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <vector>

#include <ashlar/search/chain_solver.hpp>
#include <ashlar/search/memory_price.hpp>
#include <ashlar/search/stages.hpp>

namespace ashlar::search::detail {

template <int N>
class priced_pieces {
 public:
  /// All arguments must outlive this object.
  priced_pieces(basic_problem<N> const& net, priced_parts const& pipeline, topology const& t,
                machine const& m, shared_moves& moves)
      : net_(net), pipeline_(pipeline), mesh_(t), machine_(m), moves_(moves) {
    for (std::size_t k = 0; k + 1 < pipeline.points.size(); ++k)
      kind_of_.push_back(kind_of(pipeline.points[k], pipeline.points[k + 1]));
  }

  /// Returns the bound. `price` is a λ to begin with, and becomes the best one found. A step takes
  /// at least x seconds if the bound for steps shorter than x is at least x. The largest such x is
  /// found approximately.
  double least(double& price) {
    double low = pipeline_.least, high = pipeline_.known;
    for (int round = 0; round < rounds && low < high; ++round) {
      double const x = round == 0 ? high : low + (high - low) / 4;
      double const found = least_below(x, price);
      low = std::max(low, std::min(found, x));
      if (found < x) high = x;
    }
    return low;
  }

 private:
  /// Equal pieces, as a chain, with the tables of costs for each number of recomputed segments.
  struct kind {
    std::vector<int> key;
    std::unique_ptr<basic_problem<N>> chain;
    std::vector<chain_model<N>> models;
    /// Says whether the first segment begins in an earlier piece. If a stage holds both pieces,
    /// this piece then does not hold the input of a recomputed segment.
    bool continues = false;
  };

  int kind_of(int first, int last) {
    bool const continues = first > 0 && net_[first].segment >= 0 &&
                           net_[first].segment == net_[first - 1].segment;
    std::vector<int> key{continues, first > 0, last < net_.size()};
    for (int i = first, before = -1; i < last; ++i) {
      auto const& e = net_[i];
      key.insert(key.end(), {e.layer, static_cast<int>(e.kind), e.segment < 0, e.segment != before,
                             e.partner < 0 ? 0 : e.partner - i});
      before = e.segment;
    }
    for (std::size_t k = 0; k < kinds_.size(); ++k)
      if (kinds_[k].key == key) return static_cast<int>(k);
    kind own{std::move(key),
             std::make_unique<basic_problem<N>>(stage_of(net_, first, last, 1)),
             {},
             continues};
    for (int r = 0; r <= own.chain->segments; ++r)
      own.models.emplace_back(*own.chain, mesh_, machine_, any_choice{},
                              pruning::by_time_and_memory, recomputation{r, r}, &moves_);
    kinds_.push_back(std::move(own));
    return static_cast<int>(kinds_.size()) - 1;
  }

  /// Returns the bound for steps shorter than `known` seconds.
  double least_below(double known, double& price) {
    pieces_.clear();
    double const most = net_.micro_batches * pipeline_.remaining[0] / known;
    double sum = 0;
    for (double const d : pipeline_.remaining) sum += net_.micro_batches * d / known;
    bool const is_one = sum < static_cast<double>(kind_of_.size());
    for (std::size_t k = 0; k < kind_of_.size(); ++k) {
      double const share = pipeline_.remaining[k] / pipeline_.remaining[0];
      ++pieces_[{kind_of_[k], is_one ? 1 : std::floor(share * levels) * most / levels}];
    }
    double best = at_price(price);
    auto const improves = [&](double factor) {
      double const other = at_price(price * factor);
      if (other <= best) return false;
      best = other;
      price *= factor;
      return true;
    };
    int left = most_steps;
    if (!improves(4)) {
      while (left-- > 0 && improves(0.25)) {
      }
    } else {
      while (left-- > 0 && improves(4)) {
      }
    }
    if (!improves(2)) improves(0.5);
    return (best * (1 - 1e-9) + pipeline_.heads) / pipeline_.parts;
  }

  /// Returns a lower bound of the sum of ( m u + g ) over all pieces, at this price of memory.
  double at_price(double price) {
    double sum = -price * pipeline_.parts * static_cast<double>(machine_.memory);
    for (auto const& [piece, count] : pieces_) {
      auto const& own = kinds_[static_cast<std::size_t>(piece.first)];
      double least = unreachable;
      for (auto const& model : own.models)
        least = std::min(least, least_of(model, own.continues, piece.second, price));
      sum += count * least;
    }
    return sum;
  }

  /// Returns the minimum over the plans of one piece.
  static double least_of(chain_model<N> const& unpriced, bool continues, double in_flight,
                         double price) {
    chain_model<N> model = unpriced;
    for (int k = 0; k < model.classes(); ++k) {
      choice_class own = model.class_at(k);
      bool const holds = !(continues && k == model.class_index(0) &&
                           own.runs != forward_runs::once);
      for (int j = 0; j < own.size(); ++j) {
        auto const& bytes = own.memory.data()[j];
        own.weight.data()[j] += price * (double(bytes.lasting) +
                                         (holds ? in_flight * double(bytes.held) : 0));
      }
      if (own.plain) own.restrict(undominated(own, model.paths(), model.net()));
      model.replace(k, std::move(own));
    }
    return chain_solver<N>(model).solve();
  }

  static constexpr int levels = 6;      // of n
  static constexpr int rounds = 4;      // of least()
  static constexpr int most_steps = 4;  // of the search for a price

  basic_problem<N> const& net_;
  priced_parts const& pipeline_;
  topology const& mesh_;
  machine const& machine_;
  shared_moves& moves_;
  std::vector<kind> kinds_;
  std::vector<int> kind_of_;                      // per piece: the index of its kind
  std::map<std::pair<int, double>, int> pieces_;  // how many pieces have a kind and a level of n
};

/// The definition of least_at_memory_price.
template <int N>
double least_at_memory_price_here(basic_problem<N> const& net, priced_parts const& pipeline,
                                  topology const& t, machine const& m, double& price,
                                  shared_moves& moves) {
  return priced_pieces<N>(net, pipeline, t, m, moves).least(price);
}

}  // namespace ashlar::search::detail
