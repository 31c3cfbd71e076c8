# SPDX-License-Identifier: Apache-2.0
"""Where libplumb_sql.so and plumb lie. No import of the package: setup.py reads this file by itself."""
from __future__ import annotations

import os
import pathlib
import shutil
from typing import Iterator, Optional

LIBRARY = "libplumb_sql.so"
PROGRAM = "plumb"


def _homes(start: pathlib.Path) -> Iterator[pathlib.Path]:
    """Folders that may have lib/libplumb_sql.so and bin/plumb."""
    yield start  # the package
    home = os.environ.get("PLUMB_HOME")
    if home:
        yield pathlib.Path(home)
        yield pathlib.Path(home) / "build"
    for parent in start.parents:  # a tree with its build folder
        if (parent / "collector" / "schema" / "tables.sql").is_file():
            yield parent / "build"
            break
    program = shutil.which(PROGRAM)
    if program:
        yield pathlib.Path(program).resolve().parent.parent


def _find(name: str, start: Optional[pathlib.Path]) -> Optional[pathlib.Path]:
    for home in _homes(start or pathlib.Path(__file__).resolve().parent):
        if (home / name).is_file():
            return home / name
    return None


def find_library(start: Optional[pathlib.Path] = None) -> Optional[pathlib.Path]:
    """The first that is there, of: the package, PLUMB_HOME, the source tree's build folder, beside `plumb` on PATH."""
    return _find("lib/" + LIBRARY, start)


def find_program(start: Optional[pathlib.Path] = None) -> Optional[pathlib.Path]:
    """`plumb`, from the same places."""
    return _find("bin/" + PROGRAM, start)
