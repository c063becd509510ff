// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: equal: x == y and x != y would be masks, not a bool. Write equal(x, y) or 1 - equal(x, y).

// Users expect that == and != return a bool, but tensors are compared element by element.

#include <ashlar/tensor/compare.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

using values = tensor<float, 1, sbp<B>>;

#ifdef ASHLAR_CONTROL
auto equal_ones(values const& x, values const& y) { return equal(x, y); }
auto other_ones(values const& x) { return 1 - equal(x, 2); }
#else
auto equal_ones(values const& x, values const& y) { return x == y; }
auto other_ones(values const& x) { return x != 2; }
#endif
