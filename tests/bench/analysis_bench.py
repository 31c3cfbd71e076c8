#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Analyses against HolisticTraceAnalysis, reports against bare scans of SQLite, and Nsight exports against nsys-ai.

analysis_bench.py BUILD [EVENTS …]     EVENTS: sizes of generated traces, default 1000000 3000000 10000000
Every number is a ratio against a reference that is measured in the same run. HTA and nsys-ai are used from the Python of
PLUMB_BENCH_PYTHON (./run bench makes one); what is missing is said. Real recordings: PLUMB_TEST_TRACES.
"""
import os
import pathlib
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

REPORTS_OF_HTA = ["breakdown", "overlap", "idle", "kernels", "launch"]
NSYS_REPORTS = ["kernels", "copies", "api", "ranges", "launch", "breakdown", "idle", "synchronizations"]

LARGEST_FOR_HTA = 1_000_000  # events: it loads these in about a minute
SMALLEST_FOR_SIZES = 100_000  # bytes of gzip: below, the schema's own texts outweigh the events
SKILL_LIMIT_S = 60
SHORTEST_FOR_GROWTH_S = 0.02
TRIES, OUR_TRIES = 5, 4  # of HTA's calls, and of our reports for each of these
SHORT_S = 5  # reports that take longer are measured once
NSYS_AI_SKILLS = ("top_kernels memory_transfers memory_bandwidth nvtx_kernel_map kernel_launch_overhead overlap_breakdown gpu_idle_gaps"
                  " sync_cost_analysis")

HTA_SCRIPT = r"""
import sys, time, warnings, logging
warnings.filterwarnings('ignore'); logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis
start = time.perf_counter()
analysis = TraceAnalysis(trace_files={0: sys.argv[1]})
load = time.perf_counter() - start
calls = [lambda: analysis.get_temporal_breakdown(visualize=False),
         lambda: analysis.get_comm_comp_overlap(visualize=False),
         lambda: analysis.get_idle_time_breakdown(ranks=[0], visualize=False),
         lambda: analysis.get_gpu_kernel_breakdown(visualize=False),
         lambda: analysis.get_cuda_kernel_launch_stats(ranks=[0], visualize=False)]
least = float("inf")
for _ in range(int(sys.argv[2])):
    start = time.perf_counter()
    for call in calls:
        call()
    least = min(least, time.perf_counter() - start)
print(load, least)
"""


def measured(command, **options):
    """Seconds and peak memory (MiB) of a command; None when it fails."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    out, err = process.communicate()
    seconds = time.perf_counter() - start
    return (seconds, out.decode(errors="replace"), err.decode(errors="replace"), process.returncode)


def used(command, limit_s=600):
    """(seconds of CPU, peak MiB) of a command, through a child that asks the system for its own children's; None when it fails or takes too long."""
    script = ("import resource, subprocess, sys\n"
              "code = subprocess.run(['timeout', sys.argv[1]] + sys.argv[2:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode\n"
              "usage = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
              "print(code, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)")
    out = subprocess.run([sys.executable, "-c", script, str(limit_s), *map(str, command)], capture_output=True, text=True, check=False).stdout.split()
    return (float(out[1]), float(out[2])) if len(out) == 3 and out[0] == "0" else None


def fetched(cursor):
    """How many rows a cursor has left, each of them read."""
    return sum(1 for _ in cursor)


