#!/usr/bin/env bash
# Starts a run in one step and waits for it in another:
#
#   ./pipeline.sh start   starts a run and writes its id to the file run-id
#   ./pipeline.sh wait    waits for the run and writes its output to the file output.json
#   ./pipeline.sh         does both
#
# It explains wfr's exit code in one line and exits with the same code. While the file run-id exists, it starts no run: the
# file has the id of a run to wait for, or is empty if a run may exist whose id is unknown. WORKFLOW, DOCUMENT and
# CUSTOMER set the run's workflow and inputs, and WAIT_FOR the timeout.
#
# To try it with the sandbox: wfr sandbox --drop-answer -- ./pipeline.sh
set -euo pipefail

workflow=${WORKFLOW:-5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e}
document=${DOCUMENT:-scan.pdf}
customer=${CUSTOMER:-ACME}
wait_for=${WAIT_FOR:-10m}

# The exit code for a signal that this script received, and the process id of the wfr to forward it to.
stop=0
watching=

say() {
  echo "pipeline: $*" >&2
}

interrupted() {
  stop=$1
  if [[ -n $watching ]]; then kill -s TERM "$watching" 2>/dev/null || true; fi
}

start() {
  if [[ -s run-id ]]; then
    say "run $(<run-id) was started before; not started again"
    return
  fi
  if [[ -e run-id ]]; then
    say "no run was started, because one may exist: check the service, then write its id to run-id or remove that file"
    exit 6
  fi
  # An empty file marks that a run may exist.
  : >run-id || exit 74
  local id code=0
  # bash handles a signal only after this command. With -o id, wfr prints the id even if it is interrupted itself.
  id=$(wfr run --detach -o id -- "$workflow" "invoice@$document" "customer=$customer") || code=$?
  case $code in
    2 | 4 | 5 | 7) rm run-id ;;
    *) printf %s "$id" >run-id ;;
  esac
  case $code in
    0) say "started run $id" ;;
    2) say "no run was started: the command or its files are invalid, see above" ;;
    4) say "no run was started: the token is missing or was rejected; renew it" ;;
    5) say "no run was started: the service rejected the request; fix it before you try again" ;;
    6) say "a run may exist: check the service before you start another" ;;
    7) say "no run was started: the service cannot be reached; try again later" ;;
    129 | 130 | 143) say "interrupted: see above whether a run exists" ;;
    *) say "wfr exited with $code, see above: a run may exist" ;;
  esac
  if ((code == 0)); then code=$stop; fi
  if ((code != 0)); then exit "$code"; fi
}

# Runs wfr watch in the background, because bash handles signals only between commands or during wait.
watch() {
  local code
  wfr watch --timeout "$wait_for" -- "$1" >output.json &
  watching=$!
  if ((stop != 0)); then interrupted "$stop"; fi
  while :; do
    code=0
    wait "$watching" || code=$?
    # A signal ends wait while wfr is still running.
    kill -0 "$watching" 2>/dev/null || break
  done
  watching=
  if ((code > 128 && stop != 0)); then code=$stop; fi
  return "$code"
}

wait_for_end() {
  local id code=0
  id=$(cat run-id 2>/dev/null) || true
  if [[ -z $id ]]; then
    say "no run to wait for: start one with ./pipeline.sh start"
    exit 2
  fi
  : >output.json || exit 74
  watch "$id" || code=$?
  case $code in
    0) say "run $id finished; its output is in output.json" ;;
    1) say "run $id failed; its step and message are above" ;;
    2) say "run $id is not watched: the command is invalid, see above" ;;
    4) say "run $id may continue, but the token was rejected: renew it, then run ./pipeline.sh wait" ;;
    5) say "the service knows no run $id: check that it was started at the same service" ;;
    7) say "run $id may continue, but the service cannot be reached: try ./pipeline.sh wait again later" ;;
    8) say "run $id continues; to wait longer, run ./pipeline.sh wait" ;;
    129 | 130 | 143) say "interrupted; run $id continues; to wait for it, run ./pipeline.sh wait" ;;
    *) say "wfr exited with $code, see above; run $id may continue" ;;
  esac
  # Keep the id of a run that has not ended.
  if ((code == 0 || code == 1)); then rm run-id; fi
  if ((code != 0)); then rm output.json; fi
  exit "$code"
}

command -v wfr >/dev/null || { say "wfr is not installed"; exit 127; }
trap 'interrupted 129' HUP
trap 'interrupted 130' INT
trap 'interrupted 143' TERM
case ${1:-both} in
  start) start ;;
  wait) wait_for_end ;;
  both)
    start
    wait_for_end
    ;;
  *)
    say "unknown step $1; use start or wait"
    exit 2
    ;;
esac
