// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Computes two planned matrix products on many ranks, one of split operands and one of replicated
// operands. The values must be exact, and every rank must receive the number of bytes that the plan
// predicts. With a last argument "3d", at least one of the two plans must split all three extents
// of the product.
//
// run: a=4,b=4,c=4 workstation 96 120 112
// run: a=4,b=4,c=4 bandwidth 61 67 59 3d
// run: node=8,gpu=8 gpu_cluster 96 120 112
// run: a=3,b=5,c=7 workstation 105 105 210

#include <smpi/simulated.hpp>

namespace {

using namespace ashlar_test;

bool is_product(ashlar::tensor<float, 2> const& c, std::int64_t inner) {
  std::int64_t const columns = c.extents()[1];
  bool right = true;
  for_each_element(c, [&](std::int64_t global, std::int64_t i) {
    std::int64_t const row = global / columns, column = global % columns;
    std::int64_t sum = 0;
    for (std::int64_t k = 0; k < inner; ++k)
      sum += value_at(row * inner + k) * value_at(k * columns + column);
    right = right && c.data()[i] == static_cast<float>(sum);
  });
  return right;
}

/// Returns whether the mesh axes split the rows, the columns and the contracted extent of a
/// product. `c` is the placement of the local products before they are added up.
bool splits_all(ashlar::placement const& c) {
  return c.split_count(0) > 0 && c.split_count(1) > 0 && c.has_partial();
}

}  // namespace

int main(int argc, char** argv) {
  ashlar::mpi::environment env(argc, argv);
  arguments const given(argc, argv);
  auto const& t = given.topology;
  ashlar::mesh const m(env.world(), t, given.machine);
  std::int64_t const rows = given.number(0), inner = given.number(1), columns = given.number(2);
  verdict all;

  auto whole = ashlar::placement::all_broadcast(t.axes()), split = whole;
  for (int a = 0; a < t.axes(); ++a) split = split.with_split(a, a % 2);
  bool three_dimensional = false;
  for (auto const& placed : {split, whole}) {
    auto const x = numbered(m, {rows, inner}, placed), w = numbered(m, {inner, columns}, placed);
    auto const plan = plan_matmul(x, w, split);
    three_dimensional = three_dimensional || splits_all(plan.c.from);
    ashlar::communication_log const log(m);
    auto const c = matmul(x, w, split);
    std::string const text = to_string(placed, t) + " -> " + to_string(split) + " by " +
                             to_string(plan.a.to) + " " + to_string(plan.b.to) + " " +
                             to_string(plan.c.from);
    if (m.rank() == 0) std::printf("%s\n", text.c_str());
    all.check(is_product(c, inner), "values of " + text);
    std::int64_t bytes = 0;
    for (auto const* part : {&plan.a, &plan.b, &plan.c})
      bytes += part->received_bytes(t, m.coordinate());
    all.check(log.received_bytes() == bytes, "bytes of " + text);
  }
  if (given.rest.size() > 3)
    all.check(three_dimensional, "no plan splits rows, columns and the inner extent");
  return all.exit_code();
}
