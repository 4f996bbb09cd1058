"""Base of the learners from pairs, triplets and quadruplets of rows."""

from __future__ import annotations

from dataclasses import dataclass, fields
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from cayleyklein._estimators import as_weights, check_parameters
from cayleyklein._typing import AnyFloats, Floats, Ints
from cayleyklein._validation import about, as_finite_array, as_points, list_indices, warn_caller
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning._descent import descend
from cayleyklein.learning._learner import DescentLearner, given
from cayleyklein.learning._rows import TrainingRows
from cayleyklein.learning.objectives import ComparisonRecipe

GEOMETRIES = ("flat", "elliptic", "hyperbolic", "learned")


@dataclass(frozen=True, kw_only=True)
class ComparedRows(TrainingRows):
    """Standardised distinct rows, and the pairs of them that are compared.

    `near_weights` and `far_weights` are those of :class:`Comparisons`.
    """

    near: Ints
    far: Ints
    near_weights: Floats
    far_weights: Floats | None

    @classmethod
    def from_tuples(
        cls, near: Floats, far: Floats, near_weights: Floats, far_weights: Floats | None, name: str
    ) -> ComparedRows:
        """Return the rows of pairs (a, 2, d) that are near and of pairs (b, 2, d) that are far.

        Errors call the tuples that they are of by `name`.
        """
        d = near.shape[2]
        points, numbers = np.unique(
            np.vstack([near.reshape(-1, d), far.reshape(-1, d)]), axis=0, return_inverse=True
        )
        if len(points) < 2:
            raise InvalidInputError(
                f"All rows of the {name} are equal; learning a metric needs two distinct ones."
            )
        base = TrainingRows.from_raw(
            points, np.zeros(len(points), int), np.ones(len(points)), name=name
        )
        shared = {field.name: getattr(base, field.name) for field in fields(TrainingRows)}
        pairs = numbers.reshape(-1, 2)
        return cls(
            **shared, near=pairs[: len(near)], far=pairs[len(near) :], near_weights=near_weights,
            far_weights=far_weights,
        )  # fmt: skip


