"""The curvature that rows and their targets, or dissimilarities, support."""

import warnings
from dataclasses import dataclass, replace
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
from cayleyklein.curvature import _profiles as profiles
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.manifold import CurvedMDS, scaling
from cayleyklein.metrics import CurvedMetric

MOST_LABELS = 30
LEAST_SPREAD = 1e-140  # of a column: squares of smaller numbers underflow
LEAST_LENGTH = 1e-6  # of an axis of a learned L, relative to the longest, that counts
SPARE_ROWS = 5  # rows needed beyond the number of parameters
REACH = 4.0  # standard errors of K that the profile of a map's stress reaches on either side


class CurvatureProfile(NamedTuple):
    """Log likelihood and score at curvatures, all ndarrays of shape (m,); `score` may be NaN.

    >>> CurvatureProfile([0.0, 1.0], [-3.0, -2.5], [0.7, 0.8]).curvature
    [0.0, 1.0]
    """

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
        K·mean‖L(x - μ)‖², which has no unit: 0 is flat, and |bend| ≪ 1 hardly curved. The interval
        has the bends of all K in `interval`; an open lower end is -1 where scales were found.
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
    >>> top = found.profile.log_likelihood.argmax()
    >>> bool(found.profile.curvature[top] == found.curvature)
    True
    >>> found.open_ends, found.kind, found.n_rows, found.metric.geometry
    ((True, False), 'numbers', 60, 'hyperbolic')
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
        p = "p < 0.0001" if self.p_value < 1e-4 else f"p = {self.p_value:.2g}"
        if self.p_value <= 1 - self.level:
            return f"curved, {'elliptic' if self.curvature > 0 else 'hyperbolic'}, {p}"
        return "too few rows to tell" if all(self.open_ends) else f"flat cannot be excluded, {p}"

    def __repr__(self) -> str:
        low, high = self.interval
        reach = f"{100 * self.level:g} % from {low:.3g} to {high:.3g}; bend {self.bend:.2g}"
        return f"CurvatureEstimate({self.verdict}: K = {self.curvature:.3g}, {reach})"


