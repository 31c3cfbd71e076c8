# SPDX-License-Identifier: Apache-2.0
"""Who answers queries: Python's sqlite3 with libplumb_sql.so, or else the program `plumb`."""
from __future__ import annotations

import contextlib
import functools
import json
import os
import pathlib
import sqlite3
import subprocess
from typing import Any, Callable, List, Mapping, Optional, Protocol, Sequence, Tuple, Union

from ._table import Table

Parameters = Union[Sequence[Any], Mapping[str, Any]]


class Error(Exception):
    """What went wrong, in the tool's own sentence."""


class Backend(Protocol):
    connection: Optional[sqlite3.Connection]

    def query(self, sql: str, params: Parameters) -> Table: ...
    def close(self) -> None: ...


def _is_compressed(path: pathlib.Path) -> bool:
    """Zstandard data: a frame, or a skippable one."""
    with path.open("rb") as file:
        start = file.read(4)
    return start == b"\x28\xb5\x2f\xfd" or (start[:1] != b"" and 0x50 <= start[0] <= 0x5F and start[1:] == b"\x2a\x4d\x18")


def _uri(path: pathlib.Path) -> str:
    uri = path.resolve().as_uri() + "?mode=ro"
    if _is_compressed(path):
        return uri + "&vfs=plumb_zstd"
    with path.open("rb") as file:
        header = file.read(100)
    log = path.with_name(path.name + "-wal")
    is_log_mode = len(header) > 18 and header[18] == 2
    # A file in log mode needs a -shm file, which a reader creates. Where it cannot, and there is no log, nobody is
    # writing it either, and it can be read as it stands.
    if is_log_mode and not (log.exists() and log.stat().st_size) and not os.access(path.parent, os.W_OK):
        uri += "&immutable=1"
    return uri


# What sqlite3 raises: besides its own, about a message with bytes of a damaged file in it, and about an integer of more
# than 64 bits.
_FAILURES = (sqlite3.Error, sqlite3.Warning, UnicodeDecodeError, OverflowError)


def _sentence(error: BaseException) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "The file is damaged: what SQLite says of it is no text"
    return str(error)


def _load(connection: sqlite3.Connection, library: pathlib.Path) -> None:
    connection.enable_load_extension(True)
    try:
        connection.load_extension(str(library.resolve()))
    except sqlite3.OperationalError as error:
        # The linker's words; of a file that is no library SQLite gives those about another name that it tried then.
        if "shared object" not in str(error) and "undefined symbol" not in str(error):
            raise
        raise Error(f"{library} cannot be loaded ({error}): build Plumbline again.") from error
    connection.enable_load_extension(False)


def check_kind(file: pathlib.Path) -> None:
    """Raises what can be said of a file before SQLite is asked, which does not name it."""
    if file.is_dir():
        raise Error(f"{file} is a folder: name a trace file in it.")
    if not file.is_file():
        raise Error(f"There is no file {file}.")
    try:
        with file.open("rb") as opened:
            start = opened.read(16)
        if start and not b"SQLite format 3\0".startswith(start) and not _is_compressed(file):
            raise Error(
                f"{file} is not a Plumbline file: it is not an SQLite database. A trace of another profiler has to be "
                "imported first: plumb import FILE -o run.sqlite."
            )
    except OSError as error:
        raise Error(f"{file} cannot be opened: {error}.") from error


def _problem(file: pathlib.Path, library: pathlib.Path) -> Optional[str]:
    """Why a compressed file cannot be read; None when nothing is known against it. Makes the library known to SQLite."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        _load(connection, library)
        row = connection.execute("SELECT plumb_file_problem(?)", (str(file.resolve()),)).fetchone()
    return row[0]


class Library:
    """sqlite3 with libplumb_sql.so. Bytes of a text that are not UTF-8 become U+FFFD."""

    def __init__(self, file: pathlib.Path, library: pathlib.Path) -> None:
        self.connection: Optional[sqlite3.Connection] = None
        # Who asks why reading a compressed file failed; SQLite has no words for it.
        self._problem: Callable[[], Optional[str]] = lambda: None
        try:
            if _is_compressed(file):
                self._problem = functools.partial(_problem, file, library)
                problem = self._problem()
                if problem:
                    raise Error(problem)
            self.connection = sqlite3.connect(_uri(file), uri=True)
        except (OSError, sqlite3.Error) as error:
            raise Error(f"{file} cannot be opened: {error}.") from error
        self.connection.text_factory = lambda text: text.decode("utf-8", "replace")
        try:
            # A view of a stranger's file runs nothing but harmless functions.
            self.connection.execute("PRAGMA trusted_schema = OFF")
            self.connection.execute("PRAGMA cell_size_check = ON")
            _load(self.connection, library)
        except _FAILURES as error:
            problem = self._problem()
            self.close()
            raise Error(problem or f"{file} cannot be read: {_sentence(error)}.") from error

    def query(self, sql: str, params: Parameters) -> Table:
        if self.connection is None:
            raise Error("The recording is closed.")
        try:
            cursor = self.connection.execute(sql, params)
            rows = cursor.fetchall()
        except _FAILURES as error:
            raise Error(self._problem() or _sentence(error)) from error
        if cursor.description is None:
            raise Error("The statement gives no rows: a recording is opened for reading only.")
        return Table([column[0] for column in cursor.description], rows)

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()
            self.connection = None


def _value(value: Any) -> str:
    """As `plumb query -p` reads it."""
    if value is None:
        return "NULL"
    if isinstance(value, (bool, int)):
        return str(int(value))
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, str):
        return f"'{value}'"
    raise Error(f"A parameter may be None, a number or a text, not {type(value).__name__}.")


class Program:
    """`plumb query`, for a Python whose sqlite3 loads no extensions. Blobs come as hexadecimal text."""

    connection: Optional[sqlite3.Connection] = None

    def __init__(self, file: pathlib.Path, program: pathlib.Path) -> None:
        self._file: Optional[pathlib.Path] = file
        self._program = program

    def _run(self, sql: str, params: Parameters, form: str) -> str:
        if self._file is None:
            raise Error("The recording is closed.")
        named = params.items() if isinstance(params, Mapping) else ((str(i + 1), value) for i, value in enumerate(params))
        command = [str(self._program), "query", str(self._file), "--format", form]
        for name, value in named:
            command += ["-p", f"{name}={_value(value)}"]
        command += ["--", sql]
        done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", errors="replace", check=False)
        if done.returncode != 0:
            raise Error(done.stderr.strip().removeprefix("plumb: ") or f"plumb ended with code {done.returncode}.")
        return done.stdout

    def query(self, sql: str, params: Parameters) -> Table:
        rows: List[List[Tuple[str, Any]]] = json.loads(self._run(sql, params, "json"), object_pairs_hook=list)
        if rows:
            columns = [name for name, _ in rows[0]]
        else:
            columns = self._run(sql, params, "csv").rstrip("\r\n").split(",")
        return Table(columns, [tuple(value for _, value in row) for row in rows])

    def close(self) -> None:
        self._file = None
