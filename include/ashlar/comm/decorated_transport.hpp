// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Puts a decorator around a mesh's transport while this object exists. A decorator may count
// transfers (communication_log.hpp) or simulate another network.
//
//   decorated_transport const slow(mesh, [](std::shared_ptr<communicator> inner) {
//     return std::make_shared<my_communicator>(std::move(inner)); });
//
// Objects of this class may be nested. They must be destroyed in reverse order of construction,
// while no transfer is pending.

#include <memory>
#include <utility>

#include <ashlar/comm/mesh.hpp>

namespace ashlar {

class decorated_transport {
 public:
  /// Replaces the mesh's transport by the result of `decorate`, which gets the current transport.
  template <class Processor, class Decorate>
  decorated_transport(basic_mesh<Processor> const& m, Decorate const& decorate)
      : mesh_(m.state_), before_(mesh_->transport) {
    mesh_->transport = decorate(before_);
  }
  decorated_transport(decorated_transport const&) = delete;
  decorated_transport& operator=(decorated_transport const&) = delete;
  ~decorated_transport() { mesh_->transport = std::move(before_); }

 private:
  std::shared_ptr<mesh_core> mesh_;
  std::shared_ptr<communicator> before_;
};

}  // namespace ashlar
