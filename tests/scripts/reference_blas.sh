#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
# processors: 1
#
# If the reference BLAS is used, the user must be warned when the build is configured and when a
# program runs. With another BLAS there must be no warning. This must also hold for oneMKL, which
# has no cblas.h, and after a configuration that found a BLAS without C interface. The check with
# the reference BLAS is skipped if it is not installed (Debian: libblas-dev).
set -euo pipefail

source_dir="${ASHLAR_SOURCE_DIR:-$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)}"
binary_dir="${ASHLAR_BINARY_DIR:-$source_dir/build/default}"
reference=''
for file in /usr/lib/*/blas/libblas.so /usr/lib64/blas/libblas.so; do
  if [ -f "$file" ]; then reference="$file"; fi
done
usual="$(sed -n 's/^CBLAS_OPENBLAS_LIBRARY:[A-Z]*=//p' "$binary_dir/CMakeCache.txt")"
compiler="$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$binary_dir/CMakeCache.txt")"

work="$(mktemp -d)"
trap 'rm -rf -- "$work"' EXIT
cat >"$work/CMakeLists.txt" <<TEXT
cmake_minimum_required(VERSION 3.25)
project(blas LANGUAGES CXX)
list(APPEND CMAKE_MODULE_PATH "$source_dir/cmake")
find_package(CBLAS REQUIRED)
add_executable(speed speed.cpp)
target_compile_features(speed PRIVATE cxx_std_20)
target_compile_options(speed PRIVATE -O2 -march=native)
target_include_directories(speed PRIVATE "$source_dir/include")
target_link_libraries(speed PRIVATE CBLAS::CBLAS)
TEXT
cat >"$work/speed.cpp" <<'TEXT'
#include <iostream>
#include <ashlar/device/host/blas_speed.hpp>
int main() { std::cout << ashlar::device::host::slow_blas_warning(); }
TEXT

# told <folder> <cmake argument>...: configures and builds a project in the folder, and prints the
# warnings about a slow BLAS that CMake and the program give.
told() {
  local build="$work/$1"
  shift
  cmake -S "$work" -B "$build" -G Ninja "-DCMAKE_CXX_COMPILER=$compiler" "$@" >"$build.log" 2>&1
  cmake --build "$build" >>"$build.log" 2>&1 || { cat "$build.log"; return 1; }
  grep -o 'IS THE REFERENCE' "$build.log" || true
  OPENBLAS_NUM_THREADS=1 "$build/speed" | grep -o 'Is it the reference BLAS' || true
}

# unblamed <cmake argument>...: builds a project with the BLAS $usual. Fails if CMake or the program
# warns of this BLAS.
unblamed() {
  local said
  said="$(told usual "$@")" || { printf '%s\n' "$said"; exit 1; }
  [ -z "$said" ] || { printf '%s is reported to be slow: %s\n' "$usual" "$said"; exit 1; }
}

if [ -n "$usual" ] && [ -f "$usual" ]; then
  # A BLAS without the C interface is refused. The same build folder finds another BLAS afterwards.
  echo 'void sdot_() {}' >"$work/plain.cpp"
  "$compiler" -shared -fPIC "$work/plain.cpp" -o "$work/libplain.so"
  if cmake -S "$work" -B "$work/usual" -G Ninja "-DCMAKE_CXX_COMPILER=$compiler" \
    "-DCBLAS_LIBRARIES=$work/libplain.so" >"$work/usual.log" 2>&1; then
    echo "a BLAS without C interface is not refused"
    exit 1
  fi
  unblamed "-DCBLAS_LIBRARIES=$usual"

  # A oneMKL is imitated: a link to the usual BLAS has the name of MKL's library, and a header with
  # the name of MKL's header includes the usual cblas.h. CMake searches no folder of the system, so
  # it finds only the imitation.
  header="$(sed -n 's/^CBLAS_INCLUDE_DIR:[A-Z]*=//p' "$binary_dir/CMakeCache.txt")/cblas.h"
  mkdir -p "$work/mkl/lib" "$work/mkl/include"
  ln -s "$usual" "$work/mkl/lib/libmkl_rt.so"
  printf '#include "%s"\n' "$header" >"$work/mkl/include/mkl_cblas.h"
  rm -rf "$work/usual"
  MKLROOT="$work/mkl" unblamed -DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=TRUE \
    "-DCMAKE_MAKE_PROGRAM=$(command -v ninja)" -DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=FALSE \
    -DCMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH=FALSE
  grep -q 'mkl_cblas.h' "$work/usual/ashlar_mkl/cblas.h" || { echo "no cblas.h was made for MKL"; exit 1; }
fi

if [ -z "$reference" ]; then
  echo "no reference BLAS here"
  exit 77
fi
said="$(told reference "-DCBLAS_LIBRARIES=$reference")"
if [ "$said" != $'IS THE REFERENCE\nIs it the reference BLAS' ]; then
  printf 'the reference BLAS is not reported as one: %s\n' "$said"
  exit 1
fi
