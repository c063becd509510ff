# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Scripts source this file. `ashlar_install_packages KIND` makes sure that the packages of a kind
# are installed. If no package is missing, the function does nothing. On Debian and Ubuntu, as root
# or with password-less sudo, it installs the missing packages. Otherwise it prints the commands
# that install all packages of this kind on three systems, and returns 1. The kinds:
#
#   program   packages that the programs need
#   tests     packages that programs and tests need
#   format    the formatter that tests/scripts/house.sh uses
#   mpich     MPICH
#   smpi      the simulator of clusters
#   peers     packages for the comparisons and plots of bench/run.sh

# Columns: kind | what to look for | the package's name in apt | in dnf | in brew. The second column
# is a command, a header (<…>), a package of pkg-config (in parentheses), or a list of libraries in
# braces, of which one must link. The BLAS is looked for by the names of the optimized libraries,
# because cblas.h may belong to the reference BLAS, which is about thirty times slower.
ashlar_package_table='
program|g++|g++|gcc-c++|gcc
program|cmake|cmake|cmake|cmake
program|ninja|ninja-build|ninja-build|ninja
program|pkg-config|pkgconf|pkgconf-pkg-config|pkgconf
program|mpicxx|libopenmpi-dev|openmpi-devel|open-mpi
program|mpirun|openmpi-bin|openmpi|open-mpi
program|{openblas blis mkl_rt}|libopenblas-dev|openblas-devel|openblas
program|<nlohmann/json.hpp>|nlohmann-json3-dev|json-devel|nlohmann-json
program|<CLI/CLI.hpp>|libcli11-dev|cli11-devel|cli11
tests|<range/v3/version.hpp>|librange-v3-dev|range-v3-devel|range-v3
tests|<doctest/doctest.h>|doctest-dev|doctest-devel|doctest
tests|<rapidcheck.h>|librapidcheck-dev|rapidcheck-devel|rapidcheck
tests|<benchmark/benchmark.h>|libbenchmark-dev|google-benchmark-devel|google-benchmark
tests|clang++|clang|clang|llvm
format|clang-format-16|clang-format-16|clang-tools-extra|clang-format@16
mpich|mpicxx.mpich|libmpich-dev|mpich-devel|mpich
mpich|mpiexec.mpich|mpich|mpich|mpich
smpi|smpirun|simgrid|simgrid|simgrid
smpi|<smpi/smpi.h>|libsimgrid-dev|simgrid-devel|simgrid
peers|(scalapack-openmpi)|libscalapack-openmpi-dev|scalapack-openmpi-devel|scalapack
peers|gnuplot|gnuplot-nox|gnuplot-minimal|gnuplot
'

# ashlar_has <command|<header>|(package)|{library ...}>: succeeds if it is installed.
ashlar_has() {
  local flags=() prefix
  case "$1" in
    "<"*)
      command -v g++ >/dev/null 2>&1 || return 1
      for prefix in /opt/homebrew /usr/local /opt/homebrew/opt/openblas /usr/local/opt/openblas; do
        flags+=("-I$prefix/include")
      done
      flags+=(-I/usr/include/openblas) # Fedora installs cblas.h here.
      printf '#include %s\n' "$1" | g++ -std=c++20 "${flags[@]}" -E -x c++ - >/dev/null 2>&1
      ;;
    "("*)
      command -v pkg-config >/dev/null 2>&1 || return 1
      prefix="${1#"("}"
      pkg-config --exists "${prefix%")"}"
      ;;
    "{"*)
      command -v g++ >/dev/null 2>&1 || return 1
      local library
      flags=()
      for prefix in /opt/homebrew/opt/openblas /usr/local/opt/openblas; do flags+=("-L$prefix/lib"); done
      for library in $(printf '%s' "$1" | tr -d '{}'); do
        echo 'int main() {}' | g++ -x c++ - -o /dev/null "${flags[@]}" "-l$library" >/dev/null 2>&1 && return 0
      done
      return 1
      ;;
    *) command -v "$1" >/dev/null 2>&1 ;;
  esac
}

# ashlar_concerns <kind> <row kind>: succeeds if `kind` needs the packages of the rows of `row
# kind`. A kind needs its own rows, and the kind `tests` also needs the rows of `program`.
ashlar_concerns() {
  [ "$1" = "$2" ] || { [ "$1" = tests ] && [ "$2" = program ]; }
}

# ashlar_column <kind> <column>: prints the packages of a kind, each once, with the names in the
# given column of the table.
ashlar_column() {
  printf '%s' "$ashlar_package_table" |
    awk -F'|' -v kind="$1" -v column="$2" \
      'NF && ($1 == kind || $1 == "program" && kind == "tests") && !seen[$column]++ { printf "%s ", $column }'
}

ashlar_print_package_lines() {
  printf '  Debian, Ubuntu: sudo apt-get install -y %s\n' "$(ashlar_column "$1" 3)"
  printf '  Fedora:         sudo dnf install -y %s\n' "$(ashlar_column "$1" 4)"
  printf '  Homebrew:       brew install %s\n' "$(ashlar_column "$1" 5)"
}

ashlar_install_packages() {
  local kind="$1" audience wanted apt sudo=() missing=() packages=()
  while IFS='|' read -r audience wanted apt _; do
    [ -n "$audience" ] || continue
    ashlar_concerns "$kind" "$audience" || continue
    if ! ashlar_has "$wanted"; then
      missing+=("$wanted")
      packages+=("$apt")
    fi
  done <<<"$ashlar_package_table"
  [ ${#missing[@]} -gt 0 ] || return 0

  printf 'Not found: %s\n' "${missing[*]}" >&2
  if ! command -v apt-get >/dev/null 2>&1; then
    printf 'Please install what is needed, then run this again:\n' >&2
    ashlar_print_package_lines "$kind" >&2
    return 1
  fi
  if [ "$(id -u)" -ne 0 ]; then
    if ! sudo -n true 2>/dev/null; then
      printf 'Neither root nor sudo without a password. Please install, then run this again:\n' >&2
      ashlar_print_package_lines "$kind" >&2
      return 1
    fi
    sudo=(sudo -n)
  fi
  printf 'Installing: %s\n' "${packages[*]}"
  ${sudo[@]+"${sudo[@]}"} env DEBIAN_FRONTEND=noninteractive apt-get update -q
  ${sudo[@]+"${sudo[@]}"} env DEBIAN_FRONTEND=noninteractive \
    apt-get install -q -y --no-install-recommends "${packages[@]}"

  # If the compiler was missing too, the search for every header failed. So all missing packages are
  # searched for again.
  for wanted in "${missing[@]}"; do
    if ! ashlar_has "$wanted"; then
      printf 'Still not found after installing: %s\n' "$wanted" >&2
      return 1
    fi
  done
}
