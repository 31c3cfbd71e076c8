# SPDX-License-Identifier: Apache-2.0
"""A recording, opened for reading."""
from __future__ import annotations

import difflib
import os
import pathlib
import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING, List, Optional, Union

from ._backend import Backend, Error, Library, Parameters, Program, check_kind
from ._find import LIBRARY, find_library, find_program
from ._table import Table

if TYPE_CHECKING:
    import pandas
    import pyarrow

PathLike = Union[str, "os.PathLike[str]"]


@dataclass(frozen=True)
class Report:
    """What a report is about, which filters it takes ("--rank and --step") and the values of its `by`, the default first."""

    name: str
    title: str
    question: str
    filters: str
    by: List[str]


class Trace:
    """An open recording. Use plumbline.open(). One thread at a time; what a query returns stays when it is closed."""

    def __init__(self, backend: Backend, path: str) -> None:
        self._backend = backend
        self.path = path

    def query(self, sql: str, params: Parameters = ()) -> Table:
        """All rows of one statement that reads, with parameters as sqlite3 has them (`?`, or `:name` from a dict)."""
        return self._backend.query(sql, params)

    def report(
        self,
        name: str,
        *,
        rank: Optional[int] = None,
        step: Optional[int] = None,
        range: Optional[str] = None,
        from_ns: Optional[int] = None,
        to_ns: Optional[int] = None,
        by: Optional[str] = None,
    ) -> Table:
        """A report, as `plumb report NAME` has it: limited to a rank, a step, the ranges of a name, or a time."""
        table = "report_" + name.replace('"', '""')
        known = self.query("SELECT 1 FROM plumb_reports WHERE name = ?", (name,))
        if not known.tuples:
            raise Error(self._no_report(name))
        return self.query(f'SELECT * FROM "{table}"(?, ?, ?, ?, ?, ?)', (rank, step, range, from_ns, to_ns, by))

    def _no_report(self, name: str) -> str:
        names = [row[0] for row in self.query("SELECT name FROM plumb_reports ORDER BY name").tuples]
        near = difflib.get_close_matches(name, names, n=3)
        if near:
            return f"There is no report {name!r}; the nearest are {', '.join(near)}."
        return f"There is no report {name!r}; there are {', '.join(names)}."

    def reports(self) -> List[Report]:
        """The reports that there are, the user's own among them."""
        rows = self.query(
            "SELECT name, title, question, filters, by_values FROM plumb_reports WHERE problem IS NULL ORDER BY name"
        )
        return [
            Report(name, title, question, filters, by.split(", ") if by else [])
            for name, title, question, filters, by in rows.tuples
        ]

    def frame(self, sql: str, params: Parameters = ()) -> pandas.DataFrame:
        """query(…) as a pandas DataFrame."""
        return self.query(sql, params).frame()

    def arrow(self, sql: str, params: Parameters = ()) -> pyarrow.Table:
        """query(…) as a pyarrow Table."""
        return self.query(sql, params).arrow()

    @property
    def connection(self) -> Optional[sqlite3.Connection]:
        """The sqlite3 connection, for programs that have their own use for it (pandas.read_sql …). None where Python's
        sqlite3 loads no extensions and `plumb query` answers instead."""
        return self._backend.connection

    def close(self) -> None:
        """Closes the file; may be called again."""
        self._backend.close()

    def __enter__(self) -> Trace:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<plumbline.Trace {self.path!r}>"


def _backend(file: pathlib.Path, library: Optional[PathLike]) -> Backend:
    if hasattr(sqlite3.Connection, "enable_load_extension"):
        found = pathlib.Path(library) if library is not None else find_library()
        if found is None or not found.is_file():
            raise Error(
                f"{found or LIBRARY} was not found: build Plumbline, or set PLUMB_HOME to the folder that has lib/{LIBRARY}."
            )
        return Library(file, found)
    program = find_program()
    if program is None:
        raise Error(
            "This Python's sqlite3 loads no extensions, and plumb was not found to answer instead: build Plumbline, or "
            "set PLUMB_HOME to the folder that has bin/plumb."
        )
    return Program(file, program)


def open(path: PathLike, *, library: Optional[PathLike] = None) -> Trace:
    """Opens a recording for reading; nothing can be written through it. It may still be growing.

    `library` is the path of libplumb_sql.so; without one it is looked for in the package, in PLUMB_HOME, in the source
    tree's build folder and beside `plumb` on PATH. A Python whose sqlite3 loads no extensions asks `plumb query`.
    """
    if not os.fspath(path):
        raise Error("Name a trace file: the path is empty.")
    file = pathlib.Path(path)
    check_kind(file)
    backend = _backend(file, library)
    try:
        backend.query("SELECT 1 FROM host_window LIMIT 0", ())  # says what is wrong with a file that is no recording
    except Error:
        backend.close()
        raise
    return Trace(backend, str(file))
