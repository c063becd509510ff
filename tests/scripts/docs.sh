#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# Checks that README.md and docs/*.md are true. How a fenced block is checked depends on its
# language:
#
#   cpp      With `int main`: a program, which is compiled as in a user's project, with
#            ashlar::compiled if the build has it, and run on 4 ranks. Otherwise: a fragment. Each
#            of its lines must be a line of such a program, of a file (see below) or of an example.
#            The build compiles the examples.
#   text     After a program: its whole output. Otherwise: consecutive lines of some program's
#            output.
#   console  `$ plan ...` and its output, where a line `...` stands for any lines. Checked only in
#            builds of type Release that have examples/plan.
#   json     a machine file, which examples/plan must accept, if that program is built
#   sh       It may name only files and folders that exist below examples, tests, bench and cmake.
#   cmake    not checked here: tests/scripts/consumer.sh builds users' projects
#
# An HTML comment on the line before a block changes how the block is checked:
#
#   <!-- file: gain.hpp -->         The block is this file, which programs of all pages may include.
#   <!-- ranks: 8 -->               the number of ranks for the program
#   <!-- run: NAME 8 ARGUMENTS -->  Before a text block: consecutive lines of the output of
#                                   another run of NAME.md's program.
#   <!-- compile only: CUDA -->     The program is compiled if CUDA and NCCL are found, and not run.
#   <!-- refused: NAME -->          The fragment must not compile at the end of NAME.md's program.
#                                   The text block after it is part of GCC's output, except for
#                                   numbers of lines.
#
# Links between pages, which include CONTRIBUTING.md and the pages of the rooms (README.md below
# include/ashlar), must lead to files and headings that exist. The headers in the tables of a room's
# page must exist. The sentences in the tables of errors.md must be in the headers, and each sentence
# of tensor/sentences.hpp must be in errors.md.
set -euo pipefail

source_dir="${ASHLAR_SOURCE_DIR:-$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)}"
binary_dir="${ASHLAR_BINARY_DIR:-$source_dir/build/default}"
mpiexec="${ASHLAR_MPIEXEC:-mpirun}"
# shellcheck source=cmake/mpi_environment.sh
. "$source_dir/cmake/mpi_environment.sh"
export LC_ALL=C

work="$(mktemp -d)"
trap 'rm -rf -- "$work"' EXIT
cd -- "$source_dir"
pages=(README.md docs/*.md)
mapfile -t rooms < <(find include/ashlar -name README.md | sort)
status=0
complain() {
  printf '%s\n' "$*"
  status=1
}

# ---- Blocks. Block n of all pages becomes the file $work/blocks/n.LANGUAGE. For each block, the
# index has a line "number page line language comment".
mkdir "$work/blocks" "$work/programs" "$work/outputs"
awk -v folder="$work/blocks" '
  FNR == 1 { if (inside) print "an unclosed block"; inside = 0; comment = "" }
  /^```/ && !inside {
    inside = 1; language = substr($0, 4); n++
    name = sprintf("%s/%03d.%s", folder, n, language); printf "" > name
    printf "%03d\t%s\t%d\t%s\t%s\n", n, FILENAME, FNR, language, comment
    next
  }
  /^```/ { inside = 0; comment = ""; close(name); next }
  inside { print > name; next }
  /^<!-- .*-->$/ { comment = $0; gsub(/^<!-- | -->$/, "", comment); next }
  NF { comment = "" }
' "${pages[@]}" >"$work/index"

page_name() { basename "$1" .md; }
block() { printf '%s/blocks/%s.%s' "$work" "$1" "$2"; }

# ---- Programs and files.
declare -A ranks_of main_of
gpu=()
while IFS=$'\t' read -r n page line language comment; do
  case "$language" in
    cpp | text | console | json | sh | cmake) ;;
    *) complain "$page:$line: a block of language \"$language\", which nothing checks" ;;
  esac
  [ "$language" = cpp ] || continue
  name="$(page_name "$page")"
  case "$comment" in
    "file: "*) cp "$(block "$n" cpp)" "$work/programs/${comment#file: }" ;;
    *)
      grep -q 'int main(' "$(block "$n" cpp)" || continue
      if [ "$comment" = "compile only: CUDA" ]; then
        cp "$(block "$n" cpp)" "$work/programs/$name.cuda.cpp"
        gpu+=("$name")
        continue
      fi
      [ -z "${main_of[$name]:-}" ] || complain "$page:$line: a second program of this page"
      cp "$(block "$n" cpp)" "$work/programs/$name.cpp"
      main_of[$name]=$n
      ranks_of[$name]=4
      case "$comment" in "ranks: "*) ranks_of[$name]="${comment#ranks: }" ;; esac
      ;;
  esac
done <"$work/index"

# ---- Fragments. Each line must be a line of a program. Comments behind the code are ignored.
cat "$work/programs"/* examples/*.cpp examples/*/*.?pp examples/*/*/*.?pp |
  sed 's/^ *//; s/ *$//; s/ *\/\/ .*$//' | sort -u >"$work/lines"
while IFS=$'\t' read -r n page line language comment; do
  if [ "$language" != cpp ] || grep -q 'int main(' "$(block "$n" cpp)"; then continue; fi
  case "$comment" in "refused: "* | "file: "*) continue ;; esac
  while IFS= read -r text; do
    text="$(sed 's/^ *//; s/ *$//; s/ *\/\/ .*$//' <<<"$text")"
    [ -z "$text" ] || grep -qxF -- "$text" "$work/lines" ||
      complain "$page:$line: in no program: $text"
  done <"$(block "$n" cpp)"
