// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4

// Tests batches that are read from token files. Every rank must get its part of the batch, and must
// read no other bytes. The test cuts the expected parts out of the whole file. A resumed training
// must equal an undisturbed one, bit for bit. Every rank must report what is wrong with a file.

#include <filesystem>
#include <fstream>
#include <set>

#include <doctest/doctest.h>
#include <support/local_part.hpp>
#include <support/message_of.hpp>
#include <support/nets.hpp>
#include <support/placed.hpp>
#include <support/plans.hpp>
#include <support/shared_folder.hpp>

#include <ashlar/checkpoint/training.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/train/loader.hpp>

namespace ashlar_test {
namespace {

namespace fs = std::filesystem;
namespace nn = ashlar::nn;
namespace train = ashlar::train;
namespace checkpoint = ashlar::checkpoint;
using train::token_format;

auto const reading_gpt = nn::chain(nn::embedding(60, 6), nn::repeat(1, nn::gpt_block(6, 3, 0.2)),
                                   nn::linear(6, 60));
constexpr nn::token_batch loader_batch{3, 4, 2};

/// A folder of token files that all ranks see.
class token_folder {
 public:
  /// Writes a file, and returns its path. Collective.
  fs::path write(std::string const& name, std::string const& bytes) const {
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank() == 0) std::ofstream(path() / name, std::ios::binary) << bytes;
    MPI_Barrier(MPI_COMM_WORLD);
    return path() / name;
  }
  fs::path const& path() const { return shared_.path(); }

 private:
  shared_folder shared_;
};

std::vector<int> some_tokens(int n) {
  std::mt19937 random(7);
  std::vector<int> tokens(static_cast<std::size_t>(n));
  for (auto& t : tokens) t = static_cast<int>(random() % 60);
  return tokens;
}
/// Returns the bytes of the numbers in little-endian order, `bytes` bytes for each number.
std::string little(std::vector<int> const& numbers, int bytes) {
  std::string text;
  for (int const n : numbers)
    for (int k = 0; k < bytes; ++k) text += static_cast<char>(std::int64_t{n} >> 8 * k & 0xff);
  return text;
}
std::string llm_c(std::vector<int> const& tokens, int number, int version, int count) {
  std::vector<int> header(256);
  header[0] = number, header[1] = version, header[2] = count;
  return little(header, 4) + little(tokens, 2);
}
std::string npy(std::string const& type, std::string const& shape, std::string const& data,
                bool is_column_major = false) {
  std::string head = "{'descr': '" + type +
                     "', 'fortran_order': " + (is_column_major ? "True" : "False") +
                     ", 'shape': " + shape + ", }\n";
  return std::string("\x93NUMPY\x01\0", 8) + little({static_cast<int>(head.size())}, 2) + head +
         data;
}

/// Returns the whole batch of a step, by the rule for the order of sequences in train/loader.hpp.
train::batch_data<> whole_batch(std::vector<int> const& tokens, std::uint64_t seed,
                                std::int64_t step) {
  auto const sequences = (static_cast<std::int64_t>(tokens.size()) - 1) / 4;
  train::batch_data<> made;
  for (std::int64_t g = 6 * step; g < 6 * step + 6; ++g) {
    auto const start = 4 * train::shuffled(seed, g / sequences, g % sequences, sequences);
    for (std::int64_t i = start; i < start + 4; ++i) {
      made.inputs.push_back(tokens[static_cast<std::size_t>(i)]);
      made.targets.push_back(tokens[static_cast<std::size_t>(i) + 1]);
    }
  }
  return made;
}

/// Returns how many tokens a rank with this part must read from the file for the two micro-batches
/// of a step. The target of a token is the next token of the file.
std::int64_t tokens_of_part(nn::batch_part const& p) {
  std::int64_t n = 0;
  for (std::int64_t row = 0; row < 3; ++row) {
    std::set<std::int64_t> columns;
    auto const add = [&](ashlar::box const& b, std::int64_t shift) {
      if (row < b[0].begin || row >= b[0].end()) return;
      for (auto c = b[1].begin; c < b[1].end(); ++c) columns.insert(c + shift);
    };
    add(p.input, 0);
    add(p.target, 1);
    n += static_cast<std::int64_t>(columns.size());
  }
  return 2 * n;
}

}  // namespace

