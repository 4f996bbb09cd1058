"""One method on one split, several methods on the same splits, and their differences."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from sklearn.base import clone
from sklearn.metrics import accuracy_score
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from cayleyklein.exceptions import InvalidInputError
from cayleyklein.experiments._methods import METHODS
from cayleyklein.experiments._protocols import Split
from cayleyklein.experiments._statistics import (
    SIGNIFICANCE,
    PairedDifference,
    holm,
    none_for_nan,
    paired_difference,
    standard_error,
)

__all__ = [
    "Gain",
    "Learned",
    "Outcome",
    "Scores",
    "accuracies",
    "evaluate",
    "gains_over",
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
    log_loss : float or None
        Mean of -log p(true class) over the test rows.

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
    log_loss: float | None = None

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
    k: int | None,
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
    k : int or None
        Neighbours that vote, all alike; None leaves the votes to the method.
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
        shares = model.predict_proba(rows_of(X, test))
    learner = getattr(last_step(model), "learner_", None)
    return Outcome(
        accuracy=float(accuracy_score(y[test], found)),
        n_train=len(train),
        n_test=len(test),
        fit_seconds=middle - start,
        predict_seconds=end - middle,
        geometry=getattr(learner, "geometry_", None),
        curvatures=tuple(float(K) for K in np.atleast_1d(getattr(learner, "curvature_", ()))),
        alpha=chosen_alpha(learner),
        notes=tuple(dict.fromkeys(str(warning.message) for warning in caught)),
        log_loss=log_loss(shares, model.classes_, y[test]),
    )


def chosen_alpha(learner: Any) -> float | None:
    """Return the share of the elliptic part that held-out rows chose for a mixed metric."""
    if getattr(learner, "geometry_", None) != "mixed":
        return None
    return float(learner.selection_.chosen.removeprefix("α = "))


def log_loss(shares: Any, classes: Any, truth: Any) -> float:
    """Return the mean of -log p(true class), p at least the smallest step from 1.

    >>> round(log_loss(np.array([[0.5, 0.5]]), np.array([0, 1]), np.array([1])), 3)
    0.693
    """
    known = np.asarray(truth)[:, None] == classes  # none for a class that was not trained on
    chance = np.where(known, shares, 0.0).sum(axis=1)
    return float(-np.log(np.clip(chance, np.finfo(float).eps, 1.0)).mean())


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


# -- several methods on the same splits ---------------------------------------------

Name = TypeVar("Name")


@dataclass(frozen=True)
class Scores:
    """What a method reached on some splits.

    Attributes
    ----------
    outcomes : tuple of Outcome
        One for each split.
    """

    outcomes: tuple[Outcome, ...]

    @property
    def accuracy(self) -> float:
        """The mean over the splits."""
        return float(np.mean(accuracies(self.outcomes)))

    @property
    def standard_error(self) -> float:
        """Of the mean; NaN for a single split."""
        return standard_error(accuracies(self.outcomes))

    @property
    def log_loss(self) -> float | None:
        """The mean over the splits; None where it was not measured."""
        losses = [o.log_loss for o in self.outcomes if o.log_loss is not None]
        return float(np.mean(losses)) if losses else None

    @property
    def text(self) -> str:
        """The mean and its standard error, as tables write them; a single split has no error."""
        error = self.standard_error
        return f"{self.accuracy:.3f}" + ("" if np.isnan(error) else f" ± {error:.3f}")

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "accuracy": self.accuracy,
            "standard_error": none_for_nan(self.standard_error),
            "log_loss": self.log_loss,
            "outcomes": [outcome.to_dict() for outcome in self.outcomes],
        }


class Gain(NamedTuple):
    """A difference to another method, and whether it stands as a gain.

    Attributes
    ----------
    difference : PairedDifference
    is_shown : bool
        Whether it is positive and stands a corrected test at 5 %, adjusted for all the methods that
        were tried (Holm).
    """

    difference: PairedDifference
    is_shown: bool


def gains_over(baseline: Name, outcomes: Mapping[Name, Sequence[Outcome]]) -> dict[Name, Gain]:
    """Compare every method with one of them, split by split; that one is no gain over itself.

    Parameters
    ----------
    baseline : hashable
        A key of `outcomes`.
    outcomes : mapping
        Of methods to their outcomes, on the same splits.
    """
    base = outcomes[baseline]
    differences = {
        name: paired_difference(
            accuracies(found), accuracies(base), test_ratio=ratio_of_test_rows(base)
        )
        for name, found in outcomes.items()
    }
    tested = [name for name in outcomes if name != baseline]
    adjusted = dict(zip(tested, holm([differences[m].p_value for m in tested]), strict=True))
    return {
        name: Gain(
            difference,
            bool(difference.difference > 0 and adjusted.get(name, 1.0) < SIGNIFICANCE),
        )
        for name, difference in differences.items()
    }
