#!/usr/bin/env bash
# The step of action.yml: builds the command line of wfr from the action's inputs in the environment. Works with bash 3.2
# of macOS, which has no mapfile and treats an empty array as unset.
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

# Runs a command with what npm and Node need of the environment, and with none of the secrets of the step.
without_secrets() {
  local name kept=()
  for name in PATH HOME TMPDIR TEMP TMP USERPROFILE APPDATA LOCALAPPDATA SYSTEMROOT COMSPEC PATHEXT \
    HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy NODE_EXTRA_CA_CERTS SSL_CERT_FILE \
    NPM_CONFIG_REGISTRY npm_config_registry; do
    if [[ -n ${!name:-} ]]; then kept+=("$name=${!name}"); fi
  done
  env -i "${kept[@]}" "$@"
}

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

# Builds the checkout. No package runs a script of its own.
build() {
  (
    cd "$root"
    without_secrets npm ci --include=dev --ignore-scripts --no-audit --no-fund
    without_secrets node build.mjs
  ) >&2
}

# The action's own checkout is the version of wfr that the workflow asked for.
if [[ ! -e $root/dist/main.js ]]; then download || build; fi

# An empty input keeps the job's own variable.
if [[ -n ${INPUT_BASE_URL:-} ]]; then export WFR_BASE_URL=$INPUT_BASE_URL; fi
if [[ -n ${INPUT_TOKEN:-} ]]; then export WFR_TOKEN=$INPUT_TOKEN; fi

flags=()
if [[ -n ${INPUT_TIMEOUT:-} ]]; then flags+=("--timeout=$INPUT_TIMEOUT"); fi
if [[ -n ${INPUT_ONCE:-} ]]; then flags+=("--once=$INPUT_ONCE"); fi
if [[ -n ${INPUT_GET:-} ]]; then flags+=("--get=$INPUT_GET"); fi
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
