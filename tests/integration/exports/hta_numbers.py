#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hta_numbers.py PLUMB TRACE FOLDER: HolisticTraceAnalysis on the Chrome export of a trace gives the numbers that our
reports hta_* give on the trace itself, and on the export imported again."""
import glob
import json
import math
import subprocess
import sys


def plumb(*arguments):
    return subprocess.run(arguments, check=True, capture_output=True, text=True).stdout


def same(ours, theirs):
    if ours is None or theirs is None:
        return (ours is None or math.isnan(ours)) and (theirs is None or math.isnan(theirs))
    return math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=0.006)  # HTA rounds percentages to two digits


def compare(program, trace, analysis):
    wrong = []

    def expect(what, ours, theirs):
        if not same(ours, theirs):
            wrong.append(f"{trace}: {what}: ours {ours}, HTA's {theirs}")

    def report(name):
        return json.loads(plumb(program, "report", name, trace, "--format", "json"))

    breakdown = {row["rank"]: row for row in report("hta_breakdown")}
    theirs = analysis.get_temporal_breakdown(visualize=False)
    if len(theirs) != len(breakdown):
        wrong.append(f"HTA has {len(theirs)} ranks, we {len(breakdown)}")
    for row in theirs.to_dict("records"):
        for ours, name in (("idle_time_us", "idle_time(us)"), ("compute_time_us", "compute_time(us)"),
                           ("non_compute_time_us", "non_compute_time(us)"), ("kernel_time_us", "kernel_time(us)"),
                           ("idle_time_pctg", "idle_time_pctg"), ("compute_time_pctg", "compute_time_pctg")):
            expect(f"rank {row['rank']} {name}", breakdown[row["rank"]][ours], float(row[name]))
    overlap = {row["rank"]: row["comp_comm_overlap_pctg"] for row in report("hta_overlap")}
    for row in analysis.get_comm_comp_overlap(visualize=False).to_dict("records"):
        expect(f"rank {row['rank']} overlap", overlap[row["rank"]], float(row["comp_comm_overlap_pctg"]))
    kernels = {(row["rank"], row["kernel_type"], row["name"]): row for row in report("hta_kernels")}
    _, theirs = analysis.get_gpu_kernel_breakdown(visualize=False)
    for row in theirs.to_dict("records"):
        key = (row["rank"], row["kernel_type"], row["name"])
        if key not in kernels:
            wrong.append(f"{trace}: kernel {key} is only in HTA's breakdown")
            continue
        for ours, name in (("sum_us", "sum (us)"), ("max_us", "max (us)"), ("min_us", "min (us)"), ("mean_us", "mean (us)")):
            expect(f"{key} {name}", kernels[key][ours], float(row[name]))
    return wrong


def main():
    program, trace, folder = sys.argv[1:]
    try:
        from hta.trace_analysis import TraceAnalysis
    except ImportError as missing:
        print(f"skipped: {missing}")
        return 77
    plumb(program, "export", trace, "--format", "chrome", "-o", f"{folder}/ranks")
    analysis = TraceAnalysis(trace_dir=f"{folder}/ranks")
    again = f"{folder}/again.sqlite"
    plumb(program, "import", *sorted(glob.glob(f"{folder}/ranks/*")), "-o", again)
    wrong = compare(program, trace, analysis) + compare(program, again, analysis)
    print("\n".join(wrong) or "the same numbers")
    return 1 if wrong else 0


sys.exit(main())
