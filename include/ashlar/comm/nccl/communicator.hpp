// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The transport on GPUs. NCCL carries transfers between arrays in device memory (issue.hpp), on a
// CUDA stream that is separate from the compute stream.
//
//   run       Orders the transfer after all earlier work of the compute stream and before all
//             later work. The host does not wait.
//   start     Orders the transfer after all earlier work of the compute stream. Later work overlaps
//             with it until join.
//   advance   Gives the device all transfers whose turn has come. Returns true when the device has
//             ended the transfer.
//   join      Orders later work of the compute stream after the transfer. The host does not wait.
//   barrier   The host waits for all ranks and for its own device.
//   captured  During a capture no transfer begins. Transfers are captured together with the compute
//             stream's work and run in each replay (graph.hpp).
//
// A rank gives transfers to the device in program order over all groups (turns.hpp), which is the
// same order on all ranks. The watchdog (watchdog.hpp) detects faults and transfers that do not
// end. The next call of a function of this class then throws the error.

#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include <ashlar/comm/communicator.hpp>
#include <ashlar/comm/nccl/groups.hpp>
#include <ashlar/comm/nccl/in_flight.hpp>
#include <ashlar/comm/nccl/library_calls.hpp>
#include <ashlar/comm/nccl/pending_transfer.hpp>
#include <ashlar/comm/nccl/settings.hpp>
#include <ashlar/comm/nccl/turns.hpp>
#include <ashlar/comm/nccl/watchdog.hpp>
#include <ashlar/comm/watch/record_file.hpp>
#include <ashlar/comm/watch/watchdog.hpp>
#include <ashlar/device/cuda/arena.hpp>
#include <ashlar/device/cuda/graph.hpp>
#include <ashlar/support/buffer.hpp>

namespace ashlar::nccl {

class communicator final : public ashlar::communicator {
 public:
  /// `w` must have as many ranks as `t`. `compute` is the stream whose work writes and reads the
  /// arrays. All arguments passed by reference must outlive this object.
  communicator(world const& w, topology const& t, operation_queue& operations,
               cuda::stream& compute, cuda::pool& pool, transfer_kernels const& kernels,
               sums how = sums_from_environment())
      : world_(w), topology_(t), operations_(operations), compute_(compute), kernels_(kernels),
        how_(how), own_(true), memory_(pool, own_), groups_(w, t), record_(t, true, 256),
        watchdog_(record_, watch(), w.watching) {}

  ~communicator() override {
    if (watchdog_.has_stopped()) return;
    if (std::uncaught_exceptions() == 0) cudaStreamSynchronize(own_);
    else explain("An exception left the scope of the mesh.", false);
  }

