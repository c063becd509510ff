// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A net placed on a mesh by a plan (nn/place.hpp), ready for training.
//
// The net computes on the processor of its mesh, the host or a GPU. The first layer determines the
// kind of batch (describe.hpp), and the loss determines the targets. For softmax_cross_entropy, the
// targets are one class per row of the net's output. If layers read a context
// (context_attention.hpp), the values of the context follow the input of each micro-batch.
//
// A step is a program (step/program.hpp) that an executor runs. program() builds the program of a
// whole step, for a trainer. accumulate, synchronize, predict and evaluate run the program of a
// single micro-batch.
//
// A net placed in pipeline stages has nodes for all elements on every rank. Each rank runs the
// program of its part of the mesh, which has the elements of that part's stages. Parameters of
// other stages have empty shards.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <ashlar/config.hpp>
#include <ashlar/nn/cross_entropy.hpp>
#include <ashlar/nn/describe.hpp>
#include <ashlar/nn/executor.hpp>
#include <ashlar/nn/mean_loss.hpp>
#include <ashlar/nn/model_state.hpp>
#include <ashlar/nn/replicated_data.hpp>
#include <ashlar/nn/sample_parts.hpp>
#include <ashlar/nn/usual_models.hpp>
#include <ashlar/tensor/gather.hpp>

namespace ashlar::nn {

template <class T, class Processor, class Input, int InputRank, int OutputRank, class Loss>
class model {
 public:
  using value_type = T;
  using mesh_type = basic_mesh<Processor>;
  /// The type of inputs in the memory of the host: token ids or numbers.
  using input_type = Input;
  using target_type = typename Loss::template target<T>;
  static constexpr int target_rank = Loss::template target_rank<OutputRank>;
  static constexpr int context_rank = 3;  ///< a context is [batch, length, width]

  using state = model_state<T, Processor, Input>;

  /// `stage` is the part of the mesh on which this rank computes, or the whole mesh. `pipeline`
  /// describes the pipeline and this rank's part of it, if there is a pipeline.
  model(mesh_type const& m, mesh_type const& stage, std::optional<step::pipeline_part> pipeline,
        search::problem problem, search::plan plan, std::uint64_t seed,
        std::vector<std::unique_ptr<element_node<Processor>>> nodes,
        typename state::input_check first);

  model(model&&) = default;
  model& operator=(model&&) = default;
  /// Returns another handle of the model, which stays valid when this one is moved or destroyed.
  model share() const { return model(state_); }

  /// Returns the mesh of all ranks that train.
  mesh_type const& mesh() const { return state_->mesh; }
  /// Returns the mesh on which this rank computes: the whole mesh, or this rank's part of it.
  mesh_type const& stage_mesh() const { return state_->stage; }
  /// Returns this rank's part of the pipeline, or null if the model has no pipeline.
  step::pipeline_part const* pipeline() const {
    return state_->pipeline ? &*state_->pipeline : nullptr;
  }
  shape const& input_extents() const { return state_->plan.input; }
  shape const& target_extents() const { return state_->targets; }
  /// Returns the extents of a micro-batch's context. The context is a part of the batch beside the
  /// input (layer_spec::context). Returns a shape without dims if no layer reads a context.
  shape const& context_extents() const { return state_->context; }
  /// Returns how many elements the input and the context of one micro-batch have together.
  std::int64_t inputs() const { return input_extents().elements() + context_elements(); }
  int micro_batches() const { return state_->plan.micro_batches; }
  /// Returns the number of targets in one micro-batch, including those that the loss leaves out.
  std::int64_t rows() const { return state_->targets.elements(); }
  /// Returns whether the mean of the loss leaves out targets, such as those of ignored rows.
  bool leaves_out_targets() const { return nn::leaves_out_targets<Loss>(loss_spec()); }
  /// Returns how many of `targets` are in the mean of the loss. Communicates nothing.
  std::int64_t targets_in_mean(std::span<target_type const> targets) const {
    return nn::targets_in_mean<Loss>(loss_spec(), targets);
  }

