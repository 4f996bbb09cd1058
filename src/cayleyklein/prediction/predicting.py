"""What all predictors share: reading rows, judging and explaining answers."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from cayleyklein import _estimators
from cayleyklein._distributed import in_memory
from cayleyklein._estimators import (
    check_lengths,
    check_numbers,
    check_parameters,
    encode_classes,
)
from cayleyklein._typing import AnyArray, Floats, Ints
from cayleyklein._validation import as_count
from cayleyklein.columns import entrance
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning import folds
from cayleyklein.learning.choice import MetricRequest
from cayleyklein.learning.descent import Progress
from cayleyklein.learning.learner import LearnsFromRows, RowLearner
from cayleyklein.learning.rows import GivenRows, distinct_rows
from cayleyklein.metrics import (
    CurvedMetric,
    FormMetric,
    Metric,
    MixedMetric,
    ProductMetric,
    SphereMetric,
)
from cayleyklein.neighbors import dask_shards, search
from cayleyklein.parts.base import numbers_of
from cayleyklein.parts.places import count_rows, means_of_pairs, places_and_pairs
from cayleyklein.prediction import rehearsal, scales, strangers
from cayleyklein.prediction.explanation_tables import Explanations, explained_cells
from cayleyklein.prediction.suspicious import Suspicion, SuspiciousRows


class Predicting(entrance.TableInput, LearnsFromRows):
    """Mixin of all predictors: reading rows, judging and explaining answers."""

    geometry: str
    learner: Any
    metric: Metric | None
    subsample: int | float | str | None
    random_state: Any
    callback: Callable[[Progress], bool | None] | None
    verbose: bool
    n_features_in_: int
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "learner": [HasMethods(["fit"]), None],
        "metric": [CurvedMetric, FormMetric, MixedMetric, ProductMetric, SphereMetric, None],
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
    }
    _given: GivenRows
    _known_rows: strangers.FamiliarRows
    _numeric: ClassVar[bool]
    _learner_kind: ClassVar[type[RowLearner]]
    _trials: ClassVar[type[rehearsal.ClassTrials | rehearsal.NumberTrials]]

    def _read(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        *,
        classes: AnyArray | None = None,
        reset: bool = True,
    ) -> GivenRows:
        """Check the parameters, and the rows to fit; with `reset` False, more of them."""
        check_parameters(self)
        self._check_where_the_metric_comes_from()
        given = GivenRows.read(
            self,
            X,
            y,
            sample_weight,
            numeric=self._numeric,
            classes=classes,
            block_rows=dask_shards.LEAST_ROWS,
            reset=reset,
        )
        return with_class_weights(given, getattr(self, "class_weight", None))

    def _check_where_the_metric_comes_from(self) -> None:
        if isinstance(self.learner, type):
            kind = self.learner.__name__
            raise InvalidInputError(
                f"learner must be an estimator, {kind}(), not the class {kind}."
            )
        if self.learner is not None and self.metric is not None:
            raise InvalidInputError("Got both a learner and a metric; drop one of them.")
        if self.learner is None and self.metric is None:
            return
        source = "learner" if self.metric is None else "metric"
        advice = "give it to the learner instead" if source == "learner" else "drop it"
        unused = {"geometry": "auto", "subsample": "auto", "callback": None, "verbose": False}
        for name, default in unused.items():
            value = getattr(self, name)
            same = isinstance(value, str | int | np.bool_) and value == default
            if not (value is default or same):
                raise InvalidInputError(
                    f"{name} has no effect when a {source} is given; {advice}. "
                    f"Got {name}={value!r}."
                )

    def _metric_request(self, random_state: Any, geometry: str) -> MetricRequest:
        """Return what the parameters ask of the metric."""
        return MetricRequest(
            metric=self.metric,
            learner=self.learner,
            learner_kind=self._learner_kind,
            geometry=geometry,
            subsample=self.subsample,
            random_state=random_state,
            callback=self.callback,
            verbose=self.verbose,
            column_names=getattr(self, "feature_names_in_", None),
            said=type(self).__name__,
        )

    def score(
        self, X: ArrayLike | None, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the accuracy of classes, or R² of numbers.

        With neighbours X may be None: each fitted row is then left out of its own vote.
        """
        predicted = in_memory(cast(Any, self).predict(X), "predictions")
        truth, weights = in_memory(y, "y"), in_memory(sample_weight, "sample_weight")
        truth, weights = _estimators.check_truth(truth, predicted, weights)
        if not self._numeric:
            return float(accuracy_score(truth, predicted, sample_weight=weights))
        unit = scales.power_of_two(truth)
        with _estimators.naming("y"):
            return float(r2_score(truth / unit, predicted / unit, sample_weight=weights))

    @abstractmethod
    def feature_weights(self) -> Floats:
        """Return the share of each column of X (n_features_in_,) in the answers."""

    @property
    def feature_importances_(self) -> Floats:
        """The shares of the columns, as scikit-learn's `SelectFromModel` asks for them."""
        return self.feature_weights()

    def strangeness(self, X: ArrayLike) -> Floats:
        """Return how unlike the fitted rows each row is (m,), from 0 to 1.

        It is the share of fitted rows that are nearer to the other fitted rows than the row is to
        them, in standardised columns: of new rows like the fitted ones, 5 % are above 0.95.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Rows.

        Examples
        --------
        >>> from cayleyklein import CurvedKNeighborsClassifier
        >>> from cayleyklein.datasets import load_wine
        >>> X, y = load_wine(return_X_y=True)
        >>> model = CurvedKNeighborsClassifier(random_state=0).fit(X[::2], y[::2])
        >>> (
        ...     bool(model.strangeness(X[1::2]).mean() < 0.6),
        ...     bool(model.strangeness(10 * X[:1]) > 0.99),
        ... )
        (True, True)
        """
        check_is_fitted(self, "n_samples_fit_")
        return self._known_rows.quantiles(self._numbers_of(X))

    def suspicious(
        self, X: ArrayLike | None = None, y: Any = None, n_neighbors: int = 5
    ) -> SuspiciousRows:
        """Return the rows whose class or number looks wrong, by what the other rows say.

        A fitted row is left out of its own answer: neighbours do not count its vote, and a sum of
        parts answers by the folds that it was held out of.

        Parameters
        ----------
        X : array-like of shape (m, d), optional
            Rows to look at; the fitted ones by default. Rows that were fitted are left out all the
            same.
        y : array-like of shape (m,), optional
            Their classes or numbers.
        n_neighbors : int, default=5
            Number of neighbours to show for each.

        Examples
        --------
        >>> from cayleyklein import CurvedKNeighborsClassifier
        >>> from cayleyklein.datasets import load_wine
        >>> X, y = load_wine(return_X_y=True)
        >>> y[3] = 2
        >>> found = CurvedKNeighborsClassifier(random_state=0).fit(X, y).suspicious()
        >>> int(found.rows[0]), int(found.given[0]), int(found.likely[0])
        (3, 2, 0)
        """
        check_is_fitted(self, "n_samples_fit_")
        if (X is None) != (y is None):
            raise InvalidInputError("Give both X and y, or neither for the fitted rows.")
        fitted = self._given
        if not isinstance(fitted.X, np.ndarray) or not len(fitted.X):
            raise InvalidInputError("suspicious looks at rows in memory; these are on a cluster.")
        if as_count(n_neighbors, "n_neighbors") >= len(fitted.target):
            n_neighbors = max(1, len(fitted.target) - 1)
        known = np.arange(len(fitted.target))
        target = fitted.target
        if X is not None:
            known = fitted_numbers(fitted.places, self._numbers_of(X))
            if self._numeric:
                target = check_numbers(check_lengths(self, known, y))
                if target.shape[1:] != fitted.target.shape[1:]:
                    raise InvalidInputError(f"y has shape {target.shape}, unlike the fitted one.")
            else:
                _, target = encode_classes(check_lengths(self, known, y), fitted.classes)
        found = self._suspicious_among(X, known, target)
        order = found.numbers[np.argsort(-found.scores[found.numbers], kind="stable")]
        near = self._neighbors_without(X, known, n_neighbors)[order]
        names = fitted.classes
        return SuspiciousRows(
            rows=order,
            given=target[order] if names is None else names[target[order]],
            likely=found.likely[order] if names is None else names[found.likely[order]],
            sure=found.sure[order],
            neighbors=near,
            neighbor_targets=fitted.target[near] if names is None else names[fitted.target[near]],
            scores=found.scores,
        )

    def _numbers_of(self, X: Any) -> Floats:
        """Return checked rows in memory as numbers."""
        rows = numbers_of(self._checked(X))
        if not isinstance(rows, np.ndarray):
            raise InvalidInputError("Rows must be in memory here; pass X.compute().")
        return rows

    def _left_out_and_new(self, X: Any, known: Ints, answer: Callable[[Any], Any]) -> Floats:
        """Return answers (m, t) for rows, those of fitted ones left out; `known` are -1 or these.

        `answer` takes rows, or None for the fitted ones.
        """
        left_out: Floats = answer(None)
        left_out = left_out.reshape(len(left_out), -1)
        if X is None:
            return left_out
        found = left_out[known]
        if (known < 0).any():
            new = answer(X)
            found[known < 0] = new.reshape(len(new), -1)[known < 0]
        return found

    def _held_out_answers(self) -> Floats:
        """Return answers (n, t) for the fitted rows by models that did not learn from them."""
        found = np.asarray(self._left_out_answers())
        return found.reshape(len(found), -1)

    def _left_out_answers(self) -> Floats:
        """Return probabilities or numbers of the fitted rows, each left out."""
        model = cast(Any, self)
        return cast(Floats, model.predict(None) if self._numeric else model.predict_proba(None))

    @abstractmethod
    def _suspicious_among(self, X: Any, known: Ints, target: AnyArray) -> Suspicion:
        """Judge the targets of rows, of which some are fitted ones."""

    @abstractmethod
    def _own_neighbors(self, k: int) -> Ints:
        """Return the numbers (n, k) of the other fitted rows nearest to each."""

    def _neighbors_without(self, X: Any, known: Ints, k: int) -> Ints:
        """Return the nearest fitted rows (m, k), none of which is the row itself."""
        own = self._own_neighbors(k)
        if X is None:
            return own
        near = own[known]
        if (known < 0).any():
            near[known < 0] = cast(Any, self).kneighbors(X, k)[1][known < 0]
        return near

    def _one_or_more(self, X: Any, explain: Callable[[Any], list[Any]]) -> Any:
        """Explain one row, or a list of rows."""
        with _estimators.naming("X"):
            single = (len(X.shape) if hasattr(X, "shape") else np.ndim(X)) == 1
        if single:  # as a table of one row
            X = X.to_frame().T if hasattr(X, "to_frame") else np.reshape(np.asarray(X), (1, -1))
        found = explain(self._checked(X))
        if single:
            return found[0]
        return Explanations(found, explained_cells(X, found[0].names) if found else None)

    def _checked(self, X: Any) -> Any:
        """Return checked rows to predict."""
        return search.checked_queries(self, X)


