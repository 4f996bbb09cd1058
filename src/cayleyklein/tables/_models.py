"""A classifier and a regressor of the rows of a table, by a curved metric that they learn."""

import inspect
from typing import Any, cast

from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import column_or_1d

from cayleyklein._estimators import check_numbers, encode_classes, naming
from cayleyklein._typing import AnyArray, Floats
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.tables._predictor import TablePredictor


class TableClassifier(TablePredictor, ClassifierMixin, BaseEstimator):
    """Classify the rows of a table: encode the columns, learn a metric, let neighbours vote.

    Parameters
    ----------
    n_neighbors : int or "auto", default="auto"
        Neighbours that vote; "auto" chooses on the rows that geometry="auto" holds out, or is 15.
    model : {"auto", "neighbors", "kernel"}, default="auto"
        What predicts from the encoded rows: votes of neighbours ("auto"), or kernel machines and
        votes added, see :class:`cayleyklein.CurvedKernelClassifier`.
    geometry : {"auto", "product", "flat", "elliptic", "hyperbolic", "learned", "mixed"}, \
default="auto"
        "auto" learns "product", a product of spheres and flat space, and keeps it unless plain
        neighbours do as well on held-out rows; "learned" learns the curvature with its sign;
        "mixed" adds an elliptic and a hyperbolic distance.
    weights : {"auto", "local", "linear", "uniform", "distance"}, default="auto"
        Weight of a vote: 1 ("uniform"), 1/d_i ("distance"), 1 - d_i/d_{k+1} ("linear"), or that
        with distances divided by the root of each row's distance to its fifth nearest ("local").
        "auto" is "local".
    max_categories : int, default=20
        Largest number of encoded columns of one column of categories; the rarest share one.
    kinds : mapping of str to str, optional
        Kinds of columns where the guess is wrong, see :class:`TableEncoder`.
    drop : collection of str, default=()
        Columns to leave out.
    subsample : int, float, "auto" or None, default="auto"
        Rows to learn the metric from, or their share, drawn at random; "auto" takes as many as
        held-out rows gain from, None all. All rows are neighbours.
    random_state : int or None, default=0
        Seed of the held-out rows, the start and the drawn rows.
    n_jobs : int or None, default=None
        Number of threads that search neighbours; -1 for all cores.
    callback : callable or None, default=None
        Called with a :class:`cayleyklein.learning.Progress` after each iteration; a true answer
        stops the learner. Not saved.

    Attributes
    ----------
    classes_ : ndarray
    targets_ : ndarray of shape (n,)
        Class of each fitted row.
    encoder_ : TableEncoder
    estimator_ : CurvedKNeighborsClassifier or CurvedKernelClassifier
        Predicts from the encoded rows.
    metric_ : CurvedMetric, MixedMetric or ProductMetric
        On the encoded columns.
    learned_ : dict
        "geometry" of the metric, "curvatures" and "weights" of its parts, "n_iter", "n_rows"
        (distinct rows it was learned from) of "n_distinct", "selection" (what was tried on held-out
        rows) and "chosen" of it.
    row_numbers_ : ndarray of int
        Row of each neighbour in the fitted table: its index, or its position, from 0.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only where the columns of X have names.

    Examples
    --------
    >>> from cayleyklein.datasets import load_wine
    >>> from cayleyklein.tables import TableClassifier
    >>> table, y = load_wine(as_frame=True, return_X_y=True)
    >>> model = TableClassifier(geometry="elliptic").fit(table[::2], y[::2])
    >>> rest = table[1::2]
    >>> model.score(rest, y[1::2]) > 0.9, model.learned_["n_rows"]
    (True, 89)
    >>> model.predict(rest).shape, model.predict_proba(rest).shape
    ((89,), (89, 3))
    >>> distances, rows = model.kneighbors(rest, n_neighbors=5)
    >>> why = model.explain(rest[:1])[0]
    >>> len(why.names), round(sum(model.feature_weights().values()), 9)
    (13, 1.0)
    """

    task = "class"

    def _as_target(self, y: Any) -> AnyArray:
        classes, codes = encode_classes(y)
        if len(classes) == len(codes) > 1:
            raise InvalidInputError("Each class has one row only: there is nothing to learn.")
        return classes[codes]

    def predict(self, X: Any) -> AnyArray:
        """Return the class of each row of a table."""
        return cast(AnyArray, self._fitted(X).predict(X))

    def predict_proba(self, X: Any) -> Floats:
        """Return the share of the votes for each class, in the order of ``classes_``."""
        return cast(Floats, self._fitted(X).predict_proba(X))


