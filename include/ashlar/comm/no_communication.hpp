// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Forbids a mesh to move anything: what is meant to be local then says so where it is not.

#include <ashlar/comm/mesh.hpp>

namespace ashlar {

/// Makes every transfer of a mesh an error while it lives.
class no_communication {
 public:
  explicit no_communication(mesh const& m) : mesh_(m), before_(m.state_->forbidden) {
    mesh_.state_->forbidden = true;
  }
  no_communication(no_communication const&) = delete;
  no_communication& operator=(no_communication const&) = delete;
  ~no_communication() { mesh_.state_->forbidden = before_; }

 private:
  mesh mesh_;
  bool before_;
};

}  // namespace ashlar
