"""The curvature that rows and their targets, or dissimilarities, support."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from cayleyklein import _estimators as estimators
from cayleyklein import _validation as checks
from cayleyklein._notebook import NotebookCard
from cayleyklein._typing import Bools, Floats
from cayleyklein.curvature import dissimilarities, frames, limits, profiles, verdicts
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.metrics import CurvedMetric


class CurvatureProfile(NamedTuple):
    """Log likelihood and score at m curvatures.

    >>> CurvatureProfile([0.0, 1.0], [-3.0, -2.5], [0.7, 0.8]).curvature
    [0.0, 1.0]
    """

    curvature: Floats  #: Curvatures, shape (m,).
    log_likelihood: Floats  #: Log likelihood at each, all other parameters at their best.
    score: Floats  #: Score of each row predicted from the others, at each; may be NaN.


@dataclass(frozen=True, eq=False, repr=False)
class CurvatureEstimate(NotebookCard):
    """Result of :func:`estimate_curvature`.

    Parameters
    ----------
    verdict : str
        One of four: "curved" (no flat model does as well), "curved in these coordinates" (a flat
        model that rescales the distances from the middle may do as well), "no evidence" (a flat
        model does about as well), and "too few rows, or nothing predicts y".
    sentence : str
        The verdict in a sentence, with its sign and the closest flat model.
    geometry : str
        "elliptic" or "hyperbolic" where the verdict is curved in either strength; otherwise "flat".
    rival : str
        The flat model that comes closest to the best curved space.
    margins : Margins
        By how much the best curved space is ahead of the flat models, or behind.
    curvature : float
        K with the largest likelihood in the process that `profile` is about, in units of one over a
        squared distance.
    interval : tuple of two floats
        Confidence interval of K, if targets are such a process: the verdict does not rest on it. An
        end without evidence against what is beyond it is the end of the domain below (-inf for
        dissimilarities), and inf above; `open_ends` is True there.
    profile : CurvatureProfile
        Log likelihood over K, all other parameters at their best, and a score of each row predicted
        from the others: R² for numbers, accuracy for labels, NaN for dissimilarities.
    bend, bend_interval : float, tuple of two floats
        K·mean‖L(x - μ)‖², which has no unit: 0 is flat, and |bend| ≪ 1 hardly curved. The interval
        has the bends of all K in `interval`; an open lower end is -1 where scales were found.
    level : float
        Level of the intervals.
    open_ends : tuple of two bools
        Whether the data leave the lower and the upper end of the interval open.
    kind : str
        "numbers", "labels" or "dissimilarities".
    n_rows : int
        Number of rows that the verdict rests on.
    metric : CurvedMetric or None
        The metric with this curvature; None for dissimilarities.

    Examples
    --------
    A hyperplane is flat, though the process of the profile takes it for curved:

    >>> import numpy as np
    >>> from cayleyklein import estimate_curvature
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> found = estimate_curvature(X, X[:, 0] > 0, random_state=0)
    >>> found.verdict, found.geometry
    ('no evidence', 'flat')
    >>> found.margins.in_place.nats < 0
    True
    """

    verdict: str
    sentence: str
    geometry: str
    rival: str
    margins: "verdicts.Margins"
    curvature: float
    interval: tuple[float, float]
    profile: CurvatureProfile
    bend: float
    bend_interval: tuple[float, float]
    level: float
    open_ends: tuple[bool, bool]
    kind: str
    n_rows: int
    metric: CurvedMetric | None

    @property
    def headline(self) -> str:
        """The verdict, and the geometry if it is curved."""
        return self.verdict + (f", {self.geometry}" if self.geometry != "flat" else "")

    def __repr__(self) -> str:
        low, high = self.interval
        reach = f"{100 * self.level:g} % from {low:.3g} to {high:.3g}; bend {self.bend:.2g}"
        return f"CurvatureEstimate({self.headline}: K = {self.curvature:.3g}, {reach})"


def estimate_curvature(
    X: ArrayLike,
    y: ArrayLike | None = None,
    *,
    level: float = 0.95,
    n_grid: int = 15,
    shape: Any = "auto",
    dissimilarity: str | None = None,
    n_components: int = 2,
    max_samples: int = 1000,
    random_state: Any = None,
) -> CurvatureEstimate:
    """Test whether rows are curved, judged by their targets, and estimate the curvature.

    Curved means that no flat model predicts the targets as well as a sphere or a hyperbolic space.
    Some twenty kinds of flat models are asked: smooth and rough ones, columns, other axes or
    distances from the middle rescaled, linear and quadratic models, trees. They are compared by
    marginal likelihood, and by errors and log densities of held-out rows. :doc:`/curvature` says
    how often that is right.

    The interval of K answers another question. It assumes that targets are values of a Gaussian
    process with covariance exp(-d_K(x, x')/ℓ), a linear trend and noise (labels: the signs of such
    values), and says which K are then possible. :class:`cayleyklein.plotting.CurvatureDisplay`
    draws it.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Rows; with ``dissimilarity="precomputed"`` their dissimilarities (n, n), without y.
    y : array-like of shape (n,), optional
        Targets: floats are numbers, everything else are labels.
    level : float, default=0.95
        Confidence level of the interval.
    n_grid : int, default=15
        Number of curvatures of the profile, at least 5; a few near the maximum and the ends are
        added.
    shape : {"auto", "isotropic", "diagonal"}, metric or learner, default="auto"
        L of the metric, and so the unit of K. "auto" compares columns as they are given, columns
        of equal width and uncorrelated columns, and takes what fits the targets best in flat space.
        "isotropic": L = I. "diagonal": one scale a column, which the profile finds at every K. A
        CurvedMetric gives its L and μ. A learner, such as ``CurvedLMNN(geometry="flat")``, learns
        axes from one half of the rows; the other half is judged, and the profile finds one scale an
        axis. Scales keep the distance of the farthest row from μ: the mean of the rows,
        or the centre of the smallest ball around them if the verdict is hyperbolic, unless a curved
        metric has its own.
    dissimilarity : "precomputed", optional
        Compare maps of dissimilarities as :class:`~cayleyklein.CurvedMDS` makes them.
    n_components : int, default=2
        Dimension of that map.
    max_samples : int, default=1000
        Maximum number of rows to use. Larger tables are sampled, keeping the shares of the classes,
        or of small and large numbers. The profile over K uses at most 300 of them.
    random_state : int, RandomState or None, default=None
        Seed of the samples, folds, trees, halves of the rows and starts of maps.

    Examples
    --------
    Numbers that vary evenly on a hemisphere, which is seen from its centre as a plane:

    >>> import numpy as np
    >>> from cayleyklein import CurvedMetric, estimate_curvature
    >>> rng = np.random.default_rng(1)
    >>> angle, turn = 1.45 * np.sqrt(rng.uniform(size=300)), rng.uniform(0, 2 * np.pi, size=300)
    >>> X = np.tan(angle)[:, None] * np.column_stack([np.cos(turn), np.sin(turn)])
    >>> D = CurvedMetric.euclidean(2, curvature=1.0).pairwise(X)
    >>> y = rng.multivariate_normal(np.zeros(300), np.exp(-D) + 0.01 * np.eye(300))
    >>> found = estimate_curvature(X, y, random_state=0)
    >>> found.verdict, found.geometry
    ('curved in these coordinates', 'elliptic')
    >>> estimate_curvature(X, rng.normal(size=300), random_state=0).verdict
    'too few rows, or nothing predicts y'
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
    if y is None:
        raise InvalidInputError(
            "y is missing: pass a number or a label for each row, or dissimilarity='precomputed' "
            "if X holds dissimilarities."
        )
    frame, labels, verdict = judge_rows(X, y, shape, most, rng)
    if verdict.geometry == "hyperbolic":
        frame = frames.about_ball(frame)
    with estimators.few_threads(len(frame.rows), len(frame.rows)):
        metric, found = _profile_of_rows(frame, labels, verdict.slope, level, n_grid, rng)
    return CurvatureEstimate(
        verdict=verdict.word,
        sentence=verdict.sentence,
        geometry=verdict.geometry,
        rival=verdict.rescaled.rival,
        margins=verdicts.Margins(verdict.in_place, verdict.rescaled),
        kind="labels" if labels else "numbers",
        n_rows=len(frame.rows),
        metric=metric,
        **found,
    )


def judge_rows(
    X: ArrayLike, y: ArrayLike, shape: Any, most: int, rng: np.random.RandomState
) -> tuple[frames.Frame, bool, verdicts.Verdict]:
    """Return the coordinates of rows, whether targets are labels, and the verdict on them."""
    rows, y = estimators.check_data(BaseEstimator(), X, y, ensure_min_samples=2)
    checks.refuse_huge(rows, "X")
    labels, targets = _read_targets(y)
    rows, targets = _in_order(rows, targets, labels)
    _check_spread(np.ptp(rows, axis=0) > frames.LEAST_SPREAD, every=False)
    if not np.ptp(targets) > 0:
        one = "class" if labels else "value"
        raise InvalidInputError(f"y has one {one} only, which says nothing about distances.")
    if len(rows) > most:
        some = verdicts.stratified(_columns(targets, labels), labels, most, rng)
        rows, targets = rows[some], targets[some]
    with estimators.few_threads(len(rows), len(rows)):
        frame = frames.find(rows, targets, _columns(targets, labels), labels, shape, rng)
        z, scales = frame.z, frame.log_scales
        _check_spread(np.ptp(z, axis=0) > frames.LEAST_SPREAD, every=bool(scales.size))
        bounds = (profiles.LabelProcess if labels else profiles.NumberProcess).bounds
        # parameters: those searched, the mean, trend and noise, and scales; and a few rows to spare
        needed = len(bounds) + 3 + scales.shape[1] + 5
        if len(z) < needed:
            few = f"X has {len(z)} rows, but at least {needed} are needed"
            raise InvalidInputError(f"{few} for as many parameters.")
        z = z * np.exp(scales[-1]) if scales.size else z
        Y = _columns(frame.targets, labels)
        verdict = verdicts.judge(z - z.mean(axis=0), frame.rows, Y, labels, rng)
    return frame, labels, verdict


def _read_targets(y: Any) -> tuple[bool, Floats]:
    """Return whether targets are labels, and numbers (n,): the targets or codes of the labels."""
    with estimators.naming("y"):
        given = np.asarray(y)
    if given.dtype.kind == "f":
        if given.ndim != 1:
            raise InvalidInputError(f"y must have a number for each row; got shape {given.shape}.")
        return False, estimators.check_numbers(y)
    classes, codes = estimators.encode_classes(y)
    most = 30
    if len(classes) > most:
        many = f"y has {len(classes)} classes, but expected at most {most}"
        raise InvalidInputError(f"{many}; if these are numbers, pass y.astype(float).")
    return True, codes.astype(float)


def _in_order(rows: Floats, targets: Floats, labels: bool) -> tuple[Floats, Floats]:
    """Sort rows by their values; number classes in that order, whatever their names."""
    order = np.lexsort((targets, *rows.T[::-1]))
    rows, targets = rows[order], targets[order]
    if labels:
        _, first, codes = np.unique(targets, return_index=True, return_inverse=True)
        targets = np.argsort(np.argsort(first))[codes.ravel()].astype(float)
    return rows, targets


def _columns(targets: Floats, labels: bool) -> Floats:
    """Return targets (n, t) with mean 0: numbers, a column for two classes, or one for each."""
    if labels:
        columns = (targets[:, None] == np.unique(targets)).astype(float)
        columns = columns[:, 1:] if columns.shape[1] == 2 else columns
    else:
        away = targets - targets.mean()
        columns = (away / np.abs(away).max())[:, None]
    return np.asarray(columns - columns.mean(axis=0))


def _check_spread(varies: Bools, every: bool) -> None:
    if not (varies.all() if every else varies.any()):
        where = f"columns {checks.list_indices(np.flatnonzero(~varies))}"
        raise InvalidInputError(f"X is constant in {where}, which have no scale; drop them.")


def _profile_of_rows(
    frame: frames.Frame,
    labels: bool,
    slope: float,
    level: float,
    n_grid: int,
    rng: np.random.RandomState,
) -> tuple[CurvedMetric, dict[str, Any]]:
    """Return the metric of the best K, and the profile over K with its intervals."""
    z, targets = frame.z, frame.targets
    if len(z) > limits.PROFILED:
        some = verdicts.stratified(_columns(targets, labels), labels, limits.PROFILED, rng)
        z, targets = z[some], targets[some]
    away = z - z.mean(axis=0)
    trend = slope * away @ away.T / np.square(away).sum(axis=1).mean()
    process: profiles.NumberProcess | profiles.LabelProcess
    if labels:
        process = profiles.LabelProcess(targets, trend)
    else:
        process = profiles.NumberProcess(_columns(targets, labels), trend)
    model = profiles.ProcessModel(process, z, frame.log_scales)
    profile = profiles.Profile(model.search)
    profile.explore(0.0, (-0.999, 0.97), n_grid)  # the ends, along u, are not varied
    found = _summary(profile, level, model.measure, model.least)
    scores = [model.score(u, profile.nearest(u)) for u in sorted(profile.points)]
    found["profile"] = found["profile"]._replace(score=np.array(scores))
    best = profile.nearest(profile.best())[len(process.bounds) :]
    factor = model.factor(best)[:, None] * frame.factor
    return CurvedMetric(factor=factor, center=frame.center, curvature=found["curvature"]), found


def _summary(
    profile: profiles.Profile, level: float, measure: profiles.Measure, least: tuple[float, float]
) -> dict[str, Any]:
    """Return the maximum and its interval, by χ²; an open lower end is `least`."""

    def measured(u: float) -> tuple[float, float]:
        return measure(u, profile.nearest(u))

    limit = float(stats.chi2.ppf(level, 1))
    ends = [profile.crossing(limit, side) for side in (-1, 1)]
    (u, y), top = profile.curve(), profile.best()
    curve = CurvatureProfile(np.array([measured(at)[0] for at in u]), y, np.full(len(u), np.nan))
    low = -np.inf if ends[0] is None else ends[0]
    high = np.inf if ends[1] is None else ends[1]
    # scales differ from K to K, so that the bend may have its ends anywhere in the interval
    inside = np.array([measured(at) for at in {*u, *ends} - {None} if low <= at <= high])
    (K_low, bend_low), (K_high, bend_high) = inside.min(axis=0), inside.max(axis=0)
    if ends[0] is None:
        K_low, bend_low = least
    if ends[1] is None:
        K_high = bend_high = np.inf
    return {
        "curvature": measured(top)[0],
        "interval": (float(K_low), float(K_high)),
        "profile": curve,
        "bend": measured(top)[1],
        "bend_interval": (float(bend_low), float(bend_high)),
        "level": level,
        "open_ends": (ends[0] is None, ends[1] is None),
    }


def _of_map(
    X: Any, r: int, level: float, n_grid: int, most: int, rng: np.random.RandomState
) -> CurvatureEstimate:
    n = len(X) if hasattr(X, "__len__") else 0
    if n > most and np.shape(X) == (n, n):
        some = np.sort(rng.choice(n, most, replace=False))
        X = np.asarray(X)[np.ix_(some, some)]
    stress, profile, middle, ends = dissimilarities.profile_of(X, r, rng)
    square = float(np.square(stress.v).sum(axis=1).mean())
    with estimators.few_threads(len(stress.v), len(stress.v)):
        profile.explore(middle, ends, n_grid)

        def measure(K: float, v: Floats) -> tuple[float, float]:
            return K, K * square

        found = _summary(profile, level, measure, (-np.inf, -np.inf))
        D = np.where(stress.known + np.eye(len(stress.v)) > 0, stress.delta, np.nan)
        verdict = dissimilarities.judge_maps(D, r, found["interval"], rng)
    return CurvatureEstimate(
        verdict=verdict.word,
        sentence=verdict.sentence,
        geometry=verdict.geometry,
        rival=verdict.margin.rival,
        margins=verdicts.Margins(verdict.margin, verdict.margin),
        kind="dissimilarities",
        n_rows=len(stress.v),
        metric=None,
        **found,
    )
