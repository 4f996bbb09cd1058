"""A classifier and a regressor for messy tables, with a curved metric that they learn."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from cayleyklein import _estimators as estimators
from cayleyklein._notebook import EstimatorCard
from cayleyklein._typing import AnyArray, Bools, Floats, Ints
from cayleyklein._validation import as_choice, as_count, require
from cayleyklein.columns import encoder, entrance, uses
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning.rows import distinct_rows
from cayleyklein.metrics.combined import terms_of
from cayleyklein.prediction import (
    Counterfactual,
    CurvedKernelClassifier,
    CurvedKernelRegressor,
    CurvedKNeighborsClassifier,
    CurvedKNeighborsRegressor,
)
from cayleyklein.prediction.explanation_tables import Explanations
from cayleyklein.prediction.suspicious import SuspiciousRows


class TablePredictor(estimators.SharedConstraints, estimators.TakesTables, EstimatorCard):
    """Base of the predictors of tables, before BaseEstimator."""

    task: ClassVar[str]
    _neighbors: ClassVar[Any]  # what predicts from encoded rows
    _kernel: ClassVar[Any]
    encoder_: encoder.TableEncoder
    metric_: Any
    classes_: AnyArray

    def __init__(
        self,
        n_neighbors: int | str = "auto",
        *,
        model: str = "auto",
        geometry: str = "auto",
        weights: str = "auto",
        parts: Any = "auto",
        max_categories: int = 50,
        kinds: Mapping[str, str] | None = None,
        drop: Collection[str] = (),
        errors: str = "warn",
        subsample: int | float | str | None = "auto",
        random_state: int | None = 0,
        n_jobs: int | None = None,
        callback: Callable[[Any], bool | None] | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.model = model
        self.geometry = geometry
        self.weights = weights
        self.parts = parts
        self.max_categories = max_categories
        self.kinds = kinds
        self.drop = drop
        self.errors = errors
        self.subsample = subsample
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.callback = callback

    @estimators.restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from the rows of a table and their classes or numbers.

        Parameters
        ----------
        X : pandas or polars DataFrame, or array-like, of n rows
            All columns of an array of numbers are numbers.
        y : array-like of shape (n,)
            Class or number of each row.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows; only their ratios count.
        """
        index = np.asarray(uses.as_table(X).index)
        auto = isinstance(self.n_neighbors, str) and self.n_neighbors == "auto"
        if not auto and (k := as_count(self.n_neighbors, "n_neighbors")) >= len(index):
            n_others = len(index) - 1
            few = f"a row has only {n_others} other{'s' * (n_others != 1)}"
            raise InvalidInputError(f"{k} neighbours were asked for, but {few}.")
        estimator = self._estimator(len(index))
        target = self._as_target(estimators.check_lengths(self, index, y))
        columns = encoder.TableEncoder(
            max_categories=self.max_categories,
            kinds=self.kinds,
            drop=self.drop,
            errors=self.errors,
        )
        entrance.wrap(estimator, type(self).__name__, columns)
        estimator.fit(X, target, sample_weight)
        learner = getattr(estimator, "learner_", None)
        selection = estimator.selection_
        metric = estimator.metric_  # None where no part needs one
        parts = [] if metric is None else terms_of(metric)
        learned = {
            "geometry": "none" if metric is None else metric.geometry,
            "curvatures": [float(part.curvature) for part, _ in parts],
            "weights": [float(weight) for _, weight in parts],
            "n_iter": int(getattr(learner, "n_iter_", 0)),
            "n_rows": int(getattr(learner, "n_samples_learned_", len(index))),
            "n_distinct": len(distinct_rows(cast(Floats, estimator.fitted_rows.X))[0]),
            "selection": str(selection or ""),
            "chosen": getattr(selection, "chosen", ""),
        }
        numbers = index.astype(np.int64) if index.dtype.kind in "iu" else np.arange(len(index))
        return self._take(estimator, learned, numbers)

    def _estimator(self, n: int = 0, **given: Any) -> Any:
        """Return an unfitted estimator for n encoded rows; given parameters replace its own."""
        values = cast(Any, self).get_params(deep=False) | given
        model = as_choice(values["model"], "model", ("auto", "neighbors", "kernel"))
        weights = ("auto", "local", "linear", "uniform", "distance")
        votes = as_choice(values["weights"], "weights", weights) != "auto"
        if votes and model == "kernel":
            said = f'Got model="kernel" with weights={values["weights"]!r}, which are those of'
            raise InvalidInputError(f'{said} votes; leave them out, or take model="neighbors".')
        asked = not (isinstance(values["parts"], str) and values["parts"] == "auto")
        if asked and (votes or model == "neighbors"):
            raise InvalidInputError(
                "parts= are those of a sum, but neighbours alone are asked for by model= or "
                "weights=; leave one of them out."
            )
        if not votes:
            del values["weights"]
        if model == "auto":
            too_many = n > 1_000_000  # rows: kernel machines take minutes, and gigabytes
            votes = votes or (not asked and (values["n_neighbors"] != "auto" or too_many))
            model = "neighbors" if votes else "kernel"
        kind = self._kernel if model == "kernel" else self._neighbors
        return kind(**{name: values[name] for name in kind().get_params() if name in values})

    def _as_target(self, y: Any) -> AnyArray:
        if self.task == "number":
            with estimators.naming("y"):
                return cast(AnyArray, column_or_1d(estimators.check_numbers(y), warn=True))
        classes, codes = estimators.encode_classes(y)
        if len(classes) == len(codes) > 1:
            raise InvalidInputError("Each class has one row only: there is nothing to learn.")
        return classes[codes]

    def _take(self, estimator: Any, learned: dict[str, Any], numbers: Ints) -> Self:
        self.estimator_ = estimator
        self.learned_ = learned
        self.row_numbers_ = numbers
        for name in ("encoder_", "metric_", "n_features_in_", "feature_names_in_", "classes_"):
            if hasattr(estimator, name):
                setattr(self, name, getattr(estimator, name))
        return self

    def _fitted(self, X: Any) -> Any:
        check_is_fitted(self, "estimator_")
        if X is None:
            raise InvalidInputError("X is None; expected a table.")
        return self.estimator_

    @property
    def is_kernel(self) -> bool:
        """Whether kernel machines predict, not neighbours: ``model="auto"`` chooses by the rows."""
        check_is_fitted(self, "estimator_")
        return isinstance(self.estimator_, self._kernel)

    @property
    def targets_(self) -> AnyArray:
        """The class or number of each fitted row."""
        target: AnyArray = self.estimator_.fitted_rows.target
        return self.classes_[target] if self.task == "class" else target

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy of classes, or R² of numbers."""
        return float(self._fitted(X).score(X, y, sample_weight))

    def kneighbors(self, X: Any, n_neighbors: int | None = None) -> tuple[Floats, Ints]:
        """Return the distances and positions of the nearest neighbours, nearest first."""
        return cast(tuple[Floats, Ints], self._fitted(X).kneighbors(X, n_neighbors))

    def explain(self, X: Any) -> Explanations:
        """Explain predictions by rows and columns.

        A kernel machine names the columns and the fitted rows that count for and against, see
        :meth:`cayleyklein.CurvedKernelClassifier.explain`; neighbours those that voted, and the
        columns that made the distances, :meth:`cayleyklein.CurvedKNeighborsClassifier.explain`.
        ``rows`` are numbers of rows of the fitted table; names of columns whose cell is missing are
        marked.
        """
        estimator = self._fitted(X)
        table = entrance.query_table(estimator, X)
        marks = np.where(self.encoder_.is_missing(table), " (missing)", "").astype(object)
        found = estimator.explain(table)
        explained = [
            replace(why, rows=self.row_numbers_[why.rows], names=why.names + marked)
            for why, marked in zip(found, marks, strict=True)
        ]
        return Explanations(explained, found.data)

    def suspicious(
        self, X: Any = None, y: ArrayLike | None = None, n_neighbors: int = 5
    ) -> SuspiciousRows:
        """Return the rows whose class or number looks wrong, by what the other rows say.

        ``rows`` are positions in X, or, as ``neighbors``, numbers of rows of the fitted table.

        Parameters
        ----------
        X : pandas or polars DataFrame, or array-like, optional
            Rows to look at; the fitted ones by default. Rows that were fitted are left out of their
            own answers.
        y : array-like of shape (m,), optional
            Their classes or numbers.
        n_neighbors : int, default=5
            Number of neighbours to show for each.
        """
        check_is_fitted(self, "estimator_")
        found: SuspiciousRows = self.estimator_.suspicious(X, y, n_neighbors)
        rows = self.row_numbers_[found.rows] if X is None else found.rows
        return replace(found, rows=rows, neighbors=self.row_numbers_[found.neighbors])

    def strangeness(self, X: Any) -> Floats:
        """Return how unlike the fitted rows each row is (m,), from 0 to 1.

        Of new rows like the fitted ones, 5 % are above 0.95; see
        :meth:`cayleyklein.CurvedKernelClassifier.strangeness`.
        """
        return cast(Floats, self._fitted(X).strangeness(X))

    def count_seen(self, X: Any) -> int:
        """Count the rows that have the same numbers as a fitted row.

        Examples
        --------
        >>> from cayleyklein.datasets import load_wine
        >>> from cayleyklein.tables import TableClassifier
        >>> table, y = load_wine(as_frame=True, return_X_y=True)
        >>> model = TableClassifier(geometry="flat", model="neighbors").fit(table[10:], y[10:])
        >>> model.count_seen(table)
        168
        """
        pandas = require("pandas", "cli")
        estimator = self._fitted(X)

        def hashes(rows: Floats) -> Any:  # of -0.0 as of 0.0
            return pandas.util.hash_pandas_object(pandas.DataFrame(rows + 0.0), index=False)

        fitted = hashes(cast(Floats, estimator.fitted_rows.places))
        return int(hashes(entrance.query_rows(estimator, X)).isin(fitted).sum())

    def feature_weights(self) -> dict[str, float]:
        """Return the share of each column in the distances, largest first; all 0 if none helps."""
        check_is_fitted(self, "estimator_")
        shares = self.estimator_.feature_weights()
        pairs = sorted(zip(self.encoder_.columns_, shares, strict=True), key=lambda pair: -pair[1])
        return {column.name: float(share) for column, share in pairs if column.kind != "unused"}

    @property
    def feature_importances_(self) -> Floats:
        """The share of each column of X, 0 for unused ones, for `SelectFromModel`."""
        return cast(Floats, self.estimator_.feature_weights())


class TableClassifier(TablePredictor, ClassifierMixin, BaseEstimator):
    """Classify the rows of a table: encode the columns, learn a metric, and predict by it.

    Parameters
    ----------
    n_neighbors : int or "auto", default="auto"
        Number of neighbours that vote; "auto" chooses on the rows that geometry="auto" holds out,
        or is 15.
    model : {"auto", "neighbors", "kernel"}, default="auto"
        What predicts from the encoded rows: "kernel" adds kernel machines and neighbours, see
        :class:`cayleyklein.CurvedKernelClassifier`; "neighbors" takes neighbours alone. "auto"
        takes the kernel up to a million rows, unless `n_neighbors` or `weights` are given.
    geometry : {"auto", "product", "flat", "elliptic", "hyperbolic", "learned", "mixed"}, \
