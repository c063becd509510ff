// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A dynamic array of n value-initialized elements, for algorithms that also run at compile time.
// std::vector does not work at compile time: with libstdc++ 12, the sized constructors of
// std::vector are not constant expressions for Clang. Besides, each call of operator[] of
// std::vector costs steps of the constant evaluator, and Clang permits about a million steps. Loops
// can use the plain pointer that data() returns instead, which costs fewer steps.

#include <cstddef>

namespace ashlar {

template <class T>
class scratch {
 public:
  constexpr scratch() = default;
  constexpr explicit scratch(std::size_t n) : data_(n ? new T[n]{} : nullptr), size_(n) {}
  constexpr scratch(std::size_t n, T const& value) : scratch(n) {
    for (std::size_t i = 0; i < n; ++i) data_[i] = value;
  }
  constexpr scratch(scratch const& other) : scratch(other.size_) {
    for (std::size_t i = 0; i < size_; ++i) data_[i] = other.data_[i];
  }
  constexpr scratch(scratch&& other) noexcept : data_(other.data_), size_(other.size_) {
    other.data_ = nullptr;
    other.size_ = 0;
  }
  constexpr scratch& operator=(scratch other) noexcept {
    T* const data = data_;
    std::size_t const size = size_;
    data_ = other.data_;
    size_ = other.size_;
    other.data_ = data;
    other.size_ = size;
    return *this;
  }
  constexpr ~scratch() { delete[] data_; }

  constexpr T* data() { return data_; }
  constexpr T const* data() const { return data_; }
  constexpr std::size_t size() const { return size_; }
  constexpr T& operator[](std::size_t i) { return data_[i]; }
  constexpr T const& operator[](std::size_t i) const { return data_[i]; }
  constexpr T* begin() { return data_; }
  constexpr T* end() { return data_ + size_; }
  constexpr T const* begin() const { return data_; }
  constexpr T const* end() const { return data_ + size_; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace ashlar
