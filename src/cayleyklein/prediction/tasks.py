"""What is predicted, labels or numbers: what the predictors by votes and by kernels share."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils._param_validation import StrOptions

from cayleyklein._distributed import in_memory
from cayleyklein._estimators import CallbackSupport, check_truth, is_dask, naming
from cayleyklein._typing import AnyArray, Floats
from cayleyklein.columns import entrance
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning.learner import RowLearner
from cayleyklein.learning.lmnn import LABEL_GEOMETRIES, CurvedLMNN
from cayleyklein.learning.mlkr import NUMBER_GEOMETRIES, CurvedMLKR
from cayleyklein.learning.rows import GivenRows
from cayleyklein.neighbors.dask_shards import LEAST_ROWS
from cayleyklein.neighbors.search import checked_queries
from cayleyklein.prediction import votes
from cayleyklein.prediction.metric_choice import check_source
from cayleyklein.selection import scores


class Predicting(entrance.TableInput, CallbackSupport):
    """Mixin of all predictors: reading rows, judging and explaining answers."""

    n_features_in_: int
    _given: GivenRows
    _numeric: ClassVar[bool]
    _learner_kind: ClassVar[type[RowLearner]]
    _scorer: ClassVar[scores.Scorer]
    _usual_neighbors: ClassVar[int]  # where held-out rows were not asked

    def _read(self, X: Any, y: Any, sample_weight: Any, **how: Any) -> GivenRows:
        """Check the parameters, and the rows to fit; with `reset` False, more of them."""
        check_source(self)
        how = {"numeric": self._numeric, "block_rows": LEAST_ROWS, **how}
        given = GivenRows.read(self, X, y, sample_weight, **how)
        return with_class_weights(given, getattr(self, "class_weight", None))

    def _score(self, judge: Callable[..., float], X: Any, y: Any, sample_weight: Any) -> float:
        predicted = in_memory(cast(Any, self).predict(X), "predictions")
        y, weights = in_memory(y, "y"), in_memory(sample_weight, "sample_weight")
        truth, weights = check_truth(y, predicted, weights)
        with naming("y"):
            return float(judge(truth, predicted, sample_weight=weights))

    def _one_or_more(self, X: Any, explain: Callable[[Floats], list[Any]]) -> Any:
        """Explain one row (d,), or each of several."""
        X, single = entrance.one_or_more(X)
        found = explain(cast(Floats, checked_queries(self, X)))
        return found[0] if single else found


class LabelPredictor(Predicting, ClassifierMixin):
    """Mixin of the classifiers."""

    classes_: AnyArray
    _numeric, _learner_kind, _usual_neighbors = False, CurvedLMNN, scores.LABEL_NEIGHBORS
    _scorer = scores.LabelScores(votes.held_out_probabilities)
    _task_constraints: ClassVar[dict[str, list[Any]]] = {
        "geometry": [StrOptions({"auto", *LABEL_GEOMETRIES})],
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    def predict_log_proba(self, X: ArrayLike | None) -> Floats:
        """Return the logarithm of the probabilities.

        Parameters
        ----------
        X : array-like, Dask array or Dask dataframe of shape (m, d)
        """
        return cast(Floats, np.log(cast(Any, self).predict_proba(X)))

    def predict(self, X: ArrayLike | None) -> AnyArray:
        """Return the most probable class.

        Parameters
        ----------
        X : array-like, Dask array or Dask dataframe of shape (m, d)

        Returns
        -------
        ndarray or Dask array of shape (m,)
        """
        shares = cast(Any, self).predict_proba(X)
        names = self.classes_
        if not is_dask(shares):
            return np.asarray(names[shares.argmax(axis=1)])
        lazy = shares.map_blocks(
            lambda each: names[each.argmax(axis=1)], dtype=names.dtype, drop_axis=1
        )
        return cast(AnyArray, lazy)

    def score(
        self, X: ArrayLike | None, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the accuracy; by neighbours with X None, that of leaving each row out in turn."""
        return self._score(accuracy_score, X, y, sample_weight)


class NumberPredictor(Predicting, RegressorMixin):
    """Mixin of the regressors."""

    _numeric, _learner_kind, _usual_neighbors = True, CurvedMLKR, scores.NUMBER_NEIGHBORS
    _scorer = scores.NumberScores(votes.held_out_means, votes.best_left_out)
    _task_constraints: ClassVar[dict[str, list[Any]]] = {
        "geometry": [StrOptions({"auto", *NUMBER_GEOMETRIES})],
    }

    def _shaped(self, found: Any) -> Any:
        return found[:, 0] if self._given.target.ndim == 1 else found

    def score(
        self, X: ArrayLike | None, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return R²; by neighbours with X None, that of leaving each row out in turn."""
        return self._score(r2_score, X, y, sample_weight)

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