def fitted_numbers(fitted: Floats, rows: Floats) -> Ints:
    """Return for each row the number of the first fitted row that is equal to it, or -1."""
    first, point = distinct_rows(np.concatenate([fitted, rows]))
    found = first[point[len(fitted) :]]
    return np.where(found < len(fitted), found, -1)


def with_class_weights(given: GivenRows, class_weight: dict[Any, float] | str | None) -> GivenRows:
    """Multiply the weights of rows by those of their classes: a dict, "balanced", or None.

    "balanced" gives each class the same total weight. Classes that a dict lacks have the weight 1.
    """
    if class_weight is None:
        return given
    assert given.classes is not None
    mass = np.bincount(given.target, weights=given.weights, minlength=len(given.classes))
    if isinstance(class_weight, str):
        factors = np.divide(mass.sum() / len(mass), mass, np.ones_like(mass), where=mass > 0)
    else:
        known = given.classes.tolist()
        if unknown := [name for name in class_weight if name not in known]:
            raise InvalidInputError(
                f"class_weight has classes that are not in y, {unknown}; y has {known}."
            )
        factors = np.array([class_weight.get(name, 1.0) for name in known], dtype=float)
        if not (np.isfinite(factors).all() and (factors >= 0).all() and factors @ mass > 0):
            raise InvalidInputError(
                f"class_weight must hold finite numbers ≥ 0, not all 0; got {class_weight!r}."
            )
    return replace(given, weights=given.weights * factors[given.target])


