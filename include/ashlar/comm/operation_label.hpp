// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Names what a mesh's transfers move while this object exists, for the messages of the watchdog
// (watch/watchdog.hpp).
//
//   operation_label const named(mesh, "the embedding table");
//
// An object costs two assignments. Labels may be nested.

#include <utility>

#include <ashlar/comm/mesh.hpp>

namespace ashlar {

class operation_label {
 public:
  /// `label` must live until the transfers that begin now have ended. Null means no name.
  template <class Processor>
  operation_label(basic_mesh<Processor> const& m, char const* label)
      : place_(&m.state_->label), before_(std::exchange(*place_, label)) {}
  operation_label(operation_label const&) = delete;
  operation_label& operator=(operation_label const&) = delete;
  ~operation_label() { *place_ = before_; }

 private:
  char const** place_;
  char const* before_;
};

}  // namespace ashlar
