"""What all predictors share: reading rows, where the metric comes from, labels or numbers.

`geometry=`, `learner=` and `metric=` mean the same in every estimator that predicts.
"""

import sys
from collections.abc import Callable
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin, RegressorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from cayleyklein import _estimators
from cayleyklein._distributed import RowBlocks, in_memory
from cayleyklein._typing import AnyArray, Floats
from cayleyklein.columns import entrance
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning import lmnn, mlkr
from cayleyklein.learning.learner import LEARN_FROM, RowLearner
from cayleyklein.learning.rows import GivenRows
from cayleyklein.metrics import (
    CurvedMetric,
    FormMetric,
    Metric,
    MixedMetric,
    ProductMetric,
    combined,
)
from cayleyklein.neighbors import dask_shards, search
from cayleyklein.prediction import votes
from cayleyklein.selection import procedure, scores

LEARNING = ("subsample", "random_state", "callback", "verbose")  # parameters that the learner gets
WITHOUT_LEARNING = {"geometry": "auto", "subsample": "auto", "callback": None, "verbose": False}
# Rows of a table that are read at most, and their entries; a sample grows among them.
POOL_ROWS, POOL_ENTRIES = 50_000, 20_000_000


PREDICTOR_TEXTS = {
    "metric": """learner : estimator, optional
    Learns the metric, such as ``CurvedLMNN(margin=0.1)``, or ``CurvedMLKR(n_components=2)`` from
    numbers: cloned and fitted. One fitted before is used as it is inside scikit-learn's
    ``FrozenEstimator``.
metric : CurvedMetric, FormMetric, MixedMetric or ProductMetric, optional
    A ready-made metric; nothing is learned then.""",
    "class_weight": """class_weight : dict, "balanced" or None, default=None
    Factors of the rows' weights by class. "balanced" gives all classes the same weight.""",
    "watching": """callback : callable or None, default=None
    Called with a :class:`Progress` after each iteration of the fits that make the metric; a
    true answer stops them, and leaves a usable metric.
verbose : bool, default=False
    Write a line for each iteration to standard error.
n_jobs : int, optional
    Number of threads of a search; the answer does not depend on it.""",
    "learner_": """learner_ : estimator or None
    The fitted learner; None with a ready-made metric.""",
    "fitted": """n_samples_fit_, n_features_in_ : int
feature_names_in_ : ndarray of shape (d,), where the columns of X have names
encoder_ : TableEncoder, Gaps or None
    How text, categories, dates and gaps of X became numbers; None for numbers without gaps.""",
}


