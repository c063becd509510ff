// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The arguments of a layer's passes. A pass is a const member function of a layer, and its argument
// is one of the classes in this file. The classes offer:
//
//   forward pass                x()  parameter<K>()  make_y()  pass()  stream()
//     of layers with statistics also statistic<K>()  make_statistic<K>()
//     of losses                 also targets()  scale()  total()
//     of layers with a context  also context<Rank>()
//   backward passes             dy()  kept<I>()  make_dx()  parameter<K>()  gradient<K>() rows<K>()
//   every pass                  mesh()  processor()  memory()  spec()  at()  has_parameter(k)
//
// A forward pass returns its output and the values that the backward pass needs:
//
//   return y;                            nothing is kept
//   return nn::made(y, x, mean);         kept<0>() is x, kept<1>() is mean
//
// If the plan is a constant expression, all tensors are statically typed. In the template arguments
// below, T is the element type of the net, and At gives the placement of each tensor (choice.hpp).

#include <array>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include <ashlar/nn/choice.hpp>
#include <ashlar/nn/kept.hpp>
#include <ashlar/nn/parameter.hpp>
#include <ashlar/nn/pass.hpp>

namespace ashlar::nn {

/// The output type of a loss, which makes no tensor.
struct no_output {};

/// The result of a forward pass: its output, and the values that the backward pass gets as
/// kept<0>(), kept<1>() and so on.
template <class Y, class... Kept>
struct made {
  Y y;
  std::tuple<Kept...> kept;

  explicit made(Y output, Kept... values) : y(std::move(output)), kept(std::move(values)...) {}
};

/// A list with the number of dims of each parameter of a layer, or of each statistic. For example,
/// ranks<2, 1> stands for a matrix and a bias. A statistic is a tensor that the plan redistributes
/// between two parts of a forward pass.
template <int... Rank>
struct ranks {
  static constexpr int count = static_cast<int>(sizeof...(Rank));
  static constexpr std::array<int, sizeof...(Rank)> all() { return {Rank...}; }
  static constexpr int of(int k) { return k < count ? all()[static_cast<std::size_t>(k)] : 0; }
};

/// The types of all tensors of a placed layer. XValue is the element type of x: int32 for ids, else
/// T. The class At gives the placements of the tensors (choice.hpp).
template <class T, int XRank, int YRank, class XValue, class ParameterRanks, class StatisticRanks,
          class At>
struct layer_types {
  using value_type = T;
  using accumulated = accumulation_t<T>;
  using at_type = At;
  using processor_type = typename At::processor_type;
  using input = tensor_for<XValue, XRank, decltype(std::declval<At>().x()), processor_type>;
  using output = tensor_for<T, YRank, decltype(std::declval<At>().y()), processor_type>;
  using output_gradient = tensor_for<T, YRank, decltype(std::declval<At>().dy()), processor_type>;
  using input_gradient = tensor_for<T, XRank, decltype(std::declval<At>().dx()), processor_type>;
  static constexpr int x_rank = XRank, y_rank = YRank;
  static constexpr int parameters = ParameterRanks::count;
  static constexpr int statistics = StatisticRanks::count;

  /// The types of two tensors: parameter K as the layer's passes read it, and the sum of its
  /// gradients.
  template <int K>
  using used = tensor_for<T, ParameterRanks::of(K), decltype(std::declval<At>().template use<K>()),
                          processor_type>;
  template <int K>
  using summed = tensor_for<accumulated, ParameterRanks::of(K),
                            decltype(std::declval<At>().template grad<K>()), processor_type>;
  template <int K>
  using made_statistic =
      tensor_for<accumulated, StatisticRanks::of(K),
                 decltype(std::declval<At>().template statistic_from<K>()), processor_type>;
  template <int K>
  using statistic =
      tensor_for<accumulated, StatisticRanks::of(K),
                 decltype(std::declval<At>().template statistic_to<K>()), processor_type>;
};

namespace detail {
[[noreturn]] ASHLAR_INLINE void refuse_unread_parameter(step::layer_spec const& spec, int k);
#if ASHLAR_DEFINES(NN)
[[noreturn]] ASHLAR_INLINE void refuse_unread_parameter(step::layer_spec const& spec, int k) {
  throw error(spec.name.text, std::string("the pass reads parameter ") +
                                  spec.parameters[k].name.text +
                                  ", but its spec says that this pass does not. Set "
                                  "parameter_spec::in_backward.");
}
#endif
}  // namespace detail

/// The arguments that all passes get: the mesh, the layer's spec, its parameters and the placements
/// of its tensors.
template <class Types>
class layer_call {
 public:
  using value_type = typename Types::value_type;
  using accumulated = typename Types::accumulated;
  using processor_type = typename Types::processor_type;
  using mesh_type = basic_mesh<processor_type>;
  static constexpr int x_rank = Types::x_rank, y_rank = Types::y_rank;
  template <int K>
  using used = typename Types::template used<K>;