static_assert(train::shuffled(1, 0, 0, 1) == 0);

TEST_CASE("every epoch has every sequence once, in an order of its own") {
  for (std::int64_t const n : {1, 2, 3, 16, 17, 100, 1000}) {
    std::vector<std::vector<std::int64_t>> orders;
    for (auto const& [seed, epoch] : {std::pair{1, 0}, {1, 1}, {2, 0}}) {
      std::vector<std::int64_t> order;
      for (std::int64_t i = 0; i < n; ++i)
        order.push_back(train::shuffled(static_cast<std::uint64_t>(seed), epoch, i, n));
      CHECK(std::set<std::int64_t>(order.begin(), order.end()).size() == std::size_t(n));
      CHECK(*std::min_element(order.begin(), order.end()) == 0);
      CHECK(*std::max_element(order.begin(), order.end()) == n - 1);
      orders.push_back(order);
    }
    if (n < 16) continue;
    CHECK(orders[0] != orders[1]);
    CHECK(orders[0] != orders[2]);
  }
}

TEST_CASE("every rank reads its part of the same batches, from every kind of file") {
  token_folder const folder;
  auto const tokens = some_tokens(61);  // 15 sequences, so an epoch may end within a batch
  std::vector<fs::path> const files{folder.write("nano.bin", little(tokens, 2)),
                                    folder.write("llm.bin", llm_c(tokens, 20240520, 1, 61)),
                                    folder.write("text.txt", little(tokens, 1)),
                                    folder.write("a.npy", npy("<u2", "(61,)", little(tokens, 2))),
                                    folder.write("b.npy", npy("<i4", "(61,)", little(tokens, 4))),
                                    folder.write("c.npy", npy("<u4", "(61,)", little(tokens, 4))),
                                    folder.write("d.npy", npy("<i8", "(61,)", little(tokens, 8))),
                                    folder.write("e.npy", npy("|u1", "(61,)", little(tokens, 1)))};
  int const sizes[]{2, 2, 1, 2, 4, 4, 8, 1};
  auto const problem = any_length(nn::describe<double>(reading_gpt, loader_batch));
  for (auto const& m : all_meshes()) {
    plan_source const plans(problem, m);
    std::mt19937 random(5);
    std::vector<search::plan> all{search::data_parallel(problem, m.topology(), m.machine()),
                                  plans.whole(), plans.random(random), plans.random(random)};
    for (std::size_t k = 0; k < all.size(); ++k) {
      auto model = nn::place<double>(reading_gpt, m, all[k], 1);
      train::trainer const trainer(model, train::adam_w{});
      for (std::size_t f = 0; f < files.size(); ++f) {
        CAPTURE(files[f]);
        train::loader data(trainer, files[f], {.seed = 9});
        CHECK(data.sequences() == 15);
        for (std::int64_t step = 0; step < 4; ++step) {
          auto const made = data.batch(step);
          auto const expected = local_part(trainer, whole_batch(tokens, 9, step));
          CHECK(made.fault == "");
          CHECK(made.inputs == expected.inputs);
          CHECK(made.targets == expected.targets);
        }
        CHECK(data.bytes_read() == 4 * tokens_of_part(trainer.part()) * sizes[f]);
        CHECK(data.position(4) == train::data_position{1, 9});
      }
      if (k == 0 && m.axes() == 1 && m.ranks() > 1)  // 4 inputs and one more target
        CHECK(tokens_of_part(trainer.part()) == 2 * 5 * trainer.part().input[0].size);
    }
  }
}