done <"$work/index"

# ---- Files in shell commands, links, headings, sentences of errors.
while IFS=$'\t' read -r n page line language comment; do
  [ "$language" = sh ] || continue
  grep -oE '(^|[ "=])(examples|tests|bench|cmake)/[A-Za-z0-9_./]+' "$(block "$n" sh)" | tr -d ' "=' |
    while IFS= read -r file; do
      [ -e "$file" ] || echo "$page:$line: no such file: $file"
    done >>"$work/missing" || true
done <"$work/index"

headings() { # prints the headings of a page as links write them
  awk '/^```/ { inside = !inside } /^#+ / && !inside { sub(/^#+ /, ""); print }' "$1" |
    tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9 _-]//g; s/ /-/g'
}
for page in "${pages[@]}" CONTRIBUTING.md "${rooms[@]}"; do
  awk '/^```/ { inside = !inside } !inside' "$page" | grep -oE '\]\([^) ]+\)' | sed 's/^](//; s/)$//' |
    sort -u | while IFS= read -r link; do
      case "$link" in http*) continue ;; esac
      file="${link%%#*}"
      path="$page"
      if [ -n "$file" ]; then path="$(dirname "$page")/$file"; fi
      [ -e "$path" ] || { echo "$page: a link to nothing: $link"; continue; }
      case "$link" in
        *'#'*) headings "$path" | grep -qxF -- "${link#*#}" || echo "$page: no such heading: $link" ;;
      esac
    done || true # a page may have no links
done >>"$work/missing"

# A header in a table of a room's page is named by its path in the room, in the folder that the row
# begins with, or in include/ashlar. Patterns such as formula/*.hpp are not looked at.
awk '
  /^\|/ {
    room = FILENAME; sub(/README\.md$/, "", room)
    inner = match($0, /^\| `[a-z_\/]+\/` \|/) ? substr($0, 4, RLENGTH - 6) : ""
    rest = $0
    while (match(rest, /`[A-Za-z0-9_.\/]+\.(hpp|cuh|cu)`/)) {
      name = substr(rest, RSTART + 1, RLENGTH - 2)
      printf "%s:%d\t%s\t%s\t%s\n", FILENAME, FNR, name, room, inner
      rest = substr(rest, RSTART + RLENGTH)
    }
  }' "${rooms[@]}" | while IFS=$'\t' read -r line name room inner; do
  [ -e "$room$name" ] || [ -e "$room$inner$name" ] || [ -e "include/ashlar/$name" ] ||
    echo "$line: no such file: $name"
done >>"$work/missing"

# Collects the text of all headers. The parts of a string literal that continues on the next line
# are joined, so that the whole literal is on one line. In sentences.hpp, each line then has one
# literal.
join='s/"[ \t]*\\?\n[ \t]*"//g'
find include/ashlar -name '*.hpp' -exec cat {} + | perl -0777 -pe "$join" >"$work/sentences"
if [ -f docs/errors.md ]; then
  sed -n 's/^| `\([^`]*\)` |.*/\1/p' docs/errors.md | while IFS= read -r sentence; do
    grep -qF -- "${sentence//\\|/|}" "$work/sentences" || echo "docs/errors.md: in no header: $sentence"
  done >>"$work/missing"
  perl -0777 -pe "$join" include/ashlar/tensor/sentences.hpp | sed -n 's/^.*[ \t]"\(.*\)"$/\1/p' |
    while IFS= read -r sentence; do
      sentence="${sentence%%[.,(]*}"
      grep -qF -- "${sentence:0:60}" docs/errors.md || echo "docs/errors.md: lacks: $sentence"
    done >>"$work/missing"
fi
if [ -s "$work/missing" ]; then
  cat "$work/missing"
  status=1
fi

# ---- Compile.
if ! grep -q '^CBLAS_LINKS:INTERNAL=1' "$binary_dir/CMakeCache.txt" 2>/dev/null; then
  echo "no MPI or no BLAS: no program is compiled"
  [ "$status" -ne 0 ] || exit 77
  exit "$status"
