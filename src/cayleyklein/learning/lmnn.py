"""Large margin nearest neighbours in flat and curved space: the estimator."""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from cayleyklein._validation import warn_caller
from cayleyklein.learning import descent, learner
from cayleyklein.learning.objectives.large_margin import LargeMarginRecipe
from cayleyklein.learning.rows import GivenRows, TrainingRows
from cayleyklein.metrics import CurvedMetric

LABEL_GEOMETRIES = ("product", "flat", "elliptic", "hyperbolic", "learned", "mixed")
# Geometries and margins of the product's parts. A margin m at K = 1 is a margin of 1 at K = m².
LABEL_PRODUCT: tuple[tuple[str, float], ...] = (("flat", 1.0), ("elliptic", 0.3), ("elliptic", 1.0))
# Default margins: of d² in flat space, of d at |K| = 1 in curved space.
MARGINS = {"flat": 1.0, "elliptic": 0.3, "hyperbolic": 0.1, "learned": 0.3}
RATE = 2e10  # multiplications in a second, to say beforehand that a fit takes minutes


class CurvedLMNN(learner.RowLearner):
    """Learn a product, or a flat, elliptic, hyperbolic or mixed metric, for nearest neighbours.

    Each row is drawn to its target neighbours, rows of its class, and its nearest impostors, rows
    of other classes, are pushed a margin beyond them (Weinberger and Saul 2009; Nielsen, Muzellec
    and Nock 2016, §4). Impostors are those of the metric being evaluated, found in every evaluation
    of the loss. Columns need no scaling: they are standardised first.

    Parameters
    ----------
    geometry : {"product", "flat", "elliptic", "hyperbolic", "learned", "mixed"}, \
default="product"
        "product": flat space and spheres of curvature 0.09 and 1, in units of the margin. "flat":
        classic LMNN. "learned": the curvature is a parameter, which may cross zero. "mixed": the
        paper's α d_E + (1-α) d_H, of two metrics that are learned each by itself. The paper's own
        method is :class:`CayleyKleinLMNN`.
    alpha : float or "auto", default="auto"
        The α of a mixed metric. "auto" gives both parts the same weight in units of their distances
        between near neighbours; :class:`CurvedKNeighborsClassifier` chooses other weights, in these
        units, on held-out rows.
    n_targets : int, default=3
        Number of target neighbours of a row.
    n_impostors : int or None, default=10
        Number of nearest impostors to push away from each row; None pushes all, as in the paper.
    margin : float or "auto", default="auto"
        Margin, in units of the squared distance (flat) or of the distance at K = ±1 (curved).
        "auto" is 1 (flat), 0.3 (elliptic, learned) or 0.1 (hyperbolic).
    push : float, default=0.5
        Share of the push term in the loss, from 0 (only pull) to 1.
    init : str, CurvedMetric, array of shape (r, d) or "auto", default="auto"
        Metric to start from: "std" (standardised columns), "identity" (columns as they are),
        "precision" (whitened columns), "pca", "lda", "flat" (flat LMNN), a metric or its factor.
        "auto" is "std".
    n_components : int or None, default=None
        Number of rows of the factor L; fewer than columns reduce the dimension. None takes as many
        as columns.
    max_iter : int or "auto", default="auto"
        Maximum number of iterations of a pass; "auto" is 5.
    n_passes : int or "auto", default="auto"
        Number of passes, each with the target neighbours of the metric so far. "auto" is 4; the
        paper has 1.
    subsample : int, float, "auto" or None, default="auto"
        Number of rows to learn from, or their share, drawn class by class. "auto" takes at most
        10,000 rows, None takes all.
    random_state : int, RandomState or None, default=None
        Seed of the subsample and, if there are many rows, of the draw of those that have a term in
        the loss.
    callback : callable or None, default=None
        Called with a :class:`Progress` after each iteration. If it returns true, the fit stops and
        keeps the metric found so far.
    verbose : bool, default=False
        Whether to write a line for each iteration to standard error.

    Attributes
    ----------
    metric_ : CurvedMetric, ProductMetric or MixedMetric
        The learned metric.
    geometry_ : str
        Geometry of the metric: "flat", "elliptic", "hyperbolic", "product" or "mixed".
    curvature_ : ndarray of shape (n_parts,)
        Curvature K of each part of the metric; one for a single metric.
    components_ : ndarray of shape (n_rows, d)
        Factors L of the parts, one below the other.
    alpha_ : float
        Weight α of the elliptic part; only if `geometry` is "mixed".
    n_iter_ : int
        Number of iterations, over all passes of all parts.
    loss_history_ : list of list of float
        For each pass of each part, the loss at its start and after each iteration. It never rises.
    n_features_in_ : int
        Number of columns of X.
    n_samples_learned_ : int
        Number of distinct rows of positive weight that the metric was learned from.
    feature_names_in_ : ndarray of shape (d,)
        Names of the columns of X, if it has names.
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> CurvedLMNN(geometry="elliptic", random_state=0).fit(X, y).metric_
    CurvedMetric(elliptic, d=4, K=1)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "geometry": [StrOptions(set(LABEL_GEOMETRIES))],
        "alpha": [Interval(Real, 0, 1, closed="both"), StrOptions({"auto"})],
        "n_targets": [Interval(Integral, 1, None, closed="left")],
        "n_impostors": [Interval(Integral, 1, None, closed="left"), None],
        "margin": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "push": [Interval(Real, 0, 1, closed="both")],
        "init": [StrOptions(descent.START_NAMES), CurvedMetric, "array-like"],
    }

    def __init__(
        self,
        *,
        geometry: str = "product",
        alpha: float | str = "auto",
        n_targets: int = 3,
        n_impostors: int | None = 10,
        margin: float | str = "auto",
        push: float = 0.5,
        init: Any = "auto",
        n_components: int | None = None,
        max_iter: int | str = "auto",
        n_passes: int | str = "auto",
        subsample: int | float | str | None = "auto",
        random_state: Any = None,
        callback: Callable[[descent.Progress], bool | None] | None = None,
        verbose: bool = False,
    ) -> None:
        self.geometry = geometry
        self.alpha = alpha
        self.margin = margin
        self.push = push
        self.n_targets = n_targets
        self.n_impostors = n_impostors
        self.init = init
        self.n_components = n_components
        self.max_iter = max_iter
        self.n_passes = n_passes
        self.subsample = subsample
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    _numeric = False
    _part_size = "margin"

    def _recipes(self) -> tuple[LargeMarginRecipe, ...]:
        margins = LABEL_PRODUCT
        if self.geometry == "mixed":
            margins = ("elliptic", MARGINS["elliptic"]), ("hyperbolic", MARGINS["hyperbolic"])
        elif self.geometry != "product":
            margins = ((self.geometry, MARGINS[self.geometry]),)
        recipes = []
        for geometry, margin in margins:
            changes = {"margin": margin, **self._given("margin", "max_iter", "n_passes", "init")}
            recipe = LargeMarginRecipe(
                geometry,
                push=float(self.push),
                n_targets=self.n_targets,
                n_impostors=self.n_impostors,
                n_components=self.n_components,
                **changes,
            )
            recipes.append(recipe)
        return tuple(recipes)

    def _training_rows(self, given: GivenRows, size: Any, rng: np.random.Generator) -> TrainingRows:
        drawn = given.draw(size, self.n_targets + 1, rng.spawn(1)[0])
        d = given.n_columns
        self._check_columns(len(drawn.target), d)
        rows = self._labelled_rows(drawn, turn=True)
        warn_of_small_classes(rows, given.classes, self.n_targets)
        return rows

    def _warn_if_long(self, rows: TrainingRows) -> None:
        n, d = rows.X.shape
        passes = 4 if isinstance(self.n_passes, str) else self.n_passes
        # evaluations of the loss in a pass
        steps = 7 if isinstance(self.max_iter, str) else 1.2 * self.max_iter
        parts = {"product": len(LABEL_PRODUCT), "mixed": 2}.get(self.geometry, 1)
        seconds = parts * passes * steps * n * min(n, descent.n_anchors(d)) * d / RATE
        if seconds > 120:
            warn_caller(
                f"Learning from {n:,} rows of {d:,} columns will take about "
                f"{round(seconds / 60)} minutes. subsample=10000 learns from fewer, verbose=True "
                f"shows how far it is."
            )


def warn_of_small_classes(rows: TrainingRows, classes: Any, n_targets: int) -> None:
    sizes = np.bincount(rows.labels)  # shorter where the last classes weigh nothing
    few = np.flatnonzero((sizes > 0) & (sizes <= n_targets))
    if len(few):
        warn_caller(
            f"Classes {classes[few].tolist()} have fewer than {n_targets + 1} distinct rows, so "
            f"that their rows have fewer than n_targets={n_targets} others of their class to be "
            f"drawn to. They are learned from as they are."
        )