TEST_CASE("a resumed training reads on where it stopped, bit for bit") {
  token_folder const folder;
  auto const file = folder.write("nano.bin", little(some_tokens(61), 2));
  auto const problem = any_length(nn::describe<double>(reading_gpt, loader_batch));
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const plan = search::zero_3(problem, m.topology(), m.machine());
  auto a = nn::place<double>(reading_gpt, m, plan, 1),
       b = nn::place<double>(reading_gpt, m, plan, 1),
       c = nn::place<double>(reading_gpt, m, plan, 1);
  train::trainer undisturbed(a, train::adam_w{}), first(b, train::adam_w{});
  train::loader data(undisturbed, file, {.seed = 3}), own(first, file, {.seed = 3});
  for (int step = 0; step < 5; ++step) undisturbed.step(data.batch(step));
  for (int step = 0; step < 3; ++step) first.step(own.batch(step));
  checkpoint::save(folder.path() / "run", first, {.metadata = own.describe(first.steps_done())});

  train::trainer second(c, train::adam_w{});
  train::loader again(second, file, {.seed = 3});
  auto const resumed = checkpoint::resume(folder.path() / "run", second);
  REQUIRE(resumed);
  again.check(resumed->metadata);
  CHECK(resumed->metadata.at("ashlar data position") == "epoch 1, sequence 3");
  while (second.steps_done() < 5) second.step(again.batch(second.steps_done()));
  CHECK(values_of(c) == values_of(a));

  train::loader const other(second, file, {.seed = 4});
  CHECK(message_of([&] { other.check(resumed->metadata); }) ==
        "train::loader: the checkpoint is of 61 tokens in sequences of 4, seed 3, 6 sequences a "
        "step, but " +
            file.string() +
            " is read as 61 tokens in sequences of 4, seed 4, 6 sequences "
            "a step. A resumed training goes on with the same data, seed and batch.");
}

TEST_CASE("files that cannot be used are refused on every rank, by name") {
  token_folder const folder;
  auto const tokens = some_tokens(9);
  auto const problem = any_length(nn::describe<double>(reading_gpt, loader_batch));
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto model = nn::place<double>(reading_gpt, m,
                                 search::data_parallel(problem, m.topology(), m.machine()), 1);
  train::trainer trainer(model, train::adam_w{});
  auto const refused = [&](fs::path const& file, token_format format, std::string const& why) {
    CHECK(message_of([&] { train::loader(trainer, file, {.format = format}); }) ==
          "train::loader: on rank 0: " + file.string() + " cannot be used: " + why);
  };
  auto const by_name = token_format::by_name;
  refused(folder.path() / "none.bin", by_name, "No such file or directory.");
  refused(folder.path(), by_name, "it is no regular file.");
  refused(folder.write("e.bin", ""), by_name, "it is empty.");
  refused(folder.write("odd.bin", "abc"), by_name,
          "it has 3 bytes, which is no number of 2-byte tokens.");
  refused(folder.write("4.bin", little(some_tokens(4), 2)), by_name,
          "it has 4 tokens, but one sequence of 4 and the target of its last token need 5.");
  refused(folder.write("n.bin", llm_c(tokens, 20240801, 7, 9)), token_format::llm_c,
          "it begins with 20240801, but a file of llm.c with 2-byte tokens begins with 20240520.");
  refused(folder.write("v.bin", llm_c(tokens, 20240520, 7, 9)), by_name,
          "it has version 7 of llm.c's format, but only version 1 is known.");
  refused(folder.write("t.bin", llm_c(tokens, 20240520, 1, 10)), by_name,
          "its header says 10 tokens, but it has room for 9.");
  refused(folder.write("m.bin", llm_c(tokens, 20240520, 1, -1)), by_name,
          "its header says -1 tokens, but it has room for 9.");
  refused(folder.write("h.bin", little({20240520}, 4)), by_name,
          "it has 4 bytes, but the header of llm.c alone has 1024.");
  refused(folder.write("x.npy", "no array"), by_name,
          "it is not a .npy file of version 1, 2 or 3.");
  refused(folder.write("f.npy", npy("<f4", "(9,)", little(tokens, 4))), by_name,
          "its element type \"<f4\" is not one of |u1, <u2, <u4, <i4 and <i8. Convert the array in "
          "Python.");
  refused(folder.write("c.npy", npy("<u2", "(3, 3)", little(tokens, 2), true)), by_name,
          "its array is column-major. Save numpy.ascontiguousarray of it.");
  refused(folder.write("s.npy", npy("<u2", "(10,)", little(tokens, 2))), by_name,
          "its header says 10 tokens, but it has room for 9.");

  // A token id beyond the vocabulary makes the step fail on all ranks, also on ranks that have not
  // read this token.
  auto const big = folder.write("big.bin", little({1, 2, 3, 60, 5}, 2));
  train::loader data(trainer, big);
  auto const message = message_of([&] { trainer.step(data.batch(0)); });
  CHECK_MESSAGE(has(message, big.string() + " cannot be used: token 60 at position 3 is not in the "
                                            "vocabulary of 60."),
                message);
  CHECK(trainer.steps_done() == 0);
  for (auto const* type : {"<i4", "<i8"}) {
    auto const negative = folder.write("negative.npy",
                                       npy(type, "(5,)", little({1, 2, -7, 4, 5}, type[2] - '0')));
    train::loader below(trainer, negative);
    CHECK(has(message_of([&] { trainer.step(below.batch(0)); }),
              "token -7 at position 2 is not in the vocabulary of 60."));
  }
  auto const shrinks = folder.write("shrinks.bin", little(tokens, 2));
  train::loader gone(trainer, shrinks);
  folder.write("shrinks.bin", "");
  CHECK(has(message_of([&] { trainer.step(gone.batch(0)); }),
            "it has become shorter than when it was opened."));
}

