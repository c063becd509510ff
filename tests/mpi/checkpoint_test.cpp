// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4 6 8
// thorough: ASHLAR_CHECKPOINTS=all 4 6 8

// Tests checkpoints of a training. A resumed training must continue bit for bit under the same
// plan, and with equal values under every other plan and on every other number of ranks. A
// checkpoint is either complete or absent. A checkpoint that is damaged, or that is of another
// training, is refused on every rank. Arrays in files of other programs are read by their names.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include <doctest/doctest.h>
#include <support/all_values.hpp>
#include <support/message_of.hpp>
#include <support/nets.hpp>
#include <support/placed.hpp>
#include <support/plans.hpp>
#include <support/shared_folder.hpp>
#include <support/wants_all.hpp>

#include <ashlar/checkpoint/background_save.hpp>
#include <ashlar/checkpoint/training.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/search/baselines.hpp>

namespace ashlar_test {
namespace {

namespace checkpoint = ashlar::checkpoint;
namespace fs = std::filesystem;
namespace nn = ashlar::nn;
namespace train = ashlar::train;

auto const gpt = nn::chain(nn::embedding(7, 6), nn::repeat(2, nn::gpt_block(6, 3, 0.1)),
                           nn::layer_norm(6), nn::linear(6, 7));
nn::token_batch const batch{4, 4, 2};

/// Changes the third last byte of a file.
void damage(fs::path const& file) {
  std::fstream in_out(file, std::ios::in | std::ios::out | std::ios::binary);
  in_out.seekg(-3, std::ios::end);
  char const byte = static_cast<char>(in_out.get() ^ 1);
  in_out.seekp(-3, std::ios::end);
  in_out.put(byte);
}

/// A matrix of 3 columns that has one row on each rank.
struct row_on_each_rank {
  ashlar::mesh m{MPI_COMM_WORLD, {{"gpu", world_size()}}};
  ashlar::tensor<double, 2> x{
      m, {world_size(), 3}, ashlar::placement::all_broadcast(1).with(0, ashlar::split(0, 0))};

