// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs a memory-bound kernel on the GPU and compares the results with the host's. The kernel is a
// function `body(processor, memory, rows, p)`. It calls operations that exist for every processor
// (device/cuda/operations.hpp). On the device it computes with elements of type T. On the host it
// computes some of the rows with elements of type accumulation_t<T>, as the reference.
//
// p gives pointers to the operands. Each operand has one of three kinds:
//
//   kind    pointer      type of the elements         number of elements
//   value   p.value(k)   T                            rows * per_row, or per_row if `fixed`
//   sum     p.sum(k)     accumulation_t<T>            the same
//   ids     p.ids(k)     std::int32_t in [0, limit)   the same

#include <cmath>
#include <memory>
#include <string>
#include <variant>

#include <ashlar/device/cuda/operations.hpp>
#include <ashlar/device/host/operations.hpp>

#include "../support/device_trials.hpp"
#include "../support/device_values.hpp"

namespace ashlar_bench {

struct operand {
  enum kind { value, sum, ids } holds = value;
  std::int64_t per_row = 1;
  bool fixed = false;
  enum use { in, out, both } is = in;  ///< read, written, or both
  /// The initial values are normally distributed with this standard deviation. If it is 0, all
  /// values are zero.
  double deviation = 1;
  bool is_positive = false;  ///< whether to take the absolute values of the initial values
  std::int32_t limit = 1;    ///< exclusive upper bound of all ids
};

struct pass_extents {
  std::int64_t rows;
  /// The first `sampled` rows and the last `sampled` rows are compared with the host's results.
  std::int64_t sampled;
  std::int64_t bytes;  ///< the least number of bytes that one call reads and writes
};

/// Workspace memory of the host, with the interface that operations expect.
struct heap {
  void* allocate(std::size_t bytes) { return ::operator new(std::max<std::size_t>(bytes, 1)); }
  void release(void* block, std::size_t) { ::operator delete(block); }
};

/// Returns the absolute difference divided by 1 + |expected|, or infinity if this quotient is NaN.
inline double distance(double actual, double expected) {
  double const gap = std::abs(actual - expected) / (1 + std::abs(expected));
  return gap == gap ? gap : INFINITY;
}

template <class T, class Body>
class pass {
  using A = ashlar::accumulation_t<T>;
  using id = std::int32_t;

 public:
  pass(device_memory& memory, std::vector<operand> operands, pass_extents const& e, Body body)
      : memory_(memory), operands_(std::move(operands)), extents_(e), body_(std::move(body)),
        copies_(copies_beyond_cache(e.bytes)) {
    for (std::size_t k = 0; k < operands_.size(); ++k) {
      auto const& o = operands_[k];
      std::int64_t const n = elements(o, extents_.rows);
      if (o.holds == operand::value) on_device_.push_back(make<T>(o, k, n));
      if (o.holds == operand::sum) on_device_.push_back(make<A>(o, k, n));
      if (o.holds == operand::ids) on_device_.push_back(make<id>(o, k, n));
    }
  }

  /// Runs the kernel once. Successive calls use successive copies of the operands, so that the
  /// operands are not in the cache.
  void run() {
    copy_ = (copy_ + 1) % copies_;
    body_(ashlar::cuda::processor{memory_.stream}, memory_, extents_.rows, on_copy{this, copy_});
  }
  void overwrite_results() {
    for (std::size_t k = 0; k < operands_.size(); ++k)
      if (operands_[k].is == operand::out)
        std::visit([&](auto& array) { overwrite(array); }, on_device_[k]);
  }
  /// Returns whether the results of the last run() agree with the host's. `enough` is the largest
  /// permitted distance() of an element. An element of a `fixed` result is a sum over the rows. Its
  /// permitted distance is multiplied by the square root of the number of rows.
  bool is_right(double enough) {
    std::int64_t const rows = extents_.rows;
    std::int64_t const part = 2 * extents_.sampled < rows ? extents_.sampled : rows;
    bool right = matches(0, part, enough);
    if (part < rows) right = matches(rows - part, part, enough) && right;
    return right;
  }

 private:
  template <class E>
  using held = std::shared_ptr<rotated<E>>;
  struct on_copy {
    pass* owner;
    int copy;
    T* value(std::size_t k) const { return std::get<held<T>>(owner->on_device_[k])->of(copy); }
    A* sum(std::size_t k) const {
      auto& any = owner->on_device_[k];
      if constexpr (std::is_same_v<T, A>) return std::get<held<T>>(any)->of(copy);
      else return std::get<held<A>>(any)->of(copy);
    }
    id* ids(std::size_t k) const { return std::get<held<id>>(owner->on_device_[k])->of(copy); }
  };
  struct on_host {
    std::vector<std::vector<A>>* numbers;
    std::vector<std::vector<id>>* indices;
    A* value(std::size_t k) const { return (*numbers)[k].data(); }
    A* sum(std::size_t k) const { return (*numbers)[k].data(); }
    id* ids(std::size_t k) const { return (*indices)[k].data(); }
  };

