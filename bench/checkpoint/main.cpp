// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Measures checkpoints and, in turns with them, the raw disk:
//
//   save, resume   saves or resumes a training of a GPT with AdamW, whose checkpoint has about the
//                  given size on all ranks together
//   raw            on every rank, writes a file as large as the rank's file of the checkpoint, in
//                  blocks of 8 MiB, and calls fsync; or reads this file
//   step beside    runs a training step while a checkpoint is being written in the background, and
//                  compares it with a step without a checkpoint
//
//   mpirun -n 1 bench/checkpoint --size 1GB --folder /tmp/checkpoints
//
// Reads come from the page cache of the operating system, as far as the files fit into it.

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <unistd.h>

#include <ashlar/ashlar.hpp>
#include <ashlar/checkpoint/background_save.hpp>

#include "../support/trials.hpp"

namespace {

namespace fs = std::filesystem;
namespace nn = ashlar::nn;
using ashlar_bench::median_of, ashlar_bench::now;

constexpr std::size_t block = 8 << 20;

/// Writes `bytes` bytes to a new file and forces them to the disk.
void write_raw(fs::path const& path, std::int64_t bytes, std::vector<char> const& data) {
  fs::remove(path);
  int const file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  int fault = file < 0 ? errno : 0;
  for (; bytes > 0 && fault == 0; bytes -= static_cast<std::int64_t>(block))
    fault = ashlar::detail::write_all(file, data.data(),
                                      std::min(block, static_cast<std::size_t>(bytes)));
  if (file >= 0) fault = ashlar::detail::close_on_disk(file, fault);
  if (fault != 0) throw ashlar::error("bench/checkpoint", path.string() + " cannot be written.");
}

void read_raw(fs::path const& path, std::vector<char>& data) {
  int const file = ::open(path.c_str(), O_RDONLY);
  if (file < 0) throw ashlar::error("bench/checkpoint", path.string() + " cannot be read.");
  while (::read(file, data.data(), block) > 0) {
  }
  ::close(file);
}

}  // namespace

int main(int argc, char** argv) {
  ashlar::mpi::environment env(argc, argv);
  std::string folder = (fs::temp_directory_path() / "ashlar_bench_checkpoint").string();
  std::string size = "1GB";
  int rounds = 5;
  CLI::App app("Measures checkpoints beside the raw disk");
  app.add_option("--folder", folder, "where to write; the folder is removed at the end")
      ->capture_default_str();
  app.add_option("--size", size, "bytes of the checkpoint")->capture_default_str();
  app.add_option("--rounds", rounds, "turns of each measurement")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& e) {
    return env.rank() == 0 ? app.exit(e) : e.get_exit_code();
  }
  auto const bytes = ashlar::parse_bytes(size);
  if (!bytes) throw ashlar::error("--size", "\"" + size + "\" is not a size, such as 1GB.");

  ashlar::mesh const mesh(env.world(), {{"gpu", env.size()}});
  // A layer has about 12 d² parameters. Each has a value and two moments, all in float.
  constexpr int d = 512, heads = 8, context = 64, batch = 1;
  auto const layers = std::max(1, static_cast<int>(double(*bytes) / (12.0 * d * d * 3 * 4)));
  auto const net = nn::chain(nn::embedding(256, d), nn::repeat(layers, nn::gpt_block(d, heads)),
                             nn::layer_norm(d), nn::linear(d, 256));
  auto const problem = nn::describe(net, nn::token_batch{batch, context});
  auto const plan = ashlar::search::data_parallel(problem, mesh.topology(), mesh.machine());
  auto model = nn::place<float>(net, mesh, plan, 1);
  ashlar::train::trainer trainer(model, ashlar::train::adam_w{});
  ashlar::train::batch_data<> data;
  for (int i = 0; i < batch * context; ++i) {
    data.inputs.push_back(i * 7 % 256);
    data.targets.push_back(i * 11 % 256);
  }
  trainer.step(data);

  auto const arrays = ashlar::checkpoint::arrays_of(trainer);
  auto const mine = ashlar::checkpoint::layout_of_file(arrays, mesh.rank_of_whole());
  std::int64_t total = mine.bytes;
  mesh.all_reduce(std::span(&total, 1));
  auto const ours = fs::path(folder) / "ours";
  auto const raw = fs::path(folder) / ("raw-" + std::to_string(mesh.rank()));
  if (mesh.rank() == 0) fs::create_directories(folder);
  mesh.barrier();
  std::vector<char> buffer(block, 'x');
  auto const seconds_of = [&](auto work) {
    mesh.barrier();
    double const start = now();
    work();
    mesh.barrier();
    return now() - start;
  };

  std::vector<double> save, write, resume, read, alone, beside;
  ashlar::checkpoint::background_save saves(ours, mesh, {.keep = 1});
  for (int round = 0; round < rounds; ++round) {
    save.push_back(seconds_of([&] { ashlar::checkpoint::save(ours, trainer, {.keep = 1}); }));
    write.push_back(seconds_of([&] { write_raw(raw, mine.bytes, buffer); }));
    resume.push_back(seconds_of([&] { ashlar::checkpoint::resume(ours, trainer); }));
    read.push_back(seconds_of([&] { read_raw(raw, buffer); }));
    alone.push_back(seconds_of([&] { trainer.step(data); }));
    saves.save(trainer);
    while (saves.is_busy()) {
      double const step = seconds_of([&] { trainer.step(data); });
      saves.poll();
      if (saves.is_busy()) beside.push_back(step);
    }
    if (mesh.rank() == 0) std::fprintf(stderr, "round %d of %d\n", round + 1, rounds);
  }
  mesh.barrier();
  if (mesh.rank() == 0) {
    std::printf("%d ranks, %d layers, %s in files\n", mesh.ranks(), layers,
                ashlar::bytes_text(double(total)).c_str());
    auto const line = [&](char const* name, double ours_seconds, double raw_seconds) {
      std::printf("%-12s %8.2f GB/s   raw %8.2f GB/s   ratio %.2f\n", name,
                  1e-9 * double(total) / ours_seconds, 1e-9 * double(total) / raw_seconds,
                  raw_seconds / ours_seconds);
    };
    line("save", median_of(save), median_of(write));
    line("resume", median_of(resume), median_of(read));
    if (beside.empty()) std::printf("step beside: every save ended within one step\n");
    else
      std::printf("step beside a save: %.2f times as long as alone (%zu steps)\n",
                  median_of(beside) / median_of(alone), beside.size());
    fs::remove_all(folder);
  }
}
