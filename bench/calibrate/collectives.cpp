// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#include "collectives.hpp"

#include <ashlar/comm/mesh.hpp>

#include "../support/sizes.hpp"

namespace ashlar_bench {
namespace {

/// The buffers of the measured collectives: `slots` source buffers and `slots` target buffers. The
/// buffers are in the mesh's memory, as tensors are, so that other ranks of the node can read them.
/// Successive calls use successive buffers, so that no cache holds the buffers of the next call.
/// This order resembles a training step, which returns to a tensor only after it has used all the
/// others.
struct rotation {
  std::int64_t stride, slots;
  ashlar::buffer<float> source, target;
  mutable std::int64_t turn = 0;

  rotation(ashlar::mesh const& m, std::int64_t largest, std::int64_t elements)
      : stride((largest + 15) / 16 * 16), slots(std::max<std::int64_t>(1, elements / stride)),
        source(m.memory(), stride * slots), target(m.memory(), stride * slots) {
    std::fill_n(source.data(), stride * slots, 1.0f);
    std::fill_n(target.data(), stride * slots, 0.0f);
  }
  std::int64_t next() const { return turn++ % slots * stride; }
  float* last() const { return target.data() + (turn + slots - 1) % slots * stride; }
};

/// Runs one step of a redistribution, as a contestant of a measurement (support/trials.hpp). All
/// elements of the input are 1.
class step_run {
 public:
  step_run(ashlar::mesh const& m, measured_step const& s, rotation const& buffers)
      : mesh_(m), what_(make_transfer(s.step, s.extents, m.topology(), m.coordinate())),
        buffers_(&buffers) {}

  void run() const {
    auto const at = buffers_->next();
    mesh_.run(what_, ashlar::element_type_of<float>, buffers_->source.data() + at,
              buffers_->target.data() + at);
  }
  bool is_right() const {
    float const expected = what_.reduces() ? static_cast<float>(what_.members) : 1.0f;
    float* const result = buffers_->last();
    bool all = true;
    for (std::int64_t i = 0; i < what_.to.elements(); ++i) {
      all = all && result[i] == expected;
      result[i] = 0;
    }
    return all;
  }

 private:
  ashlar::mesh mesh_;
  ashlar::transfer what_;
  rotation const* buffers_;
};

std::int64_t largest_shard(ashlar::mesh const& m, std::vector<measured_step> const& steps) {
  std::int64_t most = 1;
  for (auto const& s : steps)
    for (auto const& p : {s.step.from, s.step.to})
      most = std::max(most, shards_of(s.extents, m.topology(), p).largest.elements());
  return most;
}

}  // namespace

double predicted_seconds(collective_sample const& s, ashlar::machine const& m) {
  return step_seconds(s.what.step, s.what.extents, int(sizeof(float)), s.of.mesh, m);
}

std::vector<collective_sample> measure_collectives(MPI_Comm world, std::vector<group> const& groups,
                                                   std::vector<std::int64_t> const& sizes,
                                                   std::int64_t cold, effort const& how) {
  std::vector<collective_sample> samples;
  for (auto const& g : groups) {
    ashlar::mesh const mesh(world, g.mesh);
    for (auto const bytes : sizes) {
      auto const steps = steps_on(g, bytes);
      rotation const buffers(mesh, largest_shard(mesh, steps), cold / std::int64_t(sizeof(float)));
      std::vector<contestant> all;
      for (auto const& s : steps) {
        step_run const one(mesh, s, buffers);
        all.push_back({to_string(s.step.kind), role::ours, [one] { one.run(); },
                       [one] { return one.is_right(); }});
      }
      check(world, all, std::to_string(g.members) + " ranks, " + size_text(bytes));
      auto const times = measure(world, all, how);
      for (std::size_t i = 0; i < steps.size(); ++i)
        samples.push_back({g, steps[i], sample_of(g, steps[i], times[i].median)});
    }
  }
  return samples;
}

}  // namespace ashlar_bench
