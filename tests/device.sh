#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The checks of the main job on a machine with a GPU: tests/device.sh [BUILD_FOLDER]. It needs a driver, the CUDA libraries
# (libcudart, libcublas, libcublasLt, libcupti, libnccl) and Python 3 with sqlite3; no network, no Qt, no compiler. One line a
# check; exits with the number of failures (at most 99). After 7 minutes no check is started any more, after 8 all is over.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$(cd "${1:-$root/build}" && pwd)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
failures=0
last_start=420
end=480

pass() { printf 'PASS  %s\n' "$1"; }
fail() { printf 'FAIL  %s: %s\n' "$1" "$2"; failures=$((failures + 1)); }
skip() { printf 'SKIP  %s: %s\n' "$1" "$2"; }
# bounded COMMAND…: for at most a minute and a half, and not beyond the end.
bounded() {
  local left=$((end - SECONDS))
  timeout -k 5 $((left < 1 ? 1 : left < 90 ? left : 90)) "$@"
}
# may_start NAME: false, with a line that says so, once the time for new checks is over.
may_start() {
  [[ $SECONDS -lt $last_start ]] || { fail "$1" "left out: $last_start seconds are over"; false; }
}
# check NAME COMMAND…: passes when the command (or function, which bounds what it runs) does; its last line of output
# explains a failure.
check() {
  local name=$1
  shift
  may_start "$name" || return 0
  local run=(bounded "$@")
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

# usable_gpus: how many devices the driver itself counts.
usable_gpus() {
  bounded python3 - <<'PYTHON'
import ctypes
try:
    driver = ctypes.CDLL("libcuda.so.1")
    count = ctypes.c_int(0)
    if driver.cuInit(0) == 0: driver.cuDeviceGetCount(ctypes.byref(count))
    print(count.value)
except OSError:
    print(0)
PYTHON
}
# sql FILE CONDITION: true when the SQL expression is.
sql() {
  bounded python3 - "$1" "$2" <<'PYTHON'
import sqlite3, sys
row = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True).execute("SELECT " + sys.argv[2]).fetchone()
print(row)
sys.exit(0 if row[0] else 1)
PYTHON
}
# on_device FILE PROCESSES: it was recorded there, and kernels of every process with it.
on_device() {
  sql "$1" "min(kind) = '$device' AND max(kind) = '$device' AND (SELECT count(*) FROM kernels) > 100 AND (SELECT count(DISTINCT process_id) FROM kernels) = $2, group_concat(name) FROM devices"
}
# runs_there COMMAND…: it ends well and says that it ran on the device that is meant.
runs_there() {
  bounded "$@" >"$out/there.log" 2>&1 || { tail -n 1 "$out/there.log"; return 1; }
  grep -m 1 -E '^(fsdp|amp) on ' "$out/there.log"
  if grep -q -E '^(fsdp|amp) on software device' "$out/there.log"; then [[ $device == software ]]; else [[ $device == gpu ]]; fi
}
# measured_roofs: plumb calibrate leaves roofs of this kind of device.
measured_roofs() {
  bounded "$plumb" calibrate --device "$device" || return 1
  python3 - "$PLUMB_ROOFS" "$device" <<'PYTHON'
import json, sys
found = [d for d in json.load(open(sys.argv[1])).values() if d["kind"] == sys.argv[2]]
print([(d["device_name"], d["roofs"]) for d in found] or "no roofs of this kind of device")
sys.exit(0 if any(d["roofs"].get("memory", 0) > 0 and d["roofs"].get("bf16", 0) > 0 for d in found) else 1)
PYTHON
}
# truth FILE LAYERS RANKS STEPS DIM VOCABULARY: every row of workloads/fsdp/truth.sql holds. NCCL has nothing to do for one
# rank: then the rows about how many collectives there are do not count.
truth() {
  bounded python3 - "$root/workloads/fsdp/truth.sql" "$@" <<'PYTHON'
import sqlite3, sys
script, path, layers, ranks, steps, dim, vocabulary = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:8])
def shard(n): return (-(-n // ranks) + 7) // 8 * 8
values = dict(layers=layers, ranks=ranks, steps=steps, block_shard=shard(2 * dim + 12 * dim * dim),
              root_shard=shard(2 * vocabulary * dim + dim))
rows = sqlite3.connect(path).execute(open(script).read(), values).fetchall()
bad = [r for r in rows if not r[1] and not (ranks == 1 and r[0].startswith(("forward:", "backward:")))]
print("; ".join(f"{r[0]} ({r[2]})" for r in bad) or "all hold")
sys.exit(1 if bad or len(rows) < 10 else 0)
PYTHON
}
# adds_up FILE: compute + exposed communication + exposed memory + idle = span for each rank.
adds_up() {
  bounded "$plumb" report breakdown "$1" --format json >"$out/breakdown.json" || return 1
  python3 - "$out/breakdown.json" <<'PYTHON'
import json, sys
rows = json.load(open(sys.argv[1]))
print(rows)
ok = rows and all(r["compute_ns"] + r["exposed_communication_ns"] + r["exposed_memory_ns"] + r["idle_ns"] == r["span_ns"] > 0 for r in rows)
sys.exit(0 if ok else 1)
PYTHON
}
# peak_by_hand FILE LOG: each category at rank 0's peak is within 1 % of what fsdp calculates from its dimensions.
peak_by_hand() {
  bounded "$plumb" report memory "$1" --format json >"$out/memory.json" || return 1
  python3 - "$out/memory.json" "$2" <<'PYTHON'
import json, re, sys
measured = {r["category"]: r["bytes"] for r in json.load(open(sys.argv[1])) if r["space"] == "device" and r["rank"] == 0}
by_hand = {m[1]: int(m[2]) for m in re.finditer(r"^  (\w+) +(\d+) +\d+ +\d+ +\d+$", open(sys.argv[2]).read(), re.M)}
bad = [f"{c}: {measured.get(c, 0)} for {b}" for c, b in by_hand.items() if abs(measured.get(c, 0) - b) > b / 100]
total = sum(by_hand.values())
if abs(sum(measured.values()) - total) > total / 100: bad.append(f"all: {measured}")
print("; ".join(bad) or by_hand)
sys.exit(1 if bad or len(by_hand) < 5 else 0)
PYTHON
}
# same_tables FILE FILE: the same rows by name, view by view; neither is empty. Calls that poll may differ a little.
same_tables() {
  bounded python3 - "$@" <<'PYTHON'
import sqlite3, sys
one, two = (sqlite3.connect(f"file:{path}?mode=ro", uri=True) for path in sys.argv[1:3])
bad = []
for view in ("kernels", "copies", "memory_sets", "ranges", "collectives", "allocations", "steps", "processes", "devices"):
    key = {"collectives": "operation", "processes": "rank", "steps": "step"}.get(view, "name")
    if view == "allocations": key = "space || category || bytes"
    question = f"SELECT {key}, count(*) FROM {view} GROUP BY 1 ORDER BY 1"
    a, b = one.execute(question).fetchall(), two.execute(question).fetchall()
    if a != b or (not a and view in ("kernels", "ranges", "allocations", "steps")):
        bad.append(f"{view}: {sum(n for _, n in a)} and {sum(n for _, n in b)}")
calls = [d.execute("SELECT count(*) FROM api_calls").fetchone()[0] for d in (one, two)]
if not calls[0] or abs(calls[0] - calls[1]) > calls[0] / 50: bad.append(f"api_calls: {calls}")
print("; ".join(bad) or "the same")
sys.exit(1 if bad else 0)
PYTHON
}
# exports_only_entry_points: nm -D of the agent shows those of exports.map.in and interposed.def, and no others.
exports_only_entry_points() {
  { grep -oE '^ +(Initialize|ncclProfiler)[A-Za-z0-9_]+' "$root/collector/agent/exports.map.in"
    sed -nE 's/^PLUMB_INTERPOSED\(.*, *([A-Za-z0-9_]+)\).*/\1/p' "$root/collector/api/interposed.def"; } |
    tr -d ' ' | sort >"$out/allowed"
  nm -D --defined-only "$build/lib/libplumb.so" | awk '{print $NF}' | sed 's/@.*//' | sort >"$out/exported" || return 1
  diff "$out/allowed" "$out/exported" && [[ $(wc -l <"$out/exported") -gt 5 ]]
}
# complete FILE: waits until its recorder, which nobody waits for, has ended.
complete() {
  for _ in $(seq 100); do
    sql "$1" "value = '1' FROM meta WHERE key = 'complete'" >/dev/null 2>&1 && return 0
    sleep 0.2
  done
  echo "the recording is not complete after 20 s"
  return 1
}
descendants() {
  local child
  for child in $(pgrep -P "$1"); do
    printf '%s\n' "$child"
    descendants "$child"
  done
}
# end_of_killed COMMAND…: starts it, kills the last rank once step 20 was printed, and says how the run ended.
end_of_killed() {
  bounded "$@" >"$out/killed.log" 2>&1 &
  local run=$! pid until=$((SECONDS + 30))
  while kill -0 "$run" 2>/dev/null && [[ $SECONDS -lt $until ]] && ! grep -q '^step 20 ' "$out/killed.log"; do
    sleep 0.1
  done
  for pid in $(descendants "$run"); do
    tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null | grep -qx "RANK=$((ranks - 1))" && kill -9 "$pid"
  done
  wait "$run"
  echo $?
}
milliseconds() { awk '/^ms\/step/ {print $2}' "$1"; }
# recorded_amp PRECISION: runs there, recorded or not, and in the recording; prints both times.
recorded_amp() {
  local amp=("$build/bin/workloads/amp" --device "$device" --precision "$1") file=$out/amp_$1.sqlite
  runs_there "${amp[@]}" || return 1
  cp "$out/there.log" "$out/plain.log"
  runs_there "$plumb" record -o "$file" -- "${amp[@]}" || return 1
  on_device "$file" 1 || return 1
  times="$(milliseconds "$out/plain.log") ms/step alone, $(milliseconds "$out/there.log") recorded"
  [[ $times =~ ^[0-9.]+\ ms.*,\ [0-9.]+\ recorded$ ]]
}

# PLUMB_DEVICE=software rehearses this script itself without a GPU.
device=${PLUMB_DEVICE:-gpu}
if [[ $device == software ]]; then
  gpus=2
  echo "rehearsal on the software device"
else
  gpus=$(usable_gpus)
  if [[ ${gpus:-0} -eq 0 ]]; then
    fail "a usable GPU" "the driver (libcuda.so.1) shows none; without one, ./run test does these checks on the software device"
    exit 1
  fi
  printf '%s\n' "$(bounded nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -n 1), $gpus GPU(s)"
fi
ranks=$((gpus >= 2 ? 2 : 1))
plumb=$build/bin/plumb
fsdp=$build/bin/workloads/fsdp
agent=$build/lib/libplumb.so
small=(--device "$device" --ranks "$ranks" --layers 3 --steps 4 --dim 256 --heads 4 --vocab 512 --batch 4 --seq 64)
recorded=$out/fsdp.sqlite
record_fsdp() { bounded "$plumb" record -o "$recorded" -- "$fsdp" "${small[@]}" | tee "$out/fsdp.log"; }

check "doctor" "$plumb" doctor
check "libplumb.so exports its entry points only" exports_only_entry_points
check "fsdp runs there by itself" runs_there "$fsdp" --steps 2 --ranks "$ranks"
check "amp runs there by itself" runs_there "$build/bin/workloads/amp" --precision bf16
check "calibrate measures the roofs" measured_roofs
check "plumb record fsdp" record_fsdp
check "it was recorded there, with a kernel of each rank" on_device "$recorded" "$ranks"
check "kernels join their API calls" sql "$recorded" \
  "count(*) > 100 AND count(*) = count(a.id), count(*), count(a.id) FROM kernels k LEFT JOIN api_calls a ON a.process_id = k.process_id AND a.correlation = k.correlation"
check "kernels start after their launch calls do" sql "$recorded" \
  "count(*) > 100 AND sum(k.start_ns >= a.start_ns - 20000) >= 0.99 * count(*) FROM kernels k JOIN api_calls a ON a.process_id = k.process_id AND a.correlation = k.correlation"
if [[ $ranks -ge 2 ]]; then name="collectives, bytes, links"; else name="what needs no second rank"; fi
check "$name: truth.sql" truth "$recorded" 3 "$ranks" 4 256 512
[[ $ranks -ge 2 ]] || skip "collectives, bytes, links: truth.sql" "needs two GPUs (NCCL launches no kernels for one rank)"
check "compute + exposed + idle = span" adds_up "$recorded"
check "memory is named" sql "$recorded" "count(DISTINCT category) >= 5 FROM allocations WHERE category_source = 'declared'"
check "peak memory by category is the one by hand, within 1 %" peak_by_hand "$recorded" "$out/fsdp.log"
check "GEMMs carry their shapes" sql "$recorded" "count(*) > 0 AND min(flops) > 0 FROM library_call"
check "GEMMs join their kernels" sql "$recorded" \
  "count(DISTINCT g.id) > 0 AND count(DISTINCT g.id) >= 0.99 * (SELECT count(*) FROM library_call) FROM library_call g JOIN correlation_link l ON l.process_id = g.process_id AND l.external_id = g.external_id JOIN kernel k ON k.process_id = g.process_id AND k.correlation = l.correlation"
check "nothing was lost" sql "$recorded" \
  "count(*) = 0 AND (SELECT count(*) FROM kernels) > 100, group_concat(message) FROM diagnostics WHERE severity = 'error'"
summary_of() { bounded "$plumb" summary "$1" >"$out/summary.log" && grep '^Top kernels' "$out/summary.log"; }
check "summary" summary_of "$recorded"
check "preload alone" bounded env LD_PRELOAD="$agent" PLUMB_OUTPUT="$out/preload.sqlite" "$fsdp" "${small[@]}"
check "preload alone: complete" complete "$out/preload.sqlite"
check "preload alone: the same tables" same_tables "$recorded" "$out/preload.sqlite"
check "CUDA_INJECTION64_PATH alone" runs_there env CUDA_INJECTION64_PATH="$agent" PLUMB_OUTPUT="$out/inject.sqlite" \
  "$build/bin/workloads/amp" --device "$device" --precision fp32
check "CUDA_INJECTION64_PATH alone: complete" complete "$out/inject.sqlite"
check "CUDA_INJECTION64_PATH alone: kernels" on_device "$out/inject.sqlite" 1

if may_start "a killed rank ends the run as without us"; then
  endless=("$fsdp" "${small[@]:0:4}" --steps 100000)
  without=$(end_of_killed "${endless[@]}")
  with=$(end_of_killed "$plumb" record -o "$out/killed.sqlite" -- "${endless[@]}")
  if [[ $with -eq $without && $with -ne 0 && $with -ne 124 ]]; then
    pass "a killed rank ends the run as without us ($with)"
  else
    fail "a killed rank ends the run as without us" "exit code $with, without us $without"
  fi
  check "what the killed rank published is there" sql "$out/killed.sqlite" \
    "count(*) >= 20 FROM steps WHERE rank = $((ranks - 1)) AND duration_ns IS NOT NULL"
fi

for precision in fp32 tf32 fp16 bf16; do
  times=
  check "amp $precision" recorded_amp "$precision"
  [[ -z $times ]] || printf '      %s\n' "$times"
done
printf '%d failures, %d s\n' "$failures" "$SECONDS"
exit $((failures > 99 ? 99 : failures))
