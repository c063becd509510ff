// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// What the passes of a layer are called in a profile: "12.linear forward", by its number in the plan.
//
//   processor    kept
//   host         nothing: it has no ranges
//   a device     two strings a layer

#include <string>

#include <ashlar/step/layer_spec.hpp>

namespace ashlar::nn {

template <class Processor, bool IsHost = Processor::is_host>
class pass_names {
 public:
  template <class Layer>
  pass_names(int element, Layer const& layer, shape const& x)
      : forward_(std::to_string(element) + '.' + layer.spec(x).name.text + ' '),
        backward_(forward_ + "backward") {
    forward_ += "forward";
  }

  char const* forward() const { return forward_.c_str(); }
  char const* backward() const { return backward_.c_str(); }

 private:
  std::string forward_, backward_;
};

template <class Processor>
struct pass_names<Processor, true> {
  template <class Layer>
  pass_names(int, Layer const&, shape const&) {}
  static constexpr char const* forward() { return ""; }
  static constexpr char const* backward() { return ""; }
};

}  // namespace ashlar::nn