fi
cached() { sed -n "s/^$1:[A-Z]*=//p" "$binary_dir/CMakeCache.txt"; }
cuda=OFF
if [ -d "$binary_dir/ashlar_cuda" ]; then cuda=AUTO; fi
refused=()
while IFS=$'\t' read -r n page line language comment; do
  case "$comment" in
    "refused: "*)
      name="${comment#refused: }"
      sed '$d' "$work/programs/$name.cpp" | cat - "$(block "$n" cpp)" <(echo '}') >"$work/programs/refused_$n.cpp"
      refused+=("$n")
      ;;
  esac
done <"$work/index"

{
  echo 'cmake_minimum_required(VERSION 3.25)'
  echo 'project(docs LANGUAGES CXX)'
  echo "add_subdirectory(\"$source_dir\" ashlar)"
  # The build has already compiled the library. Linking it saves most of the compile time.
  compiled="$binary_dir/libashlar_compiled.a"
  for name in "${!main_of[@]}"; do
    echo "add_executable($name $name.cpp)"
    echo "target_link_libraries($name PRIVATE ashlar::ashlar)"
    if [ -f "$compiled" ]; then
      echo "target_compile_definitions($name PRIVATE ASHLAR_COMPILED=1)"
      echo "target_link_libraries($name PRIVATE \"$compiled\")"
    fi
  done
  # The refused fragments are not linked, so they can always use the headers in the form of
  # ashlar::compiled, which compile faster.
  for n in "${refused[@]}"; do
    echo "add_library(refused_$n OBJECT EXCLUDE_FROM_ALL refused_$n.cpp)"
    echo "target_link_libraries(refused_$n PRIVATE ashlar::ashlar)"
    echo "target_compile_definitions(refused_$n PRIVATE ASHLAR_COMPILED=1)"
  done
  # Only the headers are used: linking the library would compile its kernels.
  echo 'if(TARGET ashlar::cuda)'
  for name in "${gpu[@]}"; do
    echo "  add_library(cuda_$name OBJECT $name.cuda.cpp)"
    echo "  target_link_libraries(cuda_$name PRIVATE ashlar::ashlar)"
    echo "  target_compile_definitions(cuda_$name PRIVATE ASHLAR_COMPILED=1)"
    echo "  target_compile_options(cuda_$name PRIVATE -fsyntax-only)"
    echo "  target_compile_definitions(cuda_$name PRIVATE \$<TARGET_PROPERTY:ashlar::cuda,INTERFACE_COMPILE_DEFINITIONS>)"
    echo "  target_include_directories(cuda_$name PRIVATE \$<TARGET_PROPERTY:ashlar::cuda,INTERFACE_INCLUDE_DIRECTORIES>)"
  done
  echo 'endif()'
} >"$work/programs/CMakeLists.txt"
mpi="$(cached MPI_CXX_COMPILER)"
cmake -S "$work/programs" -B "$work/build" -G Ninja "-DCMAKE_CXX_COMPILER=$(cached CMAKE_CXX_COMPILER)" \
  ${mpi:+"-DMPI_CXX_COMPILER=$mpi"} "-DASHLAR_ENABLE_CUDA=$cuda" >"$work/log" 2>&1 ||
  { cat "$work/log"; exit 1; }
cmake --build "$work/build" -j 2 >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
gcc=no
if "$(cached CMAKE_CXX_COMPILER)" --version | grep -qE 'Free Software Foundation'; then gcc=yes; fi

# ---- Run.
run() { # <program> <ranks> <output> <argument>...: runs a program of a page
  local program="$work/build/$1" ranks="$2" output="$3"
  shift 3
  timeout 120 "$mpiexec" -n "$ranks" "$program" "$@" >"$output" 2>"$work/errors" </dev/null ||
    complain "$program $*: failed: $(cat "$work/errors")"
}
for name in "${!main_of[@]}"; do
  if [ "${ranks_of[$name]}" -le "${ASHLAR_TEST_MAX_RANKS:-8}" ]; then
    run "$name" "${ranks_of[$name]}" "$work/outputs/$name"
  fi
done

