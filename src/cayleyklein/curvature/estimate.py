"""The curvature that rows and their targets, or dissimilarities, support."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state

from cayleyklein import _estimators as estimators
from cayleyklein import _validation as checks
from cayleyklein._notebook import NotebookCard
from cayleyklein._typing import Floats
from cayleyklein.curvature._processes import LabelProcess, NumberProcess
from cayleyklein.curvature._search import (
    LARGEST_U,
    LEAST_U,
    ProcessProfile,
    Profile,
    StressCurve,
)
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.manifold import CurvedMDS
from cayleyklein.manifold.stress_profile import StressProfile
from cayleyklein.metrics import CurvedMetric

SHAPES, METHODS = ("isotropic", "diagonal"), ("likelihood", "bootstrap")
MOST_CLASSES = 30
SPARE_ROWS = 5  # rows needed beyond the number of parameters
N_DRAWS = 99  # of a bootstrap, at each of three curvatures
REACH = 4.0  # standard errors of K that the profile of a map's stress reaches on either side


class CurvatureProfile(NamedTuple):
    """Log likelihood and score at curvatures, all ndarrays of shape (m,); `score` may be NaN."""

    curvature: Floats
    log_likelihood: Floats
    score: Floats


@dataclass(frozen=True, eq=False, repr=False)
class CurvatureEstimate(NotebookCard):
    """What :func:`estimate_curvature` found.

    Parameters
    ----------
    curvature : float
        K with the largest likelihood, in units of one over a squared distance.
    interval : tuple of two floats
        Confidence interval of K. An end without evidence against what is beyond it is the end of
        the domain below (-inf for dissimilarities), and inf above; `open_ends` is True there.
    p_value : float
        Probability of data at least as far from flat, if they were flat.
    profile : CurvatureProfile
        Log likelihood over K, all other parameters at their best, and a score of each row predicted
        from the others: R² for numbers, accuracy for labels, NaN for dissimilarities.
    bend, bend_interval : float, tuple of two floats
        K·mean‖L(x - μ)‖², which has no unit: 0 is flat, and |bend| ≪ 1 hardly curved.
    level : float
        Level of the intervals.
    open_ends : tuple of two bools
    kind : str
        "numbers", "labels" or "dissimilarities".
    n_rows : int
        Rows that the likelihood has seen.
    metric : CurvedMetric or None
        The metric with this curvature; None for dissimilarities.

    Examples
    --------
    >>> import numpy as np
    >>> from cayleyklein import estimate_curvature
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> found = estimate_curvature(X, X[:, 0] * X[:, 1])
    >>> found.profile.curvature[found.profile.log_likelihood.argmax()] == found.curvature
    True
    """

    curvature: float
    interval: tuple[float, float]
    p_value: float
    profile: CurvatureProfile
    bend: float
    bend_interval: tuple[float, float]
    level: float
    open_ends: tuple[bool, bool]
    kind: str
    n_rows: int
    metric: CurvedMetric | None

    @property
    def verdict(self) -> str:
        """One sentence: curved, not excluded to be flat, or too few rows to tell."""
        if self.p_value <= 1 - self.level:
            side = "elliptic" if self.curvature > 0 else "hyperbolic"
            return f"curved, {side}, {p_text(self.p_value)}"
        if all(self.open_ends):
            return "too few rows to tell"
        return f"flat cannot be excluded, {p_text(self.p_value)}"

    def __repr__(self) -> str:
        low, high = self.interval
        return (
            f"CurvatureEstimate({self.verdict}: K = {self.curvature:.3g}, "
            f"{100 * self.level:g} % from {low:.3g} to {high:.3g}; bend {self.bend:.2g})"
        )


def p_text(p: float) -> str:
    return "p < 0.0001" if p < 1e-4 else f"p = {p:.2g}"


def estimate_curvature(
    X: ArrayLike,
    y: ArrayLike | None = None,
    *,
    level: float = 0.95,
    n_grid: int = 15,
    shape: Any = "isotropic",
    method: str = "likelihood",
    dissimilarity: str | None = None,
    n_components: int = 2,
    max_samples: int = 500,
    random_state: Any = None,
) -> CurvatureEstimate:
    """Estimate the curvature of the space of rows from their targets, with an interval.

    Targets are taken as values of a Gaussian process with covariance σ² exp(-d_K(x, x')/ℓ), plus
    noise; labels as the signs of one, with logistic noise. Its likelihood is a smooth function of K
    through 0. All other parameters are at their best for each K, so that twice the fall of the log
    likelihood from its maximum is χ² of one degree of freedom.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Rows; with ``dissimilarity="precomputed"`` their dissimilarities (n, n), without y.
    y : array-like of shape (n,), optional
        Targets: floats are numbers, everything else are labels.
    level : float, default=0.95
        Confidence level of the interval, and 1 minus the largest p-value that counts as curved.
    n_grid : int, default=15
        Curvatures of the profile, at least 5, to which a few near the maximum and the ends are
        added.
    shape : {"isotropic", "diagonal"}, metric or learner, default="isotropic"
        L of the metric. "isotropic": L = I, distances in the units of X. "diagonal": one scale a
        column, found with the other parameters at every K. A CurvedMetric gives its L and μ. A
        learner, such as ``CurvedLMNN(geometry="flat")``, learns them from one half of the rows,
        and the likelihood is that of the other half. Otherwise μ is the mean of the rows.
    method : {"likelihood", "bootstrap"}, default="likelihood"
        "bootstrap" replaces χ² by the deviances of targets drawn from the fitted process, at K = 0
        and at both ends of the interval: for few rows, in about 100 times the time.
    dissimilarity : "precomputed", optional
        Estimate the K in which a map of dissimilarities has the least stress, as by
        :class:`~cayleyklein.CurvedMDS`.
    n_components : int, default=2
        Dimension of that map.
    max_samples : int, default=500
        Most rows to use; of more, a random sample is taken, since time grows with their cube.
    random_state : int, RandomState or None, default=None
        Draws samples, halves of the rows, starts of maps and targets of the bootstrap.

    Returns
    -------
    CurvatureEstimate

    See Also
    --------
    cayleyklein.plotting.CurvatureDisplay : The profile and its interval.

    Examples
    --------
    Numbers that depend on the directions of rows alone, which a small sphere sees best:

    >>> import numpy as np
    >>> from cayleyklein import estimate_curvature
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(150, 2))
    >>> y = np.sin(3 * np.arctan2(X[:, 1], X[:, 0])) + 0.1 * rng.normal(size=150)
    >>> estimate_curvature(X, y).verdict
    'curved, elliptic, p < 0.0001'
    >>> estimate_curvature(X, rng.normal(size=150)).verdict
    'too few rows to tell'
    """
    level = checks.as_real(level, "level", "(0, 1)")
    n_grid = checks.as_count(n_grid, "n_grid")
    checks.expect(n_grid >= 5, "n_grid", n_grid, "at least 5 curvatures")
    most = checks.as_count(max_samples, "max_samples")
    checks.as_choice(method, "method", METHODS)
    with estimators.naming("random_state"):
        rng = check_random_state(random_state)
    if dissimilarity is not None:
        checks.as_choice(dissimilarity, "dissimilarity", ("precomputed",))
        checks.expect(y is None, "y", y, "None with dissimilarities, which have no targets")
        checks.expect(method == "likelihood", "method", method, '"likelihood" for dissimilarities')
        return _of_map(X, checks.as_count(n_components, "n_components"), level, n_grid, most, rng)
    rows, y = estimators.check_data(BaseEstimator(), X, y, ensure_min_samples=2)
    checks.refuse_huge(rows, "X")
    labels = not _holds_floats(y)
    targets = _labels(y) if labels else _numbers(y)
    if len(rows) > most:
        some = np.sort(rng.choice(len(rows), most, replace=False))
        rows, targets = rows[some], targets[some]
    rows, targets, factor, center = _shaped(rows, targets, labels, shape, rng)
    z = (rows - center) @ factor.T
    if not np.ptp(z, axis=0).any():
        raise InvalidInputError("X has the same coordinates in all rows: there is no distance.")
    diagonal = isinstance(shape, str) and shape == "diagonal"
    process = _process(targets, labels)
    parameters = len(process.bounds) + 3 + (z.shape[1] if diagonal else 0)
    if len(z) < parameters + SPARE_ROWS:
        raise InvalidInputError(
            f"X has {len(z)} rows to estimate {parameters} parameters from, but at least "
            f"{parameters + SPARE_ROWS} are needed."
        )
    if diagonal and not (z.std(axis=0) > 0).all():
        where = checks.list_indices(np.flatnonzero(z.std(axis=0) == 0))
        raise InvalidInputError(
            f"X is constant in columns {where}, which have no scale; drop them."
        )
    profile = ProcessProfile(process, z, diagonal)
    with estimators.few_threads(len(z), len(z)):
        profile.explore(0.0, (LEAST_U, LARGEST_U), n_grid)
        drawn = _draw_deviances(profile, level, rng) if method == "bootstrap" else {}
        found = _summary(profile, level, drawn, -1 / profile.radius**2, profile.mean_square)
        scores = np.array([profile.score(u) for u in profile.curve()[0]])
    scales = profile.factor(profile.points[profile.best()][1][len(process.bounds) :])
    return CurvatureEstimate(
        **found,
        profile=_known(profile, scores),
        kind="labels" if labels else "numbers",
        n_rows=len(z),
        metric=CurvedMetric(
            factor=scales[:, None] * factor, center=center, curvature=found["curvature"]
        ),
    )


def _holds_floats(y: Any) -> bool:
    kind = getattr(y, "dtype", None)
    return (np.asarray(y).dtype.kind if kind is None else np.dtype(kind).kind) == "f"


def _numbers(y: Any) -> Floats:
    numbers = estimators.check_numbers(y)
    if numbers.ndim != 1:
        raise InvalidInputError(f"y must have one number for each row; got shape {numbers.shape}.")
    return numbers


def _labels(y: Any) -> Floats:
    classes, codes = estimators.encode_classes(y)
    if len(classes) > MOST_CLASSES:
        raise InvalidInputError(
            f"y has {len(classes)} classes, but expected at most {MOST_CLASSES}; if these are "
            f"numbers, pass y.astype(float)."
        )
    return codes.astype(float)


def _shaped(
    rows: Floats, targets: Floats, labels: bool, shape: Any, rng: np.random.RandomState
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return rows and targets for the likelihood, L and μ."""
    d = rows.shape[1]
    if isinstance(shape, str) and shape in SHAPES:
        return rows, targets, np.eye(d), rows.mean(axis=0)
    metric = shape
    if hasattr(shape, "fit") and not isinstance(shape, type):
        with estimators.naming("shape"):
            half = train_test_split(
                rows, targets, test_size=0.5, random_state=rng, stratify=targets if labels else None
            )
        taught, rows, known, targets = half
        metric = clone(shape).fit(taught, known.astype(int) if labels else known).metric_
    if not isinstance(metric, CurvedMetric):
        known_shapes = "'isotropic', 'diagonal', a CurvedMetric, or a learner of one"
        raise InvalidInputError(f"Got shape={shape!r}, but expected {known_shapes}.")
    if metric.dimension != d:
        raise InvalidInputError(f"shape measures {metric.dimension} columns, but X has {d}.")
    return rows, targets, metric.factor, metric.center


def _process(targets: Floats, labels: bool) -> NumberProcess | LabelProcess:
    if not np.ptp(targets) > 0:
        what = "one class" if labels else "one value"
        raise InvalidInputError(f"y has {what} only: it says nothing about distances.")
    if labels:
        codes = np.unique(targets, return_inverse=True)[1]
        return LabelProcess.of(codes, int(codes.max()) + 1)
    away = targets - targets.mean()
    return NumberProcess((away / np.abs(away).max())[:, None])


def _draw_deviances(
    profile: ProcessProfile, level: float, rng: np.random.RandomState
) -> dict[float, Floats]:
    """Return deviances of drawn targets at K = 0 and at the ends that χ² gives."""
    limit = float(stats.chi2.ppf(level, 1))
    ends = [profile.crossing(lambda _: limit, side) for side in (-1, 1)]
    low, high = LEAST_U if ends[0] is None else ends[0], LARGEST_U if ends[1] is None else ends[1]
    return {u: profile.draws(u, N_DRAWS, rng) for u in sorted({low, 0.0, high})}


def _summary(
    profile: Profile, level: float, drawn: dict[float, Floats], least: float, size: float
) -> dict[str, Any]:
    """Return the maximum, its interval and the p-value; `drawn` deviances or none for χ²."""
    limits = [float(np.quantile(found, level, method="higher")) for found in drawn.values()]
    limits = limits or [float(stats.chi2.ppf(level, 1))]
    places = list(drawn) or [0.0]

    def allowed(u: float) -> float:
        return float(np.interp(u, places, limits))

    at_flat = profile.deviance(0.0)
    p = float(stats.chi2.sf(at_flat, 1))
    if drawn:
        p = float((1 + (drawn[0.0] >= at_flat).sum()) / (1 + N_DRAWS))
    low, high = (profile.crossing(allowed, side) for side in (-1, 1))
    interval = (
        least if low is None else profile.curvature(low),
        np.inf if high is None else profile.curvature(high),
    )
    K = profile.curvature(profile.best())
    return {
        "curvature": K, "interval": interval, "open_ends": (low is None, high is None),
        "p_value": p, "level": level,
        "bend": K * size, "bend_interval": (interval[0] * size, interval[1] * size),
    }  # fmt: skip


def _known(profile: Profile, scores: Floats) -> CurvatureProfile:
    u, y = profile.curve()
    return CurvatureProfile(np.array([profile.curvature(at) for at in u]), y, scores)


def _of_map(
    X: Any, r: int, level: float, n_grid: int, most: int, rng: np.random.RandomState
) -> CurvatureEstimate:
    mds = CurvedMDS(r, metric="precomputed", random_state=rng)
    D = checks.as_points(np.where(np.isnan(X), 0.0, X), "X", ndim=2)  # CurvedMDS knows NaN
    D = np.where(np.isnan(X), np.nan, D)
    if len(D) > most and D.shape[0] == D.shape[1]:
        some = np.sort(rng.choice(len(D), most, replace=False))
        D = D[np.ix_(some, some)]
    with warnings.catch_warnings():  # the verdict says it
        warnings.filterwarnings("ignore", "The curvature is undetermined")
        warnings.filterwarnings("ignore", category=ConvergenceWarning)
        mds.fit(D)
    stress = StressProfile(mds)
    if stress.freedom < 1:
        raise InvalidInputError(
            f"X has {len(D)} rows, which a map in {r} dimensions always fits; pass more rows, or a "
            f"smaller n_components."
        )
    variance, inflation = stress.uncertainty()
    profile = StressCurve(stress, inflation)
    low, high = stress.bounds
    reach = REACH * min(float(np.sqrt(variance)), high - low)
    reach = max(reach, 1e-6 * (high - low))
    K = float(np.clip(stress.K, low, high))
    with estimators.few_threads(len(D), len(D)):
        profile.explore(K, (max(K - reach, low), min(K + reach, high)), n_grid)
        profile.at(0.0)
        size = float(np.square(stress.v).sum(axis=1).mean())
        found = _summary(profile, level, {}, -np.inf, size)
    nothing = np.full(len(profile.points), np.nan)
    kind = "dissimilarities"
    return CurvatureEstimate(
        **found, profile=_known(profile, nothing), kind=kind, n_rows=len(D), metric=None
    )
