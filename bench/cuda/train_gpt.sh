#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# train_gpt.sh PROGRAM ROUND TABLE OPTION...: runs train_gpt as GPT-2 in bfloat16 on one GPU and
# appends a row to the table. The row has the median speed of train_gpt's progress lines. The first
# progress line is left out, because it includes the warm-up. Exits with 77 if the program is
# missing or was built without CUDA. With ASHLAR_CUDA_TUNE=on, the library tunes its matrix
# products.
set -euo pipefail

program="$1" round="$2" table="$3" status=0
shift 3
[ -x "$program" ] || { echo "train_gpt was not built"; exit 77; }
"$program" --device cuda --precision bf16 --model gpt2 --batch 8 \
  "$@" >"$table.log" 2>&1 || status=$?
cat "$table.log"
if grep -q 'built without CUDA' "$table.log"; then status=77; fi
if [ "$status" -ne 0 ]; then rm "$table.log"; exit "$status"; fi
[ -s "$table" ] || echo 'library,round,mode,batch,context,parameters,ms,tokens_per_second' >"$table"
mode=ours
if [ "${ASHLAR_CUDA_TUNE:-off}" = on ]; then mode='ours tuned'; fi
awk -v round="$round" -v mode="$mode" '
  /^GPT with/ {parameters = $3; for (i = 1; i <= NF; ++i) {
    if ($i == "context") context = $(i + 1) + 0
    if ($i == "batch") batch = $(i + 1) + 0}}
  /^step/ {for (i = 2; i <= NF; ++i) if ($i == "tokens/s" && lines++) rates[++n] = $(i - 1) + 0}
  END {
    if (n == 0) exit 1
    for (i = 1; i <= n; ++i) for (j = i + 1; j <= n; ++j)
      if (rates[j] < rates[i]) {t = rates[i]; rates[i] = rates[j]; rates[j] = t}
    rate = rates[int((n + 1) / 2)]
    printf "ashlar,%s,%s,%d,%d,%d,%.3f,%.0f\n", round, mode, batch, context, parameters,
      1e3 * batch * context / rate, rate
  }' "$table.log" >>"$table"
rm "$table.log"
