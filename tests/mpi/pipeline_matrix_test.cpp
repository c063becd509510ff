// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 2 4
// thorough: ASHLAR_PIPELINES=all 1 2 3 4 5 6 7 8

// Tests that four nets train in pipeline stages as they train on one stage. The nets are a small
// GPT with and without tied embeddings, a VGG and a U-Transformer, all with dropout and with
// clipped gradients. The results are the losses and gradient norms of 20 steps, and the parameters
// after them. The results must have the same bits as on one stage that has the same placements and
// as many ranks as a stage of the pipeline. If a sum has other addends or another order
// (sums_as_one_stage), the results must agree within rounding. The results on one stage must equal
// those on one rank within rounding. The cases are all combinations of
//
//   parts        2 or 4 parts of the mesh, of equal size, with one or two stages on each part
//   cuts         even or random cuts of the net into stages
//   schedules    GPipe, 1F1B, eager, interleaved, ZB-H1, ZB-H2, ZB-V, DualPipeV, random warm-ups
//                without and with random delays of the gradients of parameters
//   backward     as in the schedule; or the opposite: split passes made whole, whole passes split
//   recompute    nothing, or a random number of segments of each stage
//
// The ZB schedules are made for equal costs of the stages if the cuts are even, and for random
// costs otherwise. The number of micro-batches is below, equal to or above the number of parts. By
// default only every 23rd case runs. With the environment variable ASHLAR_PIPELINES=each, each case
// runs. With ASHLAR_PIPELINES=all, each case runs on up to 4 ranks, and every fifth case on more
// ranks. Both values also add these cases:
//
//   one part     a single part of all ranks, with one stage, or with several stages under the
//                schedules that have several stages on each part
//   chunks       four stages on each of at most two parts, interleaved
//   DualPipeV    with all backward passes whole, although the schedule also has split ones

#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string_view>

#include <doctest/doctest.h>
#include <support/nets.hpp>
#include <support/placed.hpp>
#include <support/plans.hpp>
#include <support/staged_nets.hpp>
#include <support/wants_all.hpp>

#include <ashlar/nn/flatten.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/nn/u_transformer.hpp>
#include <ashlar/nn/vgg.hpp>
#include <ashlar/search/price_pipeline.hpp>
#include <ashlar/search/schedule_choice.hpp>
#include <ashlar/step/check.hpp>
#include <ashlar/step/pipeline/text.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;
namespace train = ashlar::train;
namespace pipelines = ashlar::pipelines;

constexpr double matrix_clip = 0.02;
constexpr int matrix_steps = 20;

template <class Net, class Batch, class Model>
std::vector<double> matrix_run(Net const& net, Batch const& batch, Model& model) {
  using input = std::conditional_t<Batch::holds_tokens, std::int32_t, double>;
  train::trainer trainer(model, train::adam_w{.lr = 0.01}, {.clip = matrix_clip});
  std::vector<double> all;
  for (unsigned step = 0; step < matrix_steps; ++step) {
    auto const report = trainer.step(data_for<input>(net, batch, 7, 5, step, 4));
    CHECK(report.gradient_norm > matrix_clip);
    all.push_back(report.loss);
    all.push_back(report.gradient_norm);
  }
  return all;
}

/// Returns a random plan for which a net in stages must give the same bits as in one stage
/// (sums_as_one_stage). The stages are even, on `parts` parts of a mesh, with one or two stages on
/// each part. If none of 10000 random plans is such a plan, returns the fully replicated plan.
inline search::plan plan_with_sums(search::problem const& net, plan_source const& plans, int parts,
                                   std::mt19937& random) {
  for (int draws = 0; draws < 10000; ++draws) {
    auto const plan = plans.random(random);
    if (sums_as_one_stage(net, plan, even_limits(net, parts), parts) &&
        sums_as_one_stage(net, plan, even_limits(net, 2 * parts), parts))
      return plan;
  }
  return plans.whole();
}

