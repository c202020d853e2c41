#!/usr/bin/env bash
# Splits a batch over several machines, or several processes of this one, with GNU parallel, then joins the results:
#
#   ./parallel.sh <shards> <workflow> <table> [option of wfr batch...]
#   HOSTS="one two" ./parallel.sh 8 invoice rows.csv --profile production
#
# To continue after any interruption, run the same command again: it sends no row twice. It exits with the code of
# wfr results over all rows. HOSTS are destinations of ssh; without it, the shards are processes of this machine. JOBS is
# the number of shards that run at once on each host (default: all); RESULTS is the results folder (default: results).
#
# Every host needs wfr, its token (such as in a profile), rsync, a folder with the same path as this one, and in it the
# documents of the table. The table is copied to the hosts and the results are copied back; a shared folder works, too.
# This machine needs GNU parallel 20160222 or later.
set -euo pipefail

say() {
  echo "parallel: $*" >&2
}

if (($# < 3)) || [[ ! $1 =~ ^[1-9][0-9]{0,3}$ ]]; then
  say "expected the number of shards, the workflow and the table, such as ./parallel.sh 4 invoice rows.csv"
  exit 2
fi
shards=$1 workflow=$2 table=$3
shift 3
results=${RESULTS:-results}
read -ra hosts <<<"${HOSTS:-:}"

for program in wfr parallel; do
  command -v "$program" >/dev/null || { say "$program is not installed"; exit 127; }
done
if [[ $table == /* || $results == /* ]]; then
  say "the table and RESULTS must be relative paths, which are the same on every host"
  exit 2
fi
# Reports invalid rows once, instead of in every shard.
wfr batch "$workflow" --rows "$table" "$@" --check

# The results of a shard are on its host: with another number of shards or other hosts, rows would be sent again.
mkdir -p "$results"
plan="$shards shards on ${hosts[*]}"
begun=$(cat "$results/plan" 2>/dev/null) || true
if [[ -n $begun && $begun != "$plan" ]]; then
  say "$results was created with $begun, not with $plan: continue with those, or set another RESULTS for another batch"
  exit 2
fi
echo "$plan" >"$results/plan"

# The command of a shard is in a file, because parallel would replace {} in its arguments.
{
  printf 'mkdir -p %q\n' "$results"
  printf 'exec wfr batch'
  printf ' %q' "$workflow" --rows "$table" "$@"
  # shellcheck disable=SC2016 # expanded by the shell that runs it
  printf ' --shard "$1/%d" --results %q/"$1-of-%d.jsonl"\n' "$shards" "$results" "$shards"
} >"$results/shard.sh"

# Assigns each shard to a host: 1@g0 is shard 1 in the group of the first host.
logins=()
for index in "${!hosts[@]}"; do
  logins+=(--sshlogin "@g$index/${hosts[index]}")
done
places=()
for ((shard = 1; shard <= shards; shard++)); do
  places+=("$shard@g$(((shard - 1) % ${#hosts[@]}))")
done

transfer=()
if [[ -n ${HOSTS:-} ]]; then
  transfer=(--workdir . --basefile "$table" --basefile "$results/shard.sh" --return "$results/{}-of-$shards.jsonl")
fi

# A stopped shard waits for responses to triggers in flight; its results file has the outcome.
parallel --hostgroups "${logins[@]}" --jobs "${JOBS:-$shards}" ${transfer[@]+"${transfer[@]}"} \
  --termseq TERM,20000,KILL,25 --line-buffer --tagstring 'shard {}' \
  bash "$results/shard.sh" '{}' ::: "${places[@]}" </dev/null || say "some shards did not exit with 0"

exec wfr results "$results"/*-of-"$shards".jsonl --report html="$results/report.html"
