#!/usr/bin/env bash
# Triggers one run and writes its output to the file output.json. The file run.once records the run: whatever ends this
# script, the next attempt continues with that run and triggers no second one. Remove run.once to start another run.
#
# The script explains wfr's exit code in one line and exits with the same code. WORKFLOW, DOCUMENT and CUSTOMER set the
# run's workflow and inputs, and WAIT_FOR the timeout. Its arguments are more flags for wfr, such as --retry-failed.
#
# To try it with the sandbox: wfr sandbox --drop-answer -- ./pipeline.sh
set -euo pipefail

workflow=${WORKFLOW:-5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e}
document=${DOCUMENT:-scan.pdf}
customer=${CUSTOMER:-ACME}
wait_for=${WAIT_FOR:-10m}

say() {
  echo "pipeline: $*" >&2
}

: >output.json || exit 74
code=0
wfr run --once run.once --timeout "$wait_for" "$@" -- "$workflow" "invoice@$document" "customer=$customer" \
  >output.json || code=$?
case $code in
  0) say "the run finished; its output is in output.json" ;;
  1) say "the run failed; its step and message are above; to trigger another: $0 --retry-failed" ;;
  2) say "the command or its files are invalid, see above; fix them and run this again" ;;
  4) say "the token is missing or was rejected: renew it and run this again" ;;
  5) say "the service rejected the request; fix it and run this again" ;;
  6) say "a run may exist: check the service, then run this with --adopt <id>, or with --resend-unknown if there is none" ;;
  7) say "the service cannot be reached: run this again later" ;;
  8) say "the run continues; to wait longer, run this again" ;;
  127) say "wfr is not installed" ;;
  129 | 130 | 143) say "interrupted; to continue, run this again" ;;
  *) say "wfr exited with $code, see above; to continue, run this again" ;;
esac
if ((code != 0)); then rm output.json; fi
exit "$code"
