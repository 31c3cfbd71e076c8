# SPDX-License-Identifier: Apache-2.0
"""Recordings of GPU training runs, opened from Python.

>>> import plumbline
>>> with plumbline.open("run.sqlite") as run:
...     for kernel in run.report("kernels", rank=0)[:5]:
...         print(kernel["name"], kernel["total_ns"])
...     steps = run.report("steps").frame()         # with pandas
...     table = run.arrow("SELECT * FROM kernels")  # with pyarrow

SQL sees the recording's views (kernels, ranges, steps …), every analysis and report as a table function
(`SELECT * FROM report_kernels(0)`) and the functions that `plumb query` has. Times are integer nanoseconds.
"""
from ._backend import Error
from ._table import Table
from ._trace import Report, Trace, open

__all__ = ["Error", "Report", "Table", "Trace", "open"]
__version__ = "0.1.0"
