// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Numbers for placements without the order of shards:
//
//   digit    per axis, its role: B, P, and the dims that count
//   number   of all digits, the first axis' the least; place(a) is what one of axis a counts
//   state    its rank among the numbers that count: all of them, or with `exchange_alike` only those whose
//            digits ascend along interchangeable axes. Every other number then has the state of the one
//            that results from sorting its digits
//
// Without `exchange_alike` an exchange of interchangeable axes turns a state into another one
// (exchange_of), which differs from it only by its number.

#include <vector>

#include <ashlar/plan/step_prices.hpp>
#include <ashlar/search/interchangeable_axes.hpp>

namespace ashlar::search {

class role_states {
 public:
  /// `dims`: the dims that count, bit d for dim d, of tensors of that rank.
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

  /// The role (axis_roles) that a digit stands for.
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

  /// The axes that have each role in a number.
  constexpr axis_roles having(int number) const {
    axis_roles roles;
    for (int a = 0; a < axes_; ++a) roles.having[role_of_[digit(number, a)]] |= 1u << a;
    return roles;
  }

  /// Whether of alike axes in one role, `all`, the first ones are moving; true if these are told apart.
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

  /// Two alike axes along which the digits of a state descend; -1 if there are none. Where alike axes
  /// are not told apart there never are.
  constexpr axis_pair exchange_of(int state) const {
    for (int b = 0; b < axes_; ++b)
      if (int const a = alike_[b]; a >= 0 && digit(state, a) > digit(state, b)) return {a, b};
    return {};
  }

  /// The state with the roles of two axes exchanged; states are all numbers.
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
  int roles_ = 0;                  ///< B, P and the dims that count
  int role_of_[2 + max_rank]{};    ///< per digit
  int digit_[2 + max_rank]{};      ///< per role
  int place_[max_axes]{};          ///< of an axis' digit in a number
  int sorted_before_[max_axes]{};  ///< the last axis before that is not told apart; -1: none
  int alike_[max_axes]{};          ///< the last axis before that is alike, and told apart; -1: none
  scratch<int> state_;             ///< per number
  std::vector<int> numbers_;       ///< per state
};

}  // namespace ashlar::search
