#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""parquet_sums.py PLUMB TRACE FOLDER: DuckDB, Dask, pandas and pyarrow read every folder of the Parquet export, and their
rows and sums per rank are those of SQL on the trace."""
import json
import os
import subprocess
import sys


def query(program, trace, sql):
    out = subprocess.run([program, "query", trace, sql, "--format", "json"], check=True, capture_output=True, text=True).stdout
    return [tuple(row.values()) for row in json.loads(out)]


def by_duckdb(folder, columns):
    import duckdb
    files = f"read_parquet('{folder}/**/*.parquet', hive_partitioning = true)"
    return duckdb.sql(f"SELECT {', '.join(columns or '*')} FROM {files}").df()


def by_dask(folder, columns):
    import dask.dataframe
    return dask.dataframe.read_parquet(folder, columns=columns).compute()


def by_pandas(folder, columns):
    import pandas
    return pandas.read_parquet(folder, columns=columns)


def by_pyarrow(folder, columns):
    import pyarrow.dataset
    return pyarrow.dataset.dataset(folder, partitioning="hive").to_table(columns=columns).to_pandas()


def sums(frame):
    ranks = frame["rank"].astype("float64")
    grouped = frame.groupby(ranks, dropna=False).duration_ns.agg(["size", "sum"])
    return [(None if rank != rank else int(rank), int(row["size"]), int(row["sum"])) for rank, row in grouped.iterrows()]


def compare(program, trace, folder, name, read):
    """What differs; None when the reader is not installed."""
    for view in sorted(view for view in os.listdir(folder) if os.path.isdir(f"{folder}/{view}")):
        (rows,), = query(program, trace, f"SELECT count(*) FROM {view}")
        try:
            frame = read(f"{folder}/{view}", None)  # all columns
        except ImportError as missing:
            print(f"without {name}: {missing}")
            return None
        if len(frame) != rows:
            return f"{view}: {name} has {len(frame)} rows, the trace {rows}"
    for view in ("kernels", "api_calls", "ranges"):
        expected = query(program, trace, f"SELECT rank, count(*) AS n, sum(duration_ns) AS ns FROM {view} GROUP BY rank"
                                         " ORDER BY rank NULLS LAST")
        read_sums = sums(read(f"{folder}/{view}", ["rank", "duration_ns"]))
        if read_sums != expected:
            return f"{view}: {name} has {read_sums}, the trace {expected}"
    return ""


def main():
    program, trace, folder = sys.argv[1:]
    folder += "/tables"
    made = subprocess.run([program, "export", trace, "--format", "parquet", "-o", folder], capture_output=True, text=True)
    if made.returncode != 0:
        print(("skipped: " if "Apache Arrow" in made.stderr else "") + made.stderr)
        return 77 if "Apache Arrow" in made.stderr else 1
    readers = (("DuckDB", by_duckdb), ("Dask", by_dask), ("pandas", by_pandas), ("pyarrow", by_pyarrow))
    results = [compare(program, trace, folder, name, read) for name, read in readers]
    wrong = [result for result in results if result]
    print("\n".join(wrong) or f"{results.count('')} readers agree")
    return 1 if wrong else 0 if results.count("") else 77


sys.exit(main())
