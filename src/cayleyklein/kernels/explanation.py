"""Why a kernel machine predicts what it predicts: rows, parts and columns, signed."""

from dataclasses import dataclass

import numpy as np

from cayleyklein._typing import AnyArray, Floats, Ints

PRINTED = 5  # rows and columns that are printed, each way


@dataclass(frozen=True, repr=False)
class KernelExplanation:
    """What speaks for and against a prediction.

    For a class, effects are in units of its score: log odds against the mean of the other classes.
    For a number they are in units of the target.

    Attributes
    ----------
    prediction : object
        The predicted class or number.
    unit : str
        What effects are added up to: "log odds of …", or the target.
    rows : ndarray of shape (p,)
        Numbers of the fitted rows, those with the largest effects first. Of equal rows the first
        one stands for all. Landmarks only, where the rows are many.
    effects : ndarray of shape (p,)
        What each of these rows adds, through the kernel machines: positive for, negative against.
    labels : ndarray of shape (p,)
        Their classes, or targets.
    parts : dict of float
        What each part adds: "metric" and "columns" (kernel machines), "neighbors" and "plain"
        (votes).
    columns : ndarray of shape (d,)
        What each column adds: the prediction minus its mean where the column has the values of
        other fitted rows.
    names : ndarray of shape (d,)
        Names of the columns.
    probabilities : ndarray of shape (n_classes,), or None
        In the order of `classes_`.

    Examples
    --------
    >>> from cayleyklein import CurvedKernelClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = CurvedKernelClassifier(random_state=0).fit(X[1:], y[1:])
    >>> why = model.explain(X[0])
    >>> (
    ...     int(why.prediction),
    ...     bool(why.effects[0] > 0),
    ...     sorted(why.parts) == sorted(model.part_weights_),
    ... )
    (0, True, True)
    """

    prediction: object
    unit: str
    rows: Ints
    effects: Floats
    labels: AnyArray
    parts: dict[str, float]
    columns: Floats
    names: AnyArray
    probabilities: Floats | None = None

    def __repr__(self) -> str:
        sure = "" if self.probabilities is None else f" ({self.probabilities.max():.2f})"
        lines = [f"{self.prediction}{sure}; effects on {self.unit}"]
        lines.append("  parts    " + ", ".join(f"{n} {v:+.2f}" for n, v in self.parts.items()))
        largest = np.argsort(-np.abs(self.columns), kind="stable")[:PRINTED]
        lines.append(
            "  columns  " + ", ".join(f"{self.names[j]} {self.columns[j]:+.2f}" for j in largest)
        )
        for word, sign in (("for", 1), ("against", -1)):
            some = np.flatnonzero(sign * self.effects > 0)[:PRINTED]
            told = (f"row {self.rows[i]} ({self.labels[i]!s}) {self.effects[i]:+.2f}" for i in some)
            lines.append(f"  {word:7}  " + (", ".join(told) or "no row"))
        return "\n".join(lines)