/// The training of a net on one stage, as a reference. `number` selects the plan:
///
///   0   the fully replicated plan, on one rank
///   1   a plan of plan_with_sums for `parts`
///   2   any random plan
template <class Net, class Batch>
struct matrix_reference {
  matrix_reference(Net const& net, Batch const& b, ashlar::mesh const& m, int number, int parts)
      : batch(b), problem(any_length(nn::describe<double>(net, batch))), chosen([&] {
          plan_source const plans(problem, m);
          std::mt19937 random(static_cast<unsigned>(10 * b.micro_batches + number));
          return number == 0   ? plans.whole()
                 : number == 1 ? plan_with_sums(problem, plans, parts, random)
                               : plans.random(random);
        }()),
        model(nn::place<double>(net, m, chosen, 5)), run(matrix_run(net, batch, model)),
        values(values_of(model)) {}

  Batch batch;
  search::problem problem;
  search::plan chosen;
  decltype(nn::place<double>(std::declval<Net const&>(), std::declval<ashlar::mesh const&>(),
                             std::declval<search::plan const&>(), 5)) model;
  std::vector<double> run;
  whole_parameters values;
};

/// Counts what the cases have done so far.
struct matrix_count {
  int cases = 0, same_bits = 0, recomputed = 0, references = 0;
  double largest_gap = 0;  ///< the largest difference between parameters in any case
};

/// One of the combinations that the top of this file lists.
struct matrix_case {
  std::string schedule;
  /// How backward passes run. 0: as in the schedule; 1: whole if the schedule splits them in two,
  /// else split; 2: all whole.
  int form = 0;
  bool uneven = false, recomputes = false;
  unsigned seed = 0;  ///< decides all that is random in this case, except the plan
};

/// Returns one in `one_in` of the cases for `positions` parts. If `all` is true, also chooses among
/// the cases that do not run by default.
inline std::vector<matrix_case> matrix_cases(int positions, unsigned one_in, bool all) {
  std::vector<matrix_case> list;
  unsigned number = 0;
  auto const add = [&](std::string const& name, int form, bool by_default) {
    for (bool const uneven : {false, true})
      for (bool const recomputes : {false, true}) {
        bool const is_drawn = (number + 5 * static_cast<unsigned>(positions)) % one_in == 0;
        if (is_drawn && (all || by_default))
          list.push_back({name, form, uneven, recomputes, number});
        ++number;
      }
  };
  for (auto const* const name : {"gpipe", "1f1b", "eager", "interleaved", "zb_h1", "zb_h2", "zb_v",
                                 "dual_pipe_v", "warm-ups", "delayed"})
    for (int form = 0; form < 2; ++form) add(name, form, true);
  add("dual_pipe_v", 2, false);
  if (positions <= 2)
    for (int form = 0; form < 2; ++form) add("interleaved:4", form, false);
  // On one part, a schedule with one stage per part has a single stage, which waits for no other
  // stage. So all these schedules are alike, and of their cases only those of 1F1B stay.
  if (positions == 1)
    std::erase_if(list, [](matrix_case const& c) {
      bool const has_chunks = c.schedule.starts_with("interleaved") || c.schedule == "zb_v" ||
                              c.schedule == "dual_pipe_v";
      return !has_chunks && (c.schedule != "1f1b" || c.form > 0);
    });
  return list;
}

/// Returns the schedule of a case. Returns nothing if the schedule does not permit these numbers of
/// positions and micro-batches.
std::optional<pipelines::schedule> matrix_schedule(matrix_case const& c, int positions, int m,
                                                   std::mt19937& random) {
  if (c.schedule == "warm-ups" || c.schedule == "delayed") {
    std::vector<int> depths;
    for (int j = 0; j < positions; ++j)
      depths.push_back(1 + static_cast<int>(random() % static_cast<unsigned>(m)));
    std::sort(depths.rbegin(), depths.rend());
    if (c.schedule == "warm-ups") return pipelines::with_warm_ups(depths, m);
    std::vector<int> delays;
    for (int j = 0; j < positions; ++j)
      delays.push_back(static_cast<int>(random() % static_cast<unsigned>(m + 1)));
    return pipelines::with_delayed_weights(depths, delays, m);
  }
  auto const kind = search::schedule_choices(c.schedule).front();
  // On one part, permits() refuses most schedules, but this test runs them, too.
  bool const exists = positions > 1 ? kind.permits(positions, m)
                                    : kind.kind != search::schedule_kind::dual_pipe_v || m > 1;
  if (!exists) return {};
  pipelines::pipeline_costs costs;
  auto const seconds = [&](int least) { return static_cast<double>(uniform(random, least, 4)); };
  for (int stage = 0; stage < positions * kind.chunks && c.uneven && kind.fits_costs(); ++stage)
    costs.push_back({seconds(1), seconds(1), seconds(1), seconds(0), seconds(0)});
  return search::make_schedule(kind, positions, m, costs, {});
}

