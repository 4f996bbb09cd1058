"""Cells of later tables that cannot be read: counted and shown by column, or refused."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from cayleyklein._typing import Bools
from cayleyklein.columns.parsing import CellFormat

MOST_SHOWN = 3  # cells of a column


class OddCell(NamedTuple):
    """A cell that cannot be read: its row, from 1, what it holds, and what it should be."""

    row: int
    text: str
    expected: str
    remedy: str

    def refusal(self, name: str) -> str:
        """Return the message of an error."""
        remedy = self.remedy or "correct the cell, or leave it empty if it is missing."
        given = f"row {self.row} has {self.text!r}"
        return f"Column {name!r} should hold {self.expected}, but {given}; {remedy}"


def odd_cells(values: Any, cells: CellFormat, odd: Bools) -> list[OddCell]:
    """Return the cells of a column that cannot be read."""
    found: list[OddCell] = []
    for at in np.flatnonzero(odd).tolist():
        index, text = values.index[at], str(values.iloc[at])[:40]
        row = (int(index) if isinstance(index, int | np.integer) else at) + 1
        said = ("", "")
        if len(found) < MOST_SHOWN:
            said = (cells.expected(text), cells.remedy(str(values.name), text))
        found.append(OddCell(row, text, *said))
    return found


def told(found: Mapping[str, Sequence[OddCell]]) -> str:
    """Count and show, by column, cells that count as missing."""
    n = sum(map(len, found.values()))
    columns = []
    for name, cells in found.items():
        shown = ", ".join(f"{one.text!r} (row {one.row:,})" for one in cells[:MOST_SHOWN])
        more = ", …" if len(cells) > MOST_SHOWN else ""
        remedy = f"; {cells[0].remedy.removesuffix('.')}" if cells[0].remedy else ""
        columns.append(
            f"{len(cells):,} in {name!r}, not {cells[0].expected}: {shown}{more}{remedy}"
        )
    are = (
        "1 cell cannot be read, and counts" if n == 1 else f"{n:,} cells cannot be read, and count"
    )
    return f"{are} as missing: {'; '.join(columns)}."
