#!/usr/bin/env bash
# Spreads a batch over several machines, or several processes of this one, with GNU parallel, then joins the results:
#
#   ./parallel.sh <shards> <workflow> <table> [option of wfr batch...]
#   HOSTS="one two" ./parallel.sh 8 invoice rows.csv --profile production
#
# The same command goes on where it stopped, whatever stopped it, and sends no row twice. It ends with the exit code of
# wfr results, over all rows. HOSTS are what ssh can reach; without any, the shards are processes of this machine. JOBS
# is how many are at work on each at once, all by default; RESULTS is the folder for the results, results by default.
#
# Every host has wfr, and its token, such as in a profile; each works in the folder of the same name as this one. The
# table is copied there, and the results are copied back; documents of the table are there already. A folder that all
# hosts share does as well. Hosts need rsync, and this machine GNU parallel 20160222 or later.
set -euo pipefail

say() {
  echo "parallel: $*" >&2
}

if (($# < 3)) || [[ ! $1 =~ ^[1-9][0-9]{0,3}$ ]]; then
  say "give the number of shards, the workflow and the table: ./parallel.sh 4 invoice rows.csv"
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
  say "the table and RESULTS are relative to this folder, for they have the same place on every host"
  exit 2
fi
# Said once here, not by every shard.
wfr batch "$workflow" --rows "$table" "$@" --check

# A shard is gone on with from its results, which are at its host: other shards, or other hosts, would send rows again.
mkdir -p "$results"
plan="$shards shards on ${hosts[*]}"
begun=$(cat "$results/plan" 2>/dev/null) || true
if [[ -n $begun && $begun != "$plan" ]]; then
  say "$results was begun with $begun, not with $plan: go on with those, or name another RESULTS for another batch"
  exit 2
fi
echo "$plan" >"$results/plan"

# What each shard runs is in a file, since parallel would see placeholders in a command with {}.
{
  printf 'mkdir -p %q\n' "$results"
  printf 'exec wfr batch'
  printf ' %q' "$workflow" --rows "$table" "$@"
  # shellcheck disable=SC2016 # for the shell that will run it
  printf ' --shard "$1/%d" --results %q/"$1-of-%d.jsonl"\n' "$shards" "$results" "$shards"
} >"$results/shard.sh"

# Each shard has its host: 1@g0 is shard 1 in the group of the first one.
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

# A shard that is told to stop waits for the answers to what it has sent. What it came to is in its results.
parallel --hostgroups "${logins[@]}" --jobs "${JOBS:-$shards}" "${transfer[@]}" \
  --termseq TERM,20000,KILL,25 --line-buffer --tagstring 'shard {}' \
  bash "$results/shard.sh" '{}' ::: "${places[@]}" </dev/null || say "not all shards ended with 0"

exec wfr results "$results"/*-of-"$shards".jsonl --report html="$results/report.html"
