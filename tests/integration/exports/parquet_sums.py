#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""parquet_sums.py PLUMB TRACE FOLDER: DuckDB and Dask read the Parquet export, and their sums per rank are those of SQL
on the trace."""
import json
import subprocess
import sys


def sums(program, trace, view):
    sql = f"SELECT rank, count(*) AS n, sum(duration_ns) AS ns FROM {view} GROUP BY rank ORDER BY rank"
    out = subprocess.run([program, "query", trace, sql, "--format", "json"], check=True, capture_output=True, text=True).stdout
    return [(row["rank"], row["n"], row["ns"]) for row in json.loads(out)]


def by_duckdb(folder):
    import duckdb
    files = f"read_parquet('{folder}/**/*.parquet', hive_partitioning = true)"
    rows = duckdb.sql(f"SELECT rank, count(*), sum(duration_ns) FROM {files} GROUP BY rank ORDER BY rank").fetchall()
    return [(int(rank), n, int(ns)) for rank, n, ns in rows]


def by_dask(folder):
    import dask.dataframe
    frame = dask.dataframe.read_parquet(folder, columns=["rank", "duration_ns"])
    frame["rank"] = frame["rank"].astype("int64")
    grouped = frame.groupby("rank").duration_ns.agg(["count", "sum"]).compute().sort_index()
    return [(int(rank), int(row["count"]), int(row["sum"])) for rank, row in grouped.iterrows()]


def main():
    program, trace, folder = sys.argv[1:]
    made = subprocess.run([program, "export", trace, "--format", "parquet", "-o", folder], capture_output=True, text=True)
    if made.returncode != 0:
        print(("skipped: " if "Apache Arrow" in made.stderr else "") + made.stderr)
        return 77 if "Apache Arrow" in made.stderr else 1
    compared = 0
    for view in ("kernels", "api_calls", "ranges"):
        expected = sums(program, trace, view)
        for name, read in (("DuckDB", by_duckdb), ("Dask", by_dask)):
            try:
                rows = read(f"{folder}/{view}")
            except ImportError as missing:
                print(f"without {name}: {missing}")
                continue
            compared += 1
            if rows != expected:
                print(f"{view}: {name} has {rows}, the trace {expected}")
                return 1
    print(f"{compared} comparisons")
    return 0 if compared else 77


sys.exit(main())
