"""The coordinates in which rows are compared: z = L(x - μ), for each `shape` a user may ask for."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import train_test_split

from cayleyklein import _estimators as estimators
from cayleyklein import _validation as checks
from cayleyklein._typing import Floats
from cayleyklein.curvature import limits, profiles, rivals
from cayleyklein.curvature.processes import START, Covariance, Family, Sample, exponential, gaussian
from cayleyklein.curvature.verdicts import stratified
from cayleyklein.metrics import CurvedMetric

LEAST_SPREAD = 1e-140  # of a column: squares of smaller numbers underflow
LEAST_LENGTH = 1e-6  # of an axis of a learned L, relative to the longest, that counts


class Frame(NamedTuple):
    """Rows (n, d) and targets (n,) that may be judged, L and μ, and scales to start from.

    `log_scales` (s, r) are logarithms of scales of the columns of z that the profile searches from;
    r is 0 where L is known.
    """

    rows: Floats
    targets: Floats
    factor: Floats
    center: Floats
    log_scales: Floats

    @property
    def z(self) -> Floats:
        return np.asarray((self.rows - self.center) @ self.factor.T)


def about_ball(frame: Frame) -> Frame:
    """Return the frame with μ at the centre of the smallest ball around the rows.

    That leaves room for the strongest hyperbolic curvature; about their mean, the farthest rows
    would be outside the domain sooner. A given μ is kept.
    """
    if not np.array_equal(frame.center, frame.rows.mean(axis=0)):
        return frame
    away, _ = rivals.smallest_ball(frame.z)
    step = np.linalg.lstsq(frame.factor, away)[0]
    return frame._replace(center=frame.center + step)


def find(
    rows: Floats, targets: Floats, Y: Floats, labels: bool, shape: Any, rng: np.random.RandomState
) -> Frame:
    """Return the frame that a `shape` asks for; Y (n, t) are the targets as columns."""
    center = rows.mean(axis=0)
    known = np.empty((1, 0))
    expected = (
        f"'auto', 'isotropic', 'diagonal', a CurvedMetric of {rows.shape[1]} columns, "
        "or a learner of one"
    )
    if isinstance(shape, str):
        checks.expect(shape in ("auto", "isotropic", "diagonal"), "shape", shape, expected)
        if shape == "diagonal":
            scales = np.zeros((1, rows.shape[1]))
            return Frame(rows, targets, standardising(rows), center, scales)
        factor = np.eye(rows.shape[1])
        if shape == "auto":
            factor = best_units(rows, Y, labels, rng)
        return Frame(rows, targets, factor, center, known)
    if hasattr(shape, "fit") and not isinstance(shape, type):
        return learned(rows, targets, labels, shape, expected, rng)
    check_metric(shape, rows, shape, expected)
    return Frame(rows, targets, shape.factor, shape.center, known)


def check_metric(metric: Any, rows: Floats, shape: Any, expected: str) -> None:
    fits = isinstance(metric, CurvedMetric) and metric.dimension == rows.shape[1]
    checks.expect(fits, "shape", shape, expected)


def standardising(rows: Floats) -> Floats:
    """Return the diagonal L that makes columns equally wide, and keeps the farthest row's distance.

    Columns that do not vary stay as they are.
    """
    widths = np.where(np.ptp(rows, axis=0) > LEAST_SPREAD, rows.std(axis=0), 1.0)
    return with_reach(rows, np.diag(1 / widths))


def with_reach(rows: Floats, factor: Floats) -> Floats:
    """Return L scaled such that the row farthest from the mean is as far as before."""
    away = rows - rows.mean(axis=0)
    before = np.linalg.norm(away, axis=1).max()
    after = np.linalg.norm(away @ factor.T, axis=1).max()
    return np.asarray(before / (after or 1.0) * factor)


def best_units(rows: Floats, Y: Floats, labels: bool, rng: np.random.RandomState) -> Floats:
    """Return L of the units that explain targets best in flat space.

    Columns stay as given, become equally wide, or also uncorrelated. Curved spaces and their flat
    rivals are then compared in the same coordinates.
    """
    spread = np.ptp(rows, axis=0) > LEAST_SPREAD
    factors = [np.eye(rows.shape[1])]
    if spread.all():
        wide = standardising(rows)
        variances, vectors = np.linalg.eigh(np.cov((rows @ wide.T).T).reshape(len(wide), -1))
        factors.append(wide)
        if variances[0] > LEAST_LENGTH * variances[-1]:
            white = (vectors / np.sqrt(variances)) @ vectors.T @ wide
            factors.append(with_reach(rows, white))
    n = len(rows)
    few = np.arange(n)
    if n > limits.SCREENED:
        few = stratified(Y, labels, limits.SCREENED, rng)
    values = []
    for factor in factors:
        z = (rows - rows.mean(axis=0)) @ factor.T
        sample = Sample(z[few], Y[few] - Y[few].mean(axis=0), few)
        likelihoods = [plain_likelihood(sample, z, kernel) for kernel in (exponential, gaussian)]
        values.append(max(likelihoods))
    values[0] += 3.0  # nats by which other units must be better than the given ones; not varied
    return factors[int(np.argmax(values))]


def plain_likelihood(sample: Sample, z: Floats, kernel: Covariance) -> float:
    family = Family("", lambda _: z, kernel=kernel)
    return sample.fit(family, family.parameters[0], START).log_likelihood


def learned(
    rows: Floats,
    targets: Floats,
    labels: bool,
    learner: Any,
    expected: str,
    rng: np.random.RandomState,
) -> Frame:
    """Return the axes that a learner finds on one half of the rows, and the other half.

    The lengths of its L are a start only: they were fitted at a K of its own, and would decide
    which K are possible.
    """
    with estimators.naming("shape"):
        taught, rows, known, targets = train_test_split(
            rows, targets, test_size=0.5, random_state=rng, stratify=targets if labels else None
        )
    metric = clone(learner).fit(taught, known.astype(int) if labels else known).metric_
    check_metric(metric, rows, learner, expected)
    _, lengths, axes = np.linalg.svd(metric.factor, full_matrices=False)
    long = lengths > LEAST_LENGTH * lengths[0]
    lengths, axes = lengths[long], axes[long]
    center = metric.center if metric.curvature else rows.mean(axis=0)
    z = (rows - center) @ axes.T
    widths = np.where(np.ptp(z, axis=0) > LEAST_SPREAD, z.std(axis=0), 1.0)
    before = float(np.linalg.norm(z, axis=1).max())
    after = float(np.linalg.norm(z / widths, axis=1).max())
    found = np.log(lengths * widths)
    found = np.maximum(found - found.max(), profiles.SCALES[0])
    factor = before / (after or 1.0) / widths[:, None] * axes
    return Frame(rows, targets, factor, center, np.stack([np.zeros(len(axes)), found]))
