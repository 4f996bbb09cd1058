"""The kernel regressor: predictions of kernel machines and means of neighbours, added."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein._typing import Floats
from cayleyklein._validation import as_real, expect
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.kernels.estimator import KernelEstimator, KernelExplanation
from cayleyklein.kernels.fitting import HeldOut, spread_of
from cayleyklein.prediction import CurvedKNeighborsRegressor, tasks


class CurvedKernelRegressor(tasks.NumberPredictor, KernelEstimator):
    """Predict numbers by kernel machines in a learned curved metric and in columns, and neighbours.

    Up to four parts predict, and a weighted sum of the predictions is learned on held-out rows.
    Columns and targets need no scaling.

    - "metric": ridge regression in the kernel exp(-γ d), d the learned metric: the mean of a
      Gaussian process with the exponential covariance of a curved space;
    - "columns": the same in exp(-γ Σⱼ cⱼ|xⱼ - yⱼ|), columns weighted by how much they tell;
    - "neighbors": the mean of the nearest rows in the metric;
    - "plain": the mean of the nearest rows in standardised columns.

    Parameters
    ----------
    parts : str or sequence of str, default=("metric", "columns", "neighbors", "plain")
        Parts to add. How much each counts is learned on held-out rows.
    geometry : {"auto", "product", "flat", "elliptic", "hyperbolic", "learned"}, default="auto"
        Of the metric to learn, see :class:`CurvedMLKR`. "auto" is the product.
    {machines}
    {sampling}

    Attributes
    ----------
    {added}

    Notes
    -----
    Standard deviations are those of the Gaussian processes, averaged over the kernel parts, times
    one factor for each target, such that squared errors of held-out rows are right on average.
    :meth:`predict_interval` takes quantiles of these errors instead of those of a normal
    distribution. Without held-out rows (fewer than three), the factor is the standard deviation of
    the targets. For γ, λ, folds and many rows see :class:`CurvedKernelClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> X, y = make_friedman1(400, random_state=0)
    >>> model = CurvedKernelRegressor(random_state=0).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.85)
    True
    >>> mean, std = model.predict(X[:3], return_std=True)
    >>> mean.shape, bool((std > 0).all())
    ((3,), True)
    >>> model.explain(X[0]).columns.shape, bool(model.feature_weights().argmax() < 5)
    ((10,), True)
    >>> distances, rows = model.kneighbors(X[:1], n_neighbors=2)
    """

    _voters_kind = CurvedKNeighborsRegressor

    def _judge(self, held_out: HeldOut | None) -> None:
        """Keep the errors of held-out rows, in units of their standard deviations."""
        self._errors, self._error_shares = np.ones((1, len(self._task.mean))), np.ones(1)
        self._judged = held_out is not None
        if held_out is not None:
            total = sum(w * held_out.scores[name] for name, w in self.part_weights_.items())
            self._errors = (held_out.truth - total) / held_out.spreads[:, None]
            self._error_shares = held_out.shares

    def predict(self, X: ArrayLike, return_std: bool = False) -> Any:
        """Return predicted numbers (m,) or (m, n_targets), or these and their standard deviations.

        Parameters
        ----------
        X : array-like, Dask array or Dask dataframe of shape (m, d)
        return_std : bool, default=False
            Also return the standard deviation of a new target at each row; rows in memory only.
        """
        rows = self._checked(X)
        found = self._shaped(self._task.says(self._total(rows)))
        if not return_std:
            return found
        factor = np.sqrt(self._error_shares @ self._errors**2)
        return found, self._shaped(self._spreads(rows) * factor)

    def predict_interval(self, X: ArrayLike, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return the ends, low and high, of intervals that hold a new target with a probability.

        The prediction, plus and minus the standard deviation at the row times the quantile of what
        this ratio was on held-out rows.

        Parameters
        ----------
        X : array-like of shape (m, d)
        level : float, default=0.95
            The probability, between 0 and 1.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = CurvedKernelRegressor(random_state=0).fit(X[::2], y[::2])
        >>> low, high = model.predict_interval(X[1::2], 0.8)
        >>> bool(0.7 < ((low < y[1::2]) & (y[1::2] < high)).mean() < 0.9)
        True
        """
        value = as_real(level, "level")
        expect(0 < value < 1, "level", level, "a number between 0 and 1")
        rows = self._checked(X)
        if not isinstance(rows, np.ndarray):
            raise InvalidInputError("Intervals are for rows in memory; pass X.compute().")
        sizes = [quantile(errors, self._error_shares, value) for errors in np.abs(self._errors).T]
        half, middle = self._spreads(rows) * sizes, self._task.says(self._total(rows))
        return self._shaped(middle - half), self._shaped(middle + half)

    def _spreads(self, rows: Floats) -> Floats:
        """Return standard deviations (m, t) at checked rows, in units of those of held-out rows."""
        task, machines = self._task, self._sum.machines if self._judged else {}
        return np.asarray(spread_of(task, machines, self._seen_rows(rows))[:, None] * task.unit)

    def explain(self, X: ArrayLike, target: int = 0) -> Any:
        """Say which rows and columns raise and lower the prediction.

        Parameters
        ----------
        X : array-like of shape (d,) for one KernelExplanation, or (m, d) for a list of them
            Effects are differences to the mean of the targets.
        target : int, default=0
            Which target to explain, where there are several.
        """

        def explain(row: Floats) -> KernelExplanation:
            direction = np.eye(len(self._task.unit))[target] * self._task.unit
            predicted = float(self._task.says(self._total(row[None]))[0, target])
            labels = self._given.target.reshape(len(self._given.target), -1)[:, target]
            return self._explain(row, direction, predicted, "the target", labels)

        return self._one_or_more(X, lambda rows: [explain(row) for row in rows])


def quantile(values: Floats, shares: Floats, level: float) -> float:
    """Return the least value that a share `level` of new ones is not above, by weighted values.

    One more value, infinitely large but counted as the largest, makes it right for new rows.
    """
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(shares[order]) * len(values) / (len(values) + 1)
    place = min(int(np.searchsorted(reached, level)), len(values) - 1)
    return float(values[order][place])