default="auto"
        "auto" learns "product", spheres and flat space, and keeps it unless plain neighbours do as
        well on held-out rows; "learned" learns the curvature; "mixed" adds two distances.
    weights : {"auto", "local", "linear", "uniform", "distance"}, default="auto"
        Weight of a vote: 1 ("uniform"), 1/d_i ("distance"), 1 - d_i/d_{k+1} ("linear"), or that
        with distances divided by the root of each row's distance to its fifth nearest ("local",
        "auto").
    parts : "auto", str, estimator, or sequence of these, default="auto"
        What is added up by the model "kernel": names of built-in parts and estimators, see
        :class:`cayleyklein.CurvedKernelClassifier`.
    max_categories : int, default=50
        Maximum number of encoded columns for one column of categories; the rarest categories share
        one.
    kinds : mapping of str to str, optional
        Kinds of columns where the guess is wrong, see :class:`TableEncoder`.
    drop : collection of str, default=()
        Names of columns to leave out.
    errors : {"warn", "raise"}, default="warn"
        What becomes of a cell that cannot be read in rows to predict: it is a missing cell, with
        one warning that counts and shows them, or an error.
    subsample : int, float, "auto" or None, default="auto"
        Number of rows to learn the metric from, or their share, drawn at random. "auto" takes as
        many as improve predictions of held-out rows, None takes all. All rows are neighbours.
    random_state : int or None, default=0
        Seed of the held-out rows, the start and the subsample.
    n_jobs : int or None, default=None
        Number of threads that search neighbours; -1 for all cores.
    callback : callable or None, default=None
        Called with a :class:`cayleyklein.learning.Progress` after each iteration. If it returns
        true, the fit stops. It is not saved with the model.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    targets_ : ndarray of shape (n,)
        Class of each fitted row.
    estimator_ : CurvedKNeighborsClassifier or CurvedKernelClassifier
        Fitted estimator that predicts from the encoded rows.
    metric_ : CurvedMetric, MixedMetric, ProductMetric or None
        Metric of the encoded columns; None if no part needs one.
    learned_ : dict
        What was learned: "geometry" of the metric, "curvatures" and "weights" of its parts,
        "n_iter", "n_rows" that it was learned from of "n_distinct", "selection" (what was tried on
        held-out rows) and what was "chosen".
    row_numbers_ : ndarray of shape (n,)
        Number of each fitted row: the index of the table if it holds integers, or its position,
        from 0.
    encoder_ : TableEncoder
        Fitted encoder of the columns.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (d,)
        Names of the columns of X, if it has names.

    Examples
    --------
    >>> from cayleyklein.datasets import load_wine
    >>> from cayleyklein.tables import TableClassifier
    >>> table, y = load_wine(as_frame=True, return_X_y=True)
    >>> model = TableClassifier(geometry="elliptic").fit(table[::2], y[::2])
    >>> rest = table[1::2]
    >>> model.score(rest, y[1::2]) > 0.9, model.predict(rest).shape, model.predict_proba(rest).shape
    (True, (89,), (89, 3))
    >>> why, (distances, rows) = model.explain(rest[:1])[0], model.kneighbors(rest, n_neighbors=5)
    >>> len(why.names), round(sum(model.feature_weights().values()), 9)
    (13, 1.0)
    >>> model.predict_set(rest).shape, model.strangeness(rest).shape, len(model.suspicious()) < 5
    ((89, 3), (89,), True)
    >>> "alcohol" in model.counterfactual(rest[:1], to=1, fixed=["alcohol"]).changes
    False
    """

    task = "class"
    _neighbors = CurvedKNeighborsClassifier
    _kernel = CurvedKernelClassifier

    def predict(self, X: Any) -> AnyArray:
        """Return the class of each row of a table."""
        return cast(AnyArray, self._fitted(X).predict(X))

    def predict_proba(self, X: Any) -> Floats:
        """Return the share of the votes for each class, in the order of ``classes_``."""
        return cast(Floats, self._fitted(X).predict_proba(X))

    def predict_set(self, X: Any, level: float = 0.95) -> Bools:
        """Return the set of classes (m, n_classes) of each row, by its probability.

        It holds the class with probability `level`, see
        :meth:`cayleyklein.CurvedKernelClassifier.predict_set`.
        """
        return cast(Bools, self._fitted(X).predict_set(X, level))

    def counterfactual(
        self,
        x: Any,
        to: Any = None,
        *,
        fixed: Sequence[str] = (),
        bounds: Mapping[str, Any] | None = None,
        integers: Sequence[str] = (),
    ) -> Counterfactual:
        """Return the smallest change of a row that changes its class, in standard deviations.

        Numbers, dates and categories may change, each category counts as one standard deviation;
        text and missing cells stay as they are. It is exact for neighbours with equal votes in one
        curved metric, such as ``TableClassifier(1, geometry="learned", weights="uniform")``; see
        :meth:`cayleyklein.CurvedKNeighborsClassifier.counterfactual`.

        Parameters
        ----------
        x : table of one row
            Row to change.
        to : object, optional
            The class to reach; any other one by default.
        fixed : sequence of str, default=()
            Columns that may not change.
        bounds : mapping of str to (low, high) or to categories, optional
            Ranges of columns, of which None is an open end; the ends may be written as cells are,
            such as "2024-01-31". Of a column of categories, those that it may
            change to.
        integers : sequence of str, default=()
            Columns of numbers that must be whole.
        """
        estimator = self._fitted(x)
        found = estimator.counterfactual(x, to, fixed=fixed, bounds=bounds, integers=integers)
        return cast(Counterfactual, found)


class TableRegressor(TablePredictor, RegressorMixin, BaseEstimator):
    """Predict a number for each row of a table: encode the columns, learn a metric, use it.

    Parameters
    ----------
    n_neighbors : int or "auto", default="auto"
        Number of neighbours that are averaged; "auto" chooses on held-out rows.
    model : {"auto", "neighbors", "kernel"}, default="auto"
        What predicts from the encoded rows: "kernel" adds kernel machines and neighbours, see
        :class:`cayleyklein.CurvedKernelRegressor`, which also gives standard deviations;
        "neighbors" takes neighbours alone. "auto" takes the kernel up to a million rows, unless
        `n_neighbors` or `weights` are given.
    geometry : {"auto", "product", "flat", "elliptic", "hyperbolic", "learned"}, default="auto"
        "auto" learns "product", and keeps it unless plain neighbours do as well on held-out rows.
    weights : {"auto", "linear", "uniform", "distance"}, default="auto"
        Weight in the mean: 1, 1/d_i ("distance") or 1 - d_i/d_{k+1} ("linear", "auto").
    parts : "auto", str, estimator, or sequence of these, default="auto"
        What is added up by the model "kernel": names of built-in parts and estimators, see
        :class:`cayleyklein.CurvedKernelRegressor`.
    max_categories : int, default=50
        Maximum number of encoded columns for one column of categories; the rarest categories share
        one.
    kinds : mapping of str to str, optional
        Kinds of columns where the guess is wrong, see :class:`TableEncoder`.
    drop : collection of str, default=()
        Names of columns to leave out.
    errors : {"warn", "raise"}, default="warn"
        What becomes of a cell that cannot be read in rows to predict: it is a missing cell, with
        one warning that counts and shows them, or an error.
    subsample : int, float, "auto" or None, default="auto"
        Number of rows to learn the metric from, or their share, drawn at random. "auto" takes as
        many as improve predictions of held-out rows, None takes all. All rows are neighbours.
    random_state : int or None, default=0
        Seed of the held-out rows, the start and the subsample.
    n_jobs : int or None, default=None
        Number of threads that search neighbours; -1 for all cores.
    callback : callable or None, default=None
        Called with a :class:`cayleyklein.learning.Progress` after each iteration. If it returns
        true, the fit stops. It is not saved with the model.

    Attributes
    ----------
    targets_ : ndarray of shape (n,)
        Number of each fitted row.
    estimator_ : CurvedKNeighborsRegressor or CurvedKernelRegressor
        Fitted estimator that predicts from the encoded rows.
    metric_ : CurvedMetric, MixedMetric, ProductMetric or None
        Metric of the encoded columns; None if no part needs one.
    learned_ : dict
        What was learned: "geometry" of the metric, "curvatures" and "weights" of its parts,
        "n_iter", "n_rows" that it was learned from of "n_distinct", "selection" (what was tried on
        held-out rows) and what was "chosen".
    row_numbers_ : ndarray of shape (n,)
        Number of each fitted row: the index of the table if it holds integers, or its position,
        from 0.
    encoder_ : TableEncoder
        Fitted encoder of the columns.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (d,)
        Names of the columns of X, if it has names.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from cayleyklein.tables import TableRegressor
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame({"size": rng.normal(50, 10, 200), "town": rng.choice(["a", "b"], 200)})
    >>> price = 3 * table["size"] + 60 * (table["town"] == "b")
    >>> model = TableRegressor().fit(table[::2], price[::2])
    >>> model.score(table[1::2], price[1::2]) > 0.9
    True
    >>> why, (distances, rows) = model.explain(table[:1])[0], model.kneighbors(table[:1], 5)
    >>> bool(np.isclose(why.prediction, model.predict(table[:1])[0])), list(model.feature_weights())
    (True, ['town', 'size'])
    >>> low, high = TableRegressor(model="kernel").fit(table, price).predict_interval(table[:1])
    >>> bool(low[0] < price[0] < high[0])
    True
    >>> len(model.suspicious()) < 5, model.strangeness(table[:3]).shape
    (True, (3,))
    """

    task = "number"
    _neighbors = CurvedKNeighborsRegressor
    _kernel = CurvedKernelRegressor

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Return the predicted number of each row, and with `return_std` its standard deviation.

        Neighbours have no standard deviations: kernels only.
        """
        if return_std and not self.is_kernel:
            said = "needs a model with standard deviations; neighbours have none."
            raise InvalidInputError(f"return_std=True {said}")
        if return_std:
            return self._fitted(X).predict(X, return_std=True)
        return self._fitted(X).predict(X)

    def predict_interval(self, X: Any, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return the ends of intervals that hold a new number with probability `level`."""
        return cast(tuple[Floats, Floats], self._fitted(X).predict_interval(X, level))
