// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A vector of at most Capacity elements that are stored in place. Placements, plans and rule tables
// are made of such vectors, because they must be values in constant expressions. inplace_vector is
// a structural type if T is one, so a plan can be a template argument. An overflow throws
// std::length_error at run time and does not compile in a constant expression. All Capacity
// elements are constructed at once, so T must be default constructible and cheap to construct.

#include <initializer_list>
#include <stdexcept>

namespace ashlar {

template <class T, int Capacity>
struct inplace_vector {
  using value_type = T;

  T items[Capacity > 0 ? Capacity : 1]{};  // public, as a structural type requires
  int count = 0;

  constexpr inplace_vector() = default;
  constexpr inplace_vector(std::initializer_list<T> list) {
    for (auto const& item : list) push_back(item);
  }

  static constexpr int capacity() { return Capacity; }
  constexpr int size() const { return count; }
  constexpr bool empty() const { return count == 0; }

  constexpr T& operator[](int i) { return items[i]; }
  constexpr T const& operator[](int i) const { return items[i]; }
  constexpr T& back() { return items[count - 1]; }
  constexpr T const& back() const { return items[count - 1]; }

  constexpr T* begin() { return items; }
  constexpr T* end() { return items + count; }
  constexpr T const* begin() const { return items; }
  constexpr T const* end() const { return items + count; }

  constexpr void push_back(T const& item) {
    if (count == Capacity) throw std::length_error("inplace_vector: capacity exceeded");
    items[count++] = item;
  }
  constexpr void pop_back() { --count; }
  constexpr void clear() { count = 0; }
  constexpr void resize(int n) {
    if (n > Capacity) throw std::length_error("inplace_vector: capacity exceeded");
    for (int i = count; i < n; ++i) items[i] = T{};
    count = n;
  }

  constexpr bool contains(T const& item) const {
    for (int i = 0; i < count; ++i)
      if (items[i] == item) return true;
    return false;
  }

  friend constexpr bool operator==(inplace_vector const& a, inplace_vector const& b) {
    if (a.count != b.count) return false;
    for (int i = 0; i < a.count; ++i)
      if (!(a.items[i] == b.items[i])) return false;
    return true;
  }
};

}  // namespace ashlar
