// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The state that the transports of a mesh and of its parts share on one rank: the stream of
// transfers, and the order in which transfers are given to the device (turns.hpp). The state also
// has the operations that have not ended, the watchdog and its record, and captures (graph.hpp).
//
//   transfers   on one stream, in program order over all groups of the mesh and of its parts
//   crossings   between parts, on a stream and a communicator of their own (crossing_lane.hpp), so
//               that neither transfers nor computations wait for them
//   host        gives both to the device in program order, which is one common order for all ranks.
//               NCCL demands this of operations of several communicators on one device.
//
// The watchdog (watchdog.hpp) detects faults and operations that do not end. The next call that
// waits throws the error.

#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <ashlar/comm/nccl/crossing_lane.hpp>
#include <ashlar/comm/nccl/groups.hpp>
#include <ashlar/comm/nccl/in_flight.hpp>
#include <ashlar/comm/nccl/turns.hpp>
#include <ashlar/comm/nccl/watchdog.hpp>
#include <ashlar/comm/watch/both_parts.hpp>
#include <ashlar/comm/watch/record_file.hpp>
#include <ashlar/comm/watch/watchdog.hpp>
#include <ashlar/device/cuda/arena.hpp>
#include <ashlar/device/cuda/graph.hpp>

namespace ashlar::nccl {

class device_queue {
 public:
  /// `w` must have as many ranks as `t`, the whole mesh. `operations` is the queue of the whole
  /// mesh. `compute` is the stream whose work writes and reads the arrays. All arguments passed by
  /// reference must outlive this object.
  device_queue(world const& w, topology const& t, operation_queue& operations,
               cuda::stream& compute, cuda::pool& pool)
      : world_(w), topology_(t), operations_(operations), compute_(compute), pool_(pool),
        own_(true), memory_(pool, own_), record_(t, true, 256),
        watchdog_(record_, watch(), w.watching) {}
  device_queue(device_queue const&) = delete;
  device_queue& operator=(device_queue const&) = delete;

  /// Called before communicators of the mesh are destroyed. Waits for the device. During stack
  /// unwinding, writes a flight record instead, at the first call.
  void end_work() {
    if (watchdog_.has_stopped()) return;
    if (std::uncaught_exceptions() == 0) synchronize();
    else if (!std::exchange(is_unwound_, true))
      explain("An exception left the scope of the mesh.", false);
  }

  world const& ranks() const { return world_; }
  cuda::stream& compute() { return compute_; }
  cuda::stream& transfers() { return own_; }
  /// Returns the scratch memory of transfers. Released blocks are reused in stream order.
  cuda::arena& memory() { return memory_; }
  watch::flight_record& record() { return record_; }
  /// Returns the number under which the record has the ranks of both parts together
  /// (comm/watch/both_parts.hpp).
  int both_parts(mesh_part const& a, mesh_part const& b) {
    return both_parts_.number(record_, a, b, world_.rank());
  }
  nccl::turns& turns() { return turns_; }
  operation_queue& operations() { return operations_; }

  /// Returns the lane of crossings. open_crossings() must have made it.
  crossing_lane& crossings() { return *crossings_; }
  /// Makes the lane of crossings, unless it exists. The first call is collective over the mesh.
  void open_crossings() {
    if (crossings_ != nullptr) return;
    auto made = std::make_unique<crossing_lane>(*world_.all, world_.rank(), pool_);
    std::lock_guard const lock(groups_mutex_);
    crossings_ = std::move(made);
  }

  /// Sets the watchdog of the mesh, which finds out why an operation does not end.
  void explain_by(std::weak_ptr<watch::watchdog> mesh) {
    std::lock_guard const lock(explainer_mutex_);
    explainer_ = std::move(mesh);
  }
  /// From now until forget() is called, the watchdog also asks these groups for faults, and aborts
  /// them after a fault.
  void watch_over(groups& g) {
    std::lock_guard const lock(groups_mutex_);
    groups_.push_back(&g);
  }
  void forget(groups& g) {
    std::lock_guard const lock(groups_mutex_);
    std::erase(groups_, &g);
  }

  /// Throws ashlar::error if the watchdog has stopped this rank because of a fault.
  void refuse_if_stopped() { watchdog_.refuse_if_stopped(); }
  bool has_stopped() const { return watchdog_.has_stopped(); }

  /// Advances pending transfers until the condition is true. Throws ashlar::error if the watchdog
  /// has stopped this rank, or if an exception dropped a transfer.
  template <class Condition>
  void wait_until(Condition const& ended) {
    while (!ended()) {
      watchdog_.refuse_if_stopped();
      operations_.refuse_if_abandoned();
      operations_.poll();
      std::this_thread::yield();
    }
  }
  /// Makes the host wait for all transfers and crossings that it has given to the device.
  void synchronize() {
    cudaStreamSynchronize(own_);
    if (crossings_ != nullptr) cudaStreamSynchronize(crossings_->stream());
  }

  /// Orders `stream` after all earlier work of the compute stream.
  void follow_compute(cuda::stream& stream) {
    compute_reached_.record(compute_);
    stream.wait(compute_reached_);
  }
  /// Returns the operations that the device has not ended. During a capture, returns the captured
  /// operations, which are kept apart since their events must not be queried.
  in_flight& flight() { return is_captured_ ? captured_flight_ : flight_; }
  /// Returns the number of an operation that begins now. Outside of a capture, begin_record()
  /// enters the operation in the record and returns the number.
  template <class Begin>
  std::uint64_t next_number(Begin const& begin_record) {
    return is_captured_ ? ++captured_ : begin_record();
  }

