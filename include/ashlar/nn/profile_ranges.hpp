// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Named ranges that show a step in the profile of a device. There is a range for each run of
// consecutive computations of one pass of a micro-batch, and within it one for each computation,
// such as "12.linear forward". On the host there are no ranges.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ashlar/nn/execution.hpp>

namespace ashlar::nn {

template <class Processor>
class profile_ranges {
  using nodes = std::vector<std::unique_ptr<element_node<Processor>>>;

 public:
  profile_ranges(basic_mesh<Processor> const& m, nodes const& elements, step::program const& p)
      : mesh_(m), actions_(p.actions.data()) {
    if constexpr (Processor::is_host) return;
    for (auto const& a : p.actions)
      names_.push_back(!computes(a.kind)
                           ? std::string()
                           : std::to_string(a.element) + '.' +
                                 elements[static_cast<std::size_t>(a.element)]->name() + ' ' +
                                 to_string(a.kind));
  }

  /// Opens the range of a computation. The range closes when the returned object is destroyed. If
  /// the computation before belonged to another pass or micro-batch, this function first opens a
  /// range for the pass.
  auto of(step::action const& a) {
    if constexpr (Processor::is_host) {
      return 0;
    } else {
      enter(a.phase == step::phase::forward ? "forward" : "backward", a.micro_batch);
      return range(mesh_.processor(), names_[static_cast<std::size_t>(&a - actions_)].c_str());
    }
  }
  void leave_pass() { pass_.reset(); }

 private:
  /// An open range. It is constructed in place, since a range can be neither copied nor moved.
  struct open_range {
    decltype(range(std::declval<basic_mesh<Processor> const&>().processor(), "")) scope;
    open_range(basic_mesh<Processor> const& m, char const* name)
        : scope(range(m.processor(), name)) {}
  };

  void enter(std::string_view pass, int micro_batch) {
    if (pass_ && pass == name_ && micro_batch == micro_batch_) return;
    pass_.reset();
    pass_.emplace(mesh_, pass.data());
    name_ = pass;
    micro_batch_ = micro_batch;
  }

  basic_mesh<Processor> mesh_;
  step::action const* actions_;
  std::vector<std::string> names_;  // one per action; empty for an action that does not compute
  std::optional<open_range> pass_;
  std::string_view name_;  // the name of the open pass
  int micro_batch_ = 0;
};

}  // namespace ashlar::nn
