"""Finished cells on disk, so that an interrupted run goes on where it stopped."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from cayleyklein.experiments._outcomes import Outcome
from cayleyklein.tables import writing

__all__ = ["Cell", "CellStore", "write_whole"]


class Cell(NamedTuple):
    """A data set, a method, and its neighbours: one number of a table.

    Attributes
    ----------
    dataset, method : str
    k : int
        The neighbours that vote.
    n_targets : int, optional
        The target neighbours that a metric is learned with; the learner's own choice by default.

    Examples
    --------
    >>> from cayleyklein.experiments import Cell
    >>> Cell("wine", "elliptic", 3)
    Cell(dataset='wine', method='elliptic', k=3, n_targets=None)
    """

    dataset: str
    method: str
    k: int
    n_targets: int | None = None


def write_whole(path: Path, text: str) -> None:
    """Write a file that is whole or not there, and the folders it is in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with writing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def digest(values: object) -> str:
    """Return a checksum of what JSON holds: a changed number must not pass for a result."""
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()


@dataclass(frozen=True)
class CellStore:
    """A folder with one file for each finished cell.

    Attributes
    ----------
    folder : Path
    run : str
        What the outcomes depend on beside the cell: the protocol and the code. Cells of another
        run are as good as missing.
    """

    folder: Path
    run: str

    def path(self, cell: Cell) -> Path:
        """Return where a cell is kept."""
        targets = "" if cell.n_targets is None else f"-targets{cell.n_targets}"
        return self.folder / f"{cell.dataset}-{cell.method}-k{cell.k}{targets}.json"

    def read(self, cell: Cell) -> list[Outcome] | None:
        """Return the outcomes of a finished cell; None when it must be computed."""
        try:
            stored = json.loads(self.path(cell).read_text("utf-8"))
            if stored["run"] != self.run or stored["cell"] != cell._asdict():
                return None
            if stored["digest"] != digest(stored["outcomes"]):
                return None
            return [Outcome.from_dict(values) for values in stored["outcomes"]]
        except (OSError, ValueError, KeyError, TypeError):  # missing, or no file of ours
            return None

    def write(self, cell: Cell, outcomes: Sequence[Outcome]) -> None:
        """Keep a finished cell."""
        values = json.loads(json.dumps([outcome.to_dict() for outcome in outcomes]))
        stored = {
            "run": self.run,
            "cell": cell._asdict(),
            "digest": digest(values),
            "outcomes": values,
        }
        write_whole(self.path(cell), json.dumps(stored))
