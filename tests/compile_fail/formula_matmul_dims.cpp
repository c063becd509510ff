// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: formula: matmul takes a tensor of at least two dims and a matrix, or two batches of matrices of equally many dims.

// In a formula, no operand of matmul may be a vector.

#include <ashlar/nn/formula.hpp>

namespace nn = ashlar::nn;

#ifdef ASHLAR_CONTROL
using ashlar::formulas::symbol;
auto product(symbol<3> x, symbol<2> w) { return matmul(x, w); }
#else
using ashlar::formulas::symbol;
auto product(symbol<3> x, symbol<1> w) { return matmul(x, w); }
#endif
