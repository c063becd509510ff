// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Tests whether a layer's passes follow the rows of its signature table. Also tests whether the
// layer's backward pass computes the gradients of its forward pass:
//
//   nn::verify(my_layer(5), {4, 5});        in any program with an MPI environment, on one process
//   nn::verify(my_layer(5), {4, 5}, mesh);  the ranks of a mesh share the work
//
// nn::verify throws an error of one sentence that names the first wrong row, the tensor and the
// fault. The test has these steps, with small generated values:
//
//   1  the spec alone            The checks of nn::describe (step/check_rows.hpp), and whether the
//                                layer has the passes that its spec declares.
//   2  one process               Runs the passes without any split. Compares the gradients with
//                                five-point differences of the forward pass. If two passes make
//                                the same gradient, compares their results.
//   3  every row, one axis       On 2 and 3 ranks and, if 8 ranks suffice, on numbers of ranks that
//                                make splits uneven or leave a rank without elements. Runs the
//                                passes on each rank's shards, assembles the results according to
//                                the row (trial/values.hpp) and compares them with step 2.
//   4  pairs of rows, two axes   On 2x3 ranks: each row with itself and with the next one.
//
// All ranks are simulated in this process (comm/fake_rank.hpp), so nothing is communicated. Rows
// that split a dim along which a window slides are tried with the halos that a program would
// exchange. Meshes whose shards would cut blocks of channels are skipped (step::block_spec), and so
// are pairs of rows that give a tensor a placement that cannot exist. nn::verify is meant for tests
// and takes milliseconds to seconds. It runs on the host only.

#include <functional>

#include <ashlar/nn/trial/trial_layer.hpp>
#if ASHLAR_DEFINES(NN)
#include <ashlar/nn/trial/verification.hpp>
#endif

namespace ashlar::nn {

namespace detail {

template <class Layer>
constexpr void require_layer() {
  static_assert(blueprint<Layer>,
                "nn::verify: this is not a single layer, which has spec(shape) const. Verify the "
                "layers of a chain, repeat or residual one by one.");
}

/// Makes all trials of the layer that make_layer() returns. Throws the first error.
ASHLAR_INLINE void run_trials(std::function<trial_layer()> const& make_layer);
/// Divides the trials among the ranks of a mesh. Throws the first error on every rank. Collective
/// over the mesh.
ASHLAR_INLINE void run_trials(std::function<trial_layer()> const& make_layer, mesh const& m);

#if ASHLAR_DEFINES(NN)
ASHLAR_INLINE void run_trials(std::function<trial_layer()> const& make_layer) {
  auto const layer = make_layer();
  verification v(layer);
  v.one_process(0, 1);
  for (int i = 0; i < v.trials(); ++i) v.trial(i);
}

ASHLAR_INLINE void run_trials(std::function<trial_layer()> const& make_layer, mesh const& m) {
  int piece = 0;
  std::string mine;
  try {
    auto const layer = make_layer();
    verification v(layer);
    v.one_process(m.rank(), m.ranks());
    for (int i = m.rank(); i < v.trials(); i += m.ranks()) {
      piece = 1 + i;
      v.trial(i);
    }
  } catch (error const& e) {
    mine = e.what();
  } catch (std::exception const& e) {  // all ranks must get to throw_first
    mine = std::string("nn::verify: the layer throws: ") + e.what();
  }
  throw_first(m, piece, mine);
}
#endif

}  // namespace detail

/// Tries every signature row of a layer on an input of extents x, in elements of type T (double or
/// float). Small extents make splits uneven and keep the test fast. Communicates nothing. Throws
/// ashlar::error for the first row or pass that is wrong.
template <class T = double, class Layer, int XRank>
void verify(Layer const& layer, std::int64_t const (&x)[XRank],
            verify_options const& options = {}) {
  detail::require_layer<Layer>();
  detail::run_trials([&] {
    return detail::make_trial_layer<T, XRank>(layer, ashlar::detail::shape_of(x), options);
  });
}

/// Makes the same trials as the overload without a mesh, but divides them among the ranks of `m`.
/// If a trial finds a fault, throws its error on every rank. Communicates: one all-reduce of 8
/// bytes and, after a fault, two broadcasts.
template <class T = double, class Layer, int XRank>
void verify(Layer const& layer, std::int64_t const (&x)[XRank], mesh const& m,
            verify_options const& options = {}) {
  detail::require_layer<Layer>();
  detail::run_trials(
      [&] {
        return detail::make_trial_layer<T, XRank>(layer, ashlar::detail::shape_of(x), options);
      },
      m);
}

}  // namespace ashlar::nn
