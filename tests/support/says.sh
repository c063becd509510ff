# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
#
# Scripts source this file to check what commands print. Before that, the script sets `work` to a
# folder. The output of the last command is in $work/output.

# says <text> <command>...: demands that the output contains the text, and returns the command's
# exit status.
says() {
  local text="$1" status=0
  shift
  "$@" >"$work/output" 2>&1 || status=$?
  grep -q -- "$text" "$work/output" ||
    { cat "$work/output"; echo "not in the output: $text"; exit 1; }
  return "$status"
}

# refuses <text> <command>...: demands that the command fails and prints the text.
refuses() {
  if says "$@"; then
    shift
    echo "$*: did not fail"
    exit 1
  fi
}
