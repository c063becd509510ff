// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// This file defines the macros of ashlar, among them those that depend on the compiler:
//
//   ASHLAR_VERSION    10000 * major + 100 * minor + patch; CMake reads it here
//   ASHLAR_HD         marks a function that also runs on a CUDA device when nvcc compiles it
//   ASHLAR_RESTRICT   restrict: no other pointer in this scope aliases the object
//   ASHLAR_VECTORIZE  before a loop: its iterations do not depend on each other through memory
//                     (an iteration may still update in place: x[i] = f(x[i]))
//   ASHLAR_UNROLL     before a loop of a kernel: the loop is fully unrolled, so that a thread's
//                     arrays are indexed by constants and can live in registers
//   ASHLAR_VECTOR_BYTES   bytes of a vector register of the target CPU, for loops written by hand
//   ASHLAR_STREAM_STORES  1 if non-temporal stores, which bypass the caches, are available (SSE2
//                         and up)
//   ASHLAR_HAS_NVTX       1 if the NVTX 3 headers are found; most CUDA toolkits include them
//   ASHLAR_POISON(p, n)   with AddressSanitizer: forbids access to n bytes from p on, so that any
//                         access is reported. Without this sanitizer it does nothing
//   ASHLAR_UNPOISON(p, n) permits access to these bytes again
//   ASHLAR_IN_COMPILER    std::is_constant_evaluated(): whether the evaluation is at compile time
//
// A program that links ashlar::compiled (compiled/README.md) is compiled with ASHLAR_COMPILED=1.
// The headers then only declare large functions and do not define them. These macros choose between
// the two forms:
//
//   ASHLAR_INLINE         before a function that is not a template: expands to `inline`, or to
//                         nothing if the compiled library defines the function
//   ASHLAR_DEFINES(PART)  in #if: whether the definitions of a part of ashlar, such as COMM, are
//                         compiled here. It is true in programs that do not use the compiled
//                         library, and in the library's own source file for that part
//   ASHLAR_RETURN(here, compiled)
//                         the body of a constexpr function. It returns the expression `here` at
//                         compile time. At run time it returns `compiled`, which calls a function
//                         of the compiled library, or `here` in programs that do not use it
//
// This file includes nothing. CMake sets the warnings and the architecture flags.

#ifndef ASHLAR_VERSION
#define ASHLAR_VERSION 100
#endif

#if defined(__CUDACC__)
#define ASHLAR_HD __host__ __device__
#else
#define ASHLAR_HD
#endif

#if defined(_MSC_VER) && !defined(__clang__)
#define ASHLAR_RESTRICT __restrict
#else
#define ASHLAR_RESTRICT __restrict__
#endif

// ASHLAR_VECTORIZE is empty for Clang, which checks at run time whether arrays overlap. With a
// hint, Clang would warn about every loop that it does not vectorize, which at -O1 is every
// loop.
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
#define ASHLAR_VECTORIZE _Pragma("GCC ivdep")
#else
#define ASHLAR_VECTORIZE
#endif

#if defined(__CUDACC__)
#define ASHLAR_UNROLL _Pragma("unroll")
#else
#define ASHLAR_UNROLL
#endif

#if defined(__AVX512F__) && defined(__AVX512BW__)
#define ASHLAR_VECTOR_BYTES 64
#elif defined(__AVX2__)
#define ASHLAR_VECTOR_BYTES 32
#else
#define ASHLAR_VECTOR_BYTES 16
#endif

#if defined(__SSE2__) && !defined(__CUDACC__)
#define ASHLAR_STREAM_STORES 1
#else
#define ASHLAR_STREAM_STORES 0
#endif

#if defined(__has_include)
#if __has_include(<nvtx3/nvtx3.hpp>)
#define ASHLAR_HAS_NVTX 1
#endif
#endif
#if !defined(ASHLAR_HAS_NVTX)
#define ASHLAR_HAS_NVTX 0
#endif

#if defined(__SANITIZE_ADDRESS__)
#define ASHLAR_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ASHLAR_ADDRESS_SANITIZER 1
#endif
#endif
#if defined(ASHLAR_ADDRESS_SANITIZER)
// These declarations match sanitizer/asan_interface.h.
extern "C" void __asan_poison_memory_region(void const volatile*, __SIZE_TYPE__);
extern "C" void __asan_unpoison_memory_region(void const volatile*, __SIZE_TYPE__);
#define ASHLAR_POISON(p, n) __asan_poison_memory_region(p, n)
#define ASHLAR_UNPOISON(p, n) __asan_unpoison_memory_region(p, n)
#else
#define ASHLAR_POISON(p, n) ((void)(p), (void)(n))
#define ASHLAR_UNPOISON(p, n) ((void)(p), (void)(n))
#endif

#define ASHLAR_IN_COMPILER __builtin_is_constant_evaluated()

#if !defined(ASHLAR_COMPILED)
#define ASHLAR_COMPILED 0
#endif
// In code for run time, the condition ASHLAR_IN_COMPILER of ASHLAR_RETURN is the constant false. So
// compilers generate no code for the expression `here` and the functions that it calls, even when
// they do not optimize.
#if ASHLAR_COMPILED
#define ASHLAR_INLINE
#define ASHLAR_RETURN(here, compiled)                                                              \
  if (ASHLAR_IN_COMPILER) return here;                                                             \
  else return compiled
#else
#define ASHLAR_INLINE inline
#define ASHLAR_RETURN(here, compiled) return here
#endif
#define ASHLAR_DEFINES(PART) (!ASHLAR_COMPILED || ASHLAR_COMPILES_##PART)