  /// Returns the program of a whole step in serial order: no communication overlaps computation.
  /// The program of a plain step (search::plan) sends all gradients exactly.
  step::program program(bool is_plain = false) const { return state_->whole_program(is_plain); }
  /// Returns an executor of a program of this model. The model and the program must outlive it.
  executor<Processor> make_executor(step::program const& p) const {
    return state_->make_executor(p);
  }
  /// Returns the seed of the initial parameters and of dropout.
  std::uint64_t seed() const { return state_->seed; }
  search::problem const& problem() const { return state_->problem; }
  search::plan const& plan() const { return state_->plan; }
  /// Returns the elements of the net. They own the parameters.
  auto const& elements() const { return state_->nodes; }
  /// Returns the log of the net's mixtures of experts (mixture_log.hpp).
  mixture_log& mixtures() const { return state_->mixtures; }

  /// Tensors that hold the data of one micro-batch in the memory of the mesh, at fixed addresses. A
  /// CUDA graph that is replayed needs fixed addresses (train/replayed_step.hpp).
  struct data_place {
    tensor<std::conditional_t<std::is_integral_v<Input>, Input, T>, InputRank, dynamic, Processor>
        inputs;
    tensor<target_type, target_rank, dynamic, Processor> targets;
    tensor<T, context_rank, dynamic, Processor> context;  // empty if no layer reads one
  };
  data_place make_place() const {
    data_place made{
        detail::new_replicated<decltype(data_place::inputs)>(stage_mesh(), input_extents()),
        detail::new_replicated<decltype(data_place::targets)>(stage_mesh(), target_extents()),
        {}};
    if (context_elements() > 0)
      made.context = detail::new_replicated<decltype(data_place::context)>(stage_mesh(),
                                                                           context_extents());
    return made;
  }
  /// Copies a micro-batch from host memory into the tensors of `to`. Throws like check().
  void put(std::span<Input const> inputs, std::span<target_type const> targets,
           data_place& to) const {
    check(inputs, targets);
    detail::write_replicated(of_input(inputs), to.inputs);
    if (context_elements() > 0) detail::write_replicated(of_context(inputs), to.context);
    detail::write_replicated(targets, to.targets);
  }
  /// Throws ashlar::error unless these are one micro-batch whose ids and targets are in range.
  void check(std::span<Input const> inputs, std::span<target_type const> targets) const {
    check_range(targets);
    if (static_cast<std::int64_t>(targets.size()) != target_extents().elements())
      throw error("model", std::to_string(targets.size()) + " targets for a micro-batch of " +
                               to_string(target_extents()) + ".");
    check(inputs);
  }

