#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
# processors: 1
#
# Checks the includes. A room is a folder of include/ashlar.
#
# - A room includes only itself and rooms that come before it in the list below. The umbrella header
#   includes all rooms.
# - io/json, which is a CMake target of its own, includes only rooms of ashlar::core. Only io/json
#   and the room checkpoint include headers of io/json.
# - The rooms of ashlar::core include no header of MPI, BLAS, CUDA or JSON. Of all rooms, only
#   io/json includes headers of nlohmann/.
# - No room includes the folder detail of another room.
# - Headers of CUDA and NCCL, and of folders named cuda or nccl, are included only by files below
#   folders named cuda or nccl.
# - Only .cuh and .cu files include a .cuh.
# - Each header belongs to a room, and each include is written with <...>.
set -euo pipefail

include="${ASHLAR_SOURCE_DIR:-$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)}/include"
[ -d "$include/ashlar" ] || { echo "no headers yet"; exit 0; }
cd -- "$include"

# grep prints FILE:LINE:#include <...>, and awk checks each line.
find ashlar \( -name '*.hpp' -o -name '*.cuh' -o -name '*.cu' \) -print0 | sort -z |
  xargs -0 grep -HnE '^[[:space:]]*#[[:space:]]*include' | awk '
  BEGIN {
    n = split("config support placement mesh layout signature machine plan step search sync " \
              "device comm tensor io nn train checkpoint umbrella", rooms, " ")
    for (i = 1; i <= n; ++i) level[rooms[i]] = i
    core = level["sync"]
  }
  # Returns the room of a path below ashlar/, or "?" if it belongs to none.
  function room(path, parts, count) {
    count = split(path, parts, "/")
    if (path == "ashlar/ashlar.hpp") return "umbrella"
    if (path == "ashlar/config.hpp") return "config"
    if (match(path, /^ashlar\/[a-z]+\.hpp$/)) { # ashlar/search.hpp includes the room search
      sub(/\.hpp$/, "", parts[2])
      return parts[2] in level ? parts[2] : "?"
    }
    return count > 2 && parts[2] in level ? parts[2] : "?"
  }
  function complain(why) { print where ": " why; ++bad }
  {
    split($0, field, ":")
    from = field[1]
    where = "include/" from ":" field[2]
    if (!match($0, /[<"][^>"]*[>"]/)) next
    bracket = substr($0, RSTART, 1)
    to = substr($0, RSTART + 1, RLENGTH - 2)
    here = room(from)
    json = from ~ /^ashlar\/io\/json\//
    gpu = from ~ /^ashlar\/[a-z]+\/(cuda|nccl)\//

    if (here == "?") { complain("belongs to no room (" from ")"); next }
    if (bracket == "\"") { complain("write <ashlar/...>, not \"" to "\""); next }
    if (to !~ /^ashlar\//) {
      if (level[here] <= core && to ~ /^(mpi\.h|cblas\.h|nlohmann\/|cuda|cublas|nccl)/)
        complain("room " here " is part of ashlar::core and must do without <" to ">")
      if (!json && to ~ /^nlohmann\//) complain("only io/json includes <" to ">")
      if (!gpu && to ~ /^(cuda|cublas|nccl)/)
        complain("only folders cuda and nccl include <" to ">")
      next
    }
    there = room(to)
    if (to ~ /\.cuh$/ && from !~ /\.cuh?$/) complain("only .cu and .cuh include <" to ">")
    if (to ~ /^ashlar\/[a-z]+\/(cuda|nccl)\// && !gpu)
      complain("only folders cuda and nccl include <" to ">: the CPU path does without")
    if (there == "?") complain("<" to "> belongs to no room")
    else if (to ~ /^ashlar\/io\/json\// && !json && here != "checkpoint")
      complain("only io/json and the room checkpoint include <" to ">")
    else if (json && to !~ /^ashlar\/io\/json\// && level[there] > core)
      complain("io/json includes only rooms of ashlar::core, not " there)
    else if (level[there] > level[here]) complain("room " here " includes the lower room " there)
    else if (there != here && to ~ /\/detail\//) complain("<" to "> is private to room " there)
  }
  END {
    if (bad) { print bad " include(s) against the order of rooms"; exit 1 }
    print "include direction: " NR " includes checked"
  }'
