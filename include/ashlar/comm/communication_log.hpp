// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Records the transfers of a mesh, for tests and for inspection.
//
//   communication_log const log(mesh);
//   auto y = x | to<B>;                log.records(), log.received_bytes()
//
// The log of a part of a mesh also records the part's crossings to and from other parts. The record
// of a crossing has no kind and no axes (collective_record::crosses).
//
// Logs may be nested. They must be destroyed in reverse order of construction.

#include <memory>
#include <vector>

#include <ashlar/comm/counting.hpp>
#include <ashlar/comm/decorated_transport.hpp>

namespace ashlar {

class communication_log {
 public:
  template <class Processor>
  explicit communication_log(basic_mesh<Processor> const& m)
      : decorated_(m, [this](std::shared_ptr<communicator> inner) {
          return counter_ = std::make_shared<counting_communicator>(std::move(inner));
        }) {}

  std::vector<collective_record> const& records() const { return counter_->records(); }
  void clear() { counter_->clear(); }
  std::int64_t received_bytes() const {
    std::int64_t bytes = 0;
    for (auto const& r : records()) bytes += r.received_bytes;
    return bytes;
  }

 private:
  std::shared_ptr<counting_communicator> counter_;
  decorated_transport decorated_;
};

}  // namespace ashlar
