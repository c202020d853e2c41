#!/usr/bin/env bash
# The step of action.yml: builds the command line of wfr from the action's inputs in the environment. Works with bash 3.2
# of macOS, which has no mapfile and treats an empty array as unset.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Takes dist/ from the release if this is the checkout of its tag; a runner has it at …/_actions/owner/repository/tag.
download() {
  local tagged='/_actions/([^/]+/[^/]+)/v([0-9]+[.][0-9]+[.][0-9]+[^/]*)$' unpacked="$root/.release"
  [[ $root =~ $tagged ]] || return 1
  local repository=${BASH_REMATCH[1]} version=${BASH_REMATCH[2]}
  local releases=${GITHUB_SERVER_URL:-https://github.com}/$repository/releases/download
  mkdir -p "$unpacked"
  curl -fsSL --retry 3 "$releases/v$version/wfr-$version.tgz" | tar -xz -C "$unpacked" || return 1
  mv "$unpacked/package/dist" "$root/dist"
}

# Builds the checkout, also in a job with NODE_ENV=production.
build() {
  (cd "$root" && env -u INPUT_TOKEN -u WFR_TOKEN npm ci --include=dev --no-audit --no-fund) >&2
}

# The action's own checkout is wfr as it was asked for.
if [[ ! -e $root/dist/main.js ]]; then download || build; fi

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
