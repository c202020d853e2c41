#!/usr/bin/env bash
# The step of action.yml: builds the command line of wfr from the action's inputs in the environment. Works with bash 3.2
# of macOS, which has no mapfile and treats an empty array as unset.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Builds wfr in the action's checkout, also in a job with NODE_ENV=production. npm does not get the token.
if [[ ! -e $root/dist/main.js ]]; then
  (cd "$root" && env -u INPUT_TOKEN -u WFR_TOKEN npm ci --include=dev --no-audit --no-fund) >&2
fi

# An empty input keeps the job's own variable.
if [[ -n ${INPUT_BASE_URL:-} ]]; then export WFR_BASE_URL=$INPUT_BASE_URL; fi
if [[ -n ${INPUT_TOKEN:-} ]]; then export WFR_TOKEN=$INPUT_TOKEN; fi

flags=()
if [[ -n ${INPUT_TIMEOUT:-} ]]; then flags+=("--timeout=$INPUT_TIMEOUT"); fi
while IFS= read -r line; do
  line=${line%$'\r'}
  if [[ -n $line ]]; then flags+=("--report=$line"); fi
done <<<"${INPUT_REPORT:-}"

# After --, no item is parsed as a flag.
items=("${INPUT_WORKFLOW:-}")
while IFS= read -r line; do
  line=${line%$'\r'}
  if [[ -n $line ]]; then items+=("$line"); fi
done <<<"${INPUT_INPUTS:-}"

exec node "$root/bin/wfr.js" run ${flags[@]+"${flags[@]}"} -- "${items[@]}"
