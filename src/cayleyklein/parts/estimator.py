"""Any estimator of scikit-learn's kind as a part: its log probabilities, or its numbers."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from cayleyklein._typing import Floats, Ints
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.metrics import Metric
from cayleyklein.parts.base import Answer, FitRows, FittedPart, on_blocks
from cayleyklein.parts.places import places_and_pairs, pool_pairs


@dataclass(frozen=True)
class FittedEstimator(FittedPart):
    """A fitted estimator, whose classes are codes among `n_scores`."""

    name: str
    estimator: Any
    n_scores: int
    answer: Answer
    is_class: bool
    takes_tables: bool

    def scores(self, X: Any) -> Any:
        """Return the scores (m, t) of rows X, or of a table."""
        if self.takes_tables:
            return self._scores_in_memory(X)
        return on_blocks(self._scores_in_memory, X, self.n_scores)

    def _scores_in_memory(self, X: Any) -> Floats:
        if not self.is_class:
            said = np.asarray(self.estimator.predict(X), dtype=np.float64)
            return refuse_odd(said.reshape(len(X), -1), self.n_scores, self.name)
        known: Ints = np.asarray(self.estimator.classes_)
        said = np.asarray(self.estimator.predict_proba(X), dtype=np.float64)
        shares = np.zeros((len(X), self.n_scores))
        shares[:, known] = refuse_odd(said, len(known), self.name)
        return np.asarray(self.answer.of_votes(shares))


@dataclass(frozen=True)
class EstimatorPart:
    """A part that clones an estimator, and fits it to rows in an order of their own.

    Where the estimator takes weights, equal rows with one target are one row with the sum of their
    weights. Otherwise each row of positive weight counts once.
    """

    name: str
    estimator: Any
    seed: int
    takes_tables: bool
    needs_metric: bool = False
    leads: bool = False
    fits_last: bool = True
    searches: bool = False

    def fit(self, rows: FitRows, metric: Metric | None, settings: Any = None) -> FittedEstimator:
        """Fit a clone to the rows, with seeds where it has none."""
        model = with_seed(clone(self.estimator), self.seed)
        weight = weight_name(model)
        options: dict[str, Any] = {}
        if weight is None:
            given = rows.given
            kept = np.flatnonzero(given.weights > 0)
            _, pair = places_and_pairs(given)
            given = given.take(kept[np.argsort(pair, kind="stable")])
        else:
            given = pool_pairs(rows.given)[0]
            options[weight] = given.weights
        is_class = given.classes is not None
        target = given.target
        if not is_class:
            target = rows.answer.targets(target)
            target = target[:, 0] if target.shape[1] == 1 else target
        X = given.table if self.takes_tables else given.X
        try:
            model.fit(X, target, **options)
        except Exception as error:
            raise InvalidInputError(
                f"The part {self.name!r} cannot be fitted. {type(error).__name__}: {error}"
            ) from error
        n_scores = len(given.classes) if given.classes is not None else rows.targets.shape[1]
        return FittedEstimator(self.name, model, n_scores, rows.answer, is_class, self.takes_tables)


def check_estimator(name: str, estimator: Any, *, numeric: bool) -> None:
    """Refuse what cannot be a part of a classifier, or with `numeric` of a regressor."""
    if isinstance(estimator, type):
        raise InvalidInputError(
            f"The part {name!r} must be an estimator, {estimator.__name__}(), not the class."
        )
    kind, asked, right = "classifier", "predict_proba", is_classifier(estimator)
    if numeric:
        kind, asked, right = "regressor", "predict", is_regressor(estimator)
    if not right or not hasattr(estimator, "get_params"):
        raise InvalidInputError(
            f"The part {name!r} is a {type(estimator).__name__}, but a {kind} is expected here."
        )
    if not hasattr(estimator, asked):
        raise InvalidInputError(
            f"The part {name!r} has no {asked}, which parts of a {kind} need. Wrap it in "
            f"sklearn.calibration.CalibratedClassifierCV."
        )


def says_it_takes_tables(estimator: Any) -> bool:
    """Say whether an estimator's tags promise that it takes categories or text, and gaps."""
    tags = get_tags(estimator).input_tags
    return bool(tags.allow_nan and (tags.categorical or tags.string))


def weight_name(estimator: Any) -> str | None:
    """Return the name under which an estimator's fit takes weights of rows, if it does."""
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        inner = weight_name(last)
        return None if inner is None else f"{name}__{inner}"
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None


def with_seed(estimator: Any, seed: int) -> Any:
    """Give an estimator, and those in it, a seed where they have none."""
    given = estimator.get_params(deep=True)
    unset = [
        name
        for name, value in given.items()
        if value is None and name.rpartition("__")[2] == "random_state"
    ]
    return estimator.set_params(**dict.fromkeys(unset, seed))


def refuse_odd(said: Floats, n_scores: int, name: str) -> Floats:
    """Return what an estimator said (m, n_scores), if these are finite numbers of that shape."""
    if said.ndim != 2 or said.shape[1] != n_scores or not np.isfinite(said).all():
        raise InvalidInputError(
            f"The part {name!r} predicts an array of shape {said.shape}, with "
            f"{np.sum(~np.isfinite(said))} entries that are not finite; expected finite numbers "
            f"in {n_scores} columns."
        )
    return said