  /// Makes the input of an executor from data in host memory. The executor then computes the
  /// gradients of the mean loss of a step.
  ///
  ///   inputs, targets   all micro-batches, one after the other; the same on every rank. The
  ///                     context of a micro-batch follows its input.
  ///   first             the number of the pass on micro-batch 0 (nn/pass.hpp), which selects
  ///                     the random numbers of dropout
  ///   total             this rank's share of the summed loss is added to *total, which is in the
  ///                     memory of the mesh. So the host need not wait for a device.
  ///   training          whether dropout is active
  step_input<Processor> input_of(std::span<Input const> inputs,
                                 std::span<target_type const> targets, std::int64_t first,
                                 double* total, bool training = true) const {
    auto const x = static_cast<std::size_t>(this->inputs());
    auto const rows = static_cast<std::size_t>(target_extents().elements());
    auto const part = [](auto const& all, int b, std::size_t n) {
      return all.subspan(static_cast<std::size_t>(b) * n, n);
    };
    auto made = from(
        [=, this](int b) {
          return any_tensor(detail::replicated<decltype(data_place::inputs)>(
              stage_mesh(), of_input(part(inputs, b, x)), input_extents()));
        },
        [=, this](int b) {
          return any_tensor(detail::replicated<decltype(data_place::targets)>(
              stage_mesh(), part(targets, b, rows), target_extents()));
        },
        [=, this](int b) {
          return any_tensor(detail::replicated<decltype(data_place::context)>(
              stage_mesh(), of_context(part(inputs, b, x)), context_extents()));
        },
        first, total, training);
    if (leaves_out_targets()) made.scale = 1.0 / std::max(1.0, double(targets_in_mean(targets)));
    return made;
  }
  /// Makes the input of an executor from data that are already in the memory of the mesh, one
  /// data_place for each micro-batch. `first` and `total` are those of the overload above.
  step_input<Processor> input_of(std::span<data_place const> places, std::int64_t first,
                                 double* total) const {
    return from([places](int b) { return any_tensor(places[static_cast<std::size_t>(b)].inputs); },
                [places](int b) { return any_tensor(places[static_cast<std::size_t>(b)].targets); },
                [places](int b) { return any_tensor(places[static_cast<std::size_t>(b)].context); },
                first, total, true);
  }

  /// Runs the forward and the backward pass on one micro-batch. Adds the gradients to the
  /// parameters' gradient sums, and this rank's share of the loss to *total. `number` is the number
  /// of the pass (nn/pass.hpp). Communicates: redistributions of activations, of their gradients
  /// and of parameters. Throws ashlar::error on every rank, before any communication, if an id or a
  /// target is out of range, or if the loss leaves out targets and a step has several
  /// micro-batches.
  void accumulate(std::span<Input const> inputs, std::span<target_type const> targets,
                  std::int64_t number, double* total);
  /// Runs both passes on one micro-batch, like the overload with `total`, and returns this rank's
  /// share of the loss. If the net is on a device, waits for the device.
  loss_share accumulate(std::span<Input const> inputs, std::span<target_type const> targets,
                        std::int64_t number) {
    kept<double> const total(mesh(), 1);
    fill(mesh().processor(), 0.0, 1, total.data());
    accumulate(inputs, targets, number, total.data());
    loss_share share;
    download(mesh().processor(), static_cast<double const*>(total.data()), 1, &share.sum);
    return share;
  }

  /// Returns the output of the net for a batch of any number of samples, without dropout. `inputs`
  /// has the inputs of all samples, then their contexts. Every rank passes the same batch and gets
  /// the whole output. The net runs on one micro-batch after another (sample_parts.hpp). Throws
  /// ashlar::error if `inputs` does not consist of whole samples. Communicates: a forward pass for
  /// each micro-batch.
  std::vector<accumulation_t<T>> predict(std::span<Input const> inputs);
  /// Returns the mean loss over the targets of a batch of any number of samples, without dropout:
  /// the same number on every rank. Every rank passes the same batch. `inputs` has the form that
  /// predict() expects, and `targets` has the targets of all samples, one after the other. The
  /// gradients stay as they are. The net runs on one micro-batch after another (mean_loss.hpp).
  /// Throws ashlar::error on every rank, before any communication, if the numbers of inputs and
  /// targets do not fit or an id or a target is out of range. Communicates: a forward pass for each
  /// micro-batch, and one all-reduce of 16 bytes at the end.
  double evaluate(std::span<Input const> inputs, std::span<target_type const> targets);

