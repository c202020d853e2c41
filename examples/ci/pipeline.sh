#!/usr/bin/env bash
# Starts a run in one step and waits for it in another:
#
#   ./pipeline.sh start   keeps the run's id in the file run-id
#   ./pipeline.sh wait    writes the run's output to the file output.json
#   ./pipeline.sh         both
#
# It ends with wfr's exit code, having said in one line what that means here. As long as there is a file run-id, nothing
# is started: there is a run to wait for, or, where it is empty, there may be one. WORKFLOW, DOCUMENT and CUSTOMER change
# what is run, and WAIT_FOR how long it is waited for.
#
# wfr sandbox tries it out: wfr sandbox --drop-answer -- ./pipeline.sh
set -euo pipefail

workflow=${WORKFLOW:-5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e}
document=${DOCUMENT:-scan.pdf}
customer=${CUSTOMER:-ACME}
wait_for=${WAIT_FOR:-10m}

# The exit code of a signal that has come to this script, and the wfr that it is passed on to.
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
    say "not started, for a run may exist: look at the service, then write its id into run-id, or remove that file"
    exit 6
  fi
  # From here on, until somebody knows better.
  : >run-id || exit 74
  local id code=0
  # A signal to this script waits until the service has answered. With -o id, one to wfr does not lose the id either.
  id=$(wfr run --detach -o id -- "$workflow" "invoice@$document" "customer=$customer") || code=$?
  case $code in
    2 | 4 | 5 | 7) rm run-id ;;
    *) printf %s "$id" >run-id ;;
  esac
  case $code in
    0) say "started run $id" ;;
    2) say "nothing was started: the command or its files are wrong, see above" ;;
    4) say "nothing was started: the token is missing or was refused; renew it" ;;
    5) say "nothing was started: the service refused the request; mend it, for it will be refused again" ;;
    6) say "a run may exist: never repeat this blindly, look at the service first" ;;
    7) say "nothing was started: the service cannot be reached; try again later" ;;
    129 | 130 | 143) say "interrupted: see above whether there is a run" ;;
    *) say "wfr ended with $code, see above: a run may exist" ;;
  esac
  if ((code == 0)); then code=$stop; fi
  if ((code != 0)); then exit "$code"; fi
}

# wfr watch in the background, for bash hears a signal only between commands, or while it waits like this.
watch() {
  local code
  wfr watch --timeout "$wait_for" -- "$1" >output.json &
  watching=$!
  if ((stop != 0)); then interrupted "$stop"; fi
  while :; do
    code=0
    wait "$watching" || code=$?
    # A signal ends wait before wfr has ended.
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
    say "there is no run to wait for: ./pipeline.sh start comes first"
    exit 2
  fi
  : >output.json || exit 74
  watch "$id" || code=$?
  case $code in
    0) say "run $id finished; its output is in output.json" ;;
    1) say "run $id failed; its step and message are above" ;;
    2) say "run $id is not watched: the command is wrong, see above" ;;
    4) say "run $id may go on, but the token was refused: renew it, then ./pipeline.sh wait" ;;
    5) say "the service knows no run $id: is it the service that it was started at?" ;;
    7) say "run $id may go on, but the service cannot be reached: try again later with ./pipeline.sh wait" ;;
    8) say "run $id goes on; the next ./pipeline.sh wait goes on waiting" ;;
    129 | 130 | 143) say "interrupted; run $id goes on, and so does the next ./pipeline.sh wait" ;;
    *) say "wfr ended with $code, see above; run $id may go on" ;;
  esac
  # Only of a run that has ended is there nothing more to wait for.
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
    say "$1: is not a step; there are start and wait"
    exit 2
    ;;
esac
