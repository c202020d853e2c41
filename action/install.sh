#!/usr/bin/env bash
# The first step of action.yml, which has no token of the service: takes the build of a release, or builds the checkout.
# Works with bash 3.2 of macOS.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

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

# Takes dist/ from the release if this is the checkout of its tag; a runner has it at …/_actions/owner/repository/tag. Only
# the workflow that releases this tag can have attested the package; where gh is missing or denies it, it is not unpacked.
download() {
  local tagged='/_actions/([^/]+/[^/]+)/v([0-9]+[.][0-9]+[.][0-9]+[^/]*)$' unpacked="$root/.release"
  [[ $root =~ $tagged ]] || return 1
  local repository=${BASH_REMATCH[1]} version=${BASH_REMATCH[2]}
  local server=${GITHUB_SERVER_URL:-https://github.com} package="$unpacked/wfr-$version.tgz"
  mkdir -p "$unpacked"
  curl -fsSL --retry 3 -o "$package" "$server/$repository/releases/download/v$version/wfr-$version.tgz" || return 1
  gh attestation verify "$package" --repo "$repository" \
    --cert-identity "$server/$repository/.github/workflows/release.yml@refs/tags/v$version" || return 1
  tar -xzf "$package" -C "$unpacked" || return 1
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
if [[ ! -e $root/dist/main.js ]]; then download >&2 || build; fi
