"""Where a predictor's metric comes from: given, learned by a learner, or learned and chosen here.

`geometry=`, `learner=` and `metric=` mean the same in every estimator that predicts.
"""

import sys
from collections.abc import Callable
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils._param_validation import HasMethods, Interval, RealNotInt, StrOptions

from cayleyklein._distributed import RowBlocks
from cayleyklein._estimators import check_parameters, few_threads
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning.learner import LEARN_FROM, RowLearner
from cayleyklein.learning.rows import GivenRows, TrainingRows
from cayleyklein.metrics import CurvedMetric, MixedMetric, ProductMetric
from cayleyklein.metrics.combined import Metric
from cayleyklein.neighbors.search import as_metric
from cayleyklein.selection import procedure
from cayleyklein.selection.procedure import Chosen
from cayleyklein.selection.scores import Scorer
from cayleyklein.selection.trials import Selection

SOURCE_CONSTRAINTS: dict[str, list[Any]] = {
    "learner": [HasMethods(["fit"]), None],
    "metric": [CurvedMetric, MixedMetric, ProductMetric, None],
    "subsample": [
        Interval(Integral, 2, None, closed="left"),
        Interval(RealNotInt, 0, 1, closed="right"),
        StrOptions({"auto"}),
        None,
    ],
    "random_state": ["random_state"],
    "callback": [callable, None],
    "verbose": ["verbose", "boolean"],
}

# Rows of a table that are read at most, and their entries; a sample grows among them.
POOL_ROWS, POOL_ENTRIES = 50_000, 20_000_000

# Parameters of learning, with their defaults.
WITHOUT_LEARNING = {"geometry": "auto", "subsample": "auto", "callback": None, "verbose": False}


def check_source(estimator: Any) -> None:
    """Check the parameters of an estimator; learner, metric and geometry must not conflict."""
    check_parameters(estimator)
    if isinstance(estimator.learner, type):
        name = estimator.learner.__name__
        raise InvalidInputError(f"learner must be an estimator, {name}(), not the class {name}.")
    if estimator.learner is not None and estimator.metric is not None:
        raise InvalidInputError("Got both a learner and a metric; drop one of them.")
    source = "learner" if estimator.metric is None else "metric"
    if getattr(estimator, source) is None:
        return
    for name, default in WITHOUT_LEARNING.items():
        value = getattr(estimator, name, default)
        same = isinstance(value, str | int | np.bool_) and value == default
        if not (value is default or same):
            advice = "give it to the learner instead" if source == "learner" else "drop it"
            raise InvalidInputError(
                f"{name} has no effect when a {source} is given; {advice}. Got {name}={value!r}."
            )


Choose = Callable[[str, Any, TrainingRows, Scorer, np.random.Generator], Chosen]
"""(geometry, learner, rows, scorer, rng) → the metric, and what was chosen with it."""


def obtain_metric(
    estimator: Any, given: GivenRows, choose: Choose = procedure.select, **changed: Any
) -> tuple[Metric, Any, Selection | None]:
    """Return the metric of an estimator, the fitted learner, and what was chosen.

    The learner has the estimator's parameters, but for those `changed`; its geometry is "product"
    where the estimator's is "auto". What is chosen on held-out rows is chosen for a learner of this
    package that is given, too.
    """
    if estimator.metric is not None:
        return as_metric(estimator.metric, given.n_columns), None, None
    geometry = estimator.geometry
    if estimator.learner is None:
        names = ("subsample", "random_state", "callback", "verbose")
        own = {name: getattr(estimator, name) for name in names} | changed
        own["geometry"] = "product" if geometry == "auto" else geometry
        learner = estimator._learner_kind(**own)
    else:
        numeric = given.classes is None
        if not isinstance(estimator.learner, RowLearner) or estimator.learner._numeric != numeric:
            fitted = fitted_learner(estimator.learner, given)
            return as_metric(fitted.metric_, given.n_columns), fitted, None
        learner = clone(estimator.learner)
        learner._check_parameters()
        geometry = learner.geometry
    rng = learner._generator()
    size = learner.subsample
    if isinstance(size, str):
        pool = min(POOL_ROWS, POOL_ENTRIES // given.n_columns)
        size = max(LEARN_FROM, pool) if learner.geometry == "product" else LEARN_FROM
    rows = learner._training_rows(given, size, rng)
    with few_threads(*rows.X.shape):
        chosen = choose(geometry, learner, rows, estimator._scorer, rng)
    if chosen.metric.domain and given.always is None and not isinstance(given.X, RowBlocks):
        beyond = ~chosen.metric.contains(given.X)  # of a metric learned from a sample
        if beyond.any():
            return obtain_metric(estimator, replace(given, always=beyond), choose, **changed)
    if learner.verbose:
        sys.stderr.write(f"[{type(estimator).__name__}] {chosen.selection}\n")
    learner._keep(chosen.metric, chosen.fits)
    learner._keep_given(given, chosen.n_learned)
    learner.n_features_in_ = given.n_columns
    if len(getattr(estimator, "feature_names_in_", ())) == given.n_columns:
        learner.feature_names_in_ = estimator.feature_names_in_
    return chosen.metric, learner, chosen.selection


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
