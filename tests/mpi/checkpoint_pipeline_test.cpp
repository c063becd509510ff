// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 2 4 6 8
// thorough: ASHLAR_CHECKPOINTS=all 4 6 8

// Tests that a checkpoint does not depend on pipeline stages. If the same pipeline resumes a
// training, all results are bitwise equal. Any other pipeline, or a single stage, on any number of
// ranks, must load the same bits of all parameters and optimizer moments.

#include <bit>
#include <cstring>
#include <map>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/nets.hpp>
#include <support/placed.hpp>
#include <support/plans.hpp>
#include <support/shared_folder.hpp>
#include <support/wants_all.hpp>

#include <ashlar/checkpoint/background_save.hpp>
#include <ashlar/checkpoint/training.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/search/price_pipeline.hpp>
#include <ashlar/step/pipeline/split_backward.hpp>
#include <ashlar/step/pipeline/text.hpp>

namespace ashlar_test {
namespace {

namespace checkpoint = ashlar::checkpoint;
namespace nn = ashlar::nn;
namespace pipelines = ashlar::pipelines;
namespace train = ashlar::train;

auto const staged_gpt = nn::chain(nn::embedding(7, 6), nn::repeat(3, nn::gpt_block(6, 3, 0.1)),
                                  nn::layer_norm(6), nn::linear(6, 7));
auto const staged_tied_gpt = nn::tied(nn::embedding(7, 6), nn::repeat(3, nn::gpt_block(6, 3, 0.1)),
                                      nn::layer_norm(6), nn::output_embedding(6, 7));
nn::token_batch const staged_batch{3, 4, 4};

using bits_of_arrays = std::map<std::string, std::vector<std::int64_t>>;

/// Returns the bits of all parameters and optimizer states, by name, on every rank. Communicates.
template <class Trainer>
bits_of_arrays all_bits(Trainer& t) {
  bits_of_arrays all;
  t.for_each_array(
      [&](std::string const& name, ashlar::element_type type, auto const& like, void* shard) {
        ashlar::any_tensor<ashlar::device::host::processor> copy(like.mesh(), like.extents(),
                                                                 like.placement(), type);
        std::memcpy(copy.data(), shard, static_cast<std::size_t>(copy.local_elements()) * 8);
        auto const values = ashlar::to_full<double>(copy);
        auto& bits = all[name];
        bits.resize(static_cast<std::size_t>(like.extents().elements()));
        if (like.mesh().rank() == 0)
          for (std::size_t i = 0; i < bits.size(); ++i)
            bits[i] = std::bit_cast<std::int64_t>(values[i]);
        t.model().mesh().all_reduce(std::span(bits));
      });
  return all;
}

/// How a training is placed: the number of ranks, the schedule of its stages, and whether the
/// stages have nearly equally many units. A unit is a layer or a whole residual block.
struct staging {
  int ranks;
  pipelines::schedule order;
  bool even = true;
};

std::vector<staging> all_stagings() {
  int const m = staged_batch.micro_batches;
  std::vector<staging> list;
  for (int const ranks : {1, 2, 4, 6, 8}) {
    if (ranks > world_size()) continue;
    list.push_back({ranks, pipelines::one_f_one_b(1, m)});
    for (int const positions : {2, 4}) {
      if (ranks % positions != 0) continue;
      list.push_back({ranks, pipelines::one_f_one_b(positions, m)});
      list.push_back({ranks, pipelines::one_f_one_b(positions, m), false});
      list.push_back({ranks, pipelines::zb_v(positions, m), positions == 2});
    }
  }
  return list;
}

/// Returns the limits of the stages. If the staging is even, the stages have nearly equally many
/// units. Otherwise every stage has one unit, except the last stage, which has all remaining units.
std::vector<int> limits_of(search::problem const& net, staging const& s) {
  auto const points = search::detail::cutting_points(net);
  auto const units = static_cast<int>(points.size()) - 1;
  std::vector<int> limits;
  for (int k = 0; k < s.order.stages(); ++k)
    limits.push_back(points[static_cast<std::size_t>(s.even ? k * units / s.order.stages() : k)]);
  limits.push_back(net.size());
  return limits;
}

/// Calls work(trainer, model) on the first s.ranks ranks. The model has the stages of `s` and
/// random placements. Every rank of the world calls this function.
template <class Work, class Net = decltype(staged_gpt)>
void train_staged(staging const& s, Work work, Net const& net = staged_gpt) {
  MPI_Comm own = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, world_rank() < s.ranks ? 0 : MPI_UNDEFINED, 0, &own);
  if (own != MPI_COMM_NULL) {
    {
      int const positions = s.order.positions, q = s.ranks / positions;
      ashlar::mesh const m(own, {{"stage", positions}, {"gpu", q}});
      auto const problem = any_length(nn::describe<double>(net, staged_batch));
      ashlar::topology const of_stage{{"stage", 1}, {"gpu", q}};
      std::mt19937 random(static_cast<unsigned>(s.ranks + 10 * s.order.stages()));
      auto const chosen = plan_source(problem, of_stage, m.machine()).random(random);
      auto const limits = limits_of(problem, s);
      auto plan = search::price_pipeline(problem, chosen, limits,
                                         std::vector<int>(limits.size() - 1), 0,
                                         staged_batch.micro_batches, m.machine());
      plan.order = s.order;
      auto model = nn::place<double>(net, m, plan, 1);
      train::trainer t(model, train::adam_w{});
      work(t, model);
    }
    MPI_Comm_free(&own);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

std::string describe(staging const& s) {
  return std::to_string(s.ranks) + " ranks, " + to_string(s.order) + (s.even ? "" : ", uneven");
}

/// Tests checkpoints of a net. A training is saved by one pipeline and loaded by other pipelines
/// and by single stages. If `few` is true, at most every second staging saves, and by default only
/// one other staging loads what it saved.
template <class Net>
void save_and_load(Net const& net, bool few = false) {
  auto const data = random_batch<std::int32_t>(staged_batch, 7, 7, 2);
  auto const list = all_stagings();
  // Testing all pairs of a writer and a reader takes long. So only stagings on one rank or on all
  // ranks write. By default, each writer also has only a few readers.
  bool const all = wants_all("ASHLAR_CHECKPOINTS");
  std::size_t const stride = all ? 1 : few ? list.size() : list.size() / 3;
  for (std::size_t w = 0; w < list.size(); w += few ? 2 : 1) {
    if (list[w].ranks != 1 && list[w].ranks != world_size()) continue;
    CAPTURE(describe(list[w]));
    shared_folder const f;
    bits_of_arrays saved, later;
    double loss = 0;
    train_staged(
        list[w],
        [&](auto& t, auto&) {
          t.step(data);
          t.step(data);
          checkpoint::save(f.path(), t);
          saved = all_bits(t);
          loss = t.step(data).loss;
          later = all_bits(t);
        },
        net);
    train_staged(
        list[w],
        [&](auto& t, auto&) {
          REQUIRE(checkpoint::resume(f.path(), t));
          CHECK(t.steps_done() == 2);
          CHECK(all_bits(t) == saved);
          CHECK(t.step(data).loss == loss);
          CHECK(all_bits(t) == later);
        },
        net);
    for (std::size_t away = few ? 2 : 1; away < list.size(); away += stride) {
      auto const& other = list[(w + away) % list.size()];
      CAPTURE(describe(other));
      train_staged(
          other,
          [&](auto& t, auto&) {
            REQUIRE(checkpoint::resume(f.path(), t));
            auto const loaded = all_bits(t);
            double const next = t.step(data).loss;
            if (world_rank() >= list[w].ranks) return;
            CHECK(loaded == saved);
            CHECK(near(next, loss, 1e-12));
          },
          net);
    }
  }
}

}  // namespace

TEST_CASE("saved from any pipeline, loaded by any other or by one stage, with the same bits") {
  save_and_load(staged_gpt);
}

TEST_CASE("a tied parameter is saved once, and loaded for both of its uses") {
  save_and_load(staged_tied_gpt, true);
}

TEST_CASE("a pipeline writes beside its training, and reads the parameters of other programs") {
  auto const data = random_batch<std::int32_t>(staged_batch, 7, 7, 2);
  staging const alone{1, pipelines::one_f_one_b(1, 4)}, staged{world_size(), pipelines::zb_v(2, 4)};
  shared_folder const f;
  bits_of_arrays saved;
  train_staged(staged, [&](auto& t, auto&) {
    checkpoint::background_save saves(f.path(), t.model().mesh());
    t.step(data);
    saves.save(t);
    saved = all_bits(t);
    t.step(data);
    saves.finish();
  });
  shared_folder const other;
  train_staged(alone, [&](auto& t, auto&) {
    REQUIRE(checkpoint::resume(f.path(), t));
    CHECK(all_bits(t) == saved);
    checkpoint::save(other.path(), t);
  });
  train_staged(staged, [&](auto& t, auto& model) {
    auto const same = [](std::string const& name) { return name; };
    auto const file = other.path() / "step-000000001.0" / "rank-0.safetensors";
    t.step(data);
    t.step(data);
    checkpoint::load_parameters({file}, model, same);
    for (auto const& [name, bits] : all_bits(t))
      CHECK((bits == saved[name]) == (name.find("moment/") == std::string::npos));
  });
}

TEST_CASE("each value is written once, and the ranks of a stage write nearly equal amounts") {
  using ashlar::placement;
  ashlar::topology const whole{{"stage", 2}, {"gpu", 4}};
  auto const parts = divided(whole, 0, 2);
  auto const copies = placement::all_broadcast(2), rows = copies.with(1, ashlar::split(0, 0));
  std::vector<checkpoint::stored_array> arrays;
  for (auto const& part : parts)
    for (int k = 0; k < 12; ++k) {
      auto const name = std::to_string(arrays.size());
      ashlar::shape const large{64, 1024}, small{40};
      arrays.push_back({name, ashlar::element_type::f64, k < 4 ? large : small,
                        k < 8 ? copies : rows, part, nullptr});
    }
  std::vector<std::int64_t> covered(arrays.size());
  std::vector<std::vector<checkpoint::written_piece>> files;
  for (int rank = 0; rank < whole.ranks(); ++rank) {
    files.push_back(checkpoint::layout_of_file(arrays, rank).pieces);
    std::int64_t bytes = 0;
    for (auto const& p : files.back()) {
      bytes += p.bytes;
      covered[p.array] += p.where.elements();
      CHECK(p.array / 12 == static_cast<std::size_t>(rank / 4));
      for (int before = 0; before < rank; ++before)
        for (auto const& other : files[static_cast<std::size_t>(before)])
          if (other.array == p.array) CHECK(intersect(other.where, p.where).elements() == 0);
    }
    // Bytes of a rank: a quarter of four large arrays, a quarter of four small arrays that are
    // split, and one whole small array. Each part has four such whole arrays, one for each of its
    // four ranks.
    CHECK(bytes == 4 * 64 * 1024 * 8 / 4 + 4 * 40 * 8 / 4 + 40 * 8);
  }
  for (std::size_t k = 0; k < arrays.size(); ++k) CHECK(covered[k] == arrays[k].extents.elements());
}

TEST_CASE("a part of a mesh keeps an array, and another part reads it") {
  shared_folder const f;
  int const n = world_size();
  ashlar::mesh const whole(MPI_COMM_WORLD, {{"gpu", n}});
  auto const halves = ashlar::divided(whole.topology(), 0, 2);
  auto const first = whole.part(halves[0].ranks, halves[0].axes),
             second = whole.part(halves[1].ranks, halves[1].axes);
  auto const rows = ashlar::placement::all_broadcast(1).with(0, ashlar::split(0, 0));
  std::vector<double> const values{1, 2, 3, 4, 5};
  auto const x = ashlar::from_full<1>(second, {5}, rows, std::span<double const>(values));
  ashlar::tensor<double, 1> y(first, {5}, rows), z(second, {5}, rows);
  auto const array = [](auto& t) {
    return std::vector{checkpoint::array_like("x", t, ashlar::element_type::f64, t.data())};
  };
  // All ranks call save, but only the ranks of `second`, a part of the mesh, write.
  checkpoint::save(
      f.path(), second,
      {checkpoint::array_like("x", x, ashlar::element_type::f64, const_cast<double*>(x.data()))},
      1);
  whole.barrier();
  checkpoint::load(f.path(), first, array(y), 1);
  checkpoint::load(f.path(), whole, array(z), 1);
  CHECK(ashlar::to_full(y) == (first.is_here() ? values : std::vector<double>{}));
  CHECK(ashlar::to_full(z) == (second.is_here() ? values : std::vector<double>{}));
}

TEST_CASE("an array on ranks outside of the mesh is refused") {
  ashlar::mesh const whole(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const first = whole.part({0}, {{"one", 1}});
  double value = 1;
  checkpoint::stored_array const a{
      "a",   ashlar::element_type::f64, {1}, ashlar::placement::all_broadcast(1), whole.as_part(),
      &value};
  auto const said = message_of([&] { checkpoint::save("nowhere", first, {a}, 1); });
  CHECK(
      has(said, "checkpoint: \"a\" lies on rank 1, which is not one of the mesh that was given."));
}

}  // namespace ashlar_test