class TableRegressor(TablePredictor, RegressorMixin, BaseEstimator):
    """Predict a number for each row of a table: encode the columns, learn a metric, take means.

    Parameters
    ----------
    n_neighbors : int or "auto", default="auto"
        Neighbours that are averaged; "auto" chooses on held-out rows.
    model : {"auto", "neighbors", "kernel"}, default="auto"
        What predicts from the encoded rows: means of neighbours ("auto"), or kernel machines and
        means added, see :class:`cayleyklein.CurvedKernelRegressor`, which also give intervals.
    geometry : {"auto", "product", "flat", "elliptic", "hyperbolic", "learned"}, default="auto"
        "auto" learns "product", and keeps it unless plain neighbours do as well on held-out rows.
    weights : {"auto", "linear", "uniform", "distance"}, default="auto"
        Weight in the mean: 1, 1/d_i ("distance") or 1 - d_i/d_{k+1} ("linear", "auto").
    max_categories : int, default=20
        Largest number of encoded columns of one column of categories.
    kinds : mapping of str to str, optional
        Kinds of columns where the guess is wrong, see :class:`TableEncoder`.
    drop : collection of str, default=()
        Columns to leave out.
    subsample : int, float, "auto" or None, default="auto"
        Rows to learn the metric from, or their share; "auto" as many as help, None all.
    random_state : int or None, default=0
        Seed of the held-out rows, the start and the drawn rows.
    n_jobs : int or None, default=None
        Number of threads that search neighbours; -1 for all cores.
    callback : callable or None, default=None
        Called after each iteration; a true answer stops the learner. Not saved.

    Attributes
    ----------
    targets_ : ndarray of shape (n,)
        Number of each fitted row.
    encoder_, metric_, learned_, row_numbers_, n_features_in_, feature_names_in_
        As those of :class:`TableClassifier`.
    estimator_ : CurvedKNeighborsRegressor or CurvedKernelRegressor
        Predicts from the encoded rows.

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
    >>> why = model.explain(table[:1])[0]
    >>> bool(np.isclose(why.prediction, model.predict(table[:1])[0])), why.names.tolist()
    (True, ['size', 'town'])
    >>> distances, rows = model.kneighbors(table[:1], n_neighbors=5)
    >>> model.targets_[rows].shape, len(model.feature_weights())
    ((1, 5), 2)
    >>> low, high = TableRegressor(model="kernel").fit(table, price).predict_interval(table[:1])
    >>> bool(low[0] < price[0] < high[0])
    True
    """

    task = "number"

    def _as_target(self, y: Any) -> AnyArray:
        with naming("y"):
            return cast(AnyArray, column_or_1d(check_numbers(y), warn=True))

    @property
    def has_std(self) -> bool:
        """Whether `predict` can return standard deviations, as `model` decides."""
        return "return_std" in inspect.signature(self.estimator_.predict).parameters

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Return the number of each row of a table, and its standard deviation if asked for.

        Means of neighbours have none; see ``has_std``.
        """
        if return_std and not self.has_std:
            raise InvalidInputError(
                "return_std=True needs a model with standard deviations; neighbours have none."
            )
        return self._fitted(X).predict(X, **({"return_std": True} if return_std else {}))

    def predict_interval(self, X: Any, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return the ends of intervals that hold a new number with a given probability.

        As :meth:`cayleyklein.CurvedKernelRegressor.predict_interval`; only with model="kernel".
        """
        if not self.has_std:
            raise InvalidInputError('Neighbours give no intervals; take model="kernel".')
        return cast(tuple[Floats, Floats], self.estimator_.predict_interval(X, level))
