// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 2 4 6

// Runs networks under a constexpr plan, and under the same plan as a run-time value. The results
// must be bitwise equal, also with recomputed segments. With the constexpr plan, every tensor must
// have its placement in its type. A probe layer between the other layers checks this.

#include <doctest/doctest.h>
#include <support/nets.hpp>
#include <support/placed.hpp>
#include <support/plans.hpp>
#include <support/probed.hpp>

#include <ashlar/comm/communication_log.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/nn/skip.hpp>
#include <ashlar/search/in_compiler.hpp>
#include <ashlar/search/optimal.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;
namespace train = ashlar::train;

/// An identity layer that checks its tensors at compile time. With a constexpr plan the tensors
/// must have static placements, and with a run-time plan they must not.
class probe {
 public:
  constexpr search::layer_spec spec(ashlar::shape const& x) const {
    search::layer_spec s;
    s.name = "probe";
    s.x = s.y = x;
    s.rows = ashlar::independent_training_rows(x.rank());
    return s;
  }
  template <class Call>
  auto forward(Call const& c) const {
    using type = std::remove_cvref_t<decltype(c.x())>;
    static_assert(type::is_static == ashlar::static_placement<decltype(c.at().x())>);
    return ashlar::redistribute(c.x(), c.at().y());
  }
  template <class Call>
  auto backward(Call const& c) const {
    using type = std::remove_cvref_t<decltype(c.dy())>;
    static_assert(type::is_static == ashlar::static_placement<decltype(c.at().dy())>);
    return ashlar::redistribute(c.dy(), c.at().dx());
  }
};

using probed_linear = probed<nn::linear<1, 1>>;

/// Returns a plan whose layers have unrelated placements, so that many tensors must be
/// redistributed.
template <int N>
constexpr search::basic_plan<N> scattered(search::basic_problem<N> const& net,
                                          ashlar::topology const& t, std::size_t seed) {
  search::basic_plan<N> plan;
  plan.mesh = t;
  for (int i = 0; i < net.size(); ++i) {
    if (net[i].kind == search::element_kind::residual_end) {
      plan.choices.push_back(search::layer_choice(plan[net[i].partner]));
      continue;
    }
    auto const all = search::layer_choices(net.spec(i), t, search::trivial_axes::all_rows);
    seed = (seed * 1103515245 + 12345) % 2147483648;
    plan.choices.push_back(all[seed / 65536 % all.size()]);
  }
  plan.micro_batches = net.micro_batches;
  plan.input = net.spec(0).x;
  plan.problem_hash = search::hash(net);
  return plan;
}

/// Returns the plan, changed to divide the updates of all replicated parameters along the last
/// axis.
template <int N>
constexpr search::basic_plan<N> updating_apart(search::basic_plan<N> plan) {
  auto const axes = plan.mesh.axes();
  for (auto& c : plan.choices)
    for (auto& p : c.parameters)
      if (p.store == ashlar::placement::all_broadcast(axes))
        p.set_update(p.store.with_split(axes - 1, 0));
  return plan;
}

/// A machine on which computation is expensive and communication is cheap, so that the best plans
/// split tensors.
constexpr ashlar::machine slow_ranks{{1e-9, 1e-12}, {1e-9, 1e-12}, 1e6, 1e6, 0};

constexpr auto features = nn::chain(probe(), probed_linear(6, 7), probe(), nn::gelu(),
                                    nn::residual(nn::linear(7, 7)), nn::dropout(0.1), probe(),
                                    nn::layer_norm(7), nn::linear(7, 5, false), probe());
constexpr nn::feature_batch feature_rows{5, 6, 2};
constexpr auto features_problem = nn::describe<double>(features, feature_rows);

constexpr auto tokens = nn::chain(nn::embedding(9, 4), probe(), nn::repeat<1>(nn::gpt_block(4, 2)),
                                  probed_linear(4, 9));
constexpr nn::token_batch token_rows{3, 4};
constexpr auto tokens_problem = nn::describe<double>(tokens, token_rows);

constexpr auto tied_tokens = nn::tied(nn::embedding(5, 4), probed_linear(4, 4), probe(),
                                      nn::output_embedding(4, 5));
constexpr auto tied_problem = nn::describe<double>(tied_tokens, token_rows);

constexpr ashlar::topology pair{{"gpu", 2}};
constexpr ashlar::topology square{{"node", 2}, {"gpu", 2}};
constexpr ashlar::topology oblong{{"node", 2}, {"gpu", 3}};

constexpr auto skips = nn::chain(probed_linear(6, 3),
                                 nn::skip(nn::chain(probe(), nn::linear(3, 4), nn::gelu())),
                                 probe(), nn::linear(7, 5));
constexpr auto skips_problem = nn::describe<double>(skips, feature_rows);

constexpr auto segments = nn::chain(
    nn::linear(6, 7), nn::repeat<2>(nn::chain(nn::dropout(0.3), probe(), nn::linear(7, 7))),
    nn::linear(7, 5));
constexpr auto segments_problem = nn::describe<double>(segments, feature_rows);
static_assert(segments_problem.segments == 2);