class TupleLearner(DescentLearner):
    """Base of the learners from tuples of rows, given as rows or as indices of a preprocessor."""

    name: ClassVar[str]
    size: ClassVar[int]
    margin: float
    preprocessor: Any

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **DescentLearner._shared_constraints,
        "geometry": [StrOptions(set(GEOMETRIES))],
        "margin": [Interval(Real, 0, 1, closed="neither")],
        "preprocessor": ["array-like", callable, None],
    }

    def __init__(
        self,
        *,
        geometry: str = "elliptic",
        margin: float = 0.5,
        init: Any = "auto",
        n_components: int | None = None,
        max_iter: int | str = "auto",
        preprocessor: Any = None,
        random_state: Any = None,
        callback: Any = None,
        verbose: bool = False,
    ) -> None:
        self.geometry = geometry
        self.margin = margin
        self.init = init
        self.n_components = n_components
        self.max_iter = max_iter
        self.preprocessor = preprocessor
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    # -- tuples ---------------------------------------------------------------------

    def _formed(self, tuples: ArrayLike, name: str, size: int) -> Floats:
        """Return tuples as rows (m, size, d), looked up in the preprocessor if they are indices."""
        array = as_finite_array(tuples, name)
        if self.preprocessor is not None and array.ndim == 2:
            array = self._looked_up(array, name, size)
        d = getattr(self, "n_features_in_", None)
        if array.ndim != 3 or array.shape[1] != size:
            also = "" if self.preprocessor is None else f", or of indices, (n, {size})"
            hint = ""
            if array.ndim == 2 and self.preprocessor is None:
                hint = " Indices need the rows they refer to, as preprocessor=."
            raise InvalidInputError(
                f"{name} must be an array of rows of shape (n, {size}, d){also}; got shape "
                f"{array.shape}.{hint}"
            )
        return as_points(array, name, d)

    def _looked_up(self, indices: Floats, name: str, size: int) -> Floats:
        """Return the rows of the preprocessor at indices (m, size)."""
        if indices.shape[1] != size:
            raise InvalidInputError(
                f"{name} must be an array of indices of shape (n, {size}); got shape "
                f"{indices.shape}."
            )
        if not len(indices):
            raise InvalidInputError(f"{name} is empty: its shape is {indices.shape}.")
        with np.errstate(invalid="ignore"):  # too large for an int64, which is refused
            numbers = indices.astype(np.int64)
        if (numbers != indices).any():
            rows = np.flatnonzero((numbers != indices).any(axis=1))
            raise InvalidInputError(
                f"{name} has indices that are no whole numbers, or too large, in tuples "
                f"{list_indices(rows)}."
            )
        if callable(self.preprocessor):
            found = as_points(self.preprocessor(numbers.ravel()), "preprocessor", ndim=2)
            if len(found) != numbers.size:
                raise InvalidInputError(
                    f"preprocessor returned {len(found)} rows for {numbers.size} indices."
                )
        else:
            known = as_points(self.preprocessor, "preprocessor", ndim=2)
            bad = ((numbers < 0) | (numbers >= len(known))).any(axis=1)
            if bad.any():
                raise InvalidInputError(
                    f"{name} has indices outside 0 to {len(known) - 1}, the rows of the "
                    f"preprocessor, in tuples {list_indices(np.flatnonzero(bad))}."
                )
            found = known[numbers.ravel()]
        return np.asarray(found.reshape(len(numbers), size, -1))

    def _tuples(self, tuples: ArrayLike) -> Floats:
        """Return the tuples of a fitted learner as rows."""
        check_is_fitted(self, "metric_")
        return self._formed(tuples, self.name, self.size)

    def _training_tuples(self, tuples: ArrayLike) -> Floats:
        """Return the tuples to learn from as rows, and keep the number of columns."""
        check_parameters(self)
        before = self.__dict__.pop("n_features_in_", None)
        try:
            formed = self._formed(tuples, self.name, self.size)
        finally:
            if before is not None:
                self.n_features_in_ = before
        self._check_columns(formed.size // formed.shape[2], formed.shape[2])
        self.n_features_in_ = formed.shape[2]
        return formed

    def pair_distance(self, pairs: ArrayLike) -> AnyFloats:
        """Return the distances of pairs of rows; inf where one is outside a hyperbolic domain.

        Parameters
        ----------
        pairs : array-like of shape (n, 2, d), or (n, 2) of indices of the preprocessor
        """
        check_is_fitted(self, "metric_")
        return super().pair_distance(self._formed(pairs, "pairs", 2))

    def _gaps(self, near: Floats, far: Floats) -> Floats:
        """Return how much farther apart the far pairs are; two infinite distances are equal."""
        with about(self.name):
            a = self.metric_.distance(near[:, 0], near[:, 1], outside="inf")
            b = self.metric_.distance(far[:, 0], far[:, 1], outside="inf")
        with np.errstate(invalid="ignore"):
            return np.asarray(np.where(a == b, 0.0, b - a), dtype=np.float64)

    # -- learning -------------------------------------------------------------------

    def _fit_compared(self, rows: ComparedRows) -> Any:
        changes = given(self, "max_iter", "init")
        if not isinstance(self.init, str):
            changes["init"] = "std"
        recipe = ComparisonRecipe(
            self.geometry, n_components=self.n_components, margin=float(self.margin), **changes
        )
        start = self._start(rows, recipe)
        fit = descend(rows, recipe, self._generator(), start, self._report())
        self._warn_unconverged((fit,))
        self._keep(rows.to_metric(fit.found), (fit,))
        return self

    def _fit_one_by_one(self, near: Floats, far: Floats, sample_weight: Any) -> Any:
        """Learn from comparisons of near with far pairs (m, 2, d)."""
        weights = as_weights(sample_weight, near)
        some = weights > 0
        near, far, weights = near[some], far[some], weights[some]
        rows = ComparedRows.from_tuples(near, far, weights, None, self.name)
        bad = contradicted(rows.near, rows.far)
        if bad.all():
            raise InvalidInputError(
                f"Every one of the {len(bad)} {self.name} is contradicted by another, or compares "
                f"a pair with itself: no metric is better than any other."
            )
        if bad.any():
            where = list_indices(np.flatnonzero(some)[bad])
            warn_caller(
                f"{int(bad.sum())} of {len(bad)} {self.name} are contradicted by others, or "
                f"compare a pair with itself: {where}."
            )
        return self._fit_compared(rows)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.target_tags.required = False
        return tags


def contradicted(near: Ints, far: Ints) -> Any:
    """Say which comparisons of near and far pairs (m, 2) are also given the other way round."""
    n = 1 + max(int(near.max()), int(far.max()))
    first, second = (np.sort(pairs, axis=1) @ np.array([n, 1]) for pairs in (near, far))
    n_pairs = n * n
    if n_pairs < 2**31:
        return np.isin(first * n_pairs + second, second * n_pairs + first)
    _, codes = np.unique(np.concatenate([first, second]), return_inverse=True)
    first, second = codes[: len(first)], codes[len(first) :]
    most = int(codes.max()) + 1
    return np.isin(first * most + second, second * most + first)
