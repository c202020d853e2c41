#!/usr/bin/env bash
# A step of action.yml: makes the command line of wfr from the action's inputs in the environment. Downloads nothing, as it
# has the token. Works with bash 3.2 of macOS, which has no mapfile and treats an empty array as unset.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Hides the token in the log before anything can print it. GitHub reads commands from stderr, too.
token=${INPUT_TOKEN:-${WFR_TOKEN:-}}
if [[ -n $token ]]; then
  token=${token//'%'/%25}
  token=${token//$'\r'/%0D}
  token=${token//$'\n'/%0A}
  printf '::add-mask::%s\n' "$token" >&2
fi

# An empty input keeps the job's own variable.
if [[ -n ${INPUT_BASE_URL:-} ]]; then export WFR_BASE_URL=$INPUT_BASE_URL; fi
if [[ -n ${INPUT_TOKEN:-} ]]; then export WFR_TOKEN=$INPUT_TOKEN; fi

flags=()
if [[ -n ${INPUT_TIMEOUT:-} ]]; then flags+=("--timeout=$INPUT_TIMEOUT"); fi
if [[ -n ${INPUT_ONCE:-} ]]; then flags+=("--once=$INPUT_ONCE"); fi
if [[ -n ${INPUT_GET:-} ]]; then
  flags+=("--get=$INPUT_GET")
  # The log would act on commands in it; the next step makes it an output.
  exec >"${RUNNER_TEMP:-$root}/.wfr-value"
fi
while IFS= read -r line; do
  line=${line%$'\r'}
  if [[ -n $line ]]; then flags+=("--report=$line"); fi
done <<<"${INPUT_REPORT:-}"

# The object comes from standard input, in which nothing can stand for a file.
if [[ -n ${INPUT_INPUTS_JSON:-} ]]; then
  flags+=(--inputs-file=- --no-documents)
  exec <<<"$INPUT_INPUTS_JSON"
fi

# After --, no item is parsed as a flag.
items=("${INPUT_WORKFLOW:-}")
while IFS= read -r line; do
  line=${line%$'\r'}
  if [[ -n $line ]]; then items+=("$line"); fi
done <<<"${INPUT_INPUTS:-}"

exec node "$root/bin/wfr.js" run ${flags[@]+"${flags[@]}"} -- "${items[@]}"
