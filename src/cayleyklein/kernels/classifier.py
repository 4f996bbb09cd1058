"""The kernel classifier: scores of kernel machines and votes of neighbours, added."""

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from cayleyklein._typing import Floats
from cayleyklein.kernels.estimator import KernelEstimator, KernelExplanation, on_blocks
from cayleyklein.learning.descent import Progress
from cayleyklein.metrics import CurvedMetric, MixedMetric, ProductMetric
from cayleyklein.prediction import CurvedKNeighborsClassifier, tasks


class CurvedKernelClassifier(tasks.LabelPredictor, KernelEstimator):
    """Classify by kernel machines in a learned curved metric and in columns, and by neighbours.

    Up to four parts give each class a score, and a weighted sum of the scores becomes probabilities
    by softmax. Columns need no scaling.

    - "metric": ridge regression of class indicators in the kernel exp(-γ d), d the learned metric;
    - "columns": the same in exp(-γ Σⱼ cⱼ|xⱼ - yⱼ|), columns weighted by how much they tell;
    - "neighbors": log votes of the nearest rows in the metric;
    - "plain": log votes of the nearest rows in standardised columns.

    Parameters
    ----------
    parts : str or sequence of str, default=("metric", "columns", "neighbors", "plain")
        Parts to add. How much each counts is learned on held-out rows.
    geometry : {"auto", "product", "flat", "elliptic", "hyperbolic", "learned", "mixed"}, \
default="auto"
        Of the metric to learn, see :class:`CurvedLMNN`. "auto" is the product. The α of "mixed" is
        0.5.
    {machines}
    {class_weight}
    {sampling}

    Attributes
    ----------
    classes_ : ndarray
    {added}

    Notes
    -----
    Up to 2,500 distinct rows, γ and λ are those with the least squared error of leaving one row
    out, which has a closed form. The weights of the parts are those with the largest likelihood on
    three folds, whose metric, column weights and machines are learned without the held-out rows;
    as few rows say little, weights are drawn to 1.5 for machines and 0 for votes as by one row.
    Beyond 2,500 rows, one part of at most 2,000 rows is held out.

    Probabilities are (n softmax + class shares) / (n + 1) with n rows, never 0 or 1. Equal rows are
    one point with the mean of their class indicators. A weight of 2 is two rows, and a common
    factor of all weights changes nothing. Weights that are not multiples of the least one say how
    much a row counts: then equal rows are left out together. Rows outside the domain of a
    hyperbolic metric have the kernel 0 with all others there.

    Examples
    --------
    >>> from cayleyklein.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> model = CurvedKernelClassifier(random_state=0).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.9)
    True
    >>> model.predict_proba(X[:1]).shape, model.predict_log_proba(X[:1]).shape
    ((1, 3), (1, 3))
    >>> model.decision_function(X[:1]).shape, model.feature_weights().shape
    ((1, 3), (13,))
    >>> model.explain(X[0]).names.shape, model.kneighbors(X[:1], n_neighbors=2)[1].shape
    ((13,), (1, 2))

    One part, with a metric that is known:

    >>> disc = CurvedMetric.euclidean(1, curvature=-1.0)
    >>> model = CurvedKernelClassifier("metric", metric=disc, gamma=1.0, ridge=0.1)
    >>> model.fit([[0.0], [0.1], [0.8], [0.9]], ["a", "a", "b", "b"]).predict([[0.3], [0.7]])
    array(['a', 'b'], dtype='<U1')
    """

    _voters_kind = CurvedKNeighborsClassifier

    def __init__(
        self, parts: Any = ("metric", "columns", "neighbors", "plain"), *, geometry: str = "auto",
        learner: BaseEstimator | None = None,
        metric: CurvedMetric | MixedMetric | ProductMetric | None = None, columns: str = "auto",
        gamma: float | None = None, ridge: float | None = None, n_neighbors: int | str = "auto",
        n_landmarks: int | str = "auto", class_weight: dict[Any, float] | str | None = None,
        subsample: int | float | str | None = "auto", random_state: Any = None,
        callback: Callable[[Progress], bool | None] | None = None, verbose: bool = False,
        n_jobs: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            parts, geometry=geometry, learner=learner, metric=metric, columns=columns, gamma=gamma,
            ridge=ridge, n_neighbors=n_neighbors, n_landmarks=n_landmarks, subsample=subsample,
            random_state=random_state, callback=callback, verbose=verbose, n_jobs=n_jobs,
        )  # fmt: skip
        self.class_weight = class_weight

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return the probabilities (m, n_classes) of the classes, in the order of ``classes_``.

        Parameters
        ----------
        X : array-like, Dask array or Dask dataframe of shape (m, d)
        """
        total = self._total(self._checked(X))
        return cast(Floats, on_blocks(self._task.says, total))

    def decision_function(self, X: ArrayLike) -> Floats:
        """Return log probabilities (m, n_classes) of rows X, or of two classes log odds (m,)."""
        logs = self.predict_log_proba(X)
        return np.asarray(logs[:, 1] - logs[:, 0]) if len(self.classes_) == 2 else logs

    def explain(self, X: ArrayLike) -> Any:
        """Say which rows and columns speak for and against the predicted class.

        Parameters
        ----------
        X : array-like of shape (d,) for one KernelExplanation, or (m, d) for a list of them
        """

        def explain(row: Floats) -> KernelExplanation:
            shares = self._task.says(self._total(row[None]))[0]
            direction = np.full(len(shares), -1 / max(1, len(shares) - 1))
            direction[shares.argmax()] = 1.0
            label = self.classes_[shares.argmax()]
            labels, unit = self.classes_[self._given.target], f"the log odds of {label}"
            return self._explain(row, direction, label, unit, labels, shares)

        return self._one_or_more(X, lambda rows: [explain(row) for row in rows])
