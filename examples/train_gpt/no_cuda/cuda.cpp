// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#include "../cuda.hpp"

namespace example {

bool has_cuda() { return false; }
void run_on_cuda(options const&, int&, char**&) {}

}  // namespace example
