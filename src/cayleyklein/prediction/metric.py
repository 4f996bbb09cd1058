"""Where the metric of a prediction comes from: it is given, learned, or chosen on held-out rows.

`geometry=`, `learner=` and `metric=` mean the same in every estimator that predicts.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from cayleyklein import _estimators
from cayleyklein._distributed import RowBlocks
from cayleyklein._typing import AnyArray
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning.descent import Progress
from cayleyklein.learning.learner import LEARN_FROM, RowLearner
from cayleyklein.learning.rows import GivenRows
from cayleyklein.metrics import Metric, combined
from cayleyklein.neighbors import search
from cayleyklein.prediction import choice
from cayleyklein.prediction.rehearsal import AskedVotes, Trials
from cayleyklein.prediction.selection import Selection

# Rows of a table that are read at most, and their entries; a sample grows among them.
POOL_ROWS, POOL_ENTRIES = 50_000, 20_000_000


@dataclass(frozen=True)
class MetricRequest:
    """What was asked of a metric, by the parameters of an estimator.

    Attributes
    ----------
    metric : Metric or None
        A ready-made one.
    learner : estimator or None
        Learns the metric, or has learned it if frozen. When None, one of the kind `learner_kind`
        with the parameters below; its geometry is "product" where `geometry` is "auto".
    learner_kind : type
    geometry, subsample, random_state, callback, verbose
    column_names : ndarray or None
        Names of the columns of the rows, where they have names.
    said : str
        Name of the estimator in the lines that `verbose` writes.
    """

    metric: Metric | None
    learner: Any
    learner_kind: type[RowLearner]
    geometry: str
    subsample: int | float | str | None
    random_state: Any
    callback: Callable[[Progress], bool | None] | None
    verbose: bool
    column_names: AnyArray | None
    said: str

    def new_learner(self) -> Any:
        """Return a learner of this package that is not fitted, with the parameters asked for."""
        kind: Any = self.learner_kind
        return kind(
            geometry="product" if self.geometry == "auto" else self.geometry,
            subsample=self.subsample,
            random_state=self.random_state,
            callback=self.callback,
            verbose=self.verbose,
        )


@dataclass(frozen=True)
class Obtained:
    """A metric if one was needed, the fitted learner if one was asked, and what was chosen."""

    metric: Metric | None
    learner: Any = None
    selection: Selection | None = None


def obtain_metric(
    request: MetricRequest,
    given: GivenRows,
    trials: Trials | None = None,
    asked: AskedVotes | None = None,
) -> Obtained:
    """Return the metric that was asked for.

    With `trials` held-out rows choose what they can, for a learner of this package that is given,
    too; without, what was asked for is learned from all rows.
    """
    if request.metric is not None:
        return Obtained(search.as_metric(request.metric, given.n_columns))
    geometry = request.geometry
    if request.learner is None:
        learner = request.new_learner()
    else:
        numeric = given.classes is None
        learner = request.learner
        if not isinstance(learner, RowLearner) or learner._numeric != numeric:
            fitted = fitted_learner(learner, given)
            return Obtained(search.as_metric(fitted.metric_, given.n_columns), fitted)
        learner = clone(learner)
        learner._check_parameters()
        geometry = learner.geometry
    rng = learner._generator()
    rows = learner._training_rows(given, sample_size(learner, given.n_columns), rng)
    with _estimators.few_threads(*rows.X.shape):
        if trials is None:
            metric, fits = learner._learn(rows, rng)
            selection = Selection(learner.geometry, "learned", 0)
            chosen = choice.Chosen(metric, fits, selection, len(rows))
        else:
            chosen = choice.select(geometry, learner, rows, trials, rng, asked or AskedVotes())
            if asked is not None and len(asked.numbers) == 1:  # the number that was given votes
                selection = replace(chosen.selection, n_neighbors=asked.numbers[0])
                chosen = replace(chosen, selection=selection)
    if (
        combined.has_boundary(chosen.metric)
        and given.always is None
        and not isinstance(given.X, RowBlocks)
    ):
        beyond = ~chosen.metric.contains(given.X)  # of a metric learned from a sample
        if beyond.any():
            return obtain_metric(request, replace(given, always=beyond), trials, asked)
    if learner.verbose:
        sys.stderr.write(f"[{request.said}] {chosen.selection}\n")
    learner._keep(chosen.metric, chosen.fits)
    learner._keep_given(given, chosen.n_learned)
    learner.n_features_in_ = given.n_columns
    if request.column_names is not None and len(request.column_names) == given.n_columns:
        learner.feature_names_in_ = request.column_names
    return Obtained(chosen.metric, learner, chosen.selection)


def sample_size(learner: Any, n_columns: int) -> Any:
    """Return how many rows are drawn to learn from: more where a sample grows among them."""
    size = learner.subsample
    if not isinstance(size, str):
        return size
    if learner.geometry != "product":
        return LEARN_FROM
    return max(LEARN_FROM, min(POOL_ROWS, POOL_ENTRIES // n_columns))


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
