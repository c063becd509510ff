// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Gathers the arrays of a training that a checkpoint saves.

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <ashlar/checkpoint/training.hpp>
#include <ashlar/tensor/any_tensor.hpp>
#include <ashlar/tensor/gather.hpp>

namespace ashlar_test {

/// Returns the values of all parameters and optimizer states, by name, on every rank. Communicates.
template <class Trainer>
std::map<std::string, std::vector<double>> all_values(Trainer& t) {
  std::map<std::string, std::vector<double>> all;
  auto const& m = t.model().mesh();
  for (auto const& a : ashlar::checkpoint::arrays_of(t)) {
    ashlar::any_tensor<ashlar::device::host::processor> copy(m, a.extents, a.placement, a.type);
    std::memcpy(copy.data(), a.shard,
                static_cast<std::size_t>(copy.local_elements() * size_of(a.type)));
    if (a.type == ashlar::element_type::f64) {
      all[a.name] = ashlar::to_full<double>(copy);
    } else {
      auto const whole = ashlar::to_full<float>(copy);
      all[a.name].assign(whole.begin(), whole.end());
    }
  }
  return all;
}

}  // namespace ashlar_test