template <class Net, class Batch>
class pipeline_matrix {
 public:
  pipeline_matrix(Net const& net, Batch const& batch) : net_(net), batch_(batch) {}

  void run() {
    for (int const positions : {1, 2, 4})
      if (world_size() % positions == 0 && (runs_all() || positions > 1)) run(positions);
    if (world_rank() == 0)
      MESSAGE(count_.cases, " pipelines, ", count_.same_bits, " with the bits of one stage, ",
              count_.recomputed, " with recomputation; ", count_.references,
              " trainings on one stage; largest difference of the others ", count_.largest_gap);
    CHECK(count_.cases > 0);
    if (runs_all()) CHECK(5 * count_.same_bits >= 2 * count_.cases);
  }

 private:
  using reference = matrix_reference<Net, Batch>;

  static std::string_view wanted() { return wanted_cases("ASHLAR_PIPELINES"); }
  static bool runs_all() { return wanted() == "all" || wanted() == "each"; }
  /// Returns n if one in n cases runs.
  static unsigned one_in() {
    if (!runs_all()) return 23;
    return wanted() == "all" && world_size() > 4 ? 5 : 1;
  }

  void run(int positions) {
    int const q = world_size() / positions;
    ashlar::topology one{{"stage", 1}, {"gpu", q}}, all{{"stage", positions}, {"gpu", q}};
    if (q >= 4 && q % 2 == 0) {
      one = {{"stage", 1}, {"data", 2}, {"gpu", q / 2}};
      all = {{"stage", positions}, {"data", 2}, {"gpu", q / 2}};
    }
    ashlar::mesh const whole(MPI_COMM_WORLD, all);
    MPI_Comm own = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, world_rank() / q, world_rank() % q, &own);
    {
      ashlar::mesh const stage(own, one), single(MPI_COMM_SELF, one_rank(one));
      std::map<std::pair<int, int>, std::unique_ptr<reference>> references;
      auto const found = [&](int m, int number) -> reference& {
        auto& known = references[{m, number}];
        if (known) return *known;
        auto batch = batch_;
        batch.micro_batches = m;
        known = std::make_unique<reference>(net_, batch, number == 0 ? single : stage, number,
                                            positions);
        ++count_.references;
        return *known;
      };
      for (auto const& c : matrix_cases(positions, one_in(), runs_all())) {
        CAPTURE(c.schedule);
        CAPTURE(c.form);
        std::mt19937 random(c.seed);
        auto const order = order_of(c, positions, random);
        auto& expected = found(order.micro_batches, c.uneven ? 2 : 1);
        compare(expected, found(order.micro_batches, 0));
        auto const limits = c.uneven ? random_limits(expected.problem, order.stages(), random)
                                     : even_limits(expected.problem, order.stages());
        std::vector<int> recomputed;
        for (std::size_t s = 0; s + 1 < limits.size(); ++s) {
          int const most = search::stage_of(expected.problem, limits[s], limits[s + 1], 1).segments;
          recomputed.push_back(!c.recomputes || most == 0
                                   ? 0
                                   : 1 + static_cast<int>(random() % static_cast<unsigned>(most)));
        }
        CHECK(c.recomputes == (std::accumulate(recomputed.begin(), recomputed.end(), 0) > 0));
        compare(whole, order, limits, recomputed, expected);
      }
    }
    MPI_Comm_free(&own);
  }

  /// Returns the order of a case, with one of the numbers of micro-batches that its schedule
  /// permits.
  static pipelines::schedule order_of(matrix_case const& c, int positions, std::mt19937& random) {
    std::vector<pipelines::schedule> orders;
    for (int const m :
         {std::max(1, positions - 1), positions, positions + 1, 2 * positions, 2 * positions + 1})
      if (auto const order = matrix_schedule(c, positions, m, random)) orders.push_back(*order);
    auto const number = static_cast<std::size_t>(c.form + 2 * c.uneven + 3 * c.recomputes);
    auto const& order = orders[number % orders.size()];
    if (c.form == 0) return order;
    return c.form == 2 || split_in_two(order) == order ? fused(order) : split_in_two(order);
  }

  static ashlar::topology one_rank(ashlar::topology t) {
    for (auto& a : t.axis) a.extent = 1;
    return t;
  }

  /// Compares the training on one stage with the training on one rank.
  void compare(reference const& staged, reference const& single) {
    for (std::size_t k = 0; k < single.run.size(); ++k)
      CHECK(near(staged.run[k], single.run[k], 1e-7));
    CHECK(difference(staged.values, single.values) < 1e-6);
  }

  /// Trains in stages, and compares the results with the training on one stage.
  void compare(ashlar::mesh const& whole, pipelines::schedule const& order,
               std::vector<int> const& limits, std::vector<int> const& recomputed,
               reference& expected) {
    CAPTURE(to_string(order));
    CAPTURE(describe(expected.problem, expected.chosen));
    std::string cuts;
    for (std::size_t s = 0; s + 1 < limits.size(); ++s)
      cuts += std::to_string(limits[s]) + " (" + std::to_string(recomputed[s]) + ") ";
    CAPTURE(cuts);
    auto const plan = search::price_pipeline(expected.problem, expected.chosen, limits, recomputed,
                                             0, order.micro_batches, whole.machine(), order);
    auto model = nn::place<double>(net_, whole, plan, 5);
    auto const fault = ashlar::search::check(model.program());
    INFO(to_string(fault, model.program()));
    REQUIRE(!fault.found());
    auto const found = matrix_run(net_, expected.batch, model);
    double const gap = gap_of_parameters(model, expected.model);
    bool const same_bits = sums_as_one_stage(expected.problem, expected.chosen, limits,
                                             order.positions);
    for (std::size_t k = 0; k < found.size(); ++k) {
      CAPTURE(k);  // even k: loss of step k / 2; odd k: gradient norm of that step
      if (same_bits) CHECK(found[k] == expected.run[k]);
      else CHECK(near(found[k], expected.run[k], 1e-8));
    }
    CHECK(gap <= (same_bits ? 0 : 1e-7));
    ++count_.cases;
    count_.same_bits += same_bits;
    count_.recomputed += std::any_of(recomputed.begin(), recomputed.end(),
                                     [](int n) { return n > 0; });
    count_.largest_gap = std::max(count_.largest_gap, gap);
  }

  Net net_;
  Batch batch_;
  matrix_count count_;
};

}  // namespace