TEST_CASE("the options of a loader may give a vocabulary, of at most 2^31 tokens") {
  token_folder const folder;
  auto const problem = any_length(nn::describe<double>(reading_gpt, loader_batch));
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto model = nn::place<double>(reading_gpt, m,
                                 search::data_parallel(problem, m.topology(), m.machine()), 1);
  train::trainer trainer(model, train::adam_w{});
  auto const file = folder.write("some.bin", little({1, 55, 3, 4, 5}, 2));
  train::loader whole(trainer, file), limited(trainer, file, {.vocabulary = 50});
  CHECK(whole.batch(0).fault == "");
  auto const message = message_of([&] { trainer.step(limited.batch(0)); });
  CHECK_MESSAGE(has(message, "token 55 at position 1 is not in the vocabulary of 50."), message);
  auto const most = std::int64_t{1} << 31;
  for (std::int64_t const size : {std::int64_t{-1}, most + 1})
    CHECK(message_of([&] { train::loader(trainer, file, {.vocabulary = size}); }) ==
          "train::loader: the vocabulary has " + std::to_string(size) +
              " tokens, but a token is a number from 0 to 2^31 - 1.");
  CHECK(train::loader(trainer, file, {.vocabulary = most}).batch(0).fault == "");
}

TEST_CASE("ranks whose files have different numbers of tokens are refused together") {
  if (world_size() == 1) return;
  token_folder const folder;
  auto const problem = any_length(nn::describe<double>(reading_gpt, loader_batch));
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto model = nn::place<double>(reading_gpt, m,
                                 search::data_parallel(problem, m.topology(), m.machine()), 1);
  train::trainer const trainer(model, train::adam_w{});
  auto const shorter = folder.write("9.bin", little(some_tokens(9), 2));
  auto const longer = folder.write("13.bin", little(some_tokens(13), 2));
  auto const own = world_rank() == 0 ? shorter : longer;
  CHECK(message_of([&] { train::loader(trainer, own); }) ==
        "train::loader: " + own.string() +
            " has 9 tokens on one rank and 13 on another. All ranks must see the same file.");
}

}  // namespace ashlar_test
