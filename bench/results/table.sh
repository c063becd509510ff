#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# table.sh FOLDER TABLE [MEMORY [TRANSPORT]]: prints one table of bench/results/movement.md as
# Markdown, from the figures of bench/run.sh in FOLDER. table.awk lists the tables. MEMORY and
# TRANSPORT select the setting of the runs (default: the word `default`).
set -euo pipefail

folder="$1" table="$2" memory="${3:-default}" transport="${4:-default}"
case "$table" in
  products) source="$folder/matmul.csv" ;;
  bytes) source="$folder/bytes.csv" ;;
  *) source="$folder/redistribute.csv" ;;
esac
[ -f "$source" ] || { echo "(no figures: $source)"; exit 0; }
awk -F, -v table="$table" -v memory="$memory" -v transport="$transport" \
  -f "$(dirname -- "${BASH_SOURCE[0]}")/table.awk" "$source"
