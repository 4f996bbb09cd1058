"""The metric of the last iteration in a file, for a fit that may be cut short."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cayleyklein._validation import as_count, as_path
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.geometry import Frame
from cayleyklein.metrics import CurvedMetric
from cayleyklein.models._atomic import check_writable, writing

if TYPE_CHECKING:
    from cayleyklein.learning._descent import Progress

__all__ = ["Checkpoint"]


class Checkpoint:
    """A callback that keeps the metric of the last iteration in a file.

    The file is a NumPy archive without pickled objects, replaced as a whole each time: however the
    fit ends, it holds a metric that an iteration reached. A fit goes on from it by
    ``init=Checkpoint.load(path)``, with the target neighbours chosen under that metric. It is
    for a single geometry: of a sum, the file holds the part that was learned last.

    Parameters
    ----------
    path : str or Path
        By convention it ends in ``.npz``.
    every : int, default=1
        Iterations from one writing to the next.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from cayleyklein import CurvedLMNN
    >>> X, y = load_iris(return_X_y=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     keep = Checkpoint(f"{folder}/last.npz")
    ...     learner = CurvedLMNN(geometry="elliptic", n_init=1, callback=keep).fit(X, y)
    ...     last = Checkpoint.load(f"{folder}/last.npz")
    >>> last == learner.metric_
    True
    >>> again = CurvedLMNN(geometry="elliptic", init=last).fit(X, y)
    """

    def __init__(self, path: str | Path, every: int = 1) -> None:
        self.path, self.every = as_path(path), as_count(every, "every")
        check_writable(self.path)

    def __call__(self, progress: Progress) -> None:
        """Write the metric of an iteration; the fit goes on."""
        if not hasattr(progress, "frame"):
            raise InvalidInputError(
                f"progress must be what a fit tells its callback; got {type(progress).__name__}."
            )
        if progress.iteration % self.every:
            return
        frame = progress.frame
        with writing(self.path) as temporary, temporary.open("wb") as file:
            np.savez(
                file,
                factor=frame.factor,
                center=frame.center,
                curvature=frame.curvature,
                iteration=progress.iteration,
                loss=progress.loss,
            )

    @staticmethod
    def load(path: str | Path) -> CurvedMetric:
        """Return the metric in a file, to be given as `init`.

        Parameters
        ----------
        path : str or Path
        """
        try:
            with np.load(as_path(path), allow_pickle=False) as file:
                frame = Frame(
                    file["factor"], center=file["center"], curvature=float(file["curvature"])
                )
        except (ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise InvalidInputError(f"{path} is no checkpoint of a fit: {error}.") from error
        return CurvedMetric.from_frame(frame)
