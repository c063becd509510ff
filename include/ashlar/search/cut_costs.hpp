// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Computes the costs of all stages into which a chain can be cut. The chain is a sequence of units,
// and cuts are permitted between units only (cutting_points in stages.hpp). A stage is a range of
// units. Its seconds are differences of prefix sums over the units. So they differ by rounding
// errors from the seconds of stage_model, from which the price of a plan is computed.

#include <algorithm>
#include <functional>
#include <utility>

#include <ashlar/search/schedule_choice.hpp>
#include <ashlar/search/stage_model.hpp>

namespace ashlar::search {

class cut_costs {
 public:
  /// The model must outlive this object.
  template <int N>
  cut_costs(stage_model<N>& model, std::vector<int> cutting_points)
      : points_(std::move(cutting_points)),
        price_([&model](int first) { return model.cut(first); }),
        measure_([&model](int first, int last) { return model.bytes(first, last); }) {
    // Finding the skips that a cut divides takes time for each cut. Few nets have skips, so the
    // search for them is omitted for all other nets.
    if (!model.skips_between(points_).empty()) {
      skips_ = [&model](std::vector<int> const& limits, pipelines::schedule const& order) {
        return model.skips(limits, order);
      };
      measure_skips_ = [&model](std::vector<int> const& limits) {
        return model.bytes_of_skips(limits);
      };
    }
    if (!model.chain().ties.empty())
      add_ties_ = [&model](std::vector<pipeline_stage>& stages, std::vector<int> const& limits,
                           pipelines::schedule const& shape) {
        model.add_ties(stages, limits, shape);
      };
    for (auto const& t : model.chain().ties)
      ties_.push_back({t.first, t.later, model.tie_seconds(t)});
    int const units = static_cast<int>(points_.size()) - 1;
    prices_.resize(points_.size());
    has_price_.resize(points_.size());
    before_.resize(1);
    for (int u = 0; u < units; ++u) {
      int const first = points_[at(u)], last = points_[at(u) + 1];
      auto own = model.stage(first, last);
      auto const& begin = model[first];
      moves_.push_back(first == 0 ? moves{}
                                  : moves{begin.enter, begin.reenter, model[first - 1].leave});
      own.forward += moves_.back().enter;
      own.seconds += moves_.back().sum();
      auto const& sum = before_.back();
      pipeline_stage next;
      next.seconds = sum.seconds + own.seconds;
      next.forward = sum.forward + own.forward;
      next.weights = sum.weights + own.weights;
      next.synchronize = sum.synchronize + own.synchronize;
      before_.push_back(next);
    }
  }

  int units() const { return static_cast<int>(points_.size()) - 1; }
  std::vector<int> const& points() const { return points_; }

  /// Returns the stage of the units first .. last - 1, without transfers between stages and without
  /// the crossings of tied parameters. `joined` says whether the previous stage is on the same
  /// part, so that the input of this stage is redistributed instead of crossing.
  pipeline_stage stage(int first, int last, bool joined) const {
    auto const &a = before_[at(first)], &b = before_[at(last)];
    moves in = moves_[at(first)];
    if (joined) in.enter = in.leave = 0;
    pipeline_stage s;
    s.first = points_[at(first)];
    s.last = points_[at(last)];
    s.forward = b.forward - a.forward - in.enter;
    s.seconds = b.seconds - a.seconds - in.sum();
    s.weights = b.weights - a.weights;
    s.synchronize = b.synchronize - a.synchronize;
    return s;
  }

  /// Returns the stages of a cut, with their transfers. `cut` has the first unit of each stage and
  /// the number of all units. `shape` says which part runs which stage.
  std::vector<pipeline_stage> stages(std::vector<int> const& cut,
                                     pipelines::schedule const& shape) {
    std::vector<pipeline_stage> list;
    for (std::size_t k = 0; k + 1 < cut.size(); ++k) {
      int const number = static_cast<int>(k);
      bool const joined = k > 0 && shape.position_of(number) == shape.position_of(number - 1);
      list.push_back(stage(cut[k], cut[k + 1], joined));
      if (k == 0 || joined) continue;
      auto const& [forward, backward] = crossing(cut[k]);
      list[k - 1].sending += forward.seconds;
      list[k].sending += backward.seconds;
      list[k].sending_back = backward.seconds;
    }
    if (add_ties_) add_ties_(list, limits_of(cut), shape);
    return list;
  }

