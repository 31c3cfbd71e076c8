#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The checks of the main job on a machine with a GPU: tests/device.sh [BUILD_FOLDER]. It needs a driver, the CUDA libraries
# (libcudart, libcublas, libcublasLt, libcupti, libnccl) and Python 3 with sqlite3; no network, no Qt, no compiler. One line a
# check; exits with the number of failures (at most 99).
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$(cd "${1:-$root/build}" && pwd)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
failures=0

pass() { printf 'PASS  %s\n' "$1"; }
fail() { printf 'FAIL  %s: %s\n' "$1" "$2"; failures=$((failures + 1)); }
skip() { printf 'SKIP  %s: %s\n' "$1" "$2"; }
# check NAME COMMAND…: passes when the command does; its last line of output explains a failure.
check() {
  local name=$1
  shift
  local run=(timeout 120 "$@")
  declare -F "$1" >/dev/null && run=("$@")
  if "${run[@]}" >"$out/log" 2>&1; then pass "$name"; else fail "$name" "$(tail -n 1 "$out/log" | cut -c1-300)"; fi
}

# The CUDA libraries of this machine, where a toolkit or Python packages put them.
libraries() {
  local folder
  for folder in "${CUDA_HOME:-/usr/local/cuda}"/{lib64,extras/CUPTI/lib64} $(python3 -c '
import glob, site, sys
for base in site.getsitepackages() + [site.getusersitepackages()] + sys.path:
    print("\n".join(glob.glob(base + "/nvidia/*/lib")))' 2>/dev/null | sort -u); do
    [[ -d $folder ]] && printf '%s:' "$folder"
  done
}
LD_LIBRARY_PATH=$(libraries)${LD_LIBRARY_PATH:-}
export LD_LIBRARY_PATH PLUMB_ROOFS=$out/roofs.json

# sql FILE CONDITION: true when the SQL expression is.
sql() {
  python3 - "$1" "$2" <<'PYTHON'
import sqlite3, sys
row = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True).execute("SELECT " + sys.argv[2]).fetchone()
print(row)
sys.exit(0 if row[0] else 1)
PYTHON
}
# truth FILE LAYERS RANKS STEPS DIM VOCABULARY: every row of workloads/fsdp/truth.sql holds.
truth() {
  python3 - "$root/workloads/fsdp/truth.sql" "$@" <<'PYTHON'
import sqlite3, sys
script, path, layers, ranks, steps, dim, vocabulary = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:8])
def shard(n): return (-(-n // ranks) + 7) // 8 * 8
values = dict(layers=layers, ranks=ranks, steps=steps, block_shard=shard(2 * dim + 12 * dim * dim),
              root_shard=shard(2 * vocabulary * dim + dim))
bad = [r for r in sqlite3.connect(path).execute(open(script).read(), values) if not r[1]]
print("; ".join(f"{r[0]} ({r[2]})" for r in bad) or "all hold")
sys.exit(1 if bad else 0)
PYTHON
}
# adds_up FILE: compute + exposed communication + exposed memory + idle = span for each rank.
adds_up() {
  "$build/bin/plumb" report breakdown "$1" --format json >"$out/breakdown.json" || return 1
  python3 - "$out/breakdown.json" <<'PYTHON'
import json, sys
rows = json.load(open(sys.argv[1]))
print(rows)
ok = rows and all(r["compute_ns"] + r["exposed_communication_ns"] + r["exposed_memory_ns"] + r["idle_ns"] == r["span_ns"] > 0 for r in rows)
sys.exit(0 if ok else 1)
PYTHON
}
milliseconds() { awk '/^ms\/step/ {print $2}' "$1"; }

# PLUMB_DEVICE=software rehearses this script itself without a GPU.
device=${PLUMB_DEVICE:-gpu}
if [[ $device == software ]]; then
  gpus=2
  echo "rehearsal on the software device"
else
  gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU' || true)
  if [[ $gpus -eq 0 ]]; then
    fail "a usable GPU" "nvidia-smi shows none; without one, ./run test does these checks on the software device"
    exit 1
  fi
  printf '%s\n' "$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -n 1), $gpus GPU(s)"
fi
ranks=$((gpus >= 2 ? 2 : 1))
plumb=$build/bin/plumb
fsdp=$build/bin/workloads/fsdp
small=(--device "$device" --ranks "$ranks" --layers 3 --steps 4 --dim 256 --heads 4 --vocab 512 --batch 4 --seq 64)

check "doctor" "$plumb" doctor
check "fsdp runs on the GPU by itself" "$fsdp" --steps 2 --ranks "$ranks"
check "amp runs on the GPU by itself" "$build/bin/workloads/amp" --precision bf16
check "calibrate measures the roofs" "$plumb" calibrate
check "plumb record fsdp" "$plumb" record -o "$out/fsdp.sqlite" -- "$fsdp" "${small[@]}"
check "GPU kernels were recorded" sql "$out/fsdp.sqlite" "count(*) > 100 FROM kernels"
check "the device is a GPU with a name" sql "$out/fsdp.sqlite" "count(*) = $ranks AND min(kind) = '$device' FROM devices"
check "kernels join their API calls" sql "$out/fsdp.sqlite" \
  "count(*) = 0 FROM kernels k LEFT JOIN api_calls a ON a.process_id = k.process_id AND a.correlation = k.correlation WHERE a.id IS NULL"
check "kernels start after their launch calls do" sql "$out/fsdp.sqlite" \
  "sum(k.start_ns >= a.start_ns - 20000) >= 0.99 * count(*) FROM kernels k JOIN api_calls a ON a.process_id = k.process_id AND a.correlation = k.correlation"
if [[ $ranks -ge 2 ]]; then
  check "collectives, bytes, links: truth.sql" truth "$out/fsdp.sqlite" 3 "$ranks" 4 256 512
else
  skip "collectives, bytes, links: truth.sql" "needs two GPUs (NCCL launches no kernels for one rank)"
fi
check "compute + exposed + idle = span" adds_up "$out/fsdp.sqlite"
check "memory is named" sql "$out/fsdp.sqlite" "count(DISTINCT category) >= 5 FROM allocations WHERE category_source = 'declared'"
check "GEMMs carry their shapes" sql "$out/fsdp.sqlite" "count(*) > 0 AND min(flops) > 0 FROM library_call"
check "GEMMs join their kernels" sql "$out/fsdp.sqlite" \
  "count(DISTINCT g.id) >= 0.99 * (SELECT count(*) FROM library_call) FROM library_call g JOIN correlation_link l ON l.process_id = g.process_id AND l.external_id = g.external_id JOIN kernel k ON k.process_id = g.process_id AND k.correlation = l.correlation"
check "nothing was lost" sql "$out/fsdp.sqlite" "count(*) = 0, group_concat(message) FROM diagnostics WHERE severity = 'error'"
check "summary" "$plumb" summary "$out/fsdp.sqlite"
check "preload alone" env LD_PRELOAD="$build/lib/libplumb.so" PLUMB_OUTPUT="$out/preload.sqlite" "$fsdp" "${small[@]}"
sleep 4
check "preload alone: the same kernels" sql "$out/preload.sqlite" "count(*) = $(sql "$out/fsdp.sqlite" 'count(*) FROM kernels' | tr -dc 0-9) FROM kernels"
check "CUDA_INJECTION64_PATH alone" env CUDA_INJECTION64_PATH="$build/lib/libplumb.so" PLUMB_OUTPUT="$out/inject.sqlite" \
  "$build/bin/workloads/amp" --precision fp32
sleep 4
check "CUDA_INJECTION64_PATH alone: kernels" sql "$out/inject.sqlite" "count(*) > 100 FROM kernels"

"$plumb" record -o "$out/killed.sqlite" -- "$fsdp" "${small[@]:0:4}" --steps 100000 --dim 256 --heads 4 >"$out/killed.log" 2>&1 &
launcher=$!
for _ in $(seq 300); do
  grep -q '^step 60 ' "$out/killed.log" && break
  sleep 0.1
done
for pid in $(pgrep -f -- "--steps 100000"); do
  tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null | grep -qx "RANK=$((ranks - 1))" && kill -9 "$pid"
done
wait "$launcher"
status=$?
if [[ $status -ne 0 ]]; then pass "a killed rank ends the run with its exit code ($status)"; else fail "a killed rank ends the run" "exit code 0"; fi
check "what the killed rank published is there" sql "$out/killed.sqlite" \
  "count(*) >= 3 FROM steps WHERE rank = $((ranks - 1)) AND duration_ns IS NOT NULL"

for precision in fp32 tf32 fp16 bf16; do
  "$build/bin/workloads/amp" --precision $precision >"$out/plain.log" 2>&1
  if "$plumb" record -o "$out/amp_$precision.sqlite" -- "$build/bin/workloads/amp" --precision $precision >"$out/amp.log" 2>&1; then
    pass "amp $precision: $(milliseconds "$out/plain.log") ms/step alone, $(milliseconds "$out/amp.log") recorded"
  else
    fail "amp $precision" "$(tail -n 1 "$out/amp.log")"
  fi
done
printf '%d failures\n' "$failures"
exit $((failures > 99 ? 99 : failures))
