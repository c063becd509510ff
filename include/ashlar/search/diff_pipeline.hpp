// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Compares two plans with pipeline stages: how much more the second one costs, and where. The
// seconds of a step on the busiest part of the mesh, which holds one stage or several, are split
// into five categories:
//
//   work          computation for all micro-batches
//   collectives   moves of tensors within the stages for all micro-batches
//   sends         how much shorter the step would be if transfers between stages took no time.
//                 Only the whole step has this figure, because transfers run while stages compute
//   gradients     synchronization of gradients once per step
//   bubble        the rest of the time in which the busiest part waits for other parts
//
// If both plans cut the chain into stages at the same elements, the report lists the differences of
// each stage. Then it lists the differences of elements as in diff.hpp, without transfers between
// stages. Elements of different stages run at the same time, so their differences do not add up to
// the difference of the step.
//
// The two plans may have different meshes, stages and micro-batches, so each plan comes with its
// own description of the net. as_pipeline turns a plan without stages into a pipeline of one stage.

#include <tuple>

#include <ashlar/search/diff.hpp>
#include <ashlar/search/explain_pipeline.hpp>

namespace ashlar::search {

/// Returns a plan without stages as a pipeline of one stage.
template <int N>
pipeline_plan as_pipeline(basic_problem<N> const& net, basic_plan<N> const& whole,
                          machine const& m) {
  return price_pipeline(net, whole, {0, net.size()}, {whole.recomputed}, -1, net.micro_batches, m);
}

/// The seconds of a step, either for one stage or for a whole pipeline. `gradients` is the time to
/// synchronize gradients, `bubble` the time spent waiting for other stages.
struct pipeline_cost {
  double work = 0, collectives = 0, sends = 0, gradients = 0, bubble = 0;
  std::int64_t memory = 0;  ///< bytes per rank; for a pipeline, of its fullest part

