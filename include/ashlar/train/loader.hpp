// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Makes batches of token sequences from a file (token_layout.hpp). Each rank reads only the part of
// a batch that its placements need (nn/batch_part.hpp):
//
//   train::trainer trainer(model, train::adam_w{});
//   train::loader data(trainer, "train.bin", {.seed = 1});
//   while (trainer.steps_done() < 1000) trainer.step(data.batch(trainer.steps_done()));
//
// A file of n tokens contains (n - 1) / length sequences, rounded down, one after the other. The
// target of a token is the token after it. Every epoch uses each sequence once, in a random order
// of its own (sequence_order.hpp). Sequence i of the batch of step s has the global index g = s *
// (sequences per step) + i. It is number g % sequences of epoch g / sequences, where `sequences` is
// the number of sequences in the file. So the batch of a step depends only on the file, the seed
// and the number of the step. It is the same on every mesh, and to resume a training it suffices to
// know the number of steps done. A checkpoint stores the texts of describe(), by which check()
// later verifies that the data are the same:
//
//   checkpoint::save("run", trainer, {.metadata = data.describe(trainer.steps_done())});
//   if (auto const index = checkpoint::resume("run", trainer)) data.check(index->metadata);

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <ashlar/comm/throw_together.hpp>
#include <ashlar/nn/embedding.hpp>
#include <ashlar/train/local_batch.hpp>
#include <ashlar/train/sequence_order.hpp>
#include <ashlar/train/token_file.hpp>

namespace ashlar::train {

struct loader_options {
  std::uint64_t seed = 0;  ///< the seed of the random order of the sequences
  token_format format = token_format::by_name;
  /// The number of different tokens: a valid token is at least 0 and below this number. 0 means the
  /// number of classes of the net's loss.
  std::int64_t vocabulary = 0;
};

/// A position in the data: an epoch and a sequence of this epoch.
struct data_position {
  std::int64_t epoch = 0;
  std::int64_t sequence = 0;  ///< how many sequences of this epoch come before the position
  friend bool operator==(data_position const&, data_position const&) = default;
};

class loader {
 public:
  /// The key of the text by which describe() tells which data are used, and in which order.
  static constexpr char const* data_key = "ashlar data";
  /// The key of the text in which describe() tells the position in the data. Only people read this
  /// text; the library does not.
  static constexpr char const* position_key = "ashlar data position";

  /// Opens the file `path` for trainer `t`. The trainer's net must read tokens [batch, length] and
  /// have one target per token. All ranks must call this constructor. Throws ashlar::error on every
  /// rank if the net has other inputs or targets, or if a rank cannot read the file. Also throws if
  /// the file has fewer than length + 1 tokens, or not the same number of tokens on all ranks.
  /// Communicates: two reductions, of 8 and 16 bytes.
  template <class Trainer>
  loader(Trainer const& t, std::filesystem::path const& path, loader_options const& options = {})
      : seed_(options.seed), vocabulary_(options.vocabulary), part_(t.part()),
        micro_batches_(t.model().micro_batches()) {
    auto const& model = t.model();
    auto const& x = model.input_extents();
    if (x.rank() != 2 || !(x == model.target_extents()) || model.context_extents().rank() > 0)
      throw error("train::loader", "the net reads " + to_string(x) + " with targets " +
                                       to_string(model.target_extents()) +
                                       ", but must read tokens [batch, length] with one target a "
                                       "token.");
    batch_ = x[0];
    length_ = x[1];
    auto const& logits = model.problem().spec(model.problem().size() - 1).x;
    if (vocabulary_ == 0) vocabulary_ = logits[logits.rank() - 1];
    nn::check_vocabulary(vocabulary_, "train::loader");
    auto const& mesh = model.mesh();
    work_together(mesh, "train::loader", "reads a file", [&] {
      file_ = std::make_unique<token_file>(path, options.format);
      auto const tokens = file_->layout().tokens;
      if (tokens < length_ + 1)
        file_->refuse("it has " + std::to_string(tokens) + " tokens, but one sequence of " +
                      std::to_string(length_) + " and the target of its last token need " +
                      std::to_string(length_ + 1) + ".");
    });
    std::int64_t const tokens = file_->layout().tokens;
    std::int64_t bounds[]{tokens, -tokens};
    mesh.all_reduce(std::span<std::int64_t>(bounds), reduction::min);
    if (bounds[0] != -bounds[1])
      throw error("train::loader", path.string() + " has " + std::to_string(bounds[0]) +
                                       " tokens on one rank and " + std::to_string(-bounds[1]) +
                                       " on another. All ranks must see the same file.");
  }

