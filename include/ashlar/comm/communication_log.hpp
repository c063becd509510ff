// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Writes down what a mesh moves: for tests, and for whoever wants to see.
//
//   communication_log const log(mesh);
//   auto y = x | to<B>;                log.records(), log.received_bytes()
//
// Logs nest, and end in the opposite order of their beginning.

#include <memory>
#include <vector>

#include <ashlar/comm/counting.hpp>
#include <ashlar/comm/mesh.hpp>

namespace ashlar {

/// Records every transfer of a mesh while it lives.
class communication_log {
 public:
  template <class Processor>
  explicit communication_log(basic_mesh<Processor> const& m)
      : mesh_(m.state_), counter_(std::make_shared<counting_communicator>(mesh_->transport)) {
    mesh_->transport = counter_;
  }
  communication_log(communication_log const&) = delete;
  communication_log& operator=(communication_log const&) = delete;
  ~communication_log() { mesh_->transport = counter_->inner(); }

  std::vector<collective_record> const& records() const { return counter_->records(); }
  void clear() { counter_->clear(); }
  std::int64_t received_bytes() const {
    std::int64_t bytes = 0;
    for (auto const& r : records()) bytes += r.received_bytes;
    return bytes;
  }

 private:
  std::shared_ptr<mesh_core> mesh_;
  std::shared_ptr<counting_communicator> counter_;
};

}  // namespace ashlar
