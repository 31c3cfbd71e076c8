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


def _is_compressed(start: bytes) -> bool:
    """Zstandard data: a frame, or a skippable one."""
    return start[:4] == b"\x28\xb5\x2f\xfd" or (start[:1] != b"" and 0x50 <= start[0] <= 0x5F and start[1:4] == b"\x2a\x4d\x18")


def _start(file: pathlib.Path) -> bytes:
    """Only of a file that SQLite says is no database: closing one that it has open drops the locks of this process."""
    with file.open("rb") as opened:
        return opened.read(16)


def _has_content(file: pathlib.Path) -> bool:
    return file.exists() and file.stat().st_size > 0


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
    """Raises what can be said of a file without opening it, and SQLite does not say."""
    if file.is_dir():
        raise Error(f"{file} is a folder: name a trace file in it.")
    if not file.is_file():
        raise Error(f"There is no file {file}.")
    if not os.access(file, os.R_OK):
        raise Error(f"{file} cannot be opened: you have no right to read it.")


def _connect(file: pathlib.Path, options: str = "") -> sqlite3.Connection:
    """A connection that has read the file's header."""
    connection = sqlite3.connect(file.resolve().as_uri() + "?mode=ro" + options, uri=True)
    try:
        connection.execute("PRAGMA schema_version").fetchall()
    except BaseException:
        connection.close()
        raise
    return connection


def _open(file: pathlib.Path) -> sqlite3.Connection:
    try:
        return _connect(file)
    except sqlite3.OperationalError as error:
        # A file in log mode needs a -shm file, which a reader creates. Where it cannot, and there is no log, nobody is
        # writing it either, and it can be read as it stands.
        has_log = any(_has_content(file.with_name(file.name + end)) for end in ("-wal", "-journal"))
        is_of_folder = "unable to open" in str(error) or "readonly database" in str(error)
        if not is_of_folder or has_log or os.access(file.parent, os.W_OK):
            raise
        return _connect(file, "&immutable=1")


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
            try:
                self.connection = _open(file)
            except sqlite3.DatabaseError as error:
                if "not a database" not in str(error):
                    raise
                self.connection = self._open_compressed(file, library)
        except _FAILURES + (OSError,) as error:
            if "readonly database" in str(error):  # a journal to be played back
                raise Error(
                    f"{file} was left in the middle of a change, which has to be undone before it can be read: "
                    f"`plumb index {file}` does that."
                ) from error
            raise Error(self._problem() or f"{file} cannot be opened: {_sentence(error)}.") from error
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

    def _open_compressed(self, file: pathlib.Path, library: pathlib.Path) -> sqlite3.Connection:
        if not _is_compressed(_start(file)):
            raise Error(
                f"{file} is not a Plumbline file: it is not an SQLite database. A trace of another profiler has to be "
                "imported first: plumb import FILE -o run.sqlite."
            )
        self._problem = functools.partial(_problem, file, library)
        problem = self._problem()
        if problem:
            raise Error(problem)
        return _connect(file, "&vfs=plumb_zstd")

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