template <class Net, class Batch, auto const& Plan>
void compare(Net const& net, Batch const& batch, ashlar::machine const& machine,
             int vocabulary = 9) {
  if (Plan.mesh.ranks() != world_size()) return;
  using input = std::conditional_t<nn::takes_tokens<Net>(), std::int32_t, double>;
  ashlar::mesh const m(MPI_COMM_WORLD, Plan.mesh, machine);
  auto typed = nn::place<double>(net, m, nn::constant<Plan>, 3);
  auto run_time = nn::place<double>(net, m, Plan, 3);
  train::trainer a(typed, train::adam_w{.lr = 0.01}, {.overlap = train::overlap::none});
  train::trainer b(run_time, train::adam_w{.lr = 0.01}, {.overlap = train::overlap::none});
  for (unsigned step = 0; step < 3; ++step) {
    auto const data = random_batch<input>(batch, vocabulary, 5, step, 4);
    ashlar::communication_log log(m);
    probed_calls::reset();
    double const loss = a.step(data).loss;
    CHECK(probed_calls::typed > 0);
    CHECK(probed_calls::dynamic == 0);
    auto const records = log.records();
    log.clear();
    probed_calls::reset();
    CHECK(b.step(data).loss == loss);
    CHECK(probed_calls::typed == 0);
    CHECK(probed_calls::dynamic > 0);
    CHECK(log.records() == records);
  }
  CHECK(values_of(typed) == values_of(run_time));
}

constexpr auto searched_pair = search::optimal(features_problem, pair, slow_ranks);
constexpr auto searched_tied = search::optimal(tied_problem, pair, slow_ranks);
constexpr auto searched_square = search::optimal(features_problem, square, slow_ranks);
constexpr auto scattered_square = scattered(features_problem, square, 5);
constexpr auto scattered_oblong = updating_apart(scattered(features_problem, oblong, 8));
static_assert(search::updates_apart(scattered_oblong));
constexpr auto searched_skips = search::optimal(skips_problem, square, slow_ranks);
constexpr auto scattered_skips = scattered(skips_problem, oblong, 3);
constexpr auto tokens_square = scattered(tokens_problem, square, 2);

/// Returns the plan, changed to recompute `again` segments.
template <int N>
constexpr search::basic_plan<N> recomputing(search::basic_plan<N> plan, int again) {
  plan.recomputed = again;
  return plan;
}
constexpr auto one_again = recomputing(scattered(segments_problem, square, 3), 1);

/// Checks that a model with a constexpr plan that recomputes segments has the same loss and
/// gradients, bit for bit, as a model that has the same placements and recomputes nothing. The
/// recorded collectives of the first model must be those of its schedule.
template <auto const& Plan>
void compare_with_kept() {
  if (Plan.mesh.ranks() != world_size()) return;
  ashlar::mesh const m(MPI_COMM_WORLD, Plan.mesh, slow_ranks);
  auto typed = nn::place<double>(segments, m, nn::constant<Plan>, 3);
  auto kept = nn::place<double>(segments, m, recomputing(Plan, 0), 3);
  auto const data = random_batch<double>(feature_rows, 0, 5, 1, 4);
  ashlar::communication_log log(m);
  accumulate_step(typed, data, true);
  typed.synchronize();
  auto const records = log.records();
  search::plan plan;
  plan.mesh = Plan.mesh;
  plan.recomputed = Plan.recomputed;
  plan.choices.assign(Plan.choices.begin(), Plan.choices.end());
  auto const expected = expected_records(any_length(segments_problem), plan, m);
  // The comparison leaves out the last expected record, which is the trainer's all-reduce, because
  // no trainer runs here.
  CHECK(std::equal(records.begin(), records.end(), expected.begin(), expected.end() - 1));
  log.clear();
  accumulate_step(kept, data, true);
  kept.synchronize();
  CHECK(log.records().size() < records.size());
  CHECK(accumulate_step(typed, data) == accumulate_step(kept, data));
  CHECK(gradients_of(typed) == gradients_of(kept));
}

static_assert(!is_whole(searched_square[1]));

}  // namespace

TEST_CASE("plans found by the compiler") {
  compare<decltype(features), nn::feature_batch, searched_pair>(features, feature_rows, slow_ranks);
  compare<decltype(features), nn::feature_batch, searched_square>(features, feature_rows,
                                                                  slow_ranks);
}

TEST_CASE("plans in which every layer has other placements, one with updates apart from storage") {
  compare<decltype(features), nn::feature_batch, scattered_square>(features, feature_rows,
                                                                   slow_ranks);
  compare<decltype(features), nn::feature_batch, scattered_oblong>(features, feature_rows,
                                                                   bandwidth_bound);
}

TEST_CASE("a skip under a searched plan, and under one with unrelated placements") {
  compare<decltype(skips), nn::feature_batch, searched_skips>(skips, feature_rows, slow_ranks);
  compare<decltype(skips), nn::feature_batch, scattered_skips>(skips, feature_rows, slow_ranks);
}

TEST_CASE("a plan that recomputes one of two segments") { compare_with_kept<one_again>(); }

TEST_CASE("tied embeddings in a plan found by the compiler") {
  compare<decltype(tied_tokens), nn::token_batch, searched_tied>(tied_tokens, token_rows,
                                                                 slow_ranks, 5);
}

TEST_CASE("a GPT block") {
  compare<decltype(tokens), nn::token_batch, tokens_square>(tokens, token_rows, bandwidth_bound);
}

}  // namespace ashlar_test