  /// Reduces the gradient sum of each parameter to the placement at which the parameter is updated.
  /// Ignores delays and plain steps, which only a trainer counts. Communicates: a redistribution of
  /// each sum that is at another placement. Throws ashlar::error on a second call without
  /// clear_gradients() if parameters are tied: the gradient of a later use would count twice.
  void synchronize() {
    if (state_->is_synchronized && !state_->problem.ties.empty())
      throw error("model", "the gradients of a net with tied parameters are synchronized already. "
                           "Call clear_gradients() and accumulate() first.");
    state_->is_synchronized = true;
    auto& one = state_->one_micro_batch();
    one.run(one.first_synchronization(), one.first_update(), {});
    one.hand_out_gradients();
  }
  /// Moves every parameter that is updated at one placement and stored at another to its storage.
  /// Call it after code other than a trainer has changed parameters. Communicates: these moves.
  void renew() {
    if (!search::updates_apart(state_->plan)) return;
    state_->renews_before_use = true;
    state_->one_micro_batch();
  }
  /// Makes the model call renew() before it next reads parameters. A trainer whose steps renew
  /// parameters at the start of a step calls this function after its updates. Communicates nothing.
  void renew_before_use() { state_->renews_before_use = search::updates_apart(state_->plan); }
  /// Calls renew() if renew_before_use() was called after the last renewal.
  void renew_if_due() {
    if (state_->renews_before_use) renew();
  }
  /// Sets gradient sums to zero, and forgets what mixtures of experts have reported so far.
  void clear_gradients() {
    state_->is_synchronized = false;
    state_->mixtures.forget_step();
    for (auto& node : state_->nodes)
      for (auto& p : node->parameters()) p.clear();
  }
  /// Calls f(parameter) for each parameter, in the order of the net. A tied parameter is passed
  /// once, at the place of its first use.
  template <class F>
  void for_each_parameter(F f) {
    for (auto& node : state_->nodes)
      for (auto& p : node->parameters())
        if (!p.is_tied()) f(p);
  }

  /// Returns the number of elements of all parameters. A replicated element counts once.
  std::int64_t parameter_count() {
    std::int64_t n = 0;
    for_each_parameter([&](parameter<Processor> const& p) { n += p.value().extents().elements(); });
    return n;
  }

 private:
  explicit model(std::shared_ptr<state> shared) : state_(std::move(shared)) {}

  std::vector<accumulation_t<T>> predict_one(std::span<Input const> inputs) {
    check(inputs);
    auto const y = state_->one_micro_batch().forward(state_->problem.size() - 1,
                                                     input_of(inputs, {}, 0, nullptr, false));
    std::vector<T> values;
    if (!state_->pipeline || output_position() == state_->pipeline->position)
      values = to_full(y.template as<tensor<T, OutputRank, dynamic, Processor>>());
    if (state_->pipeline) share_output(values);
    if constexpr (std::is_same_v<T, accumulation_t<T>>) return values;
    else return {values.begin(), values.end()};
  }
  /// Returns which part of the pipeline has the net's last element before the loss.
  int output_position() const {
    return state_->pipeline->position_of_element(state_->problem.size() - 2);
  }
  /// Gives every rank the output of the net, which only the ranks of one part of the mesh have.
  void share_output(std::vector<T>& values) const {
    auto const& part = *state_->pipeline;
    auto size = static_cast<std::int64_t>(values.size());
    int const root = part.parts[static_cast<std::size_t>(output_position())].ranks.front();
    mesh().broadcast(std::span(&size, 1), root);
    values.resize(static_cast<std::size_t>(size));
    mesh().broadcast(std::span(values), root);
  }
  template <class Data, class Targets, class Context>
  step_input<Processor> from(Data data, Targets targets, Context context, std::int64_t first,
                             double* total, bool training) const {
    step_input<Processor> made;
    made.data = std::move(data);
    made.targets = std::move(targets);
    made.context = std::move(context);
    made.pass = [this, first, training, all = micro_batches()](int b) {
      return nn::pass{training, state_->seed, first + b, all, &state_->mixtures};
    };
    made.scale = 1.0 / (static_cast<double>(rows()) * micro_batches());
    made.total = total;
    return made;
  }
  /// Throws ashlar::error if a target is out of range.
  void check_range(std::span<target_type const> targets) const {
    if constexpr (requires { Loss::check_targets(targets, shape{}); })
      Loss::check_targets(targets, loss_spec().x);
  }
  step::layer_spec const& loss_spec() const {
    return state_->problem.spec(state_->problem.size() - 1);
  }
  void check(std::span<Input const> inputs) const {
    state_->check_input(inputs);
    if (static_cast<std::int64_t>(inputs.size()) != this->inputs())
      throw error("model", std::to_string(inputs.size()) + " inputs for a micro-batch of " +
                               to_string(input_extents()) +
                               (context_elements() > 0
                                    ? " followed by a context of " + to_string(context_extents())
                                    : "") +
                               ".");
  }
  std::int64_t context_elements() const {
    return context_extents().rank() == 0 ? 0 : context_extents().elements();
  }
  /// Returns the elements of the input in `values`, without the elements of the context.
  std::span<Input const> of_input(std::span<Input const> values) const {
    return values.first(static_cast<std::size_t>(input_extents().elements()));
  }
  std::span<Input const> of_context(std::span<Input const> values) const {
    return values.last(static_cast<std::size_t>(context_elements()));
  }

