// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <ashlar/search/chain_model.hpp>

namespace ashlar::search {

/// The plan that takes choice[i] of element i, priced by the tables that the model has anyway.
template <int N>
constexpr basic_plan<N> make_plan(chain_model<N>& model, scratch<int> const& choice) {
  return make_plan(model.net(), model.paths(), model.recomputed(),
                   [&](int i) -> layer_choice const& {
                     return model.choices(i).choices.data()[choice.data()[i]];
                   });
}

}  // namespace ashlar::search