class Predicting(entrance.TableInput, _estimators.CallbackSupport):
    """Mixin of all predictors: reading rows, judging and explaining answers."""

    learner: Any
    n_features_in_: int
    _texts: ClassVar = PREDICTOR_TEXTS
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{name: RowLearner._parameter_constraints[name] for name in LEARNING},
        "learner": [HasMethods(["fit"]), None],
        "metric": [CurvedMetric, FormMetric, MixedMetric, ProductMetric, None],
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
    }
    _given: GivenRows
    _numeric: ClassVar[bool]
    _learner_kind: ClassVar[type[RowLearner]]
    _scorer: ClassVar[scores.Scorer]
    _usual_neighbors: ClassVar[int]  # where held-out rows were not asked

    def _read(self, X: Any, y: Any, sample_weight: Any, **how: Any) -> GivenRows:
        """Check the parameters, and the rows to fit; with `reset` False, more of them."""
        _estimators.check_parameters(self)
        if isinstance(self.learner, type):
            kind = self.learner.__name__
            raise InvalidInputError(
                f"learner must be an estimator, {kind}(), not the class {kind}."
            )
        if self.learner is not None and self.metric is not None:
            raise InvalidInputError("Got both a learner and a metric; drop one of them.")
        source = "learner" if self.metric is None else "metric"
        for name, default in WITHOUT_LEARNING.items() if getattr(self, source) is not None else ():
            value = getattr(self, name)
            same = isinstance(value, str | int | np.bool_) and value == default
            if not (value is default or same):
                advice = "give it to the learner instead" if source == "learner" else "drop it"
                raise InvalidInputError(
                    f"{name} has no effect when a {source} is given; {advice}. "
                    f"Got {name}={value!r}."
                )
        how = {"numeric": self._numeric, "block_rows": dask_shards.LEAST_ROWS, **how}
        given = GivenRows.read(self, X, y, sample_weight, **how)
        return with_class_weights(given, getattr(self, "class_weight", None))

    def score(
        self, X: ArrayLike | None, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the accuracy, or R² of numbers; by neighbours with X None, of rows left out."""
        predicted = in_memory(cast(Any, self).predict(X), "predictions")
        truth, weights = in_memory(y, "y"), in_memory(sample_weight, "sample_weight")
        truth, weights = _estimators.check_truth(truth, predicted, weights)
        with _estimators.naming("y"):
            judge = r2_score if self._numeric else accuracy_score
            return float(judge(truth, predicted, sample_weight=weights))

    def _one_or_more(self, X: Any, explain: Callable[[Floats], list[Any]]) -> Any:
        with _estimators.naming("X"):
            single = (len(X.shape) if hasattr(X, "shape") else np.ndim(X)) == 1
        if single:  # as a table of one row
            X = X.to_frame().T if hasattr(X, "to_frame") else np.reshape(np.asarray(X), (1, -1))
        found = explain(cast(Floats, search.checked_queries(self, X)))
        return found[0] if single else found


class LabelPredictor(Predicting, ClassifierMixin):
    """Mixin of the classifiers."""

    classes_: AnyArray
    _numeric, _learner_kind, _usual_neighbors = False, lmnn.CurvedLMNN, scores.LABEL_NEIGHBORS
    _scorer = scores.LabelScores(votes.held_out_probabilities)
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "geometry": [StrOptions({"auto", *lmnn.LABEL_GEOMETRIES})],
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    def predict_log_proba(self, X: ArrayLike | None) -> Floats:
        """Return the logarithm of the probabilities of rows X, see :meth:`predict_proba`."""
        return cast(Floats, np.log(cast(Any, self).predict_proba(X)))

    def predict(self, X: ArrayLike | None) -> AnyArray:
        """Return the most probable class (m,) of rows X, see :meth:`predict_proba`."""
        best, names = self._best(X), self.classes_
        if _estimators.is_dask(best):
            return cast(AnyArray, best.map_blocks(names.take, dtype=names.dtype))
        return np.asarray(names[best])

    def _best(self, X: Any) -> Any:
        return cast(Any, self).predict_proba(X).argmax(axis=1)


class NumberPredictor(Predicting, RegressorMixin):
    """Mixin of the regressors."""

    _numeric, _learner_kind, _usual_neighbors = True, mlkr.CurvedMLKR, scores.NUMBER_NEIGHBORS
    _scorer = scores.NumberScores(votes.held_out_means, votes.best_left_out)
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "geometry": [StrOptions({"auto", *mlkr.NUMBER_GEOMETRIES})],
    }

    def _shaped(self, found: Any) -> Any:
        return found[:, 0] if self._given.target.ndim == 1 else found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def with_class_weights(given: GivenRows, class_weight: Any) -> GivenRows:
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


def obtain_metric(
    estimator: Any, given: GivenRows, select: bool = True, **changed: Any
) -> tuple[Metric, Any, procedure.Selection | None]:
    """Return the metric of an estimator, the fitted learner, and what was chosen.

    The learner has the estimator's parameters, but for those `changed`; its geometry is "product"
    where the estimator's is "auto". With `select`, held-out rows choose what they can, for a
    learner of this package that is given, too.
    """
    if estimator.metric is not None:
        return search.as_metric(estimator.metric, given.n_columns), None, None
    if estimator.learner is None:
        own = {name: getattr(estimator, name) for name in ("geometry", *LEARNING)} | changed
        geometry = own["geometry"]
        own["geometry"] = "product" if geometry == "auto" else geometry
        learner = estimator._learner_kind(**own)
    else:
        numeric = given.classes is None
        if not isinstance(estimator.learner, RowLearner) or estimator.learner._numeric != numeric:
            fitted = fitted_learner(estimator.learner, given)
            return search.as_metric(fitted.metric_, given.n_columns), fitted, None
        learner = clone(estimator.learner)
        learner._check_parameters()
        geometry = learner.geometry
    rng, size = learner._generator(), learner.subsample
    if isinstance(size, str):
        pool = min(POOL_ROWS, POOL_ENTRIES // given.n_columns)
        size = max(LEARN_FROM, pool) if learner.geometry == "product" else LEARN_FROM
    rows = learner._training_rows(given, size, rng)
    with _estimators.few_threads(*rows.X.shape):
        if select:
            asked = votes_asked_for(estimator)
            chosen = procedure.select(geometry, learner, rows, estimator._scorer, rng, asked)
        else:
            metric, fits = learner._learn(rows, rng)
            learned = procedure.Selection(learner.geometry, "learned", 0)
            chosen = procedure.Chosen(metric, fits, learned, len(rows))
    if (
        combined.has_boundary(chosen.metric)
        and given.always is None
        and not isinstance(given.X, RowBlocks)
    ):
        beyond = ~chosen.metric.contains(given.X)  # of a metric learned from a sample
        if beyond.any():
            return obtain_metric(estimator, replace(given, always=beyond), select, **changed)
    if learner.verbose:
        sys.stderr.write(f"[{type(estimator).__name__}] {chosen.selection}\n")
    learner._keep(chosen.metric, chosen.fits)
    learner._keep_given(given, chosen.n_learned)
    learner.n_features_in_ = given.n_columns
    if len(getattr(estimator, "feature_names_in_", ())) == given.n_columns:
        learner.feature_names_in_ = estimator.feature_names_in_
    return chosen.metric, learner, chosen.selection


def votes_asked_for(estimator: Any) -> votes.AskedVotes:
    """Return the numbers of neighbours that an estimator may take, and its kind of votes."""
    k = estimator.n_neighbors
    return votes.AskedVotes(scores.NEIGHBORS if k == "auto" else (int(k),), estimator.weights)


def fitted_learner(learner: Any, given: GivenRows) -> Any:
    """Return a clone of a learner, fitted; a frozen one is used as it is."""
    if isinstance(learner, FrozenEstimator):
        fitted = learner.estimator
    else:
        y = given.target if given.classes is None else given.classes[given.target]
        equal = bool((given.weights == given.weights[0]).all())
        weights = {} if equal else {"sample_weight": given.weights}
        fitted = clone(learner).fit(given.source, y, **weights)
    if not isinstance(getattr(fitted, "metric_", None), Metric):
        raise InvalidInputError(
            f"learner must have a metric_ for the columns of X once it is fitted, as CurvedLMNN() "
            f"has; {type(fitted).__name__} has none. What transforms the columns belongs in a "
            f"pipeline before this estimator."
        )
    return fitted
