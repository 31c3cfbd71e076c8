# SPDX-License-Identifier: Apache-2.0
"""Who answers queries: Python's sqlite3 with libplumb_sql.so, or else the program `plumb`."""
from __future__ import annotations

import json
import os
import pathlib
import sqlite3
import subprocess
from typing import Any, List, Mapping, Optional, Protocol, Sequence, Tuple, Union

from ._table import Table

Parameters = Union[Sequence[Any], Mapping[str, Any]]


class Error(Exception):
    """What went wrong, in the tool's own sentence."""


class Backend(Protocol):
    connection: Optional[sqlite3.Connection]

    def query(self, sql: str, params: Parameters) -> Table: ...
    def close(self) -> None: ...


def _uri(path: pathlib.Path) -> str:
    uri = path.resolve().as_uri() + "?mode=ro"
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


class Library:
    """sqlite3 with libplumb_sql.so. Bytes of a text that are not UTF-8 become U+FFFD."""

    def __init__(self, file: pathlib.Path, library: pathlib.Path) -> None:
        try:
            self.connection: Optional[sqlite3.Connection] = sqlite3.connect(_uri(file), uri=True)
        except (OSError, sqlite3.Error) as error:
            raise Error(f"{file} cannot be opened: {error}.") from error
        self.connection.text_factory = lambda text: text.decode("utf-8", "replace")
        try:
            # A view of a stranger's file runs nothing but harmless functions.
            self.connection.execute("PRAGMA trusted_schema = OFF")
            self.connection.execute("PRAGMA cell_size_check = ON")
            self.connection.enable_load_extension(True)
            self.connection.load_extension(str(library.resolve()))
            self.connection.enable_load_extension(False)
        except _FAILURES as error:
            self.close()
            raise Error(f"{file} cannot be read: {_sentence(error)}.") from error

    def query(self, sql: str, params: Parameters) -> Table:
        if self.connection is None:
            raise Error("The recording is closed.")
        try:
            cursor = self.connection.execute(sql, params)
            rows = cursor.fetchall()
        except _FAILURES as error:
            raise Error(_sentence(error)) from error
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
