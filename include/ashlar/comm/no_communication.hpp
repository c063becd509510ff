// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Forbids communication on a mesh. Code that should be local then throws if it communicates.

#include <memory>

#include <ashlar/comm/mesh.hpp>

namespace ashlar {

/// Makes every transfer of a mesh throw while this object exists. Other meshes may communicate,
/// including those that are parts of this mesh.
class no_communication {
 public:
  template <class Processor>
  explicit no_communication(basic_mesh<Processor> const& m)
      : mesh_(m.state_), before_(mesh_->forbidden) {
    mesh_->forbidden = true;
  }
  no_communication(no_communication const&) = delete;
  no_communication& operator=(no_communication const&) = delete;
  ~no_communication() { mesh_->forbidden = before_; }

 private:
  std::shared_ptr<mesh_core> mesh_;
  bool before_;
};

}  // namespace ashlar