  static std::int64_t elements(operand const& o, std::int64_t rows) {
    return o.fixed ? o.per_row : rows * o.per_row;
  }
  /// Returns the initial values of elements [first, first + n) of operand k. They are the same on
  /// host and device.
  template <class E>
  static std::vector<E> beginning(operand const& o, std::size_t k, std::int64_t first,
                                  std::int64_t n) {
    std::vector<E> values;
    if constexpr (std::is_same_v<E, id>) {
      for (std::int64_t i = 0; i < n; ++i)
        values.push_back(static_cast<id>((first + i) * 7919 % o.limit));
    } else if (o.deviation == 0) {
      values.assign(static_cast<std::size_t>(n), E(0));
    } else {
      auto const& normals = normals_of<E>(static_cast<unsigned>(k), o.deviation);
      for (std::int64_t i = 0; i < n; ++i) {
        auto const x = static_cast<ashlar::accumulation_t<E>>(normals[first + i]);
        values.push_back(static_cast<E>(o.is_positive && x < 0 ? -x : x));
      }
    }
    return values;
  }

  template <class E>
  held<E> make(operand const& o, std::size_t k, std::int64_t n) {
    auto const made = std::make_shared<rotated<E>>(memory_, n, copies_);
    // The initial values are periodic. The host uploads one period, and the device fills the rest
    // of the first copy from it. Then the device makes the other copies.
    std::int64_t const once = std::is_same_v<E, id> ? n : std::min(n, repeated_normals<A>::period);
    auto const values = beginning<E>(o, k, 0, once);
    ashlar::cuda::upload(memory_.stream, values.data(), once, made->of(0));
    for (std::int64_t done = once; done < n; done += once)
      ashlar::cuda::copy_elements(memory_.stream, static_cast<E const*>(made->of(0)),
                                  std::min(once, n - done), made->of(0) + done);
    for (int c = 1; c < copies_; ++c)
      ashlar::cuda::copy_elements(memory_.stream, static_cast<E const*>(made->of(0)), n,
                                  made->of(c));
    memory_.stream.synchronize();
    return made;
  }

  template <class E>
  void overwrite(held<E>& array) {
    for (int c = 0; c < copies_; ++c)
      ashlar::cuda::check(cudaMemsetAsync(array->of(c), 0xff,
                                          static_cast<std::size_t>(array->size()) * sizeof(E),
                                          memory_.stream),
                          "cudaMemsetAsync");
  }

  /// Returns whether the device's results for rows [first, first + rows) agree with the host's.
  bool matches(std::int64_t first, std::int64_t rows, double enough) {
    std::vector<std::vector<A>> numbers(operands_.size());
    std::vector<std::vector<id>> indices(operands_.size());
    for (std::size_t k = 0; k < operands_.size(); ++k) {
      auto const& o = operands_[k];
      std::int64_t const n = elements(o, rows), skip = o.fixed ? 0 : first * o.per_row;
      if (o.holds == operand::ids) indices[k] = beginning<id>(o, k, skip, n);
      else if (o.holds == operand::sum) numbers[k] = beginning<A>(o, k, skip, n);
      else
        for (T const x : beginning<T>(o, k, skip, n)) numbers[k].push_back(static_cast<A>(x));
    }
    heap memory;
    body_(ashlar::device::host::processor{}, memory, rows, on_host{&numbers, &indices});
    for (std::size_t k = 0; k < operands_.size(); ++k) {
      auto const& o = operands_[k];
      if (o.is == operand::in) continue;
      std::int64_t const n = elements(o, rows), skip = o.fixed ? 0 : first * o.per_row;
      double const most = o.fixed ? enough * std::sqrt(static_cast<double>(rows)) : enough;
      bool const right = o.holds == operand::value
                             ? is_close(on_copy{this, copy_}.value(k) + skip, n, numbers[k], most)
                             : is_close(on_copy{this, copy_}.sum(k) + skip, n, numbers[k], most);
      if (!right) return false;
    }
    return true;
  }
  template <class E>
  bool is_close(E const* from, std::int64_t n, std::vector<A> const& expected, double enough) {
    std::vector<E> actual(static_cast<std::size_t>(n));
    ashlar::cuda::download(memory_.stream, from, n, actual.data());
    for (std::size_t i = 0; i < actual.size(); ++i)
      if (!(distance(static_cast<double>(static_cast<A>(actual[i])),
                     static_cast<double>(expected[i])) <= enough))
        return false;
    return true;
  }

  device_memory& memory_;
  std::vector<operand> operands_;
  pass_extents extents_;
  Body body_;
  int copies_, copy_ = -1;
  // A is accumulation_t<T>, which may be T itself. A variant must not contain a type twice.
  using any_held = std::conditional_t<std::is_same_v<T, A>, std::variant<held<T>, held<id>>,
                                      std::variant<held<T>, held<A>, held<id>>>;
  std::vector<any_held> on_device_;
};

}  // namespace ashlar_bench