  std::vector<checkpoint::stored_array> arrays() {
    return {checkpoint::array_like("x", x, ashlar::element_type::f64, x.data())};
  }
  /// Sets all elements to `value`, and saves them as the checkpoint of step 1.
  void save(fs::path const& folder, double value) {
    std::fill_n(x.data(), x.local_elements(), value);
    checkpoint::save(folder, m, arrays(), 1);
  }
};

template <class Net, class Batch>
search::problem problem_of(Net const& net, Batch const& b) {
  return any_length(nn::describe<double>(net, b));
}

}  // namespace

TEST_CASE("names of parameters are unique and do not depend on the mesh or the plan") {
  std::vector<std::string> first;
  auto const problem = problem_of(gpt, batch);
  for (auto const& m : all_meshes()) {
    plan_source const plans(problem, m);
    std::mt19937 random(3);
    auto model = nn::place<double>(gpt, m, plans.random(random));
    std::vector<std::string> names;
    model.for_each_parameter([&](auto const& p) { names.push_back(p.path()); });
    if (first.empty()) first = names;
    CHECK(names == first);
  }
  CHECK(first[0] == "0.table");
  CHECK(first.back() == "3.bias");
  std::sort(first.begin(), first.end());
  CHECK(std::adjacent_find(first.begin(), first.end()) == first.end());
}

TEST_CASE("a resumed training continues bit for bit, and with equal values under another plan") {
  auto const data = random_batch<std::int32_t>(batch, 7, 7, 1);
  auto const problem = problem_of(gpt, batch);
  for (auto const& m : all_meshes()) {
    plan_source const plans(problem, m);
    std::mt19937 random(5);
    for (int turn = 0; turn < 2; ++turn) {
      shared_folder const f;
      auto const plan = plans.random(random), other = plans.random(random);
      auto model = nn::place<double>(gpt, m, plan, 1);
      train::trainer undisturbed(model, train::adam_w{});
      CHECK_FALSE(checkpoint::resume(f.path(), undisturbed));
      undisturbed.step(data);
      undisturbed.step(data);
      checkpoint::save(f.path(), undisturbed, {.metadata = {{"text", "ä \"quoted\""}}});
      auto const saved = all_values(undisturbed);
      auto const third = undisturbed.step(data);

      auto again = nn::place<double>(gpt, m, plan, 1);
      train::trainer resumed(again, train::adam_w{});
      auto const found = checkpoint::resume(f.path(), resumed);
      REQUIRE(found);
      CHECK(found->metadata.at("text") == "ä \"quoted\"");
      CHECK(resumed.steps_done() == 2);
      CHECK(all_values(resumed) == saved);
      CHECK(resumed.step(data).loss == third.loss);
      CHECK(all_values(resumed) == all_values(undisturbed));

      auto elsewhere = nn::place<double>(gpt, m, other, 1);
      train::trainer moved(elsewhere, train::adam_w{});
      REQUIRE(checkpoint::resume(f.path(), moved));
      CHECK(all_values(moved) == saved);
      CHECK(near(moved.step(data).loss, third.loss, 1e-12));
    }
  }
}

TEST_CASE("saved on one number of ranks under one plan, loaded on another number under another") {
  auto const data = random_batch<std::int32_t>(batch, 7, 7, 2);
  auto const problem = problem_of(gpt, batch);
  // By default, the test covers each pair of numbers of ranks. On four or more ranks, it also
  // covers each pair of plans. All combinations of both kinds of pairs would take too long.
  bool const all = wants_all("ASHLAR_CHECKPOINTS");
  using plan_of = search::plan (*)(search::problem const&, ashlar::topology const&,
                                   ashlar::machine const&);
  std::vector<plan_of> const plans{
      search::data_parallel<search::dynamic_size>, search::tensor_parallel<search::dynamic_size>,
      search::zero_3<search::dynamic_size>,
      [](auto const& net, auto const& t, auto const& m) { return search::optimal(net, t, m); }};
  // Calls work(trainer) on the first `ranks` ranks.
  auto const train_on = [&](int ranks, std::size_t plan, auto work) {
    MPI_Comm part;
    MPI_Comm_split(MPI_COMM_WORLD, world_rank() < ranks ? 0 : MPI_UNDEFINED, 0, &part);
    if (part != MPI_COMM_NULL) {
      {
        ashlar::mesh const m(part, topologies(ranks).back());
        auto model = nn::place<double>(gpt, m, plans[plan](problem, m.topology(), m.machine()), 1);
        train::trainer t(model, train::adam_w{});
        work(t);
      }
      MPI_Comm_free(&part);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  };
  std::vector<int> counts;
  for (int const n : {1, 2, 3, 4, 6, 8})
    if (n <= world_size()) counts.push_back(n);
  for (int const writers : counts)
    for (std::size_t written = 0; written < plans.size(); ++written) {
      shared_folder const f;
      std::map<std::string, std::vector<double>> saved;
      double loss = 0;
      train_on(writers, written, [&](auto& t) {
        t.step(data);
        checkpoint::save(f.path(), t, {.keep = 1});
        saved = all_values(t);
        loss = t.step(data).loss;
      });
      for (std::size_t k = 0; k < counts.size(); ++k)
        for (std::size_t read = 0; read < plans.size(); ++read) {
          if (!all && read != (written + k) % plans.size()) continue;
          CAPTURE(writers);
          CAPTURE(written);
          CAPTURE(counts[k]);
          CAPTURE(read);
          train_on(counts[k], read, [&](auto& t) {
            REQUIRE(checkpoint::resume(f.path(), t));
            auto const loaded = all_values(t);
            double const next = t.step(data).loss;
            if (world_rank() >= writers) return;
            CHECK(loaded == saved);
            CHECK(near(next, loss, 1e-12));
          });
        }
    }
}

TEST_CASE("the newest complete checkpoints are kept, and incomplete ones are ignored and removed") {
  shared_folder const f;
  auto const data = random_batch<std::int32_t>(batch, 7, 7, 1);
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const problem = problem_of(gpt, batch);
  auto model = nn::place<double>(gpt, m, plan_source(problem, m).whole(), 1);
  train::trainer t(model, train::sgd{.momentum = 0.9});
  for (int step = 1; step <= 4; ++step) {
    t.step(data);
    checkpoint::save(f.path(), t, {.keep = 2});
    checkpoint::save(f.path(), t, {.keep = 2});  // replaces the first save of the same step
  }
  m.barrier();
  CHECK(checkpoint::complete_steps(f.path()) == std::vector<std::int64_t>{3, 4});
  m.barrier();
  if (m.rank() == 0) {  // leaves files of a job that was killed while it saved, and foreign files
    fs::create_directory(f.path() / "step-000000005.0");
    std::ofstream(f.path() / "step-000000005.0" / "rank-0.safetensors") << "half";
    std::ofstream(f.path() / "step-000000005.json.tmp.17") << "half an index";
    std::ofstream(f.path() / "notes.txt") << "a stranger's file";
    fs::create_directory(f.path() / "step-000000001.bak");
    std::ofstream(f.path() / "step-000000001.json.orig") << "an old index";
  }
  m.barrier();
  CHECK(checkpoint::newest_step(f.path(), m) == 4);
  CHECK(checkpoint::resume(f.path(), t)->step == 4);
  t.step(data);
  checkpoint::save(f.path(), t, {.keep = 2});
  m.barrier();
  int entries = 0;
  for (auto const& entry : fs::directory_iterator(f.path())) entries += entry.exists();
  CHECK(entries == 2 * 2 + 3);
  m.barrier();
  // After a return to step 3, new checkpoints must not be mixed with those of later steps.
  t.continue_after(3);
  CHECK(has(message_of([&] { checkpoint::save(f.path(), t, {.keep = 2}); }),
            " has a checkpoint of step 5, which is later than step 3."));
  CHECK(checkpoint::complete_steps(f.path()) == std::vector<std::int64_t>{4, 5});
  m.barrier();
  if (m.rank() == 0) fs::copy(f.path() / "step-000000005.json", f.path() / "step-000000006.json");
  m.barrier();
  CHECK(has(message_of([&] { checkpoint::resume(f.path(), t); }),
            "is the index of step 5, and has been renamed or copied."));
}

TEST_CASE("arrays that cannot be kept together are refused") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  double value = 1;
  auto const whole = ashlar::placement::all_broadcast(1);
  auto const said = [&](std::vector<checkpoint::stored_array> const& arrays) {
    return message_of([&] { checkpoint::save("nowhere", m, arrays, 1); });
  };
  auto const f64 = ashlar::element_type::f64;
  CHECK(has(said({{"a", f64, {1}, whole, m.as_part(), &value},
                  {"a", f64, {1}, whole, m.as_part(), &value}}),
            "checkpoint: two arrays have the name \"a\"."));
  CHECK(has(said({{"a", f64, {1}, whole.with(0, ashlar::partial()), m.as_part(), &value}}),
            "\"a\" has shape 1 and placement [P]."));
  CHECK(has(said({{"a", f64, {}, whole, m.as_part(), &value}}), "\"a\" has shape scalar"));
  ashlar::shape routed{2, 4, 3};
  routed.chosen = 1;
  CHECK(has(said({{"a", f64, routed, whole, m.as_part(), &value}}),
            "\"a\" has shape 2x1/4x3 of routed rows, but files have no routes."));
  CHECK_FALSE(fs::exists("nowhere"));
  for (auto const type : {f64, ashlar::element_type::f32, ashlar::element_type::i32,
                          ashlar::element_type::i64, ashlar::element_type::bf16})
    CHECK(ashlar::io::detail::safetensors_element_size(checkpoint::safetensors_type(type)) ==
          size_of(type));
}

TEST_CASE("a checkpoint that is written beside the training has the values of its step") {
  shared_folder const f;
  auto const data = random_batch<std::int32_t>(batch, 7, 7, 1);
  auto const problem = problem_of(gpt, batch);
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto model = nn::place<double>(gpt, m, plan_source(problem, m).whole(), 1);
  train::trainer t(model, train::adam_w{});
  checkpoint::background_save saves(f.path(), m, {.keep = 2});
  saves.poll();
  saves.finish();
  std::map<std::int64_t, std::map<std::string, std::vector<double>>> saved;
  for (int step = 1; step <= 5; ++step) {
    t.step(data);
    saves.poll();
    saves.save(t);  // completes the previous save
    CHECK(saves.is_busy());
    saved[step] = all_values(t);
  }
  CHECK(has(message_of([&] { checkpoint::save(f.path() / ".", t); }),
            " is being written in the background. Call finish() of its background_save first."));
  m.barrier();
  CHECK(checkpoint::complete_steps(f.path()) == std::vector<std::int64_t>{3, 4});
  while (saves.is_busy()) saves.poll();
  m.barrier();
  CHECK(checkpoint::complete_steps(f.path()) == std::vector<std::int64_t>{4, 5});
  for (std::int64_t const step : {4, 5}) {
    checkpoint::load(f.path(), m, checkpoint::arrays_of(t), step);
    CHECK(all_values(t) == saved[step]);
  }
  m.barrier();
  if (m.rank() == 0) fs::remove_all(f.path());
  m.barrier();
  if (m.rank() == 0) std::ofstream(f.path()) << "no folder any more";
  m.barrier();
  CHECK(has(message_of([&] { saves.save(t); }), "checkpoint::save: on rank 0: "));
  CHECK_FALSE(saves.is_busy());
}

TEST_CASE("a background save keeps its folder when the process changes its working directory") {
  shared_folder const f;
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const problem = problem_of(gpt, batch);
  auto model = nn::place<double>(gpt, m, plan_source(problem, m).whole(), 1);
  train::trainer t(model, train::adam_w{});
  auto const before = fs::current_path();
  fs::current_path(f.path());
  checkpoint::background_save saves("run", m);
  fs::current_path(before);
  saves.save(t);
  saves.finish();
  CHECK(checkpoint::complete_steps(f.path() / "run") == std::vector<std::int64_t>{0});
}

TEST_CASE("a checkpoint that does not fit or is damaged is refused on every rank") {
  shared_folder const f;
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const net = [](int hidden) {
    return nn::chain(nn::linear(4, hidden), nn::gelu(), nn::linear(hidden, 5));
  };
  nn::feature_batch const rows{6, 4};
  auto const place = [&](auto const& n, auto type, std::uint64_t seed = 1) {
    using T = decltype(type);
    auto const problem = any_length(nn::describe<T>(n, rows));
    return nn::place<T>(n, m, plan_source(problem, m).whole(), seed);
  };
  auto model = place(net(6), double());
  train::trainer t(model, train::adam_w{});
  checkpoint::save(f.path(), t);

  auto wider = place(net(7), double());
  train::trainer of_wider(wider, train::adam_w{});
  CHECK(has(message_of([&] { checkpoint::resume(f.path(), of_wider); }),
            "checkpoint::load: on rank 0: \"0.weight\" has shape 4x6 in the checkpoint, but 4x7 in "
            "this net."));
  train::trainer other_optimizer(model, train::sgd{});
  CHECK(has(message_of([&] { checkpoint::resume(f.path(), other_optimizer); }),
            "the checkpoint has no \"velocity/0.weight\", which this net needs."));
  auto const shorter_net = nn::chain(nn::linear(4, 6), nn::gelu());
  auto shorter = place(shorter_net, double(), 3);
  train::trainer of_shorter(shorter, train::adam_w{});
  auto const shorter_before = all_values(of_shorter);
  CHECK(has(message_of([&] { checkpoint::resume(f.path(), of_shorter); }),
            " has 12 arrays, but this training has 6. It is of another net"));
  CHECK(all_values(of_shorter) == shorter_before);
  auto other_seed = place(net(6), double(), 2);
  train::trainer of_other_seed(other_seed, train::adam_w{});
  auto const other_before = all_values(of_other_seed);
  CHECK(has(message_of([&] { checkpoint::resume(f.path(), of_other_seed); }),
            " has a training with seed 1, but this one has seed 2."));
  CHECK(all_values(of_other_seed) == other_before);
  auto narrow = place(net(6), float());
  train::trainer of_float(narrow, train::adam_w{});
  CHECK(has(message_of([&] { checkpoint::resume(f.path(), of_float); }),
            "\"0.weight\" has type F64 in the checkpoint, but F32 in this net."));
  REQUIRE(checkpoint::resume(f.path(), of_float, {.converts = true}));
  for (auto const& [name, values] : all_values(of_float)) {
    auto const exact = all_values(t)[name];
    for (std::size_t i = 0; i < values.size(); ++i)
      CHECK(values[i] == static_cast<double>(static_cast<float>(exact[i])));
  }

  m.barrier();
  auto const file = f.path() / "step-000000000.0" / "rank-0.safetensors";
  if (m.rank() == 0) damage(file);
  m.barrier();
  CHECK(has(message_of([&] { checkpoint::resume(f.path(), t); }), "it is damaged"));
  m.barrier();
  if (m.rank() == 0) fs::resize_file(file, 100);
  m.barrier();
  CHECK(has(message_of([&] { checkpoint::resume(f.path(), t); }), "it is damaged"));
  CHECK(has(message_of([&] { checkpoint::resume(f.path(), t, {.verifies = false}); }),
            "it is shorter than its index or header says"));
  m.barrier();
  if (m.rank() == 0) fs::remove(file);
  m.barrier();
  CHECK(has(message_of([&] { checkpoint::resume(f.path(), t); }), "No such file or directory"));
  m.barrier();
  if (m.rank() == 0) std::ofstream(f.path() / "step-000000000.json") << "{}";
  m.barrier();
  CHECK(has(message_of([&] { checkpoint::resume(f.path(), t); }), "lacks an entry"));

  auto const no_folder = file / "inside_a_file";
  if (m.rank() == 0) std::ofstream(file) << "a file";
  m.barrier();
  CHECK(has(message_of([&] { checkpoint::save(no_folder, t); }),
            "checkpoint::save: on rank 0: " + no_folder.string() +
                " cannot be written: Not a directory."));
}

TEST_CASE("one rank that loads a checkpoint of several ranks checks the files of all of them") {
  shared_folder const f;
  row_on_each_rank of_all;
  of_all.save(f.path(), 1);
  of_all.m.barrier();
  if (world_rank() == 0) {
    auto const last = "rank-" + std::to_string(world_size() - 1) + ".safetensors";
    damage(f.path() / "step-000000001.0" / last);
    ashlar::mesh const alone(MPI_COMM_SELF, {{"gpu", 1}});
    ashlar::tensor<double, 2> y(alone, of_all.x.extents(), ashlar::placement::all_broadcast(1));
    auto const message = message_of([&] {
      checkpoint::load(f.path(), alone,
                       {checkpoint::array_like("x", y, ashlar::element_type::f64, y.data())}, 1);
    });
    CHECK_MESSAGE(has(message, last + " cannot be read: it is damaged"), message);
  }
  of_all.m.barrier();
}

TEST_CASE("ranks that load different checkpoints of one step are refused together") {
  if (world_size() == 1) return;
  shared_folder const f;
  row_on_each_rank of_all;
  of_all.save(f.path() / "one", 1);
  of_all.save(f.path() / "two", 2);
  auto const folder = f.path() / (world_rank() == 0 ? "one" : "two");
  CHECK(has(message_of([&] { checkpoint::load(folder, of_all.m, of_all.arrays(), 1); }),
            "checkpoint::load: the ranks read different indexes"));
}

TEST_CASE("a part of a file that is larger than the buffer for reading is read right") {
  shared_folder const f;
  if (world_rank() == 0) {
    // The buffer has 16 MiB, which are 2048 of these rows.
    ashlar::mesh const alone(MPI_COMM_SELF, {{"gpu", 1}});
    auto const everywhere = ashlar::placement::all_broadcast(1);
    ashlar::tensor<double, 2> x(alone, {2500, 1024}, everywhere);
    ashlar::tensor<double, 2> y(alone, {2500, 1024}, everywhere);
    auto const elements = x.local_elements();
    for (std::int64_t i = 0; i < elements; ++i) x.data()[i] = static_cast<double>(i);
    std::fill_n(y.data(), elements, -1.0);
    auto const f64 = ashlar::element_type::f64;
    checkpoint::save(f.path(), alone, {checkpoint::array_like("x", x, f64, x.data())}, 1);
    checkpoint::load(f.path(), alone, {checkpoint::array_like("x", y, f64, y.data())}, 1);
    CHECK(std::equal(x.data(), x.data() + elements, y.data()));
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST_CASE("arrays of safetensors files that Python made are read by their names") {
  // The output of safetensors.numpy.save, version 0.6: "a" is [1, 2] of int64, "b" is
  // [[0, 1, 2], [3, 4, 5]] of float32, "empty" is an array of shape 0 x 4.
  constexpr char text[] =
      "\xd8\0\0\0\0\0\0\0{\"__metadata__\":{\"made "
      "by\":\"python\"},\"a\":{\"dtype\":\"I64\",\"shape\":"
      "[2],\"data_offsets\":[0,16]},\"empty\":{\"dtype\":\"F64\",\"shape\":[0,4],\"data_offsets\":["
      "16,16]}"
      ",\"b\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[16,40]}}       "
      "\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\0\0\0\0\0\0\x80?\0\0\0@\0\0@@\0\0\x80@\0\0\xa0@";
  shared_folder const f;
  auto const file = f.path() / "python.safetensors";
  if (world_rank() == 0) std::ofstream(file, std::ios::binary).write(text, sizeof text - 1);
  MPI_Barrier(MPI_COMM_WORLD);
  for (auto const& m : all_meshes()) {
    auto const everywhere = ashlar::placement::all_broadcast(m.axes());
    for (int dim = 0; dim < 2; ++dim) {
      ashlar::tensor<double, 2> x(m, {2, 3}, everywhere.with(0, ashlar::split(dim, 0)));
      auto const into = [&](std::string const& name, ashlar::shape const& extents) {
        return std::vector<checkpoint::stored_array>{
            {name, ashlar::element_type::f64, extents, x.placement(), m.as_part(), x.data()}};
      };
      auto const load = [&](auto const& arrays, bool converts) {
        checkpoint::load_files({file}, m, arrays, [](auto const& name) { return name.substr(2); },
                               {.converts = converts});
      };
      load(into("x.b", {2, 3}), true);
      CHECK(ashlar::to_full(x) == std::vector<double>{0, 1, 2, 3, 4, 5});
      CHECK(has(message_of([&] {
                  load(into("x.b", {2, 3}), false);
                }),
                "Set load_options.converts"));
      CHECK(has(message_of([&] { load(into("x.c", {2, 3}), true); }), "has no \"c\""));
      auto sums = into("x.b", {2, 3});
      sums[0].placement = everywhere.with(0, ashlar::partial());
      CHECK(has(message_of([&] { load(sums, true); }), "no P: reduce it first."));
      CHECK(has(message_of([&] {
                  checkpoint::load_files({file}, m, sums, [](checkpoint::stored_array const& a) {
                    return std::vector{checkpoint::whole_view("b", a.extents)};
                  });
                }),
                "no P: reduce it first."));
      CHECK(has(message_of([&] {
                  load(into("x.b", {3, 2}), true);
                }),
                "shape 2x3 in the checkpoint"));
    }
  }
  auto const header = ashlar::io::read_safetensors_header(file.string());
  CHECK(header.metadata.at("made by") == "python");
  CHECK(header.find("empty")->extents == std::vector<std::int64_t>{0, 4});
  // A file may contain an array of an unknown type, but this array cannot be read.
  std::string other(text, sizeof text - 1);
  other.replace(other.find("I64"), 3, "F8X");
  MPI_Barrier(MPI_COMM_WORLD);
  if (world_rank() == 0) std::ofstream(file, std::ios::binary) << other;
  MPI_Barrier(MPI_COMM_WORLD);
  {
    auto const m = *all_meshes().begin();
    std::vector<float> values(6);
    auto const load = [&](char const* name, ashlar::shape const& extents) {
      std::vector<checkpoint::stored_array> const arrays{
          {name, ashlar::element_type::f32, extents, ashlar::placement::all_broadcast(m.axes()),
           m.as_part(), values.data()}};
      checkpoint::load_files({file}, m, arrays,
                             [](auto const& name_of_array) { return name_of_array; });
    };
    load("b", {2, 3});
    CHECK(values == std::vector<float>{0, 1, 2, 3, 4, 5});
    CHECK(has(message_of([&] { load("a", {2}); }), "\"a\" has type F8X in the checkpoint"));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (world_rank() == 0) fs::resize_file(file, 200);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(has(message_of([&] { ashlar::io::read_safetensors_header(file.string()); }),
            "its header does not fit into it"));
}

}  // namespace ashlar_test
