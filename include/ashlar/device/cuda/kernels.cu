// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// The one translation unit that nvcc compiles: every kernel of ashlar, for every element type.
// ashlar_enable_cuda(<target>) adds it to a program.
