// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The only file of ashlar that asks which compiler it is read by.
//
//   ASHLAR_HD         a function that also runs on a CUDA device when nvcc reads it
//   ASHLAR_RESTRICT   a pointer through which, in its scope, alone its object is reached
//   ASHLAR_VECTORIZE  before a loop: its iterations do not depend on each other through memory
//                     (they may still write exactly what they read: x[i] = f(x[i]))
//   ASHLAR_UNROLL     before a loop of a kernel: its iterations are written out, so that arrays of a thread
//                     are indexed by constants and lie in registers
//   ASHLAR_VECTOR_BYTES   width of the machine's vectors; loops by hand are written for it
//   ASHLAR_STREAM_STORES  1 where stores around the caches (SSE2 and up) can be written
//   ASHLAR_HAS_NVTX       1 where the headers of NVTX 3 are, which come with most CUDA toolkits
//   ASHLAR_POISON(p, n)   with the address sanitizer: whoever touches these n bytes is reported, until
//   ASHLAR_UNPOISON(p, n) allows it again; nothing without that sanitizer
//   ASHLAR_IN_COMPILER    whether a constant is being computed (std::is_constant_evaluated())
//
// A program that links ashlar::compiled (compiled/README.md) is compiled with ASHLAR_COMPILED=1. The headers then
// only declare large functions, by these macros:
//
//   ASHLAR_INLINE             before a function that is no template: inline, or nothing if the library has it
//   ASHLAR_DEFINES(PART)      in #if: whether definitions are to be read here, which is always so without
//                             the library, and in the library's source of that part
//   ASHLAR_RETURN(here, compiled)   of a constexpr function: returns `here` in constant expressions, and
//                             everywhere without the library; else `compiled`, which the library has
//
// It includes nothing and decides nothing else; warnings and architecture flags belong to CMake.

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

// Clang checks for overlap at run time and needs no telling; told, it warns wherever it does not
// vectorize, at -O1 everywhere.
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
// As in sanitizer/asan_interface.h.
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
// In this form, compilers leave out what `here` calls also where they do not optimize.
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