  double seconds() const { return work + collectives + sends + gradients + bubble; }
};

struct pipeline_difference {
  pipeline_cost a, b;
  std::string layout_a, layout_b;  ///< such as "4 stages along node of node=4,gpu=2, 1F1B, ..."
  std::vector<pipeline_cost> stages_a, stages_b;  ///< per stage; sends and bubble are 0
  bool same_stages = false;                  ///< whether both cut the chain at the same elements
  std::vector<element_difference> elements;  ///< all elements, in order
  std::string recomputed_a, recomputed_b;    ///< recomputed_text of each pipeline
};

namespace detail {

inline pipeline_cost cost_of_stage(pipeline_plan const& p, pipeline_stage const& s) {
  double const m = p.micro_batches();
  return {m * s.work, m * (s.seconds - s.work), 0, s.synchronize, 0, s.memory};
}

inline pipeline_cost cost_of_pipeline(pipeline_plan const& p) {
  auto const order = schedule_of(p);
  pipeline_cost busiest;
  for (int part = 0; part < order.positions; ++part) {
    pipeline_cost sum;
    for (int c = 0; c < order.chunks; ++c) {
      auto const own = cost_of_stage(p,
                                     p.stages[static_cast<std::size_t>(order.stage_of(part, c))]);
      sum.work += own.work;
      sum.collectives += own.collectives;
      sum.gradients += own.gradients;
    }
    if (part == 0 || sum.seconds() > busiest.seconds()) busiest = sum;
  }
  busiest.sends = std::min(p.exposed, p.bubble);
  busiest.bubble = p.bubble - busiest.sends;
  busiest.memory = p.chosen.memory;
  return busiest;
}

/// Returns a text such as "4 stages along node of node=4,gpu=2, 1F1B, a step of 8 micro-batches".
inline std::string layout_text(pipeline_plan const& p) {
  topology const whole = whole_mesh(p);
  bool const is_one = p.stages.size() == 1;
  std::string const where = p.parts() == 1
                                ? " on one part of "
                                : " along " + std::string(whole.axis[p.axis].name.view()) + " of ";
  std::string const stages = is_one ? "one stage on "
                                    : std::to_string(p.stages.size()) + " stages" + where;
  return stages + to_string(whole) + (is_one ? "" : ", " + schedule_text(schedule_of(p))) +
         ", a step of " + std::to_string(p.micro_batches()) +
         (p.micro_batches() == 1 ? " micro-batch" : " micro-batches");
}

}  // namespace detail

/// Returns the cost of pipeline b minus the cost of pipeline a. Both are pipelines of the same net.
/// `net_a` describes the net for pipeline a, `net_b` for b. Throws ashlar::error if a pipeline does
/// not belong to its net, or if the nets differ.
template <int N>
pipeline_difference diff(basic_problem<N> const& net_a, pipeline_plan const& a,
                         basic_problem<N> const& net_b, pipeline_plan const& b, machine const& m) {
  using namespace detail;
  check_compared(net_a, a.chosen);
  check_compared(net_b, b.chosen);
  bool one_net = net_a.size() == net_b.size();
  for (int i = 0; one_net && i < net_a.size(); ++i)
    one_net = net_a.spec(i).name == net_b.spec(i).name && net_a[i].kind == net_b[i].kind;
  if (!one_net)
    throw error("search::diff",
                "the two pipelines are of different nets. Compare plans of one net.");
  pipeline_difference d{
      cost_of_pipeline(a),
      cost_of_pipeline(b),
      layout_text(a),
      layout_text(b),
      {},
      {},
      limits_of(a) == limits_of(b),
      differences(net_a, a.chosen, breakdown(net_a, a, m), b.chosen, breakdown(net_b, b, m)),
      recomputed_text(net_a, a, m),
      recomputed_text(net_b, b, m)};
  for (auto const& s : a.stages) d.stages_a.push_back(cost_of_stage(a, s));
  for (auto const& s : b.stages) d.stages_b.push_back(cost_of_stage(b, s));
  return d;
}

namespace detail {

/// Returns the cells of a table row: the costs b minus the costs a, either for one stage or for the
/// whole pipeline. Seconds that are negligible relative to `scale` seconds become "-".
inline std::vector<std::string> difference_cells(pipeline_cost const& a, pipeline_cost const& b,
                                                 double scale) {
  return {signed_seconds(b.work - a.work, scale),
          signed_seconds(b.collectives - a.collectives, scale),
          signed_seconds(b.sends - a.sends, scale),
          signed_seconds(b.gradients - a.gradients, scale),
          signed_seconds(b.bubble - a.bubble, scale),
          signed_seconds(b.seconds() - a.seconds(), scale),
          signed_bytes(b.memory - a.memory)};
}

/// Prints the differences of the stages, one row per group of consecutive stages with equal
/// differences. Expects equally many stages in both pipelines.
inline void print_stages(std::ostream& out, pipeline_difference const& d, double scale) {
  std::vector<std::vector<std::string>> rows;
  for (std::size_t s = 0; s < d.stages_a.size(); ++s)
    rows.push_back(difference_cells(d.stages_a[s], d.stages_b[s], scale));
  for (std::size_t s = 0, end = 0; s < rows.size(); s = end) {
    for (end = s + 1; end < rows.size() && rows[end] == rows[s];) ++end;
    print_row(out, range_text(static_cast<int>(s), static_cast<int>(end) - 1), 10, rows[s], 12);
  }
}

}  // namespace detail

/// Prints the seconds of both pipelines by category, and their differences. If both have the same
/// stages, prints the differences of each stage. Then prints the layers whose placements or costs
/// differ, largest difference first.
inline std::ostream& operator<<(std::ostream& out, pipeline_difference const& d) {
  using namespace detail;
  double const scale = d.a.seconds() + d.b.seconds();
  print_headline(out, d.a.seconds(), d.b.seconds(), d.b.memory - d.a.memory);
  for (auto const& [name, layout, recomputed] :
       {std::tuple{"a", d.layout_a, d.recomputed_a}, std::tuple{"b", d.layout_b, d.recomputed_b}})
    out << "  " << name << ": "
        << wrapped(recomputed.empty() ? std::vector{layout} : std::vector{layout, recomputed}, 5)
        << '\n';
  print_row(out, "", 10, {"work", "collectives", "sends", "gradients", "bubble", "total", "memory"},
            12);
  for (auto const& [name, c] : {std::pair{"a", &d.a}, std::pair{"b", &d.b}})
    print_row(out, name, 10,
              {seconds_or_dash(c->work), seconds_or_dash(c->collectives), seconds_or_dash(c->sends),
               seconds_or_dash(c->gradients), seconds_or_dash(c->bubble),
               seconds_text(c->seconds()), bytes_text(double(c->memory))},
              12);
  print_row(out, "b - a", 10, difference_cells(d.a, d.b, scale), 12);
  if (d.same_stages && d.stages_a.size() > 1) {
    out << "  stages, b - a\n";
    print_stages(out, d, scale);
  }
  print_elements(out, d.elements, scale);
  return out;
}

}  // namespace ashlar::search