  layer_call(mesh_type const& m, typename Types::at_type const& at, step::layer_spec const& spec,
             any_tensor<processor_type> const* const* read)
      : mesh_(m), at_(at), spec_(spec), read_(read) {}

  mesh_type const& mesh() const { return mesh_; }
  decltype(auto) processor() const { return mesh_.processor(); }
  auto& memory() const { return mesh_.memory(); }
  step::layer_spec const& spec() const { return spec_; }
  auto const& at() const { return at_; }
  bool has_parameter(int k) const { return k < spec_.parameters.size(); }

  /// Returns parameter K at the placement where this layer reads it. The tensor is valid only
  /// during the call.
  template <int K>
  used<K> parameter() const {
    if (read_[K] == nullptr) detail::refuse_unread_parameter(spec_, K);
    return read_[K]->template as<used<K>>();
  }

 private:
  mesh_type const& mesh_;
  typename Types::at_type const& at_;
  step::layer_spec const& spec_;
  any_tensor<processor_type> const* const* read_;
};

/// The arguments that only a loss gets.
template <class Processor>
struct loss_batch {
  any_tensor<Processor> targets;  ///< replicated; a pass gets them split like x
  double scale = 1;               ///< the factor of the gradient: 1 / (targets in the step's mean)
  double* total = nullptr;        ///< where this rank adds its share of the summed loss
};

template <class Types>
class forward_call : public layer_call<Types> {
  using base = layer_call<Types>;

 public:
  using typename base::processor_type;
  using tensor_type = typename Types::input;

  forward_call(base const& common, tensor_type const& x, nn::pass const& p, std::uint64_t stream,
               any_tensor<processor_type> const* const* statistics,
               loss_batch<processor_type> const* batch,
               any_tensor<processor_type> const* context = nullptr)
      : base(common), x_(x), pass_(p), stream_(stream), statistics_(statistics), batch_(batch),
        context_(context) {}

  /// Returns the input. If a window slides along a dim of the layer's input, as in a convolution,
  /// and the plan splits this dim, then x() is larger than this rank's shard. It also contains the
  /// halo (layer_spec::halo): those indices of neighbouring ranks that the windows of this rank's y
  /// cover. x().local_box() says which indices x() contains.
  tensor_type const& x() const { return x_; }
  nn::pass const& pass() const { return pass_; }
  /// Returns the number of the layer's first stream of random numbers. A layer declares in
  /// `streams` how many streams it has.
  std::uint64_t stream() const { return stream_; }
  /// Makes a tensor for the output. Its elements are not initialized.
  typename Types::output make_y() const {
    return {this->mesh(), this->spec().y, as_value(this->at().y())};
  }
  template <int K>
  typename Types::template made_statistic<K> make_statistic() const {
    return {this->mesh(), this->spec().statistics[K],
            as_value(this->at().template statistic_from<K>())};
  }
  /// Returns statistic K. This is a tensor that part K of the forward pass made and that the plan
  /// has since redistributed. Only later parts may call this.
  template <int K>
  typename Types::template statistic<K> statistic() const {
    return statistics_[K]->template as<typename Types::template statistic<K>>();
  }
  /// Returns the targets of the rows that this rank has. Only a loss may call this.
  template <class Target, int Rank>
  tensor<Target, Rank, dynamic, processor_type> targets() const {
    return batch_->targets.template as<tensor<Target, Rank, dynamic, processor_type>>();
  }
  /// Returns the context of the samples that this rank has. A context is a part of the batch beside
  /// x, such as captions. Only a layer whose spec has a context may call this
  /// (layer_spec::context).
  template <int Rank>
  tensor<typename Types::value_type, Rank, dynamic, processor_type> context() const {
    return context_
        ->template as<tensor<typename Types::value_type, Rank, dynamic, processor_type>>();
  }
  double scale() const { return batch_->scale; }
  double* total() const { return batch_->total; }

