# SPDX-License-Identifier: Apache-2.0
"""Rows of a query."""
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Dict, List, Tuple, Union, overload

if TYPE_CHECKING:
    import pandas
    import pyarrow

Row = Dict[str, Any]


class MissingLibrary(ImportError):
    """pandas or pyarrow is asked for and not installed."""


def _unique(names: Sequence[str]) -> List[str]:
    """Column names, made different where a query has two alike: "a", "a_2"."""
    unique: List[str] = []
    for name in names:
        candidate, copy = name, 2
        while candidate in unique:
            candidate, copy = f"{name}_{copy}", copy + 1
        unique.append(candidate)
    return unique


class Table(Sequence[Row]):
    """Rows in order, each a dict of its columns; NULL is None. `columns` has the names, `tuples` the plain rows."""

    def __init__(self, columns: Sequence[str], tuples: List[Tuple[Any, ...]]) -> None:
        self.columns: List[str] = _unique(columns)
        self.tuples = tuples

    def __len__(self) -> int:
        return len(self.tuples)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> Table: ...
    def __getitem__(self, index: Union[int, slice]) -> Union[Row, Table]:
        if isinstance(index, slice):
            return Table(self.columns, self.tuples[index])
        return dict(zip(self.columns, self.tuples[index]))

    def column(self, name: str) -> List[Any]:
        """One column as a list."""
        at = self.columns.index(name)
        return [row[at] for row in self.tuples]

    def frame(self) -> pandas.DataFrame:
        """A pandas DataFrame. A column of integers in which some are NULL has pandas' Int64, so that none is rounded."""
        try:
            import pandas
        except ImportError as error:
            raise MissingLibrary("frame() needs pandas: pip install pandas") from error
        frame = pandas.DataFrame.from_records(self.tuples, columns=self.columns)
        for at, name in enumerate(self.columns):
            values = [row[at] for row in self.tuples]
            known = [value for value in values if value is not None]
            if known and len(known) < len(values) and all(isinstance(value, int) for value in known):
                frame[name] = pandas.array(values, dtype="Int64")
        return frame

    def arrow(self) -> pyarrow.Table:
        """A pyarrow Table."""
        try:
            import pyarrow
        except ImportError as error:
            raise MissingLibrary("arrow() needs pyarrow: pip install pyarrow") from error
        arrays = []
        for at in range(len(self.columns)):
            values = [row[at] for row in self.tuples]
            if any(isinstance(value, float) for value in values):  # SQLite may give 0 and 0.5 in one column
                values = [float(value) if isinstance(value, int) else value for value in values]
            arrays.append(pyarrow.array(values))
        return pyarrow.Table.from_arrays(arrays, names=self.columns)

    def __repr__(self) -> str:
        rows = "row" if len(self) == 1 else "rows"
        return f"<plumbline.Table: {len(self)} {rows} of {', '.join(self.columns)}>"
