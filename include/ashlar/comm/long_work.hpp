// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Says that this rank does work for which other ranks may have to wait for a long time, such as
// writing a file.
//
//   {
//     long_work const noted(mesh, "reads the data");
//     ...
//   }
//   mesh.barrier();
//
// While an object of this class exists on a rank, the watchdogs of the other ranks
// (watch/watchdog.hpp) wait ten times ASHLAR_TIMEOUT for this rank, and say "rank 2 reads the
// data".

#include <ashlar/comm/mesh.hpp>

namespace ashlar {

class long_work {
 public:
  /// `what` must be a literal that continues the sentence "rank 2 ...".
  template <class Processor>
  long_work(basic_mesh<Processor> const& m, char const* what) : record_(&m.record()) {
    before_ = record_->set_work(what);
  }
  long_work(long_work const&) = delete;
  long_work& operator=(long_work const&) = delete;
  ~long_work() { record_->set_work(before_); }

 private:
  watch::flight_record* record_;
  char const* before_;
};

}  // namespace ashlar