 private:
  tensor_type const& x_;
  nn::pass const& pass_;
  std::uint64_t stream_;
  any_tensor<processor_type> const* const* statistics_;
  loss_batch<processor_type> const* batch_;
  any_tensor<processor_type> const* context_;
};

template <class Types, class Kept>
class backward_call : public layer_call<Types> {
  using base = layer_call<Types>;

 public:
  using typename base::processor_type;

  backward_call(base const& common, typename Types::output_gradient const& dy, Kept const& kept,
                std::span<nn::parameter<processor_type> const> parameters,
                box const* dx_with_halo = nullptr)
      : base(common), dy_(dy), kept_(kept), parameters_(parameters), dx_with_halo_(dx_with_halo) {}

  typename Types::output_gradient const& dy() const { return dy_; }
  /// Returns value number Index, from 0, of those that the forward pass kept.
  template <int Index>
  auto const& kept() const {
    return std::get<static_cast<std::size_t>(Index)>(kept_);
  }
  /// Makes a tensor for the gradient of the input. Its elements are not initialized. If x had a
  /// halo in the forward pass (see forward_call::x), the tensor has the same box as x had in that
  /// pass. The step's program afterwards adds up the values that several ranks compute for the same
  /// element.
  typename Types::input_gradient make_dx() const {
    using made = typename Types::input_gradient;
    if (dx_with_halo_ != nullptr)
      return any_tensor<processor_type>::with_box(this->mesh(), this->spec().x,
                                                  as_value(this->at().dx()), *dx_with_halo_,
                                                  element_type_of<typename made::value_type>)
          .template as<made>();
    return {this->mesh(), this->spec().x, as_value(this->at().dx())};
  }
  /// Returns the sum to which the gradient of parameter K is to be added.
  template <int K>
  typename Types::template summed<K> gradient() const {
    return parameters_[static_cast<std::size_t>(K)]
        .sum()
        .template as<typename Types::template summed<K>>();
  }
  /// Returns the rows to which the gradient of parameter K is to be added, or null if it is to be
  /// added to gradient<K>(). Only a parameter whose spec has rows_read can have rows.
  template <int K>
  row_sums<typename Types::accumulated>* rows() const {
    auto* const rows = parameters_[static_cast<std::size_t>(K)].rows();
    return rows == nullptr ? nullptr : &rows->template sum<typename Types::accumulated>();
  }

 private:
  typename Types::output_gradient const& dy_;
  Kept const& kept_;
  std::span<nn::parameter<processor_type> const> parameters_;
  box const* dx_with_halo_;  // null if dx has no halo
};

namespace detail {

/// Returns the extents of this rank's shard of a tensor, followed by zeros.
template <class Tensor>
std::array<std::int64_t, max_rank> local_sizes_of(Tensor const& t) {
  std::array<std::int64_t, max_rank> sizes{};
  for (int d = 0; d < Tensor::rank; ++d) sizes[static_cast<std::size_t>(d)] = t.local_size(d);
  return sizes;
}

/// Returns the number of rows of this rank's shard of a tensor: the product of the shard's extents
/// in all dims but the last.
template <class Tensor>
std::int64_t local_rows_of(Tensor const& t) {
  std::int64_t rows = 1;
  for (int d = 0; d + 1 < Tensor::rank; ++d) rows *= t.local_size(d);
  return rows;
}

/// Returns the address of this rank's shard of a tensor, as a pointer to constant elements.
template <class Tensor>
auto constants_of(Tensor const& t) {
  return static_cast<typename Tensor::value_type const*>(t.data());
}

}  // namespace detail

}  // namespace ashlar::nn
