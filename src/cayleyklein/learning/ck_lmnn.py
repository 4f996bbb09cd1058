"""The paper's learner as an estimator: LMNN in Cayley-Klein geometries, to the letter."""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from cayleyklein import _estimators
from cayleyklein._validation import warn_caller
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning import descent, learner, lmnn, paper
from cayleyklein.learning.rows import GivenRows, TrainingRows
from cayleyklein.metrics import CurvedMetric, FormMetric, Metric


class CayleyKleinLMNN(learner.RowLearner):
    """Learn a metric by the method of Nielsen, Muzellec and Nock (2016), to the letter.

    :class:`CurvedLMNN` is what this package learns metrics with, and predicts better. This is the
    paper's own algorithm, for those who want to compare with it: gradient descent on the factor L
    of the form S = LᵀL (elliptic), S = LᵀDL (hyperbolic) or of the matrix LᵀL (flat), with the
    paper's loss, starts and step rule. What the paper leaves open is a parameter here, and its
    description says so. The steps are written down in the paper's order in ``learning/paper.py``.

    Parameters
    ----------
    geometry : {"flat", "elliptic", "hyperbolic", "mixed"}, default="elliptic"
        "flat" is Mahalanobis-LMNN (§4.1). "mixed" learns an elliptic and a hyperbolic metric, each
        by itself, and adds their distances as α d_E + (1 - α) d_H (§5.2).
    alpha : float or "auto", default="auto"
        The α of a mixed metric, as printed. "auto" is 0.5 here; as ``learner=`` of
        :class:`CurvedKNeighborsClassifier` it is chosen from 0, 0.05, …, 1 on held-out rows, for
        the number of neighbours and the votes of that classifier.
    n_targets : int, default=3
        Number of target neighbours of a row: its nearest rows of the same class by Euclidean
        distance.
    margin : float, default=1.0
        The paper's 1. Its gradients have a factor k of the distance besides, which is 1 here:
        ``margin=1/k`` gives the metric for another k.
    push : float, default=0.5
        The paper's μ, the share of the push term in the loss; it gives no value.
    init : {"precision", "lmnn", "identity", "diagonal", "diagonal-lmnn"}, metric or array, \
default="precision"
        Σ and the centre of the start. "precision", "lmnn": the precision matrix of the rows, or the
        matrix that Mahalanobis-LMNN learns, about their mean: G₊ (elliptic) and G₋ (hyperbolic).
        "identity": the identity in their place. "diagonal", "diagonal-lmnn", only hyperbolic:
        L = diag(L', 1) and D = diag(-1, …, -1, κ max‖L'x‖²), about the origin, with the factor L'
        of the precision matrix or of Mahalanobis-LMNN. Or a metric to go on from, or the array
        (d, d) of a factor.
    kappa : float or "auto", default="auto"
        Parameter κ of the start, as printed. In G₊ it is how curved the start is; "auto" is 1. In
        D, κ > 1; "auto" is 2. In G₋ rows must be inside -1/κ² < 0; "auto" is where the farthest row
        has the place that κ = 2 gives it in D.
    learning_rate : float or "auto", default="auto"
        Step size γ of the first step. "auto" moves the images Lx̃ of the rows by a tenth of their
        size: the paper says that the best γ is not known beforehand. Hyperbolic fits halve γ when a
        row leaves the domain and let it grow by 1 % otherwise; the paper has no such rule for the
        others, whose γ stays.
    impostor_interval : int, default=10
        Number of iterations after which the impostors are searched again; the paper says 10 to 20.
    max_iter : int or "auto", default="auto"
        Maximum number of iterations; "auto" is 200. The paper does not say when it stops.
    tol : float, default=1e-5
        The fit ends where the loss changes by less than this share of it, also with new impostors.
    domain : {"rows", "ellipsoid"}, default="rows"
        When γ is halved: "rows" where a row leaves the domain, as in the paper; the metric may then
        be a :class:`FormMetric`, whose domain is no ellipsoid. "ellipsoid" also where the domain is
        none, so that it is always a :class:`CurvedMetric`.
    standardize : bool, default=False
        Whether columns are standardised first: targets, starts and steps are then those of
        standardised columns. The paper does not do so; it matters where columns have different
        units.
    subsample : int, float, "auto" or None, default="auto"
        Number of rows to learn from, or their share, drawn class by class. "auto" takes at most
        10,000 rows, None takes all.
    random_state : int, RandomState or None, default=None
        Seed of the subsample, and of the rows that are held out to choose α.
    callback : callable or None, default=None
        Called with a :class:`Progress` after each iteration. If it returns true, the fit stops and
        keeps the metric found so far.
    verbose : bool, default=False
        Whether to write a line for each iteration to standard error.

    Attributes
    ----------
    metric_ : CurvedMetric, FormMetric or MixedMetric
        The last iterate, in the unit where |K| = 1.
    alpha_ : float
        Weight α of the elliptic part; only if `geometry` is "mixed".
    geometry_ : str
        Geometry of the metric: "flat", "elliptic", "hyperbolic" or "mixed".
    curvature_ : ndarray of shape (n_parts,)
        K of each part of the metric; one for a single metric.
    components_ : ndarray of shape (n_rows, d)
        The factors L of the parts, one below the other; for a FormMetric the first d columns of
        its factor.
    learning_rate_ : list of float
        γ of the first step of each part.
    n_iter_ : int
        Iterations of all parts.
    loss_history_ : list of list of float
        For each part the loss at its start and after each iteration, over the impostors that were
        searched last. It may rise: nothing in the paper's rule looks at it.
    n_features_in_ : int
        Number of columns of X.
    n_samples_learned_ : int
        Distinct rows of positive weight that the metric was learned from.
    feature_names_in_ : ndarray of shape (d,)
        Names of the columns of X, if it has names.
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.

    Examples
    --------
    >>> from cayleyklein import CurvedKNeighborsClassifier
    >>> from cayleyklein.datasets import load_balance
    >>> X, y = load_balance(return_X_y=True)
    >>> learner = CayleyKleinLMNN("elliptic")
    >>> model = CurvedKNeighborsClassifier(3, learner=learner, weights="uniform")
    >>> model.fit(X[::2], y[::2]).metric_
    CurvedMetric(elliptic, d=4, K=1)
    >>> bool(model.score(X[1::2], y[1::2]) > 0.8)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "geometry": [StrOptions({"flat", "elliptic", "hyperbolic", "mixed"})],
        "alpha": [Interval(Real, 0, 1, closed="both"), StrOptions({"auto"})],
        "n_targets": [Interval(Integral, 1, None, closed="left")],
        "margin": [Interval(Real, 0, None, closed="neither")],
        "push": [Interval(Real, 0, 1, closed="both")],
        "init": [
            StrOptions({"precision", "lmnn", "identity", "diagonal", "diagonal-lmnn"}),
            CurvedMetric,
            FormMetric,
            "array-like",
        ],
        "kappa": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "learning_rate": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "impostor_interval": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "domain": [StrOptions({"rows", "ellipsoid"})],
        "standardize": ["boolean"],
    }
    _numeric = False
    n_components = None

    def __init__(
        self,
        geometry: str = "elliptic",
        *,
        alpha: float | str = "auto",
        n_targets: int = 3,
        margin: float = 1.0,
        push: float = 0.5,
        init: Any = "precision",
        kappa: float | str = "auto",
        learning_rate: float | str = "auto",
        impostor_interval: int = 10,
        max_iter: int | str = "auto",
        tol: float = 1e-5,
        domain: str = "rows",
        standardize: bool = False,
        subsample: int | float | str | None = "auto",
        random_state: Any = None,
        callback: Callable[[descent.Progress], bool | None] | None = None,
        verbose: bool = False,
    ) -> None:
        self.geometry = geometry
        self.alpha = alpha
        self.n_targets = n_targets
        self.margin = margin
        self.push = push
        self.init = init
        self.kappa = kappa
        self.learning_rate = learning_rate
        self.impostor_interval = impostor_interval
        self.max_iter = max_iter
        self.tol = tol
        self.domain = domain
        self.standardize = standardize
        self.subsample = subsample
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    def _check_parameters(self) -> None:
        if str(self.geometry).lower() == "mahalanobis":
            raise InvalidInputError('Mahalanobis-LMNN is geometry="flat".')
        if isinstance(self.kappa, int | float) and self.kappa < 0:
            raise InvalidInputError(
                f"Got kappa={self.kappa!r}: κ is given without its sign, which the geometry has."
            )
        _estimators.check_parameters(self)
        if self.geometry != "mixed" and not isinstance(self.alpha, str):
            raise InvalidInputError(
                f'Got alpha={self.alpha!r} with geometry={self.geometry!r}; α is for "mixed".'
            )
        if self.geometry == "flat" and not isinstance(self.kappa, str):
            raise InvalidInputError(
                f'Got kappa={self.kappa!r} with geometry="flat", which has no κ; drop it.'
            )
        if not isinstance(self.init, str):
            if self.geometry == "mixed":
                raise InvalidInputError(
                    'Got a metric as init with geometry="mixed", which learns two metrics; give '
                    "one geometry, or a start by name."
                )
            if isinstance(self.init, FormMetric) and self.geometry != "hyperbolic":
                raise InvalidInputError(
                    f"Got a FormMetric as init, which is hyperbolic, with "
                    f"geometry={self.geometry!r}."
                )
            return
        if self.init.startswith("diagonal"):
            if self.geometry != "hyperbolic":
                raise InvalidInputError(
                    f'init={self.init!r} is a start of geometry="hyperbolic"; got geometry='
                    f'{self.geometry!r}, for which the paper has "precision" and "lmnn".'
                )
            if not isinstance(self.kappa, str) and self.kappa <= 1:
                raise InvalidInputError(
                    f"Got kappa={self.kappa!r} with init={self.init!r}, but D needs κ > 1: the "
                    f"farthest row is on the boundary at κ = 1."
                )
        if self.geometry == "flat" and self.init == "lmnn":
            raise InvalidInputError(
                'init="lmnn" starts a curved metric from what geometry="flat" learns; take '
                '"precision" or "identity".'
            )

    def _recipe(self, geometry: str) -> paper.PaperRecipe:
        return paper.PaperRecipe(
            geometry,
            init=self.init if isinstance(self.init, str) else "precision",
            kappa=_number(self.kappa),
            n_targets=self.n_targets,
            margin=float(self.margin),
            push=float(self.push),
            learning_rate=_number(self.learning_rate),
            impostor_interval=self.impostor_interval,
            max_iter=200 if isinstance(self.max_iter, str) else self.max_iter,
            tol=float(self.tol),
            domain=self.domain,
            standardize=self.standardize,
        )

    def _training_rows(self, given: GivenRows, size: Any, rng: np.random.Generator) -> TrainingRows:
        drawn = given.draw(size, self.n_targets + 1, rng.spawn(1)[0])
        self._check_columns(given.n_columns, given.n_columns)
        rows = self._labelled_rows(drawn, turn=False)
        lmnn.warn_of_small_classes(rows, given.classes, self.n_targets)
        return rows

    def _learn(self, rows: TrainingRows, rng: np.random.Generator) -> tuple[Metric, Any]:
        if self.geometry == "mixed":
            mixing = self._learn_mixed(rows, rng)
            share = 0.5 if isinstance(self.alpha, str) else float(self.alpha)
            return mixing.metric(share), mixing.fits
        fit = paper.learn(
            rows, self._recipe(self.geometry), self._given_start(rows), self._report()
        )
        return fit.metric, (fit,)

    def _keep(self, metric: Metric, fits: Any) -> None:
        self.learning_rate_ = [fit.learning_rate for fit in fits]
        super()._keep(metric, fits)

    def _warn_if_unfinished(self, fits: Any) -> None:
        for fit in fits:
            (losses,) = fit.losses
            first, last, least = losses[0], losses[-1], min(losses)
            if fit.diverged or last > first:
                warn_caller(
                    f"The descent diverged: the loss was {first:.6g} at the start and {last:.6g} "
                    f"after {len(losses) - 1} iterations. Take a learning_rate smaller than "
                    f"{fit.learning_rate:.3g}, fewer iterations, or standardize=True.",
                    ConvergenceWarning,
                )
            elif self.max_iter != "auto" and not (fit.converged or fit.stopped):
                what = "still changes"
                if last > 1.01 * least:
                    what = f"rose, from {least:.6g} at iteration {int(np.argmin(losses))}"
                warn_caller(
                    f"The loss {what} after max_iter={self.max_iter} iterations: {last:.6g} now.",
                    ConvergenceWarning,
                )

    def _learn_mixed(self, rows: TrainingRows, rng: np.random.Generator) -> descent.Mixing:
        report = self._report()
        fits = [
            paper.learn(rows, self._recipe(geometry), report=report)
            for geometry in ("elliptic", "hyperbolic")
        ]
        return descent.Mixing(tuple(fit.metric for fit in fits), (1.0, 1.0), tuple(fits))

    def _mixing_choice(self) -> descent.MixingChoice:
        if not isinstance(self.alpha, str):
            return descent.MixingChoice((float(self.alpha),), in_units=False)
        shares = np.linspace(0, 1, 21).round(2)
        return descent.MixingChoice(tuple(shares.tolist()), in_units=False, tie=0.0)

    def _given_start(self, rows: TrainingRows) -> CurvedMetric | FormMetric | None:
        if isinstance(self.init, str):
            return None
        metric: CurvedMetric | FormMetric = self._init_metric(rows)
        return metric


def _number(value: float | str) -> float | None:
    return None if isinstance(value, str) else float(value)
