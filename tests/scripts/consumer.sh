#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
# processors: 1
#
# Builds fresh projects that use the library. The first project finds only the installed
# ashlar::core by find_package. The second project finds the whole installed library, with CUDA if
# nvcc was found. The third project adds the library as a subdirectory. The last project does so
# without MPI. Paths contain a space on purpose.
#
# The installed files must equal those of the source tree, which the build has compiled already. So
# the second project compiles only a part of them: before it is built, the script empties all
# installed sources of ashlar::compiled but one, and removes all kernels but those of one file.
set -euo pipefail

source_dir="${ASHLAR_SOURCE_DIR:-$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)}"
binary_dir="${ASHLAR_BINARY_DIR:-$source_dir/build/default}"
if [ ! -f "$source_dir/include/ashlar/config.hpp" ]; then
  echo "no headers yet"
  exit 77
fi

work="$(mktemp -d "${TMPDIR:-/tmp}/ashlar consumer.XXXXXX")"
trap 'rm -rf -- "$work"' EXIT

full=OFF
[ -f "$source_dir/include/ashlar/ashlar.hpp" ] &&
  grep -q '^CBLAS_LINKS:INTERNAL=1' "$binary_dir/CMakeCache.txt" && full=ON
cuda=OFF
[ -f "$binary_dir/ashlar_cuda/libashlar_cuda_kernels.a" ] && cuda=ON
mpi="$(sed -n 's/^MPI_CXX_COMPILER:[A-Z]*=//p' "$binary_dir/CMakeCache.txt")"
compiler="$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$binary_dir/CMakeCache.txt")"

# user <folder> <programs> <cmake argument>...: configures and builds a project, and runs some of
# its programs. <programs> is a list separated by semicolons (tests/consumer/programs.cmake).
user() {
  local folder="$1" programs="$2" build="$work/build $1 ${2//;/ }" program
  shift 2
  cmake -S "$source_dir/tests/consumer/$folder" -B "$build" -G Ninja \
    "-DCMAKE_CXX_COMPILER=$compiler" "-DCONSUMER_PROGRAMS=$programs" \
    ${mpi:+"-DMPI_CXX_COMPILER=$mpi"} "$@" >"$work/configured" 2>&1 ||
    { cat "$work/configured"; echo "configuring $folder failed"; return 1; }
  cmake --build "$build" >"$work/log" 2>&1 ||
    { cat "$work/log"; echo "building $folder failed"; return 1; }
  for program in ${programs//;/ }; do "$build/$program" || return 1; done
}

cmake --install "$binary_dir" --prefix "$work/prefix" >"$work/log" 2>&1 ||
  { cat "$work/log"; exit 1; }

# The installed files must not name our source or build tree.
if grep -rF -e "$source_dir/" -e "$binary_dir/" "$work/prefix" --include='*.cmake'; then
  echo "installed CMake files name the source or build tree"
  exit 1
fi

# All files that the build uses must be installed as they are. From the list of differences, grep -v
# removes the files that a build without MPI, CUDA or nlohmann_json does not install.
missing="$(diff -rq -x README.md "$source_dir/include/ashlar" "$work/prefix/include/ashlar" || true)"
# Without the full library, the rooms above ashlar::core and their umbrella headers are not
# installed.
above='/include/ashlar(: |/)(device|comm|tensor|io|nn|train|checkpoint)(\.hpp|[/:]|$)'
[ "$full" = ON ] ||
  missing="$(grep -vE "^Only in .*($above|/include/ashlar: ashlar\.hpp$)" <<<"$missing" || true)"
[ "$cuda" = ON ] || missing="$(grep -vE ': (cuda|nccl)$|/(cuda|nccl)[/:]' <<<"$missing" || true)"
[ -n "$(sed -n 's/^nlohmann_json_DIR:[A-Z]*=//p' "$binary_dir/CMakeCache.txt" | grep -v NOTFOUND)" ] ||
  missing="$(grep -vE ': (json|checkpoint)$' <<<"$missing" || true)"
if [ -n "$missing" ]; then
  printf '%s\nThe installed headers are not those of the source tree.\n' "$missing"
  exit 1
fi

user installed core "-DCMAKE_PREFIX_PATH=$work/prefix"
if [ "$full" = ON ]; then
  for source in "$work/prefix/include/ashlar/compiled"/*.cpp; do
    [ "$(basename "$source")" = text.cpp ] || : >"$source"
  done
  programs="full;compiled"
  if [ "$cuda" = ON ]; then
    programs+=";cuda"
    echo '#include <ashlar/device/cuda/launch/random.cuh>' >"$work/prefix/include/ashlar/device/cuda/kernels.cu"
  fi
  user installed "$programs" "-DCMAKE_PREFIX_PATH=$work/prefix" -DASHLAR_CUDA_ARCHITECTURES=90-virtual
  user subdirectory linked "-DASHLAR_SOURCE_DIR=$source_dir"
fi

# A build without MPI has only the planner and says that MPI is missing.
user subdirectory core "-DASHLAR_SOURCE_DIR=$source_dir" -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON
grep -q 'MPI not found: only the planner' "$work/configured" || { cat "$work/configured"; exit 1; }
echo "consumer: full library $full, CUDA $cuda"
