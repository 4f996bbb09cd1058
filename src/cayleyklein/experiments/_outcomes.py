"""One method on one split: what came out."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.metrics import accuracy_score
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from cayleyklein.exceptions import InvalidInputError
from cayleyklein.experiments._methods import METHODS
from cayleyklein.experiments._protocols import Split

__all__ = [
    "Learned",
    "Outcome",
    "accuracies",
    "evaluate",
    "learned_alpha",
    "learned_geometry",
    "ratio_of_test_rows",
]


@dataclass(frozen=True)
class Outcome:
    """How a method did on one split.

    Attributes
    ----------
    accuracy : float
    n_train, n_test : int
    fit_seconds, predict_seconds : float
        CPU time.
    geometry : str or None
        Of the learned metric.
    curvatures : tuple of float
        K of the metric, or of the parts of a mixture.
    alpha : float or None
        Share of the elliptic part in a mixture of two.
    notes : tuple of str
        Warnings that the fit gave.

    Examples
    --------
    >>> from cayleyklein.experiments import Outcome
    >>> outcome = Outcome(0.9, n_train=80, n_test=20, fit_seconds=0.5, predict_seconds=0.01)
    >>> Outcome.from_dict(outcome.to_dict()) == outcome
    True
    """

    accuracy: float
    n_train: int
    n_test: int
    fit_seconds: float
    predict_seconds: float
    geometry: str | None = None
    curvatures: tuple[float, ...] = ()
    alpha: float | None = None
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Outcome:
        """Return what :meth:`to_dict` gave; an error when it is something else."""
        try:
            lists = {name: tuple(values[name]) for name in ("curvatures", "notes")}
            return cls(**(values | lists))
        except (KeyError, TypeError) as error:
            raise InvalidInputError(f"values are not those of an Outcome: {error}.") from error


def evaluate(
    method: str,
    k: int,
    X: Any,
    y: Any,
    split: Split,
    prepare: Any = None,
    n_targets: int | None = None,
) -> Outcome:
    """Fit a method on the training rows of a split, and test it on the others, on one thread.

    Threads of BLAS would change the last digits, and the CPU time, with the number of processes.

    Parameters
    ----------
    method : str
        A name in METHODS.
    k : int
    X : ndarray or DataFrame of n rows
    y : ndarray of shape (n,)
    split : pair of ndarray
        Training and test rows.
    prepare : transformer, optional
        Makes numeric rows of X; learned from the training rows too.
    n_targets : int, optional
        Target neighbours of a method that has them.
    """
    train, test = split
    model = METHODS[method].make(k, n_targets)
    if prepare is not None:
        model = make_pipeline(clone(prepare), model)
    with threadpool_limits(1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.process_time()
        model.fit(rows_of(X, train), y[train])
        middle = time.process_time()
        found = model.predict(rows_of(X, test))
        end = time.process_time()
    learner = getattr(last_step(model), "learner_", None)
    return Outcome(
        accuracy=float(accuracy_score(y[test], found)),
        n_train=len(train),
        n_test=len(test),
        fit_seconds=middle - start,
        predict_seconds=end - middle,
        geometry=getattr(learner, "geometry_", None),
        curvatures=tuple(float(K) for K in np.atleast_1d(getattr(learner, "curvature_", ()))),
        alpha=getattr(learner, "alpha_", None),
        notes=tuple(dict.fromkeys(str(warning.message) for warning in caught)),
    )


def rows_of(X: Any, rows: Any) -> Any:
    """Return rows of an array or of a data frame."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def last_step(model: Any) -> Any:
    """Return the classifier at the end of nested pipelines."""
    while hasattr(model, "steps"):
        model = model.steps[-1][1]
    return model


def accuracies(outcomes: Sequence[Outcome]) -> list[float]:
    """Return the accuracy on each split."""
    return [outcome.accuracy for outcome in outcomes]


def ratio_of_test_rows(outcomes: Sequence[Outcome]) -> float:
    """Return the ratio of test to training rows."""
    return sum(o.n_test for o in outcomes) / sum(o.n_train for o in outcomes)


class Learned(NamedTuple):
    """The geometry that was learned most often.

    Attributes
    ----------
    geometry : str
    curvatures : tuple of float
        The median K of each of its parts.
    n_splits : int
        The splits on which it was learned.
    """

    geometry: str
    curvatures: tuple[float, ...]
    n_splits: int


def learned_geometry(outcomes: Sequence[Outcome]) -> Learned | None:
    """Return the geometry that was learned most often; None where none is learned."""
    kinds = Counter((o.geometry, len(o.curvatures)) for o in outcomes if o.geometry)
    if not kinds:
        return None
    (geometry, parts), count = kinds.most_common(1)[0]
    alike = [o.curvatures for o in outcomes if (o.geometry, len(o.curvatures)) == (geometry, parts)]
    return Learned(str(geometry), tuple(float(K) for K in np.median(alike, axis=0)), count)


def learned_alpha(outcomes: Sequence[Outcome]) -> float | None:
    """Return the mean share of the elliptic part, over the splits that learned a sum of two."""
    shares = [o.alpha for o in outcomes if o.alpha is not None]
    return float(np.mean(shares)) if shares else None
