// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Writes checkpoints in the background. save() copies the values and returns; a thread writes the
// copy while training goes on. At most one checkpoint is being written at a time. Meanwhile, other
// saves into the folder are refused.
//
//   checkpoint::background_save saves("run", mesh, {.keep = 3});
//   while (...) {
//     trainer.step(batch);
//     saves.poll();                                          // completes a checkpoint when it can
//     if (trainer.steps_done() % 100 == 0) saves.save(trainer);
//   }
//   saves.finish();
//
// A checkpoint is complete only after every rank has written its part. The ranks find this out in
// poll() and finish(), since the thread does not communicate. The copy takes as much memory as this
// rank's part of the checkpoint.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <ashlar/checkpoint/training.hpp>

namespace ashlar::checkpoint {

template <class Processor>
class background_save {
 public:
  /// Saves will go into `folder`. A relative path starts from the working directory that this
  /// process has now, even if the process later changes it.
  background_save(std::filesystem::path const& folder, basic_mesh<Processor> const& m,
                  save_options options = {})
      : folder_(absolute(folder)), mesh_(m), options_(std::move(options)) {}
  background_save(background_save const&) = delete;
  background_save& operator=(background_save const&) = delete;
  /// Waits for the thread. Does not complete the checkpoint that is being written: call finish()
  /// first.
  ~background_save() {
    if (job_ != nullptr && job_->thread.joinable()) job_->thread.join();
  }

  /// Calls finish() for the previous checkpoint, then begins to write a checkpoint of `t`.
  /// Every rank calls it, between steps. Throws ashlar::error on every rank if the previous
  /// checkpoint or the new folder cannot be written. Communicates what finish() does, then a
  /// reduction and a broadcast of 8 bytes.
  template <class Model, class Optimizer>
  void save(train::trainer<Model, Optimizer>& t) {
    finish();
    auto arrays = all_arrays_of(t);
    check_arrays(arrays, mesh_.as_part());
    auto job = std::make_unique<state>();
    job->step = t.steps_done();
    job->options = with_own_metadata(options_, t);
    job->attempt = detail::agree_on_attempt(folder_, job->step, mesh_);
    job->arrays = std::move(arrays);
    // If this rank fails here, for example for lack of memory, all ranks learn of it in finish().
    job_ = std::move(job);
    auto const fault = fault_of([&] { begin(*job_); });
    if (fault.empty()) return;
    job_->fault = fault;  // no thread was started
    job_->is_written = true;
  }

  /// Completes the checkpoint that is being written, if all ranks have written their parts. Every
  /// rank calls it. Does not wait for the values to be written; completing a checkpoint writes its
  /// index and removes old checkpoints on rank 0. Throws ashlar::error on every rank if any rank
  /// could not write. Communicates: nothing if no checkpoint is being written, else one reduction
  /// of 8 bytes, and three more when the checkpoint is completed.
  void poll() {
    if (job_ == nullptr) return;
    std::int64_t written = job_->is_written.load(std::memory_order_acquire) ? 1 : 0;
    mesh_.all_reduce(std::span(&written, 1), reduction::min);
    if (written == 1) finish();
  }

  /// Waits until the checkpoint that is being written is complete. Every rank calls it. Throws
  /// ashlar::error on every rank if any rank could not write. Communicates: three reductions if a
  /// checkpoint is being written.
  void finish() {
    if (job_ == nullptr) return;
    if (job_->thread.joinable()) {
      long_work const noted(mesh_, "writes a checkpoint");
      job_->thread.join();
    }
    auto const job = std::move(job_);
    detail::complete(folder_, mesh_, job->arrays, job->step, job->attempt, job->fault, job->hash,
                     job->options);
  }

  /// Returns whether a checkpoint is being written.
  bool is_busy() const { return job_ != nullptr; }

 private:
  struct state;

  /// Returns the absolute path of `folder`, or `folder` itself if the path cannot be found. An
  /// exception here would be thrown by this rank alone. Instead, writing to `folder` fails later,
  /// and then all ranks throw.
  static std::filesystem::path absolute(std::filesystem::path const& folder) {
    std::error_code failed;
    auto const path = std::filesystem::absolute(folder, failed);
    return failed ? folder : path;
  }

  /// Copies the values, and starts the thread that writes the copy.
  void begin(state& job) const {
    if (mesh_.rank() == 0) job.busy.emplace(folder_);
    job.layout = layout_of_file(job.arrays, mesh_.rank_of_whole());
    if (job.layout.pieces.empty()) {
      job.is_written = true;
      return;
    }
    job.copy.reserve(static_cast<std::size_t>(job.layout.bytes));
    detail::for_each_piece(job.layout, job.arrays, mesh_, [&](void const* data, std::size_t n) {
      auto const* const first = static_cast<std::byte const*>(data);
      job.copy.insert(job.copy.end(), first, first + n);
    });
    for (auto& a : job.arrays) a.shard = nullptr;  // the thread reads only the copy
    auto const path = detail::file_of_rank(folder_, job.attempt, mesh_.rank());
    job.thread = std::thread([&job, path] {
      job.fault = fault_of([&] {
        job.hash = detail::write_file(path, job.layout,
                                      [&](auto write) { write_copy(job.layout, job.copy, write); });
      });
      job.is_written.store(true, std::memory_order_release);
    });
  }

  struct state {
    std::int64_t step = 0;
    std::string attempt;
    std::optional<detail::busy_folder> busy;  // on rank 0
    save_options options;
    std::vector<stored_array> arrays;
    file_layout layout;
    std::vector<std::byte> copy;
    std::thread thread;
    std::atomic<bool> is_written = false;
    std::string fault;
    std::uint64_t hash = 0;
  };

  template <class Write>
  static void write_copy(file_layout const& layout, std::vector<std::byte> const& copy,
                         Write write) {
    auto const* next = copy.data();
    for (auto const& p : layout.pieces) {
      write(static_cast<void const*>(next), static_cast<std::size_t>(p.bytes));
      next += p.bytes;
    }
  }

  std::filesystem::path folder_;
  basic_mesh<Processor> mesh_;
  save_options options_;
  std::unique_ptr<state> job_;
};

}  // namespace ashlar::checkpoint