TEST_CASE("a GPT under every schedule") {
  pipeline_matrix(nn::chain(nn::embedding(7, 6), nn::repeat(3, nn::gpt_block(6, 3, 0.2)),
                            nn::layer_norm(6), nn::linear(6, 7)),
                  nn::token_batch{3, 4})
      .run();
}

TEST_CASE("a GPT with tied embeddings under every schedule") {
  pipeline_matrix(nn::tied(nn::embedding(7, 6), nn::repeat(3, nn::gpt_block(6, 3, 0.2)),
                           nn::layer_norm(6), nn::output_embedding(6, 7)),
                  nn::token_batch{3, 4})
      .run();
}

TEST_CASE("a VGG under every schedule") {
  pipeline_matrix(nn::chain(nn::segment(nn::vgg_stage<2>(2, 3, true)), nn::dropout(0.2),
                            nn::segment(nn::vgg_stage<2>(3, 4, true)),
                            nn::linear<3, 1>({4, 2, 1}, {6}), nn::relu(), nn::dropout(0.2),
                            nn::linear(6, 5)),
                  nn::image_batch{3, 2, 9, 7})
      .run();
}

TEST_CASE("a U-Transformer under every schedule") {
  auto const u = nn::u_transformer(nn::u_transformer_options<2>{
      .channels = {4, 4}, .heads = 2, .groups = 2, .context = {2, 3}, .image_channels = 1});
  pipeline_matrix(nn::chain(nn::convolution(1, 1, 1), nn::dropout(0.2), u),
                  nn::image_batch{3, 1, 4, 2})
      .run();
}

}  // namespace ashlar_test
