// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Shows a user-defined layer on one page: y = gain * x, with a learned gain per feature. The layer
// states how its tensors may be placed, and computes y and the gradients. ashlar provides
// redistribution, gradient synchronization and the search for placements.
//
//   mpirun -n 4 custom_layer

#include <algorithm>
#include <iostream>

#include <ashlar/nn.hpp>
#include <ashlar/search/explain.hpp>
#include <ashlar/search/optimal.hpp>
#include <ashlar/tensor.hpp>
#include <ashlar/train.hpp>

namespace nn = ashlar::nn;

class gain {
 public:
  using parameters = nn::ranks<1>;

  constexpr explicit gain(std::int64_t features) : features_(features) {}

  constexpr ashlar::search::layer_spec spec(ashlar::shape const& x) const {
    if (x.rank() < 2 || x[x.rank() - 1] != features_)
      throw ashlar::error("gain", "the input's last dim is not the layer's number of features.");
    using ashlar::broadcast, ashlar::partial, ashlar::split;
    ashlar::search::layer_spec s;
    s.name = "gain";
    s.x = s.y = x;
    s.parameters = {{"gain", {features_}, true}};  // true: backward reads it
    // Each row says how the layer's tensors are placed along one mesh axis:
    //               x         y         dy        dx        gain is used as | its gradient is
    int const last = x.rank() - 1;
    for (int d = 0; d < last; ++d)  // rows split: the gain is replicated, its gradients add up
      s.rows.push_back(
          {split(d, 0), split(d, 0), split(d, 0), split(d, 0), {broadcast()}, {partial()}});
    auto const f = split(last, 0);  // features split: the gain is split, too
    s.rows.push_back({f, f, f, f, {split(0, 0)}, {split(0, 0)}});
    s.rows.push_back(
        {broadcast(), broadcast(), broadcast(), broadcast(), {broadcast()}, {broadcast()}});
    s.forward_values = 2 * double(x.elements());
    s.backward_values = 3 * double(x.elements());
    s.saved_values = double(x.elements());
    return s;
  }
  static nn::initial_values initial(int) { return nn::all_equal(1); }

  // The passes compute on this rank's shards.
  template <class Call>
  auto forward(Call const& c) const {
    auto const g = c.template parameter<0>();
    auto y = c.make_y();
    std::int64_t const n = g.local_elements();
    for (std::int64_t i = 0; i < y.local_elements(); ++i)
      y.data()[i] = g.data()[i % n] * c.x().data()[i];
    return nn::made(y, c.x());  // the backward pass gets x as kept<0>()
  }
  template <class Call>
  auto backward(Call const& c) const {
    auto const g = c.template parameter<0>();
    auto* const dgain = c.template gradient<0>().data();
    auto const *x = c.template kept<0>().data(), *dy = c.dy().data();
    auto dx = c.make_dx();
    std::int64_t const n = g.local_elements();
    for (std::int64_t i = 0; i < dx.local_elements(); ++i) {
      dx.data()[i] = g.data()[i % n] * dy[i];
      dgain[i % n] += x[i] * dy[i];
    }
    return dx;
  }

 private:
  std::int64_t features_;
};

int main(int argc, char** argv) {
  ashlar::mpi::environment env(argc, argv);
  ashlar::mesh mesh(env.world(), {{"gpu", env.size()}});

  auto const net = nn::chain(nn::linear(64, 256), gain(256), nn::relu(), nn::linear(256, 10));
  auto const problem = nn::describe(net, nn::feature_batch{128, 64});
  auto const plan = ashlar::search::optimal(problem, mesh.topology(), mesh.machine());
  auto model = nn::place<float>(net, mesh, plan, 1);
  if (mesh.rank() == 0) std::cout << ashlar::search::explain(problem, plan, mesh.machine()) << '\n';
  ashlar::train::trainer trainer(model, ashlar::train::adam_w{.lr = 3e-3});

  // There are ten classes: the class of a row is the index of the largest of its first ten
  // features.
  ashlar::train::batch_data<float> batch;
  batch.inputs.resize(128 * 64);
  ashlar::device::host::fill_normal<float>(5, 0, 0, 128 * 64, 0.0f, 1.0f, batch.inputs.data());
  for (int row = 0; row < 128; ++row) {
    auto const* x = batch.inputs.data() + 64 * row;
    batch.targets.push_back(static_cast<std::int32_t>(std::max_element(x, x + 10) - x));
  }
  for (int step = 0; step < 100; ++step) {
    auto const report = trainer.step(batch);
    if (mesh.rank() == 0 && step % 20 == 0) std::cout << report << '\n';
  }
}