  std::shared_ptr<state> state_;  // the state keeps its address when the model is moved
};

template <class T, class Processor, class Input, int InputRank, int OutputRank, class Loss>
model<T, Processor, Input, InputRank, OutputRank, Loss>::model(
    mesh_type const& m, mesh_type const& stage, std::optional<step::pipeline_part> pipeline,
    search::problem problem, search::plan plan, std::uint64_t seed,
    std::vector<std::unique_ptr<element_node<Processor>>> nodes, typename state::input_check first)
    : state_(std::make_shared<state>(m, stage, std::move(pipeline), std::move(problem),
                                     std::move(plan), seed, std::move(nodes), std::move(first))) {
  state_->targets = Loss::target_extents(loss_spec().x);
}

template <class T, class Processor, class Input, int InputRank, int OutputRank, class Loss>
void model<T, Processor, Input, InputRank, OutputRank, Loss>::accumulate(
    std::span<Input const> inputs, std::span<target_type const> targets, std::int64_t number,
    double* total) {
  check(inputs, targets);
  if (leaves_out_targets() && micro_batches() > 1)
    throw error("model", "accumulate gets one of " + std::to_string(micro_batches()) +
                             " micro-batches, but the mean of the loss is over those targets of "
                             "all of them that are not left out. Call trainer::step, or place "
                             "the net with one micro-batch.");
  auto& one = state_->one_micro_batch();
  one.run(0, one.first_synchronization(), input_of(inputs, targets, number, total));
}

template <class T, class Processor, class Input, int InputRank, int OutputRank, class Loss>
std::vector<accumulation_t<T>>
model<T, Processor, Input, InputRank, OutputRank, Loss>::predict(std::span<Input const> inputs) {
  return detail::in_parts(inputs, state_->problem, input_extents(), context_extents(),
                          [this](std::span<Input const> part) { return predict_one(part); });
}

template <class T, class Processor, class Input, int InputRank, int OutputRank, class Loss>
double model<T, Processor, Input, InputRank, OutputRank, Loss>::evaluate(
    std::span<Input const> inputs, std::span<target_type const> targets) {
  state_->check_input(inputs);
  check_range(targets);
  return detail::mean_loss(
      mesh(),
      detail::sample_parts<Input>(inputs, state_->problem, input_extents(), context_extents()),
      targets, rows(), targets_in_mean(targets), [this](auto part, auto of_part, double* total) {
        state_->one_micro_batch().forward(state_->problem.size(),
                                          input_of(part, of_part, 0, total, false));
      });
}

#if !ASHLAR_DEFINES(NN)
#define ASHLAR_COMPILED_MODEL(...) extern template class __VA_ARGS__;
ASHLAR_USUAL_MODELS(ASHLAR_COMPILED_MODEL)
#undef ASHLAR_COMPILED_MODEL
#endif

}  // namespace ashlar::nn