# numberless: removes line numbers, column numbers, folders and names of .cpp files from compiler
# output.
numberless() {
  sed -e "s,[^ ]*include/ashlar/,include/ashlar/,g; s,$work/programs/,,g; s/refused_[0-9]*\.cpp/NAME.cpp/g" \
    -e 's/[A-Za-z0-9_]*\.cpp:/NAME.cpp:/g; s/:[0-9]*:[0-9]*:/:N:N:/g; s/^ *[0-9]* |/ N |/; s/[~^]*$//; s/ *$//'
}
# part_of <part> <whole>: succeeds if the lines of the first file are consecutive lines of the
# second.
part_of() {
  awk 'NR == FNR { part[++n] = $0; next } { whole[++m] = $0 }
    END {
      for (i = 0; i + n <= m; i++) {
        for (k = 1; k <= n && part[k] == whole[i + k]; k++) {}
        if (k > n) exit 0
      }
      exit 1
    }' "$1" "$2"
}
# in_order <part> <whole>: like part_of, but a line `...` in the first file stands for any lines.
in_order() {
  awk 'NR == FNR { part[++n] = $0; next } { whole[++m] = $0 }
    END {
      k = 1; free = 1
      for (i = 1; i <= m && k <= n; i++) {
        while (part[k] == "..." && k <= n) { free = 1; k++ }
        if (k <= n && part[k] == whole[i]) { k++; free = 0 }
        else if (!free) exit 1
      }
      while (k <= n && part[k] == "...") k++
      exit k <= n
    }' "$1" "$2"
}

previous=none previous_number=
compared=0
while IFS=$'\t' read -r n page line language comment; do
  name="$(page_name "$page")"
  case "$language $comment" in
    "cpp refused: "*)
      previous=refused
      if cmake --build "$work/build" --target "refused_$n" >"$work/refused_$n.log" 2>&1 </dev/null; then
        complain "$page:$line: compiles, and must not"
      fi
      previous_number=$n
      ;;
    "cpp "*)
      previous=fragment
      if [ "${main_of[$name]:-}" = "$n" ]; then previous=program; fi
      ;;
    "text run: "*)
      read -r program ranks arguments <<<"${comment#run: }"
      if [ "$ranks" -le "${ASHLAR_TEST_MAX_RANKS:-8}" ]; then
        # shellcheck disable=SC2086 # several arguments
        run "$program" "$ranks" "$work/outputs/$n" $arguments
        part_of "$(block "$n" text)" "$work/outputs/$n" ||
          { complain "$page:$line: $program prints something else:"; cat "$work/outputs/$n"; }
        compared=$((compared + 1))
      fi
      ;;
    "text "*)
      found=no
      case "$previous" in
        refused)
          numberless <"$(block "$n" text)" >"$work/part"
          numberless <"$work/refused_$previous_number.log" >"$work/whole"
          # Other compilers print the same sentence with other text around it.
          if [ "$gcc" = no ]; then
            sed -n 's/.*static assertion failed: //p' "$work/part" >"$work/sentence"
            if grep -qF -f "$work/sentence" "$work/whole"; then found=yes; fi
          elif part_of "$work/part" "$work/whole"; then found=yes; fi
          [ "$found" = yes ] || { complain "$page:$line: the compiler says something else:"; cat "$work/whole"; }
          ;;
        program)
          # The program has no output if it was not run because it needs too many ranks.
          if [ ! -f "$work/outputs/$name" ]; then continue; fi
          if diff "$(block "$n" text)" "$work/outputs/$name" >"$work/difference"; then found=yes; fi
          [ "$found" = yes ] || { complain "$page:$line: < is the page, > what is printed:"; cat "$work/difference"; }
          ;;
        *)
          for output in "$work/outputs"/*; do
            if part_of "$(block "$n" text)" "$output"; then found=yes; fi
          done
          [ "$found" = yes ] || complain "$page:$line: no program prints this"
          ;;
      esac
      compared=$((compared + 1))
      previous=none
      ;;
    "console "*)
      plan="$binary_dir/examples/plan"
      if [ -x "$plan" ] && grep -q '^CMAKE_BUILD_TYPE:[A-Z]*=Release' "$binary_dir/CMakeCache.txt"; then
        awk '/^\$ / { on = 1; sub(/^\$ /, "") } on { print } on && !/\\$/ { exit }' "$(block "$n" console)" >"$work/command"
        awk 'on { print } !on && !/\\$/ { on = 1 }' "$(block "$n" console)" >"$work/part"
        plan() { "$binary_dir/examples/plan" "$@"; }
        # shellcheck disable=SC1091 # made above
        . "$work/command" >"$work/whole" 2>&1 </dev/null || complain "$page:$line: the command fails"
        in_order "$work/part" "$work/whole" ||
          { complain "$page:$line: the command prints something else:"; cat "$work/whole"; }
        compared=$((compared + 1))
      fi
      ;;
    "json "*)
      if [ -x "$binary_dir/examples/plan" ]; then
        "$binary_dir/examples/plan" mlp --mesh node=2,gpu=2 --machine "$(block "$n" json)" >"$work/whole" 2>&1 ||
          { complain "$page:$line: no machine file:"; cat "$work/whole"; }
      fi
      ;;
  esac
done <"$work/index"
echo "docs: ${#main_of[@]} programs run, ${#refused[@]} refused, $compared outputs compared, CUDA $cuda (${gpu[*]:-})"
exit "$status"
