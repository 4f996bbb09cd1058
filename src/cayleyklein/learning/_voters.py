"""Base of the estimators that learn a metric and let the nearest neighbours by it vote."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from sklearn.base import clone

from cayleyklein._distributed import RowBlocks, in_place
from cayleyklein._estimators import check_columns
from cayleyklein._typing import AnyArray, Floats, Ints
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning._sampling import read_targets
from cayleyklein.metrics import Metric
from cayleyklein.neighbors import (
    CHUNK,
    LEAST_ROWS,
    Ballot,
    CurvedNeighbors,
    Ranked,
    SearchIndex,
    distinct_rows,
)


class LearningNeighbors(CurvedNeighbors):
    """Neighbours by a metric that is learned in fit, given, or left to a learner.

    A subclass sets `default_learner`, a class whose `fit` leaves a `metric_` and perhaps a
    `selection_`, and `default_neighbors`. In memory, equal rows are one neighbour with the votes
    of all; a subclass says what is known of a row (`_index` gets it as payload), of a point where
    some rows are (`_at_points`), and what is left of it without one of them (`_without`).
    """

    _ballot: Ballot | None = None
    """Distinct points, where some rows are equal or weigh nothing."""

    default_learner: Any
    default_neighbors: int
    geometry: str
    learner: Any
    random_state: Any
    callback: Any
    verbose: bool

    def _check_parameters(self) -> None:
        k: int | str = self.n_neighbors
        if isinstance(k, str) and k != "auto":
            raise InvalidInputError(f"Got n_neighbors={k!r}, but expected a number or 'auto'.")
        super()._check_parameters()
        if self.metric is not None and self.learner is not None:
            raise InvalidInputError(
                "Got both a learner and a metric; drop one of them, or both to learn by geometry."
            )
        both = "learner" if self.learner is not None else "metric"
        if self.metric is not None or self.learner is not None:
            for name, default in (("geometry", "auto"), ("callback", None), ("verbose", False)):
                value = getattr(self, name)
                if not (value is default or (isinstance(value, str) and value == default)):
                    advice = f"give {name} to the learner" if both == "learner" else f"drop {name}"
                    raise InvalidInputError(
                        f"Got {name}={value!r} beside a {both}, which makes it mean nothing; "
                        f"{advice}."
                    )
        if self.learner is not None and (
            isinstance(self.learner, type) or not hasattr(self.learner, "fit")
        ):
            raise InvalidInputError(
                f"learner must be an estimator such as {self.default_learner.__name__}(); got "
                f"{type(self.learner).__name__}. A ready-made metric is given as metric=."
            )

    def _own_learner(self) -> Any:
        """Return the learner to fit, or the fitted one that was given."""
        if self.learner is None:
            return self.default_learner(
                geometry=self.geometry, random_state=self.random_state, callback=self.callback,
                verbose=self.verbose,
            )  # fmt: skip
        return self.learner if hasattr(self.learner, "metric_") else clone(self.learner)

    def _fitted_learner(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """Return the learner, fitted here unless it was before; None with a ready-made metric."""
        if self.metric is not None:
            return None
        learner = self._own_learner()
        if learner is not self.learner:
            learner.fit(X, y, **({} if sample_weight is None else {"sample_weight": sample_weight}))
        return learner

    def _read_spread(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[Any, RowBlocks, AnyArray, AnyArray | None]:
        """Compute Dask rows where they are; return them, their blocks, targets and weights."""
        check_columns(self, X, y, reset=True)
        X, y, sample_weight = in_place(X, y, sample_weight)  # which the index keeps there anyway
        return X, *read_targets(self, X, y, sample_weight, least_rows=LEAST_ROWS)

    def _metric_of(self, learner: Any) -> Any:
        """Return the metric that was given, or that of a fitted learner."""
        if learner is None:
            return self.metric
        if not hasattr(learner, "metric_"):
            raise InvalidInputError(
                f"learner must have a metric_ for the columns of X once it is fitted, as "
                f"{self.default_learner.__name__}() has; {type(learner).__name__} has none. What "
                f"transforms the columns belongs in a pipeline before this estimator."
            )
        return learner.metric_

    def _keep_learner(self, learner: Any) -> None:
        """Set the fitted learner, and how many neighbours vote: `_selection.choose` chose it."""
        k: int | str = self.n_neighbors
        if isinstance(k, str):
            chosen = getattr(getattr(learner, "selection_", None), "n_neighbors", None)
            k = max(1, min(chosen or self.default_neighbors, self.n_samples_fit_ - 1))
        self.learner_, self.n_neighbors_ = learner, k

    def _default_neighbors(self) -> int:
        """Return the number of neighbours that vote."""
        k: Any = self.n_neighbors
        if isinstance(k, str) and k == "auto":
            return int(getattr(self, "n_neighbors_", self.default_neighbors))
        return cast(int, k)

    # -- equal rows are one neighbour -----------------------------------------------

    def _weights_in(self, payload: Floats) -> Floats:
        """Return the weights of rows, or of points, from their payload (n, …)."""
        raise NotImplementedError

    def _at_points(self, X: Floats, metric: Metric, points: Ints, payload: Floats) -> Floats:
        """Return the payload of distinct points X, from that of the rows at them."""
        raise NotImplementedError

    def _without(self, known: Floats, payload: Floats) -> Floats:
        """Return the payload of points (q, …) without one row each, whose payload is given."""
        raise NotImplementedError

    def _index(self, X: Floats, metric: Metric, payload: AnyArray | None = None) -> None:
        """Index all rows for searches, and distinct points of positive weight for votes."""
        payload = cast(Floats, payload)
        kept = self._weights_in(payload) > 0
        some = X if kept.all() else X[kept]
        first, point = distinct_rows(some)
        if len(first) == len(X):
            super()._index(X, metric, self._at_points(X, metric, point, payload))
            self._ballot = None
            return
        rows, points = np.flatnonzero(kept)[first], np.full(len(X), -1)
        points[kept] = point
        known = self._at_points(X[rows], metric, point, payload[kept])
        super()._index(X, metric, payload)
        voting = SearchIndex(X[rows], metric, self.algorithm, payload=known)
        self._ballot = Ballot(voting, rows, points)

    def _spread(self, rows: RowBlocks, metric: Metric, payloads: list[Any] | None = None) -> None:
        super()._spread(rows, metric, payloads)
        self._ballot = None

    def _polled(
        self, X: Any, k: int, finish: Callable[[Ranked], tuple[Any, ...]], *kinds: Any
    ) -> tuple[Any, ...]:
        """Return arrays that `finish` makes of the k nearest points, see `_answers`."""
        ballot = self._ballot
        if ballot is None or X is not None:
            return self._answers(X, k, finish, *kinds, index=ballot and ballot.searcher)
        index, parts = self._in_memory(), []
        for at in range(0, len(index), CHUNK):
            some = slice(at, at + CHUNK)
            found = ballot.searcher.nearest(index.X[some], k + 1, self.n_jobs)
            mine = ballot.points[some], cast(Floats, index.payload)[some]
            parts.append(finish(self._left_out(found, k, *mine)))
        return tuple(np.concatenate(arrays) for arrays in zip(*parts, strict=True))

    def _left_out(self, found: Ranked, k: int, points: Ints, payload: Floats) -> Ranked:
        """Return the k nearest points of fitted rows, without the rows' own votes.

        `points` are where the rows are, and `payload` is what is known of them.
        """
        assert found.payload is not None
        query, own = np.nonzero(found.rows == points[:, None])
        known, values = found.payload.copy(), found.values.copy()
        known[query, own] = self._without(known[query, own], payload[query])
        gone = self._weights_in(known[query, own]) <= 0
        values[query[gone], own[gone]] = np.inf
        order = np.argsort(values, axis=1, kind="stable")[:, :k]
        each = np.arange(len(known))[:, None]
        return Ranked(
            values[each, order], found.rows[each, order], found.inside, known[each, order]
        )