  /// Returns this rank's part of the data of step number `step`, for trainer::step. If a token is
  /// not in the vocabulary, local_batch::fault says so, and trainer::step then throws on every
  /// rank. Communicates nothing.
  local_batch<> batch(std::int64_t step) {
    local_batch<> made;
    made.fault = fault_of([&] {
      for (int b = 0; b < micro_batches_; ++b) {
        each_row(part_.input, part_.target, [&](std::int64_t row, bool in_x, bool in_target) {
          add_row(place_of(step, b * batch_ + row), in_x, in_target, made);
        });
      }
    });
    return made;
  }

  /// Returns where a step begins in the data.
  data_position position(std::int64_t step) const {
    auto const first = step * sequences_of_step();
    return {first / sequences(), first % sequences()};
  }
  /// Returns the number of sequences of the file.
  std::int64_t sequences() const { return (file_->layout().tokens - 1) / length_; }
  /// Returns the bytes of tokens that this rank has read from the file.
  std::int64_t bytes_read() const { return bytes_read_; }

  /// Returns texts for the metadata of a checkpoint: what the data are, and where `step` begins.
  std::map<std::string, std::string> describe(std::int64_t step) const {
    auto const at = position(step);
    return {{data_key, order()},
            {position_key,
             "epoch " + std::to_string(at.epoch) + ", sequence " + std::to_string(at.sequence)}};
  }
  /// Throws ashlar::error if the metadata of a checkpoint, made by describe(), name other data or
  /// another order. Communicates nothing, because the metadata are the same on every rank.
  void check(std::map<std::string, std::string> const& metadata) const {
    auto const found = metadata.find(data_key);
    if (found != metadata.end() && found->second != order())
      throw error("train::loader", "the checkpoint is of " + found->second + ", but " +
                                       file_->path().string() + " is read as " + order() +
                                       ". A resumed training goes on with the same data, seed and "
                                       "batch.");
  }

 private:
  std::int64_t sequences_of_step() const { return batch_ * micro_batches_; }
  std::string order() const {
    return std::to_string(file_->layout().tokens) + " tokens in sequences of " +
           std::to_string(length_) + ", seed " + std::to_string(seed_) + ", " +
           std::to_string(sequences_of_step()) + " sequences a step";
  }
  /// Returns the position in the file, in tokens, of the first token of sequence number `in_batch`
  /// of the batch of step number `step`.
  std::int64_t place_of(std::int64_t step, std::int64_t in_batch) const {
    auto const g = step * sequences_of_step() + in_batch;
    return shuffled(seed_, g / sequences(), g % sequences(), sequences()) * length_;
  }

  /// Calls f(row, is in x, is in targets) for each row (a sequence of a micro-batch) of box `x` or
  /// of box `targets`.
  template <class F>
  static void each_row(box const& x, box const& targets, F f) {
    auto const is_in = [](box const& b, std::int64_t row) {
      return b.elements() > 0 && row >= b[0].begin && row < b[0].end();
    };
    std::int64_t const end = std::max(x[0].end(), targets[0].end());
    for (auto row = std::int64_t{0}; row < end; ++row)
      if (is_in(x, row) || is_in(targets, row)) f(row, is_in(x, row), is_in(targets, row));
  }
  /// Appends to `to` this rank's columns of the sequence that begins at token `start` of the file.
  /// Tokens that are both inputs and targets are read only once.
  void add_row(std::int64_t start, bool in_x, bool in_target, local_batch<>& to) {
    interval const x = in_x ? part_.input[1] : interval{0, 0};
    interval targets = in_target ? part_.target[1] : interval{0, 0};
    targets.begin += 1;
    bool const apart = !in_x || !in_target || targets.begin > x.end() || x.begin > targets.end();
    if (apart) {
      append(start, x, to.inputs);
      append(start, targets, to.targets);
      return;
    }
    interval read{std::min(x.begin, targets.begin), 0};
    read.size = std::max(x.end(), targets.end()) - read.begin;
    row_.clear();
    append(start, read, row_);
    auto const copy = [&](interval const& own, std::vector<std::int32_t>& out) {
      auto const first = row_.begin() + (own.begin - read.begin);
      out.insert(out.end(), first, first + own.size);
    };
    copy(x, to.inputs);
    copy(targets, to.targets);
  }
  void append(std::int64_t start, interval const& columns, std::vector<std::int32_t>& to) {
    if (columns.size == 0) return;
    auto const before = to.size();
    to.resize(before + static_cast<std::size_t>(columns.size));
    file_->read(start + columns.begin, std::span(to).subspan(before), vocabulary_);
    bytes_read_ += columns.size * file_->layout().bytes;
  }

  std::uint64_t seed_;
  std::int64_t vocabulary_, batch_ = 0, length_ = 0;
  nn::batch_part part_;
  int micro_batches_;
  std::unique_ptr<token_file> file_;
  std::vector<std::int32_t> row_;
  std::int64_t bytes_read_ = 0;
};

}  // namespace ashlar::train
