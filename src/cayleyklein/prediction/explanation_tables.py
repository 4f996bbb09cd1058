"""Explanations of many rows as data: a table, and what the plots of shap draw."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from cayleyklein._typing import AnyArray
from cayleyklein._validation import require
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.prediction.explain import Explanation, KernelExplanation

REST = "columns together"  # what no single column adds


class Explanations(list[Any]):
    """A list of explanations, one for each row.

    Parameters
    ----------
    found : iterable of Explanation or of KernelExplanation, default=()
        One for each row.
    data : array-like of shape (m, d), optional
        The cells of the rows in the explained columns.

    Attributes
    ----------
    data : ndarray of shape (m, d), or None
        The same cells.

    Examples
    --------
    >>> from cayleyklein import CurvedKernelClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = CurvedKernelClassifier(geometry="flat", random_state=0).fit(X[::2], y[::2])
    >>> table = model.explain(X[1::2]).to_frame()
    >>> table.shape, table.columns[:4].tolist()
    ((75, 9), ['prediction', 'probability', 'strangeness', 'base'])

    With shap installed, all rows can be drawn:

    >>> shap.plots.beeswarm(model.explain(X).to_shap())  # doctest: +SKIP
    """

    def __init__(
        self,
        found: Iterable[Explanation] | Iterable[KernelExplanation] = (),
        data: AnyArray | None = None,
    ) -> None:
        super().__init__(found)
        self.data = data

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a line for each row.

        Its columns are the prediction, the probability of that class, the strangeness of the row,
        and what each column adds. For kernel machines also the base, which is the mean prediction
        for other rows, and what columns add together: base, columns and this add up to the score of
        the prediction. For neighbours the mean shares of the columns in the distances to those that
        voted.
        """
        pandas = require("pandas", "cli")
        lines = []
        for why in self:
            line: dict[str, Any] = {"prediction": why.prediction}
            shares = why.probabilities
            if shares is not None and len(shares):
                line["probability"] = float(shares.max())
            line["strangeness"] = why.strangeness
            if isinstance(why, KernelExplanation):
                line["base"] = why.base
                effects = why.columns
            else:
                effects = why.votes @ why.columns
            line |= dict(zip(map(str, why.names), effects.tolist(), strict=True))
            if isinstance(why, KernelExplanation):
                line[REST] = why.together
            lines.append(line)
        return pandas.DataFrame(lines)

    def to_shap(self) -> Any:
        """Return a ``shap.Explanation``, which shap's waterfall, beeswarm and bar plots draw.

        Its values are what columns add, and as the last one what they add together, so that base
        and values add up to the score of the prediction. They are no Shapley values: each column's
        is the prediction minus its mean where the column has the values of other rows. Of
        classifiers they are log odds of the predicted class of each row.
        """
        shap = require("shap", "shap")
        if not all(isinstance(why, KernelExplanation) for why in self) or not self:
            raise InvalidInputError(
                "Only explanations of kernel machines add up to their predictions; those of "
                "neighbours are shares of distances: take to_frame()."
            )
        values = np.array([[*why.columns, why.together] for why in self])
        data = None
        if self.data is not None:
            blank = np.full((len(self), 1), np.nan)
            data = np.hstack([self.data, blank.astype(self.data.dtype)])
        return shap.Explanation(
            values=values,
            base_values=np.array([why.base for why in self]),
            data=data,
            feature_names=[*map(str, self[0].names), REST],
        )


def explained_cells(X: Any, names: AnyArray) -> AnyArray | None:
    """Return the cells (m, d) of rows in named columns; None where X has no such columns."""
    if hasattr(X, "column_names"):  # of PyArrow
        X = X.to_pandas()
    columns = getattr(X, "columns", None)
    if columns is not None:
        if set(names) - set(columns):
            return None
        found = [np.asarray(X[name]) for name in names]
        if all(cells.dtype.kind in "biuf" for cells in found):
            return np.column_stack(found)
        table = np.empty((len(X), len(names)), dtype=object)  # of text, dates and numbers
        for j, name in enumerate(names):
            table[:, j] = list(X[name])
        return table
    cells = np.asarray(X)
    return cells if cells.ndim == 2 and cells.shape[1] == len(names) else None
