// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A loss that is written as its formula:
//
//   constexpr auto huber = nn::formula_loss("huber", [](auto y, auto target) {
//     return sqrt(1 + pow(y - target, 2)) - 1;
//   });
//   nn::chain(nn::linear(8, 64), nn::gelu(), nn::linear(64, 2), huber)
//
// The function gets a symbol for the output of the net and one for its targets, which have the same
// extents. The loss is the mean over all elements of the symbol that the function returns. If the
// function works element by element, this symbol has one element for each element of the output. If
// the function reduces rows to numbers, as sum(.., -1) does, the symbol has one element for each
// row. The signature rows and the gradient of the loss follow from the operators, as in nn::formula
// (nn/formula.hpp).

#include <memory>

#include <ashlar/nn/formula.hpp>
#include <ashlar/nn/loss.hpp>

namespace ashlar::nn {

namespace detail {

/// The sum of all losses as a formula with its gradient.
struct summed_formula {
  formulas::differentiated_formula f;
  int losses = 0;  ///< the node that the function returned
  /// The number of targets for each element of node `losses`. The losses are multiplied by this
  /// number. A step divides the sum of its losses by the number of targets, so the result is the
  /// mean over the elements of `losses`.
  double per_element = 1;
};

/// Returns the nodes of a pass that computes the losses.
constexpr formulas::pass_nodes forward_nodes(summed_formula const& made) {
  formulas::pass_nodes pass;
  formulas::detail::need(made.f.g, made.losses, 0, pass);
  return pass;
}
/// Returns the nodes of a pass that computes the gradient with respect to the net's output.
constexpr formulas::pass_nodes backward_nodes(summed_formula const& made) {
  formulas::pass_nodes pass;
  formulas::detail::need(made.f.g, made.f.dx, 0, pass);
  return pass;
}

/// Returns whether no signature row splits the first dim of x.
constexpr bool couples_rows(training_table const& rows) {
  for (auto const& row : rows)
    if (row.x.is_split_of(0)) return false;
  return true;
}

constexpr step::layer_spec loss_spec_here(step::label const& name, shape const& x,
                                          summed_formula const& made) {
  auto const& f = made.f;
  step::layer_spec s;
  s.name = name;
  s.x = x;
  s.y = {};
  auto const rows = formulas::training_rows(f);
  for (auto const& row : rows.table)
    if (row.dy.is_broadcast()) s.rows.push_back(row);  // dy is one number, which every rank has
  s.couples_rows = rows.couples_rows && couples_rows(s.rows);
  auto const forward = forward_nodes(made), backward = backward_nodes(made);
  s.forward_values = formulas::work_of(f, forward).values;
  s.backward_values = formulas::work_of(f, backward).values;
  s.forward_flops = formulas::work_of(f, forward).flops;
  s.backward_flops = formulas::work_of(f, backward).flops;
  s.saved_values = 2 * static_cast<double>(x.elements());
  auto const all = [](int) { return true; };
  auto const alike = [](int, int) { return true; };
  double const in_forward = formulas::temporaries_of(f.g, forward, {}, {}, all, alike) +
                            static_cast<double>(f.g[made.losses].extents.elements());
  double const in_backward = formulas::temporaries_of(f.g, backward, {}, {}, all, alike) +
                             static_cast<double>(x.elements());
  s.temporary_values = in_forward > in_backward ? in_forward : in_backward;
  return s;
}

ASHLAR_INLINE step::layer_spec loss_spec_at_run_time(step::label const& name, shape const& x,
                                                     summed_formula const& made);
#if ASHLAR_DEFINES(NN)
ASHLAR_INLINE step::layer_spec loss_spec_at_run_time(step::label const& name, shape const& x,
                                                     summed_formula const& made) {
  return loss_spec_here(name, x, made);
}
#endif

/// Returns the spec of a loss with a given formula, for a net whose output has extents `x`.
constexpr step::layer_spec loss_spec(step::label const& name, shape const& x,
                                     summed_formula const& made) {
  ASHLAR_RETURN(loss_spec_here(name, x, made), loss_spec_at_run_time(name, x, made));
}

}  // namespace detail

/// The passes of a loss that is written as its formula, for an output of given extents. A placed
/// net has one such object, so no pass calls the function of the formula again.
class formula_loss_passes {
 public:
  explicit formula_loss_passes(detail::summed_formula const& made)
      : made_(made), forward_(detail::forward_nodes(made)),
        backward_(detail::backward_nodes(made)) {
    made_.f.g.name = "formula";  // the name belongs to the layer, which this object may outlive
  }