  bool is_captured() const { return is_captured_; }

  /// Begins a capture of the compute stream's work. end_capture ends the capture. Throws
  /// ashlar::error if transfers are pending.
  void begin_capture() {
    refuse_if_stopped();
    if (is_captured_)
      throw error("capture",
                  "captures cannot be nested. End the first capture before you begin another.");
    if (!operations_.idle() || !turns_.all_given())
      throw error("capture", "a redistribution is pending. Wait for it before the captured part.");
    is_captured_ = true;
    private_memory_ = memory_.begin_private();
  }
  /// Orders the compute stream after the captured transfers. Throws ashlar::error if the captured
  /// work started a transfer and never waited for it.
  void join_capture() {
    if (!operations_.idle())
      throw error("capture", "a redistribution is pending. Wait for it within the captured part.");
    if (captured_ == 0) return;
    captured_flight_.add(captured_ + 1, own_, &compute_);
  }
  /// The result of a capture: the number of captured operations, and the id of the scratch memory
  /// that their replays use.
  struct captured_part {
    std::int64_t operations = 0;
    int memory = 0;
  };
  captured_part end_capture() {
    is_captured_ = false;
    captured_flight_.forget();
    memory_.end_private();
    return {static_cast<std::int64_t>(std::exchange(captured_, 0)), private_memory_};
  }
  void forget_capture(captured_part const& part) { memory_.free_private(part.memory); }

  /// Starts a replay of a captured graph after all earlier transfers.
  void launch(cuda::graph& what) {
    refuse_if_stopped();
    wait_until([&] { return turns_.all_given(); });
    own_reached_.record(own_);
    compute_.wait(own_reached_);
    auto const number = record_.began("a replay of a graph");
    what.launch(compute_);
    flight_.add(number, compute_, nullptr);
  }

 private:
  watched watch() {
    return {[this, device = world_.device] {
              cudaSetDevice(device);  // selects the device for the watchdog's thread
              return flight_.last_ended();
            },
            [this] {
              std::string const text = flight_.fault();
              return text.empty() ? fault_of_groups() : text;
            },
            [this](std::string const& why, bool asks) { return explain(why, asks); },
            [this](std::string const& why) { abort_groups(why); },
            [this](std::string const& text) {
              std::fprintf(stderr, "[rank %d] nccl: %s\n", world_.rank(), text.c_str());
              std::fflush(stderr);
            },
            [this](std::string const& text) { world_.end_process(text.c_str()); }};
  }

  /// Writes a flight record. Returns `why` and the name of the file. If `asks_others`, the returned
  /// text also has the causes that the watchdog of the mesh found. It is empty if the rank should
  /// keep waiting.
  std::string explain(std::string const& why, bool asks_others) {
    std::shared_ptr<watch::watchdog> mesh;
    if (asks_others) {
      std::lock_guard const lock(explainer_mutex_);
      mesh = explainer_.lock();
    }
    auto const found = mesh ? mesh->explain(why) : std::optional<std::string>("");
    if (!found) return "";
    if (!found->empty()) return why + " " + *found;
    std::vector<watch::rank_report> reports(static_cast<std::size_t>(topology_.ranks()));
    for (std::size_t r = 0; r < reports.size(); ++r) {
      reports[r].rank = static_cast<int>(r);
      reports[r].silence = "it was not asked";
    }
    reports[static_cast<std::size_t>(world_.rank())] = record_.report(world_.rank(),
                                                                      record_.tick());
    auto const file = watch::write_flight_file(world_.watching.folder, world_.rank(),
                                               watch::flight_text(topology_, why, reports));
    return file.empty() ? why : why + " " + file;
  }

  /// Returns the first error of any communicator, or an empty string.
  std::string fault_of_groups() {
    std::lock_guard const lock(groups_mutex_);
    std::string found;
    for (auto* const g : groups_)
      if (found.empty()) found = g->fault();
    if (found.empty() && crossings_ != nullptr) found = crossings_->comm().fault();
    return found;
  }
  void abort_groups(std::string const& why) {
    std::lock_guard const lock(groups_mutex_);
    for (auto* const g : groups_) g->abort(why);
    if (crossings_ != nullptr) crossings_->comm().abort(why);
  }

  world world_;
  topology topology_;
  operation_queue& operations_;
  cuda::stream& compute_;
  cuda::pool& pool_;
  cuda::stream own_;
  cuda::arena memory_;
  std::unique_ptr<crossing_lane> crossings_;
  cuda::event compute_reached_, own_reached_;
  std::vector<groups*> groups_;  // the groups of the mesh and of its parts
  std::mutex groups_mutex_;      // also guards the pointer crossings_
  in_flight flight_;
  in_flight captured_flight_;
  std::uint64_t captured_ = 0;
  bool is_captured_ = false, is_unwound_ = false;
  int private_memory_ = 0;
  watch::flight_record record_;
  watch::both_parts both_parts_;
  std::mutex explainer_mutex_;
  std::weak_ptr<watch::watchdog> explainer_;
  nccl::turns turns_;
  watchdog watchdog_;  // last, because its thread uses the other members
};

}  // namespace ashlar::nccl