  /// Returns the seconds per step of the crossings of tied parameters whose later use is in the
  /// units first .. last - 1 and whose first use is before these units. Expects that the two uses
  /// are on different parts.
  double tie_seconds(int first, int last) const {
    double seconds = 0;
    for (auto const& t : ties_)
      if (t.first < points_[at(first)] && t.later >= points_[at(first)] &&
          t.later < points_[at(last)])
        seconds += t.seconds;
    return seconds;
  }

  /// Returns an upper bound of the seconds by which `cuts` cuts shorten the sum of all stages. A
  /// cut removes the redistributions at its place.
  double most_saved(int cuts) const {
    std::vector<double> saved;
    for (auto const& it : moves_) saved.push_back(it.sum());
    std::sort(saved.rbegin(), saved.rend());
    double sum = 0;
    for (std::size_t k = 0; k < saved.size() && static_cast<int>(k) < cuts; ++k) sum += saved[k];
    return sum;
  }

  stage_bytes bytes(int first, int last) const {
    return measure_(points_[at(first)], points_[at(last)]);
  }
  /// Returns the skips between the stages of a cut, with the seconds of their transfers.
  pipelines::skip_transfers skips(std::vector<int> const& cut,
                                  pipelines::schedule const& order) const {
    return skips_ ? skips_(limits_of(cut), order) : pipelines::skip_transfers{};
  }
  std::vector<skip_bytes> bytes_of_skips(std::vector<int> const& cut) const {
    return measure_skips_ ? measure_skips_(limits_of(cut)) : std::vector<skip_bytes>{};
  }
  /// Returns the bytes of the tensors between neighbouring stages of a cut.
  std::vector<boundary_bytes> boundaries(std::vector<int> const& cut) {
    std::vector<boundary_bytes> list;
    for (std::size_t k = 1; k + 1 < cut.size(); ++k) {
      auto const& [forward, backward] = crossing(cut[k]);
      list.push_back({forward.bytes, backward.bytes});
    }
    return list;
  }
  std::vector<stage_bytes> bytes(std::vector<int> const& cut) const {
    std::vector<stage_bytes> list;
    for (std::size_t k = 0; k + 1 < cut.size(); ++k) list.push_back(bytes(cut[k], cut[k + 1]));
    return list;
  }

 private:
  /// The seconds of the redistributions before a unit in the forward pass (enter), in a
  /// recomputation (reenter) and in the backward pass (leave). If the chain is cut before the unit,
  /// crossings take the place of enter and leave, and the input of the unit is kept for the
  /// recomputation.
  struct moves {
    double enter = 0, reenter = 0, leave = 0;
    double sum() const { return enter + reenter + leave; }
  };

  struct tied {
    int first, later;  ///< the elements of its two uses
    double seconds;
  };

  static constexpr std::size_t at(int i) { return static_cast<std::size_t>(i); }

  std::vector<int> limits_of(std::vector<int> const& cut) const {
    std::vector<int> limits;
    for (int const unit : cut) limits.push_back(points_[at(unit)]);
    return limits;
  }

  cut_prices const& crossing(int unit) {
    if (!has_price_[at(unit)]) prices_[at(unit)] = price_(points_[at(unit)]);
    has_price_[at(unit)] = true;
    return prices_[at(unit)];
  }

  std::vector<int> points_;
  std::function<cut_prices(int)> price_;
  std::function<stage_bytes(int, int)> measure_;
  std::function<pipelines::skip_transfers(std::vector<int> const&, pipelines::schedule const&)>
      skips_;
  std::function<std::vector<skip_bytes>(std::vector<int> const&)> measure_skips_;
  std::function<void(std::vector<pipeline_stage>&, std::vector<int> const&,
                     pipelines::schedule const&)>
      add_ties_;
  std::vector<tied> ties_;
  std::vector<moves> moves_;            // before each unit
  std::vector<pipeline_stage> before_;  // sums over all earlier units, as if uncut
  std::vector<cut_prices> prices_;
  std::vector<bool> has_price_;
};

}  // namespace ashlar::search
