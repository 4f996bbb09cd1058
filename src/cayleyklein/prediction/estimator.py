"""What all predictors share: reading rows, judging, and where their metric comes from."""

from collections.abc import Callable
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from cayleyklein import _estimators
from cayleyklein._distributed import in_memory
from cayleyklein._typing import AnyArray, Floats
from cayleyklein.columns import entrance
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning import lmnn, mlkr
from cayleyklein.learning.descent import Progress
from cayleyklein.learning.learner import RowLearner
from cayleyklein.learning.rows import GivenRows
from cayleyklein.metrics import CurvedMetric, FormMetric, Metric, MixedMetric, ProductMetric
from cayleyklein.neighbors import dask_shards, search
from cayleyklein.prediction import rehearsal
from cayleyklein.prediction.metric import MetricRequest

LEARNING = ("subsample", "random_state", "callback", "verbose")  # parameters that the learner gets
WITHOUT_LEARNING = {"geometry": "auto", "subsample": "auto", "callback": None, "verbose": False}


class Predicting(entrance.TableInput, _estimators.CallbackSupport):
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
        **{name: RowLearner._parameter_constraints[name] for name in LEARNING},
        "learner": [HasMethods(["fit"]), None],
        "metric": [CurvedMetric, FormMetric, MixedMetric, ProductMetric, None],
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
    }
    _given: GivenRows
    _numeric: ClassVar[bool]
    _learner_kind: ClassVar[type[RowLearner]]
    _trials: ClassVar[rehearsal.Trials]

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
        _estimators.check_parameters(self)
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
        for name, default in WITHOUT_LEARNING.items():
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
        with _estimators.naming("y"):
            judge = r2_score if self._numeric else accuracy_score
            return float(judge(truth, predicted, sample_weight=weights))

    def _one_or_more(self, X: Any, explain: Callable[[Floats], list[Any]]) -> Any:
        """Explain one row, or a list of rows."""
        with _estimators.naming("X"):
            single = (len(X.shape) if hasattr(X, "shape") else np.ndim(X)) == 1
        if single:  # as a table of one row
            X = X.to_frame().T if hasattr(X, "to_frame") else np.reshape(np.asarray(X), (1, -1))
        found = explain(cast(Floats, search.checked_queries(self, X)))
        return found[0] if single else found


class LabelPredictor(Predicting, ClassifierMixin):
    """Mixin of the classifiers."""

    classes_: AnyArray
    _numeric = False
    _learner_kind = lmnn.CurvedLMNN
    _trials = rehearsal.ClassTrials()
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "geometry": [StrOptions({"auto", *lmnn.LABEL_GEOMETRIES})],
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    def predict_log_proba(self, X: ArrayLike | None) -> Floats:
        """Return the logarithm of the probabilities of rows X, see :meth:`predict_proba`."""
        return cast(Floats, np.log(cast(Any, self).predict_proba(X)))

    def predict(self, X: ArrayLike | None) -> AnyArray:
        """Return the most probable class (m,) of rows X, see :meth:`predict_proba`."""
        best = self._best(X)
        names = self.classes_
        if _estimators.is_dask(best):
            return cast(AnyArray, best.map_blocks(names.take, dtype=names.dtype))
        return np.asarray(names[best])

    def _best(self, X: Any) -> Any:
        return cast(Any, self).predict_proba(X).argmax(axis=1)


class NumberPredictor(Predicting, RegressorMixin):
    """Mixin of the regressors."""

    _numeric = True
    _learner_kind = mlkr.CurvedMLKR
    _trials = rehearsal.NumberTrials()
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "geometry": [StrOptions({"auto", *mlkr.NUMBER_GEOMETRIES})],
    }

    def _shaped(self, found: Any) -> Any:
        """Return numbers (m, t) in the shape of the targets."""
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
