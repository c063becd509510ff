// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: formula: split_into is not an operator of formulas. They have + - * / of tensors and numbers,
// expect: formula: split_axis is not an operator of formulas. Write split_dim(u, d, {4, 8}).
// expect: formula: merge_axes is not an operator of formulas. Write flatten<0, 1>(u).
// expect: formula: reshape is not an operator of formulas. Write split_dim(u, d, {4, 8}), or flatten<1, 2>(u).
// expect: formula: transposed is not an operator of formulas. Write transpose(u).

// In formulas, some operators that change the dims have other names, and no operator returns a list
// of tensors.

#include <ashlar/signature/formula/symbol.hpp>

using ashlar::formulas::symbol;

#ifdef ASHLAR_CONTROL
auto f(symbol<2> u) { return flatten<0, 1>(split_dim(transpose(u), 0, {2, 2})); }
#else
auto g(symbol<2> u) { return split_into<0>(u, {4, 4}); }
auto h(symbol<2> u) { return split_axis<0>(u, {2, 4}); }
auto i(symbol<2> u) { return merge_axes<0>(u); }
auto j(symbol<2> u) { return reshape(u, {8, 4}); }
auto k(symbol<2> u, symbol<2> v) { return matmul(transposed(u), v); }
#endif