def estimate_curvature(
    X: ArrayLike, y: ArrayLike | None = None, *, level: float = 0.95, n_grid: int = 15,
    shape: Any = "isotropic", dissimilarity: str | None = None, n_components: int = 2,
    max_samples: int = 500, random_state: Any = None,
) -> CurvatureEstimate:  # fmt: skip
    """Estimate the curvature of the space of rows from their targets, with an interval.

    Targets are taken as values of a Gaussian process with covariance σ² exp(-d_K(x, x')/ℓ), plus
    noise; labels as the signs of one. Its likelihood is a smooth function of K through 0. All other
    parameters are at their best for each K, so that twice the fall of the log likelihood from its
    maximum is χ² of one degree of freedom. :class:`cayleyklein.plotting.CurvatureDisplay` draws it.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Rows; with ``dissimilarity="precomputed"`` their dissimilarities (n, n), without y.
    y : array-like of shape (n,), optional
        Targets: floats are numbers, everything else are labels.
    level : float, default=0.95
        Confidence level of the interval, and 1 minus the largest p-value that counts as curved.
    n_grid : int, default=15
        Curvatures of the profile, at least 5; a few near the maximum and the ends are added.
    shape : {"isotropic", "diagonal"}, metric or learner, default="isotropic"
        L of the metric. "isotropic": L = I, distances in the units of X. "diagonal": one scale a
        column, found with the other parameters at every K. A CurvedMetric gives its L and μ. A
        learner, such as ``CurvedLMNN(geometry="flat")``, learns axes from one half of the rows; the
        likelihood is that of the other half, with one scale an axis. Found scales keep the distance
        of the farthest row from μ, the mean of the rows unless a curved metric has its own.
    dissimilarity : "precomputed", optional
        Estimate the K of least stress of a map, as by :class:`~cayleyklein.CurvedMDS`.
    n_components : int, default=2
        Dimension of that map.
    max_samples : int, default=500
        Most rows to use; of more, a random sample is taken, since time grows with their cube.
    random_state : int, RandomState or None, default=None
        Draws samples, halves of the rows and starts of maps.

    Examples
    --------
    Numbers that depend on the directions of rows alone, which a small sphere sees best:

    >>> import numpy as np
    >>> from cayleyklein import estimate_curvature
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(150, 2))
    >>> y = np.sin(3 * np.arctan2(X[:, 1], X[:, 0])) + 0.1 * rng.normal(size=150)
    >>> estimate_curvature(X, y).verdict, estimate_curvature(X, rng.normal(size=150)).verdict
    ('curved, elliptic, p < 0.0001', 'too few rows to tell')
    """
    level = checks.as_real(level, "level", "(0, 1)")
    n_grid, most = checks.as_count(n_grid, "n_grid"), checks.as_count(max_samples, "max_samples")
    checks.expect(n_grid >= 5, "n_grid", n_grid, "at least 5 curvatures")
    with estimators.naming("random_state"):
        rng = check_random_state(random_state)
    if dissimilarity is not None:
        checks.as_choice(dissimilarity, "dissimilarity", ("precomputed",))
        checks.expect(y is None, "y", y, "None with dissimilarities, which have no targets")
        return _of_map(X, checks.as_count(n_components, "n_components"), level, n_grid, most, rng)
    rows, y = estimators.check_data(BaseEstimator(), X, y, ensure_min_samples=2)
    checks.refuse_huge(rows, "X")
    labels, targets = _read_targets(y)
    if len(rows) > most:
        some = np.sort(rng.choice(len(rows), most, replace=False))
        rows, targets = rows[some], targets[some]
    rows, targets, factor, center, scales = _shaped(rows, targets, labels, shape, rng)
    z = (rows - center) @ factor.T
    spread, one = np.ptp(z, axis=0) > LEAST_SPREAD, "class" if labels else "value"
    if not (spread.all() if scales.size else spread.any()):
        where = f"columns {checks.list_indices(np.flatnonzero(~spread))}"
        raise InvalidInputError(f"X is constant in {where}, which have no scale; drop them.")
    if not np.ptp(targets) > 0:
        raise InvalidInputError(f"y has one {one} only, which says nothing about distances.")
    process: profiles.NumberProcess | profiles.LabelProcess
    if labels:
        process = profiles.LabelProcess(targets)
    else:
        away = targets - targets.mean()
        process = profiles.NumberProcess((away / np.abs(away).max())[:, None])
    needed = len(process.bounds) + 3 + scales.shape[1] + SPARE_ROWS
    if len(z) < needed:
        few = f"X has {len(z)} rows, but at least {needed} are needed"
        raise InvalidInputError(f"{few} for as many parameters.")
    model = profiles.ProcessModel(process, z, scales)
    profile = profiles.Profile(model.search)
    with estimators.few_threads(len(z), len(z)):
        profile.explore(0.0, profiles.ENDS, n_grid)
        found = _estimate(profile, level, model.measure, model.least)
        scores = [model.score(u, profile.nearest(u)) for u in sorted(profile.points)]
    factor = model.factor(profile.nearest(profile.best())[len(process.bounds) :])[:, None] * factor
    metric = CurvedMetric(factor=factor, center=center, curvature=found.curvature)
    curve = found.profile._replace(score=np.array(scores))
    kind = "labels" if labels else "numbers"
    return replace(found, profile=curve, kind=kind, n_rows=len(z), metric=metric)


def _read_targets(y: Any) -> tuple[bool, Floats]:
    """Return whether targets are labels, and numbers (n,): the targets or codes of the labels."""
    with estimators.naming("y"):
        given = np.asarray(y)
    if given.dtype.kind == "f":
        if given.ndim != 1:
            raise InvalidInputError(f"y must have a number for each row; got shape {given.shape}.")
        return False, estimators.check_numbers(y)
    classes, codes = estimators.encode_classes(y)
    if len(classes) > MOST_LABELS:
        many = f"y has {len(classes)} classes, but expected at most {MOST_LABELS}"
        raise InvalidInputError(f"{many}; if these are numbers, pass y.astype(float).")
    return True, codes.astype(float)