def refit_answers(
    answers: Callable[[GivenRows, GivenRows], Floats], given: GivenRows, n_targets: int
) -> Floats:
    """Return answers (n, t) for rows by three refits, each without a third of the places.

    `answers` takes the rows to fit and those to answer for. Rows of weight 0 are in no fit. NaN
    where there are none.
    """
    if not isinstance(given.X, np.ndarray) or not len(given.X):
        raise InvalidInputError("Left-out answers are for rows in memory; these are on a cluster.")
    counts, counted = count_rows(given)
    kept = np.flatnonzero(counts.weights > 0)
    rows = replace(counts, numbers=np.arange(len(counts.target)), table=None).take(kept)
    place, pair = places_and_pairs(rows)
    numbers = [np.empty(0, dtype=np.intp)]
    weights = [np.empty(0)]
    found = [np.empty((0, n_targets))]
    for train, out in folds.split_given(rows, place, pair, counted, 0, folds.N_FOLDS):
        if teaches(train) and len(out.target):
            numbers.append(cast(Ints, out.numbers))
            weights.append(out.weights)
            found.append(answers(train, out))
    joined = (np.concatenate(numbers), np.concatenate(weights), np.concatenate(found))
    return means_of_pairs(given, pair, *joined)


def teaches(train: GivenRows) -> bool:
    """Say whether rows are enough to learn from: two distinct ones, and of classes two classes."""
    if train.classes is not None and len(np.unique(train.target)) < 2:
        return False
    return len(train.target) > 0 and len(distinct_rows(cast(Floats, train.X))[0]) > 1
