// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests how a trainer handles gradients that are sent by wires (plan/wire.hpp):
//
// - the error of a step that is not finite names a wire only if the step has sent gradients with
//   it,
// - no step and no checkpoint follow a failed step if wires have averaged its gradients,
// - an optimizer gets the number of squares in its averages, also after a change of the plan,
// - these numbers are read from a checkpoint in every locale.

#include <span>
#include <string>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/spaced_digits.hpp>

#include <ashlar/search/baselines.hpp>
#include <ashlar/sync/encoded.hpp>
#include <ashlar/tensor/wire_errors.hpp>
#include <ashlar/train/sent_gradient.hpp>
#include <ashlar/train/step_faults.hpp>

#include "search_nets.hpp"

namespace ashlar_test {
namespace {

/// A matrix, the first parameter of element 0.
struct wired_matrix {
  char const* of_net;
  int element() const { return 0; }
  char const* name() const { return of_net; }
  std::string path() const { return "0.the matrix"; }
};

/// A model on one rank that has a plan, but no parameters.
struct model_of_faults {
  struct one_rank {
    int ranks() const { return 1; }
    int rank() const { return 0; }
    void all_reduce(std::span<std::int64_t>, ashlar::reduction) const {}
  };
  ashlar::search::plan chosen;
  ashlar::search::plan const& plan() const { return chosen; }
  one_rank mesh() const { return {}; }
  template <class F>
  void for_each_parameter(F const&) {}
};

/// A model that also has a matrix.
struct model_of_squares : model_of_faults {
  ashlar::search::problem net;
  ashlar::search::problem const& problem() const { return net; }
  wired_matrix matrix() const { return {net.spec(0).parameters[0].name.text}; }
  template <class F>
  void for_each_parameter(F const& f) {
    f(matrix());
  }
};

}  // namespace

TEST_CASE("a step without wires does not blame them for numbers that are not finite") {
  auto const net = block_net(2, {4, 6}, 8);
  auto const& machine = ashlar::machines::gpu_cluster;
  auto const plain = ashlar::search::data_parallel(net, ashlar::parse_topology("gpu=2"), machine);
  ashlar::sync::encoded const by{.wire = ashlar::wires::half, .plain_steps = 3};
  model_of_faults model{by(net, plain, machine)};
  auto const text_at = [&](std::int64_t step) {
    return message_of([&] { ashlar::train::detail::refuse_not_finite(model, step, 1.0, 2.0); });
  };
  CHECK(has(text_at(2), "at step 2 the loss is 1.0"));
  CHECK(!has(text_at(2), "Gradients are sent as"));
  CHECK(has(text_at(3), "Gradients are sent as half, whose largest number is 65504."));
}

TEST_CASE("a training whose wires send momentum does not go on after a failed step") {
  auto const net = block_net(2, {4, 6}, 8);
  auto const& machine = ashlar::machines::gpu_cluster;
  auto const plain = ashlar::search::data_parallel(net, ashlar::parse_topology("gpu=2"), machine);
  auto const one_bit = ashlar::wires::one_bit;
  for (auto const& wire :
       {ashlar::wires::with_momentum(one_bit), ashlar::wires::with_feedback(one_bit)}) {
    ashlar::sync::encoded const by{.wire = wire, .plain_steps = 3};
    model_of_faults model{by(net, plain, machine)};
    ashlar::train::sent_gradients sent;
    sent.begin(model, 2);  // a plain step, which fails and is repeated
    sent.begin(model, 2);
    sent.accept();
    sent.begin(model, 3);
    sent.accept();
    sent.begin(model, 4);
    CHECK(has(message_of([&] { sent.begin(model, 4); }),
              "trainer: an earlier step failed after wires with momentum had averaged") ==
          wire.momentum);
    CHECK(has(message_of([&] { sent.text(model); }), "an earlier step failed") == wire.momentum);
    sent.clear();
    sent.begin(model, 4);
    auto const text = message_of(
        [&] { ashlar::train::detail::refuse_not_finite(model, 4, 1.0, 2.0); });
    CHECK(has(text, "contain this step: resume from a checkpoint.") == wire.momentum);
  }
}

TEST_CASE("the errors of a wire are not those of a tensor of another size") {
  ashlar::wire_errors errors;
  errors.of_step(0, 300 * 9)[7] = 0.5f;
  CHECK(errors.of_step(0, 300 * 9)[7] == 0.5f);
  CHECK(errors.of_step(1, 5 * 9)[7] == 0);  // the next step of the plan may encode fewer elements
  CHECK(message_of([&] { errors.of_step(0, 5 * 9); }) ==
        "redistribute: the errors are of 2700 elements, but this rank encodes 45. Use one "
        "wire_errors for each tensor and its placements.");
}

TEST_CASE("averages of squares are corrected by the number of squares in them") {
  auto const net = block_net(2, {4, 6}, 8);
  auto const& machine = ashlar::machines::gpu_cluster;
  auto const plain = ashlar::search::data_parallel(net, ashlar::parse_topology("gpu=2"), machine);
  ashlar::sync::encoded const by{.wire = ashlar::wires::one_bit, .plain_steps = 3};
  model_of_squares exact{{plain}, net}, wired{{by(net, plain, machine)}, net};
  REQUIRE(wired.chosen[0].parameters[0].wire.distorts_squares());
  ashlar::train::sent_gradients sent;
  ashlar::train::update_scale scale;
  auto const updates = [&](model_of_squares const& model, int first, int last) {
    for (int n = first; n <= last; ++n) sent.note(model, model.matrix(), 0, n, n - 1, scale);
    return scale.squares;
  };
  CHECK(updates(wired, 1, 2) == 2);
  CHECK(!scale.keeps_squares);
  CHECK(sent.text(wired).empty());
  CHECK(updates(wired, 3, 10) == 3);
  CHECK(scale.keeps_squares);
  auto const frozen = sent.text(wired);
  CHECK(frozen == "3 0.the matrix\n");
  // Under an exact plan, gradients are squared again. A training that continues from the earlier
  // checkpoint has the number of squares of that checkpoint.
  CHECK(updates(exact, 11, 14) == 7);
  CHECK(!scale.keeps_squares);
  CHECK(sent.text(exact) == "7 0.the matrix\n");
  sent.continue_after(wired, frozen);
  CHECK(updates(wired, 11, 12) == 3);
  // Another training has squared the gradients of all ten steps, so the text of its checkpoint is
  // empty. From step 11 on, its wire sends one bit per element.
  sent.continue_after(wired, "");
  CHECK(updates(wired, 11, 12) == 10);
  CHECK(scale.keeps_squares);
}

TEST_CASE("numbers of squares are read in every locale, and a damaged text is refused") {
  auto const net = block_net(2, {4, 6}, 8);
  auto const plain = ashlar::search::data_parallel(net, ashlar::parse_topology("gpu=2"),
                                                   ashlar::machines::gpu_cluster);
  model_of_squares model{{plain}, net};
  ashlar::train::sent_gradients sent;
  {
    spaced_digits const locale;
    sent.continue_after(model, "1234 0.the matrix\n");
    CHECK(sent.text(model) == "1234 0.the matrix\n");
  }
  for (auto const* line : {"many 0.the matrix", "-1 0.the matrix", "12", "12 ", "120.the matrix",
                           " ", "99999999999999999999 0.the matrix"}) {
    CAPTURE(std::string(line));
    CHECK(message_of([&] { sent.continue_after(model, "7 0.the matrix\n" + std::string(line)); }) ==
          "trainer: the numbers of squares of a checkpoint have the line \"" + std::string(line) +
              "\", which is not a number, a space and the path of a parameter. Resume from another "
              "checkpoint.");
    CHECK(sent.text(model) == "1234 0.the matrix\n");
  }
}

}  // namespace ashlar_test