def _shaped(
    rows: Floats, targets: Floats, labels: bool, shape: Any, rng: np.random.RandomState
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Return rows and targets for the likelihood, L, μ, and log scales of z to start from.

    A learner gives the axes of its L, and their lengths as a start only: they were fitted at a K of
    its own, and would decide which K are possible.
    """
    d, center, fixed = rows.shape[1], rows.mean(axis=0), np.empty((1, 0))
    axes, lengths, metric = np.eye(d), np.ones(d), shape
    if isinstance(shape, str) and shape == "isotropic":
        return rows, targets, axes, center, fixed
    learns = hasattr(shape, "fit") and not isinstance(shape, type)
    if learns:
        with estimators.naming("shape"):
            taught, rows, known, targets = train_test_split(
                rows, targets, test_size=0.5, random_state=rng, stratify=targets if labels else None
            )
        metric = clone(shape).fit(taught, known.astype(int) if labels else known).metric_
    if not (isinstance(shape, str) and shape == "diagonal"):
        expected = f"'isotropic', 'diagonal', a CurvedMetric of {d} columns, or a learner of one"
        fits = isinstance(metric, CurvedMetric) and metric.dimension == d
        checks.expect(fits, "shape", shape, expected)
        if not learns:
            return rows, targets, metric.factor, metric.center, fixed
        _, lengths, axes = np.linalg.svd(metric.factor, full_matrices=False)
        long = lengths > LEAST_LENGTH * lengths[0]
        lengths, axes = lengths[long], axes[long]
        center = metric.center if metric.curvature else center
    z = (rows - center) @ axes.T
    widths = np.where(np.ptp(z, axis=0) > LEAST_SPREAD, z.std(axis=0), 1.0)
    before, after = (float(np.linalg.norm(rows, axis=1).max()) for rows in (z, z / widths))
    learned = np.log(lengths * widths)
    learned = np.maximum(learned - learned.max(), profiles.SCALES[0])
    scales = np.stack([np.zeros(len(axes)), learned])[: 1 + learns]
    return rows, targets, before / (after or 1.0) / widths[:, None] * axes, center, scales


def _estimate(
    profile: profiles.Profile, level: float, measure: profiles.Measure, least: tuple[float, float]
) -> CurvatureEstimate:
    """Return the maximum, its interval and p-value, by χ²; an open lower end is `least`."""

    def measured(u: float) -> tuple[float, float]:
        return measure(u, profile.nearest(u))

    limit = float(stats.chi2.ppf(level, 1))
    p = float(stats.chi2.sf(profile.deviance(0.0), 1))
    ends = [profile.crossing(limit, side) for side in (-1, 1)]
    (u, y), top = profile.curve(), profile.best()
    curve = CurvatureProfile(np.array([measured(at)[0] for at in u]), y, np.full(len(u), np.nan))
    low, high = (end if u is None else u for u, end in zip(ends, (-np.inf, np.inf), strict=True))
    # scales differ from K to K, so that the bend may have its ends anywhere in the interval
    inside = np.array([measured(at) for at in {*u, *ends} - {None} if low <= at <= high])
    (K_low, bend_low), (K_high, bend_high) = inside.min(axis=0), inside.max(axis=0)
    if ends[0] is None:
        K_low, bend_low = least
    if ends[1] is None:
        K_high = bend_high = np.inf
    return CurvatureEstimate(
        measured(top)[0], (float(K_low), float(K_high)), p, curve, measured(top)[1],
        (float(bend_low), float(bend_high)), level, (ends[0] is None, ends[1] is None),
        "dissimilarities", 0, None,
    )  # fmt: skip


def _of_map(
    X: Any, r: int, level: float, n_grid: int, most: int, rng: np.random.RandomState
) -> CurvatureEstimate:
    mds = CurvedMDS(r, metric="precomputed", random_state=rng)
    n = len(X) if hasattr(X, "__len__") else 0
    if n > most and np.shape(X) == (n, n):
        some = np.sort(rng.choice(n, most, replace=False))
        X = np.asarray(X)[np.ix_(some, some)]
    with warnings.catch_warnings():  # the verdict says it
        warnings.filterwarnings("ignore", "The curvature is undetermined")
        warnings.filterwarnings("ignore", category=ConvergenceWarning)
        stress = scaling.StressProfile(mds.fit(X))
    if stress.freedom < 1:
        few = f"X has {len(stress.v)} rows, which a map in {r} dimensions always fits"
        raise InvalidInputError(f"{few}; pass more, or a smaller n_components.")
    variance, inflation = stress.uncertainty()
    low, high = stress.bounds
    reach = (high - low) * float(np.clip(REACH * np.sqrt(variance) / (high - low), 1e-6, 1.0))
    K = float(np.clip(stress.K, low, high))

    def search(K: float, near: Floats | None) -> tuple[float, Floats]:
        found, v = stress.log_likelihood(K, stress.v if near is None else near)
        return found / inflation, v

    profile, square = profiles.Profile(search), float(np.square(stress.v).sum(axis=1).mean())
    with estimators.few_threads(len(stress.v), len(stress.v)):
        profile.explore(K, (max(K - reach, low), min(K + reach, high)), n_grid)
        found = _estimate(profile, level, lambda K, _: (K, K * square), (-np.inf, -np.inf))
    return replace(found, n_rows=len(stress.v))
