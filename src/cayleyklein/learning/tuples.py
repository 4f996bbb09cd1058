"""Base of the learners from tuples of rows, given as rows or as indices of a preprocessor."""

import inspect
from numbers import Real
from typing import Any, ClassVar, NoReturn, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from cayleyklein._estimators import check_parameters
from cayleyklein._typing import AnyFloats, Floats
from cayleyklein._validation import as_finite_array, as_points, list_indices
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning.descent import descend
from cayleyklein.learning.learner import DescentLearner, as_tuples
from cayleyklein.learning.objectives.comparisons import ComparedPairs, ComparisonRecipe
from cayleyklein.learning.rows import TrainingRows

TUPLE_PARAMETERS = """
Parameters
----------
geometry : {"flat", "elliptic", "hyperbolic", "learned"}, default="elliptic"
    Space of the metric; "learned" makes the curvature a parameter, which may cross zero.
margin : float, default=0.5
    γ, between 0 and 1: the squared distance of a near (similar) pair should be at most
    (1 - γ)/(1 + γ) times that of a far (dissimilar) pair.
init : str, CurvedMetric, array of shape (r, d) or "auto", default="auto"
    Start: "std" (standardised columns, the default), "identity" (columns as they are),
    "precision" (whitened columns), "pca" (principal components), "flat" (the flat metric,
    learned first), a metric, or a factor L.
n_components : int or None, default=None
    Rows of the factor L: fewer than columns reduce the dimension. None takes all columns.
max_iter : int or "auto", default="auto"
    Iterations; "auto" is 20.
preprocessor : array-like of shape (n_rows, d) or None, default=None
    Rows that tuples of indices refer to.
random_state : int, RandomState or None, default=None
    Draws 1,500 pairs of a kind where there are more; of triplets and quadruplets all are taken.
callback : callable or None, default=None
    Called with a :class:`Progress` after each iteration; a true answer stops the fit, and leaves
    a usable metric.
verbose : bool, default=False
    Write a line for each iteration to standard error.

Attributes
----------
metric_ : CurvedMetric
    The learned metric.
geometry_ : str
    "flat", "elliptic" or "hyperbolic".
curvature_ : ndarray of shape (1,)
    K.
components_ : ndarray of shape (r, d)
    The factor L.
n_iter_ : int
    Number of iterations.
loss_history_ : list of list of float
    One list: the loss before the first iteration and after each.
n_features_in_ : int
    Number of columns of a row."""

Class = TypeVar("Class", bound=type)


def fill_in_parameters(cls: Class) -> Class:
    """Put the text above, which three learners share, into the docstring of one."""
    cls.__doc__ = inspect.cleandoc(cls.__doc__ or "").replace(
        "{parameters}", TUPLE_PARAMETERS.strip()
    )
    return cls


class TupleLearner(DescentLearner):
    name: ClassVar[str]
    size: ClassVar[int]
    margin: float
    preprocessor: Any

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **DescentLearner._shared_constraints,
        "geometry": [StrOptions({"flat", "elliptic", "hyperbolic", "learned"})],
        "margin": [Interval(Real, 0, 1, closed="neither")],
        "preprocessor": ["array-like", None],
    }

    def __init__(
        self, *, geometry: str = "elliptic", margin: float = 0.5, init: Any = "auto",
        n_components: int | None = None, max_iter: int | str = "auto", preprocessor: Any = None,
        random_state: Any = None, callback: Any = None, verbose: bool = False,
    ) -> None:  # fmt: skip
        self.geometry = geometry
        self.margin = margin
        self.init = init
        self.n_components = n_components
        self.max_iter = max_iter
        self.preprocessor = preprocessor
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    def _rows_of(self, tuples: ArrayLike, name: str) -> ArrayLike:
        if self.preprocessor is None:
            return tuples
        indices = as_finite_array(tuples, name)
        if indices.ndim != 2:
            return indices
        rows = as_points(self.preprocessor, "preprocessor", ndim=2)
        bad = ((indices % 1 != 0) | (indices < 0) | (indices >= len(rows))).any(axis=1)
        if bad.any():
            raise InvalidInputError(
                f"{name} must be indices of the preprocessor's rows, 0 to {len(rows) - 1}; got "
                f"others in tuples {list_indices(np.flatnonzero(bad))}."
            )
        return rows[indices.astype(np.int64)]

    def _fitted_tuples(self, tuples: ArrayLike) -> Floats:
        check_is_fitted(self, "metric_")
        rows = self._rows_of(tuples, self.name)
        return as_tuples(rows, self.name, self.size, self.n_features_in_)

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> NoReturn:
        """Raise an error: `fit` takes tuples of rows, and `transform` takes rows."""
        raise InvalidInputError(
            f"fit_transform is not available: fit learns from {self.name}, transform maps rows. "
            f"Call fit({self.name}, …).transform(X) with the rows X to map."
        )

    def pair_distance(self, pairs: ArrayLike) -> AnyFloats:
        """Return the distances of pairs (n, 2, d) of rows, or (n, 2) of indices; inf outside."""
        check_is_fitted(self, "metric_")
        return super().pair_distance(self._rows_of(pairs, "pairs"))

    def _training_tuples(self, tuples: ArrayLike) -> Floats:
        check_parameters(self)
        formed = as_tuples(self._rows_of(tuples, self.name), self.name, self.size)
        self._check_columns(formed.size // formed.shape[2], formed.shape[2])
        return formed

    def _fit_compared(self, rows: TrainingRows, pairs: ComparedPairs) -> None:
        recipe = ComparisonRecipe(
            geometry=self.geometry, n_components=self.n_components, margin=float(self.margin),
            pairs=pairs, **self._given("max_iter", "init"),
        )  # fmt: skip
        start = self._start(rows, recipe)
        fit = descend(rows, recipe, self._generator(), start, self._report())
        self._keep(rows.to_metric(fit.found), (fit,))
        self.n_features_in_ = len(rows.mean)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        return tags
