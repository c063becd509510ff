// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Numbers the placements of a tensor without shard order, so that the numbers can index tables:
//
//   role     of an axis: B, P, or a split of one of the dims that may be split
//   digit    the number of a role, from 0 to `roles` - 1
//   number   the digits of all axes, read as one number in base `roles`. The digit of axis 0 is the
//            least significant one. place(a) is the place value of axis a: roles to the power a
//   state    the position of a number in the ascending list of all numbers in use
//
// Interchangeable axes have equal extent and the same network tier. If `exchange_alike` is set,
// placements that differ only by an exchange of such axes share a state: the state of the number
// whose digits ascend along these axes. Otherwise every number is a state of its own, and
// exchange_of and exchanged relate the states that differ by such an exchange.

#include <vector>

#include <ashlar/plan/step_prices.hpp>
#include <ashlar/search/interchangeable_axes.hpp>

namespace ashlar::search {

class role_states {
 public:
  /// Numbers the placements of tensors with `rank` dims. `dims` is the set of dims that placements
  /// may split; bit d stands for dim d.
  constexpr role_states(int rank, unsigned dims, topology const& t, bool exchange_alike)
      : axes_(t.axes()) {
    for (int role = 0; role < 2 + rank; ++role)
      if (role < axis_roles::first_split || (dims >> (role - axis_roles::first_split) & 1u) != 0) {
        role_of_[roles_] = role;
        digit_[role] = roles_++;
      }
    int numbers = 1;
    for (int a = 0; a < axes_; ++a, numbers *= roles_) {
      place_[a] = numbers;
      sorted_before_[a] = exchange_alike ? interchangeable_before(t, a) : -1;
      alike_[a] = exchange_alike ? -1 : interchangeable_before(t, a);
    }
    number_states(numbers);
  }

  constexpr int size() const { return static_cast<int>(numbers_.size()); }
  constexpr int roles() const { return roles_; }
  constexpr int place(int axis) const { return place_[axis]; }

  /// Returns the role (B, P or a split dim) that a digit stands for, as an index of
  /// axis_roles::having.
  constexpr int role_of(int digit) const { return role_of_[digit]; }

  constexpr int number(int state) const { return numbers_.data()[state]; }
  constexpr int state_of(int number) const { return state_.data()[number]; }
  constexpr int digit(int number, int axis) const { return number / place_[axis] % roles_; }

  constexpr int state(placement const& p) const {
    int number = 0;
    for (int a = axes_ - 1; a >= 0; --a)
      number = number * roles_ + digit_[axis_roles::role(p.axis.items[a])];
    return state_.data()[number];
  }

  /// Returns, for each role (B, P or a split dim), the set of axes that have it in the placement
  /// with this number.
  constexpr axis_roles having(int number) const {
    axis_roles roles;
    for (int a = 0; a < axes_; ++a) roles.having[role_of_[digit(number, a)]] |= 1u << a;
    return roles;
  }

  /// Returns whether a graph of placements needs the edge on which the axes in `moving` change
  /// their role (B, P or a split dim). `all` are all axes that have that role before the change. If
  /// interchangeable axes are merged (`exchange_alike`), several subsets of `all` lead to the same
  /// state. Then only one of these subsets needs an edge: the one that takes the first axes of each
  /// group of interchangeable axes.
  constexpr bool are_first(axis_set moving, axis_set all) const {
    for (int a = 0; a < axes_; ++a)
      if ((moving >> a & 1u) != 0 && sorted_before_[a] >= 0 &&
          ((all & ~moving) >> sorted_before_[a] & 1u) != 0)
        return false;
    return true;
  }

  struct axis_pair {
    int first = -1, second = -1;
  };

  /// Returns two interchangeable axes (of equal extent and network tier) whose digits descend in
  /// this state, or {-1, -1} if there are no such axes. If such axes are merged (`exchange_alike`),
  /// always returns {-1, -1}.
  constexpr axis_pair exchange_of(int state) const {
    for (int b = 0; b < axes_; ++b)
      if (int const a = alike_[b]; a >= 0 && digit(state, a) > digit(state, b)) return {a, b};
    return {};
  }

  /// Returns the state in which axes a and b have each other's roles. Expects that placements which
  /// differ by such an exchange are separate states (`exchange_alike` is not set).
  constexpr int exchanged(int state, int a, int b) const {
    return state + (digit(state, a) - digit(state, b)) * (place_[b] - place_[a]);
  }

 private:
  constexpr void number_states(int numbers) {
    scratch<int> sorted(static_cast<std::size_t>(numbers));
    state_ = scratch<int>(sorted.size());
    for (int number = 0; number < numbers; ++number) {
      int ascending = number;
      for (int a = 0; a < axes_; ++a)
        for (int b = a; sorted_before_[b] >= 0; b = sorted_before_[b]) {
          int const before = sorted_before_[b];
          int const x = digit(ascending, before), y = digit(ascending, b);
          if (x > y) ascending += (x - y) * (place_[b] - place_[before]);
        }
      sorted.data()[number] = ascending;
      if (ascending != number) continue;
      state_.data()[number] = size();
      numbers_.push_back(number);
    }
    for (int number = 0; number < numbers; ++number)
      state_.data()[number] = state_.data()[sorted.data()[number]];
  }

  int axes_;
  int roles_ = 0;                ///< number of roles: B, P and the dims that may be split
  int role_of_[2 + max_rank]{};  ///< the role of each digit
  int digit_[2 + max_rank]{};    ///< the digit of each role
  int place_[max_axes]{};        ///< the place value of each axis
  /// Used if `exchange_alike` is set, otherwise all -1: for each axis, the last axis before it with
  /// equal extent and network tier, or -1 if there is none.
  int sorted_before_[max_axes]{};
  /// Used if `exchange_alike` is not set, otherwise all -1: for each axis, the last axis before it
  /// with equal extent and network tier, or -1 if there is none.
  int alike_[max_axes]{};
  scratch<int> state_;        ///< the state of each number
  std::vector<int> numbers_;  ///< the number of each state
};

}  // namespace ashlar::search