  watch::flight_record& record() { return record_; }
  /// Sets the watchdog of the mesh, which finds out why an operation does not end.
  void explain_by(std::weak_ptr<watch::watchdog> mesh) {
    std::lock_guard const lock(explainer_mutex_);
    explainer_ = std::move(mesh);
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

  void open(axis_list const& axes) override {
    turns_.announce(axes);
    if (topology_.group_size(axes) > 1) groups_.of(axes);
  }

  void run(transfer_request const& s) override {
    turns_.announce(s.what->axes, s.ticket);
    try {
      wait_until([&] { return turns_.is_next(s.what->axes, s.ticket); });
      give(s, &compute_);
    } catch (...) {
      operations_.abandon();
      throw;
    }
  }

  std::unique_ptr<pending_operation> start(transfer_request const& s) override {
    turns_.announce(s.what->axes, s.ticket);
    auto pending = std::make_unique<pending_transfer<communicator>>(*this, s);
    pending->advance();
    return pending;
  }

  bool is_captured() const override { return is_captured_; }

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

  void barrier() override {
    cuda::refuse_if_capturing(compute_, "barrier", "a barrier waits for other ranks' hosts.");
    wait_until([&] { return turns_.all_given(); });
    auto const meeting = flat_all_reduce(1, all_axes(topology_.axes()), topology_,
                                         topology_.coordinates_of(world_.rank()), reduction::max);
    buffer<std::int32_t> const word(memory_, 1);
    cuda::check(cudaMemsetAsync(word.data(), 0, sizeof(std::int32_t), own_), "cudaMemsetAsync");
    std::uint64_t const number = put({&meeting, element_type::i32, word.data(), word.data()},
                                     nullptr, "a barrier");
    wait_until([&] { return flight_.has_ended(number); });
    compute_.synchronize();
  }

 private:
  friend class pending_transfer<communicator>;

  /// Gives a transfer to the device. The turn of the transfer must have come. If `follower` is not
  /// null, orders later work of that stream after the transfer. Returns the number of the
  /// operation.
  std::uint64_t give(transfer_request const& s, cuda::stream* follower) {
    auto const number = put(s, follower);
    if (s.ticket == 0) return number;
    turns_.give();
    operations_.end(s.what->axes);
    return number;
  }

  /// `name` is the name of an operation that is no transfer of the program.
  std::uint64_t put(transfer_request const& s, cuda::stream* follower, char const* name = nullptr) {
    auto const& [x, type, source, target] = std::tie(*s.what, s.type, s.source, s.target);
    watchdog_.refuse_if_stopped();
    compute_reached_.record(compute_);
    own_.wait(compute_reached_);
    auto const number = is_captured_      ? ++captured_
                        : name != nullptr ? record_.began(name)
                                          : record_.began(s);
    if (communicates(x.kind)) {
      call_site where{world_.rank(), to_string(x.axes, topology_), to_string(x.kind)};
      auto& group = x.members > 1 ? groups_.of(x.axes) : *world_.all;
      library_calls calls(group, x.members, type, memory_, own_, kernels_, std::move(where));
      issue(x, type, source, target, how_, calls);
    } else {
      stay(x, type, static_cast<std::byte const*>(source), static_cast<std::byte*>(target));
    }
    (is_captured_ ? captured_flight_ : flight_).add(number, own_, follower);
    return number;
  }

  /// Carries out a local step (slice or zero_pad).
  void stay(transfer const& x, element_type type, std::byte const* source, std::byte* target) {
    if (x.pads) kernels_.fill(type, x.op, target, x.to.elements(), own_);
    for (auto const& block : x.receives)
      kernels_.copy(static_cast<int>(size_of(type)), block, source, target, own_);
  }

  watched watch() {
    return {[this, device = world_.device] {
              cudaSetDevice(device);  // selects the device for the watchdog's thread
              return flight_.last_ended();
            },
            [this] {
              std::string const text = flight_.fault();
              return text.empty() ? groups_.fault() : text;
            },
            [this](std::string const& why, bool asks) { return explain(why, asks); },
            [this](std::string const& why) { groups_.abort(why); },
            [this](std::string const& text) {
              std::fprintf(stderr, "[rank %d] nccl: %s\n", world_.rank(), text.c_str());
              std::fflush(stderr);
            },
            [this](std::string const& text) { world_.end_process(text.c_str()); }};
  }

  /// Writes a flight record. Returns `why`, the causes if `asks_others`, and the name of the file.
  /// Returns an empty string if the rank should wait on.
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

  world world_;
  topology topology_;
  operation_queue& operations_;
  cuda::stream& compute_;
  transfer_kernels kernels_;
  sums how_;
  cuda::stream own_;
  cuda::arena memory_;  // scratch memory of transfers; released blocks are reused in stream order
  cuda::event compute_reached_, own_reached_;
  groups groups_;
  in_flight flight_;
  in_flight captured_flight_;  // events of a capture, which must not be queried
  std::uint64_t captured_ = 0;
  bool is_captured_ = false;
  int private_memory_ = 0;
  watch::flight_record record_;
  std::mutex explainer_mutex_;
  std::weak_ptr<watch::watchdog> explainer_;
  turns turns_;
  watchdog watchdog_;  // last, because its thread uses the other members
};

}  // namespace ashlar::nccl