  template <class Call>
  auto forward(Call const& c) const {
    using A = typename Call::accumulated;
    auto const& x = c.x();
    auto const targets = c.template targets<A, Call::x_rank>();
    if (is_representative(as_value(c.at().y()), c.mesh().coordinate())) {
      formulas::evaluation<A, typename Call::processor_type> pass(c.mesh(), made_.f);
      auto const values = prepare(c, x, targets, pass);
      std::int64_t const count = pass.elements(made_.losses);
      buffer<A> const losses(c.memory(), count);
      pass.write_to(made_.losses, losses.data());
      pass.run(forward_);
      double sum = 0;
      add_sum(c.processor(), c.memory(), static_cast<A const*>(losses.data()), count, &sum);
      *c.total() += sum * made_.per_element;
    }
    return nn::made(no_output{}, x, targets, c.scale());
  }
  template <class Call>
  auto backward(Call const& c) const {
    using T = typename Call::value_type;
    using A = typename Call::accumulated;
    auto const& x = c.template kept<0>();
    auto dx = c.make_dx();
    formulas::evaluation<A, typename Call::processor_type> pass(c.mesh(), made_.f);
    auto const values = prepare(c, x, c.template kept<1>(), pass);
    A const slope = static_cast<A>(c.template kept<2>() * made_.per_element);
    pass.read(made_.f.dy, &slope);
    buffer<A> const wide(c.memory(), std::is_same_v<T, A> ? 0 : x.local_elements());
    if constexpr (std::is_same_v<T, A>) pass.write_to(made_.f.dx, dx.data());
    else pass.write_to(made_.f.dx, wide.data());
    pass.run(backward_);
    if constexpr (!std::is_same_v<T, A>)
      convert(c.processor(), static_cast<A const*>(wide.data()), x.local_elements(), dx.data());
    return dx;
  }

 private:
  /// Gives `pass` x and the targets. If T is not accumulation_t<T>, the result holds a copy of
  /// x that is converted to accumulation_t<T>, and must exist until the pass has ended.
  template <class Call, class X, class Targets, class Pass>
  auto prepare(Call const& c, X const& x, Targets const& targets, Pass& pass) const {
    using T = typename Call::value_type;
    using A = typename Call::accumulated;
    auto values = std::make_unique<buffer<A>>(c.memory(),
                                              std::is_same_v<T, A> ? 0 : x.local_elements());
    auto const sizes = detail::local_sizes_of(x);
    pass.set_extents(made_.f.x, sizes);
    pass.set_extents(made_.f.target, sizes);
    pass.infer_extents();
    if constexpr (std::is_same_v<T, A>) {
      pass.read(made_.f.x, x.data());
    } else {
      convert(c.processor(), static_cast<T const*>(x.data()), x.local_elements(), values->data());
      pass.read(made_.f.x, values->data());
    }
    pass.read(made_.f.target, targets.data());
    return values;
  }

  detail::summed_formula made_;
  formulas::pass_nodes forward_, backward_;
};

/// A loss for x [..] and targets of the same extents. The targets are of type accumulation_t<T>,
/// and the loss computes in this type. Its passes communicate nothing and run on the host. The
/// backward pass recomputes the values of the forward pass that it needs.
template <class F>
class formula_loss_layer {
 public:
  static constexpr bool is_loss = true;
  template <class T>
  using target = accumulation_t<T>;
  template <int XRank>
  static constexpr int target_rank = XRank;

  constexpr formula_loss_layer(char const* name, F const& f) : name_(name), f_(f) {}

  static constexpr shape target_extents(shape const& x) { return x; }

  constexpr step::layer_spec spec(shape const& x) const {
    return detail::loss_spec(name_, x, differentiated(x));
  }

  /// Returns a sentence that says why plans never place the output of the net at `at` along a mesh
  /// axis. It names the operator that prevents this placement. `x` has the extents of this output.
  /// Returns an empty text if a signature row of the loss has this placement.
  std::string why_not(shape const& x, axis_placement const& at) const {
    return formulas::refusal(differentiated(x).f, at);
  }

  /// Returns the passes for an input of extents `x`. Communicates nothing.
  auto passes(shape const& x) const { return formula_loss_passes(differentiated(x)); }

 private:
  constexpr detail::summed_formula differentiated(shape const& x) const {
    detail::summed_formula made;
    auto& f = made.f;
    f.g.name = name_.text;
    formulas::node leaf;
    leaf.extents = x;
    f.x = f.g.add(leaf);
    leaf.what = formulas::operation::target;
    f.target = f.g.add(leaf);
    using any = formulas::symbol<formulas::any_rank>;
    static_assert(std::is_invocable_v<F const&, any, any>,
                  "nn::formula_loss: the function takes a symbol for the output of the net and one "
                  "for its targets, each by value: [](auto y, auto target) { .. }.");
    auto const losses = f_(any{&f.g, f.x}, any{&f.g, f.target});
    static_assert(formulas::is_symbol<std::remove_cvref_t<decltype(losses)>>,
                  "nn::formula_loss: the function must return the symbol of the losses.");
    made.losses = losses.node;
    shape const extents = f.g[made.losses].extents;
    made.per_element = static_cast<double>(x.elements()) / static_cast<double>(extents.elements());
    f.y = formulas::detail::add_sum(f.g, made.losses, (1u << extents.rank()) - 1, 0);
    formulas::differentiate(f);
    if (!detail::forward_nodes(made).reads[f.target])
      throw error(name_.text, "the formula of the loss does not use the targets of extents " +
                                  to_string(x) + ".");
    return made;
  }

  step::label name_;
  F f_;
};

/// Returns the loss that is the mean over all elements of f(y, target). `f` is a function of
/// symbols, and `name` names the loss in plans and errors. Describing a net with this loss throws
/// ashlar::error if the extents in the operators of `f` do not fit, or if `f` does not use the
/// targets.
template <class F>
constexpr formula_loss_layer<F> formula_loss(char const* name, F const& f) {
  return {name, f};
}

}  // namespace ashlar::nn