class Bench:
    def __init__(self, build):
        self.build = pathlib.Path(build)
        self.plumb = self.build / "bin" / "plumb"
        self.extension = self.build / "lib" / "libplumb_sql.so"
        self.python = os.environ.get("PLUMB_BENCH_PYTHON", sys.executable)

    def import_trace(self, source, target):
        target.unlink(missing_ok=True)
        seconds, _, err, code = measured([self.plumb, "import", source, "-o", target])
        if code != 0:
            sys.exit(f"plumb import {source} failed: {err}")
        return seconds

    def report(self, name, trace, *more):
        seconds, _, err, code = measured([self.plumb, "report", name, trace, "--format", "csv", *more])
        if code != 0:
            print(f"  report {name}: {err.strip()}")
            return None
        return seconds

    def against_hta(self, label, source, trace):
        ours = self.report(",".join(REPORTS_OF_HTA), trace)
        if ours is None:
            return
        # Both sides' shortest of several, because a tenth of a second is as long as what else a machine does.
        tries = TRIES if ours < 1 else 1
        ours = min(self.report(",".join(REPORTS_OF_HTA), trace) for _ in range(tries * OUR_TRIES))
        # HTA's calls run in a Python that has started and loaded it: the start of our program is told apart.
        start = min(measured([self.plumb, "--version"])[0] for _ in range(tries * OUR_TRIES))
        seconds, out, err, code = measured([self.python, "-c", HTA_SCRIPT, str(source), str(tries)])
        if code != 0:
            reason = err.strip().splitlines()[-1] if err.strip() else "it failed"
            print(f"  {label}: cannot say how HTA compares, because {reason}")
            return
        load, calls = map(float, out.split()[-2:])
        print(f"  {label}: five reports, opening included: {ours - start:.4f} s, and {start:.4f} s for the start of the program;"
              f" HTA's five calls on loaded data {calls:.2f} s = {calls / (ours - start):.1f} x, or {calls / ours:.1f} x with the start"
              f" (its load: {load:.2f} s)")

    def report_through_sql(self, name, trace):
        """(seconds, rows, columns, what it read by table) of a report whose rows are fetched."""
        reads = {}

        def note(action, table, column, database, _view):
            if action == sqlite3.SQLITE_READ and database == "main" and column and not table.startswith("sqlite_"):
                reads.setdefault(table, set()).add(column)
            return sqlite3.SQLITE_OK

        connection = sqlite3.connect(f"file:{trace}?mode=ro", uri=True)
        connection.enable_load_extension(True)
        connection.load_extension(str(self.extension))
        connection.set_authorizer(note)
        start = time.perf_counter()
        cursor = connection.execute(f"SELECT * FROM report_{name}")
        width = len(cursor.description)
        rows = fetched(cursor)
        seconds = time.perf_counter() - start
        connection.set_authorizer(None)
        return seconds, rows, width, reads

    @staticmethod
    def bare_scan(trace, reads, rows, width):
        """Seconds of a scan of the columns, and of fetching as many rows of as many columns from the same tables."""
        plain = sqlite3.connect(f"file:{trace}?mode=ro", uri=True)
        start = time.perf_counter()
        present = {table for (table,) in plain.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        tables = {table: sorted(columns) for table, columns in reads.items() if table in present}
        for table, columns in tables.items():
            plain.execute(f"SELECT {', '.join(f'max({c})' for c in columns)} FROM {table}").fetchall()
        left = rows
        while left > 0:
            before = left
            for table, columns in tables.items():
                left -= fetched(plain.execute(f"SELECT {', '.join((columns * width)[:width])} FROM {table} LIMIT {left}"))
            if left == before:
                break
        return time.perf_counter() - start

    def against_scans(self, label, trace):
        """Each report's time through SQL over that of a scan of the columns that it reads; the best of three where they are short.

        Gives the reports' seconds by name."""
        if not self.extension.exists():
            print(f"  {label}: cannot say, because {self.extension} is not built")
            return {}
        if not hasattr(sqlite3.Connection, "enable_load_extension"):
            print(f"  {label}: cannot say, because the sqlite3 of {sys.executable} loads no extensions; Debian's python3 does")
            return {}
        listing = subprocess.run([self.plumb, "report", "--list"], capture_output=True, text=True, check=True).stdout
        names = [line.split()[0] for line in listing.splitlines() if line[:1].isalnum() and "  " in line]
        ratios = []
        for name in names:
            try:
                ours, rows, width, reads = self.report_through_sql(name, trace)
                repeats = 2 if ours < SHORT_S else 0
                ours = min([ours] + [self.report_through_sql(name, trace)[0] for _ in range(repeats)])
            except sqlite3.Error as failure:
                print(f"  {label}: report {name}: {failure}")
                continue
            scan = min(self.bare_scan(trace, reads, rows, width) for _ in range(1 + repeats))
            ratios.append((ours / scan, name, ours, scan, rows))
        for ratio, name, ours, scan, rows in sorted(ratios, reverse=True):
            print(f"  {label}: report {name:<24} {ours * 1e3:9.1f} ms = {ratio:6.2f} x a bare scan ({scan * 1e3:.1f} ms); rows: {rows}")
        if ratios:
            print(f"  {label}: median {statistics.median(r[0] for r in ratios):.2f} x, worst {max(ratios)[0]:.2f} x ({max(ratios)[1]})")
        return {name: ours for _, name, ours, _, _ in ratios}

    def sizes(self, label, source, folder, tables=12):
        """Bytes per event of the tables and indexes, and the file, plain and compressed, over the gzip of its JSON."""
        plain, packed = folder / "size.sqlite", folder / "size.sqlite.zst"
        for target in (plain, packed):
            target.unlink(missing_ok=True)
        listing = subprocess.run([self.plumb, "import", source, "-o", plain, "--sizes"], capture_output=True, text=True, check=True).stdout
        subprocess.run([self.plumb, "import", source, "-o", packed], capture_output=True, check=True)
        events = int(re.search(r": (\d+) events", listing).group(1))
        json_gz = source.stat().st_size
        for kind, file in (("plain", plain), ("compressed", packed)):
            size = file.stat().st_size
            print(f"  {label}: {kind:<10} {size / events:6.1f} bytes an event = {size / json_gz:.2f} x the gzip of its JSON, indexes included")
        rows = [line.split() for line in listing.splitlines()]
        parts = [(row[0], row[1], float(row[5])) for row in rows if len(row) == 6 and row[1] in ("table", "index")]
        if tables:
            print(f"  {label}: bytes an event: " + ", ".join(f"{name} {each:.2f}" for name, _, each in parts[:tables]))
        inner = sum(each for _, kind, each in parts if kind == "index")
        print(f"  {label}: of the plain file, indexes {inner:.2f} bytes an event")
        seconds = {file: min(self.report(",".join(REPORTS_OF_HTA), file) or 0 for _ in range(3)) for file in (plain, packed)}
        print(f"  {label}: five reports on the compressed file {seconds[packed] / max(seconds[plain], 1e-9):.2f} x the time on the plain one")

    def against_nsys_ai(self, source, folder):
        """CPU time, not that of the clock: nsys-ai looks for a DuckDB extension on the network at each start."""
        tool = pathlib.Path(self.python).parent / "nsys-ai"
        target = folder / "nsys.sqlite"
        target.unlink(missing_ok=True)
        ours = []
        for command in [[self.plumb, "import", source, "-o", target],
                        [self.plumb, "report", ",".join(NSYS_REPORTS), target, "--format", "csv"]]:
            ours.append(used(command))
            if ours[-1] is None:
                print(f"  {source.name}: {' '.join(map(str, command))} failed")
                return
        seconds, memory = sum(u[0] for u in ours), max(u[1] for u in ours)
        label = f"{source.name}: import and eight reports {seconds:.2f} s of CPU, {memory:.0f} MiB"
        if not tool.exists():
            print(f"  {label}; cannot say how nsys-ai compares, because it is not installed beside PLUMB_BENCH_PYTHON")
            return
        # Its skills that answer the same questions; on a copy, because it writes beside its input.
        copy = folder / "peer.sqlite"
        copy.write_bytes(source.read_bytes())
        skills = os.environ.get("PLUMB_BENCH_NSYS_AI_SKILLS", NSYS_AI_SKILLS).split()
        theirs = {skill: used([tool, "skill", "run", skill, copy], SKILL_LIMIT_S) for skill in skills}
        done = [usage for usage in theirs.values() if usage is not None]
        failed = [skill for skill, usage in theirs.items() if usage is None]
        if failed:
            print(f"  {source.name}: nsys-ai did not finish within {SKILL_LIMIT_S} s: {', '.join(failed)}")
        if done:
            cpu, worst = sum(u[0] for u in done), max(u[1] for u in done)
            print(f"  {label}; nsys-ai's {len(done)} skills {cpu:.2f} s, {worst:.0f} MiB"
                  f" = {cpu / seconds:.1f} x the time, {worst / memory:.1f} x the memory")


def print_growth(costs):
    """How much longer each size takes than the first, beside how many more events it has. Linear: the same number."""
    first_size, first = costs[0]
    for size, cost in costs[1:]:
        factors = {name: cost[name] / first[name] for name in first if name in cost and first[name] >= SHORTEST_FOR_GROWTH_S}
        reports = sorted((factor, name) for name, factor in factors.items() if name != "import")
        line = f"  from {first_size / 1e6:g} M to {size / 1e6:g} M events, {size / first_size:g} x: import {factors['import']:.1f} x"
        if reports:
            line += (f", reports that take {SHORTEST_FOR_GROWTH_S * 1e3:g} ms or more: median {statistics.median(f for f, _ in reports):.1f} x,"
                     f" most {reports[-1][0]:.1f} x ({reports[-1][1]})")
        print(line)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    bench = Bench(sys.argv[1])
    sizes = [int(size) for size in sys.argv[2:]] or [1_000_000, 3_000_000, 10_000_000]
    traces = os.environ.get("PLUMB_TEST_TRACES")
    with tempfile.TemporaryDirectory(prefix="plumb-bench-") as name:
        folder = pathlib.Path(name)
        if traces:
            for file in ["nccl_metadata_a100", "vllm_graph_capture", "resnet50_2021_memory"]:
                source = pathlib.Path(traces) / "kineto" / f"{file}.json.gz"
                target = folder / "trace.sqlite"
                bench.import_trace(source, target)
                bench.against_hta(file, source, target)
            for source in sorted((pathlib.Path(traces) / "kineto").glob("*.json.gz")):
                if source.stat().st_size >= SMALLEST_FOR_SIZES:
                    bench.sizes(source.name.removesuffix(".json.gz"), source, folder)
            for source in sorted((pathlib.Path(traces) / "nsys").glob("*.sqlite")):
                bench.against_nsys_ai(source, folder)
        else:
            print("  real recordings: not measured, because PLUMB_TEST_TRACES names no folder")
        costs = []
        for size in sizes:
            source, target = folder / "generated.json.gz", folder / "generated.sqlite"
            subprocess.run([bench.build / "bench" / "make_trace", str(size), source], check=True)
            seconds = bench.import_trace(source, target)
            label = f"{size / 1e6:g} M events"
            print(f"  {label}: imported in {seconds:.1f} s, {target.stat().st_size / size:.0f} bytes an event")
            bench.sizes(label, source, folder)
            if size <= LARGEST_FOR_HTA:
                bench.against_hta(label, source, target)
            costs.append((size, {"import": seconds, **bench.against_scans(label, target)}))
            source.unlink()
        print_growth(costs)


if __name__ == "__main__":
    main()
