#!/usr/bin/env bash
# What action.yml runs: its inputs, as the environment holds them, become a command line of wfr. The bash of macOS is
# 3.2, which has no mapfile and takes an empty array for an unset one.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# The action's own checkout is wfr as it was asked for, and this builds it, also in a job with NODE_ENV=production. The
# token is none of npm's business.
if [[ ! -e $root/dist/main.js ]]; then
  (cd "$root" && env -u INPUT_TOKEN -u WFR_TOKEN npm ci --include=dev --no-audit --no-fund) >&2
fi

# An input that was left empty leaves the job's own variable what it is.
if [[ -n ${INPUT_BASE_URL:-} ]]; then export WFR_BASE_URL=$INPUT_BASE_URL; fi
if [[ -n ${INPUT_TOKEN:-} ]]; then export WFR_TOKEN=$INPUT_TOKEN; fi

flags=()
if [[ -n ${INPUT_TIMEOUT:-} ]]; then flags+=("--timeout=$INPUT_TIMEOUT"); fi
while IFS= read -r line; do
  line=${line%$'\r'}
  if [[ -n $line ]]; then flags+=("--report=$line"); fi
done <<<"${INPUT_REPORT:-}"

# After --, nothing is taken for a flag.
items=("${INPUT_WORKFLOW:-}")
while IFS= read -r line; do
  line=${line%$'\r'}
  if [[ -n $line ]]; then items+=("$line"); fi
done <<<"${INPUT_INPUTS:-}"

exec node "$root/bin/wfr.js" run ${flags[@]+"${flags[@]}"} -- "${items[@]}"
