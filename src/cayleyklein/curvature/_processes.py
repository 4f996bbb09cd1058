"""Likelihoods of targets under a Gaussian process with covariance σ² exp(-d/ℓ), d a distance.

Parameters are logarithms: of ℓ, relative to the mean distance, and for labels of σ²/ℓ, which the
data determine better than either (Zhang 2004). Noise, mean and the σ² of numbers are profiled out.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.linalg import lapack
from scipy.special import log_ndtr

from cayleyklein._typing import Floats, Ints
from cayleyklein.kernels.machine import Spectrum

NOISES = np.geomspace(1e-5, 100.0, 15)  # noise variances, relative to σ², that are tried
LENGTHS = (0.1, 0.4, 1.6, 6.4)  # ℓ to start from
RATIOS = (1.0, 10.0, 100.0)  # σ²/ℓ to start from
PRIOR_OF_MEAN = 100.0  # prior variance of the constant f of a label: as good as unknown
BARTLETT = 1.1  # mean deviance at the true K, roughly: 0.9 for 100 simulated rows, 1.3 for 300
NEWTON_STEPS, NEWTON_GAIN = 40, 1e-5


def vertex(x: Floats, y: Floats) -> float:
    """Return where the parabola through three points, the middle one the highest, has its top."""
    left, right = x[1] - x[0], x[2] - x[1]
    fall, rise = (y[1] - y[0]) / left, (y[2] - y[1]) / right
    return float((x[1] + x[0]) / 2 + (x[2] - x[0]) / 2 * fall / (fall - rise or 1.0))


def contrasts(values: Floats) -> Floats:
    """Return n - 1 orthonormal contrasts of n rows, which no constant changes (Householder)."""
    n = len(values)
    mirror = np.full(n, 1 / np.sqrt(n))
    mirror[0] += 1
    return np.asarray((values - np.outer(mirror, mirror @ values) / mirror[0])[1:])


@dataclass(frozen=True)
class NumberProcess:
    """Numbers y (n, 1), by their restricted likelihood: that of their contrasts."""

    targets: Floats
    starts = np.log([[length] for length in LENGTHS])
    bounds = np.log([[0.01, 100.0]])

    def log_likelihood(self, D: Floats, log_parameters: Floats) -> float:
        return self._best_ridge(D, log_parameters)[1]

    def _spectrum(self, D: Floats, log_parameters: Floats) -> Spectrum:
        gram = contrasts(contrasts(np.exp(-D / np.exp(log_parameters[0]))).T)
        return Spectrum.of(gram, contrasts(self.targets), np.ones(len(gram)))

    def _best_ridge(self, D: Floats, log_parameters: Floats) -> tuple[float, float]:
        spectrum = self._spectrum(D, log_parameters)
        found = [float(spectrum.log_likelihood(ridge).sum()) for ridge in NOISES]
        x, y, top = np.log(NOISES), np.array(found), int(np.argmax(found))
        for _ in range(2):
            if not 0 < top < len(x) - 1:
                break
            at = vertex(x[top - 1 : top + 2], y[top - 1 : top + 2])
            place = int(np.searchsorted(x, at))
            value = float(spectrum.log_likelihood(float(np.exp(at))).sum())
            x, y = np.insert(x, place, at), np.insert(y, place, value)
            top = int(y.argmax())
        return float(np.exp(x[top])), float(y[top])

    def score(self, D: Floats, log_parameters: Floats) -> float:
        """Return R² of each row by the others."""
        y = self.targets - self.targets.mean(axis=0)
        errors = left_out_errors(D, log_parameters, y)
        return float(1 - np.square(errors).sum() / np.square(y).sum())

    def draw(self, D: Floats, log_parameters: Floats, rng: np.random.RandomState) -> NumberProcess:
        ridge = self._best_ridge(D, log_parameters)[0]
        variance = self._spectrum(D, log_parameters).variances(ridge)
        smooth = draw_process(np.exp(-D / np.exp(log_parameters[0])), 1, rng)
        noise = np.sqrt(ridge) * rng.normal(size=smooth.shape)
        return replace(self, targets=np.sqrt(variance) * (smooth + noise))


@dataclass(frozen=True)
class LabelProcess:
    """Labels as signs (n, c), one column for two classes and otherwise one against the rest.

    p(y) = ∫ Π Φ(yᵢfᵢ) dN(f) by Laplace's approximation (Rasmussen and Williams 2006, algorithm
    3.1); deviances, a little too large in simulations, are divided by a constant. The log
    likelihoods of one against the rest count half each, since they see every border between two
    classes from both sides.
    """

    targets: Floats
    modes: Floats = field(repr=False)  # f where the integrand was largest last: the next start
    starts = np.log([[length, ratio] for length in LENGTHS for ratio in RATIOS])
    bounds = np.log([[0.01, 100.0], [1e-2, 1e4]])

    @classmethod
    def of(cls, codes: Ints) -> LabelProcess:
        signs = np.where(codes[:, None] == np.unique(codes), 1.0, -1.0)
        signs = signs[:, 1:] if signs.shape[1] == 2 else signs
        return cls(signs, np.zeros_like(signs))

    def log_likelihood(self, D: Floats, log_parameters: Floats) -> float:
        length, ratio = np.exp(log_parameters)
        covariance = ratio * length * np.exp(-D / length) + PRIOR_OF_MEAN
        total, c = 0.0, self.targets.shape[1]
        for column in range(c):
            value, mode = laplace(covariance, self.targets[:, column], self.modes[:, column])
            self.modes[:, column] = mode
            total += value
        return total / BARTLETT / (1 if c == 1 else 2)

    def score(self, D: Floats, log_parameters: Floats) -> float:
        """Return the share of labels that ridge regression of the others' signs gets right."""
        predicted = self.targets - left_out_errors(D, log_parameters, self.targets)
        if predicted.shape[1] == 1:
            return float((predicted * self.targets > 0).mean())
        return float((predicted.argmax(axis=1) == self.targets.argmax(axis=1)).mean())

    def draw(self, D: Floats, log_parameters: Floats, rng: np.random.RandomState) -> LabelProcess:
        length, ratio = np.exp(log_parameters)
        shares = (1 + self.targets).mean(axis=0) / 2
        shares = np.append(1 - shares, shares) if len(shares) == 1 else shares
        c = len(shares)
        smooth = np.sqrt(ratio * length) * draw_process(np.exp(-D / length), c, rng)
        scores = smooth + rng.normal(size=smooth.shape)
        codes = np.argmax(scores + scores.std() * np.log(shares), axis=1)
        return LabelProcess.of(codes)


def left_out_errors(D: Floats, log_parameters: Floats, targets: Floats) -> Floats:
    """Return the errors (n, t) of ridge regression without each row, by the best ridge."""
    gram = np.exp(-D / np.exp(log_parameters[0]))
    spectrum = Spectrum.of(gram, targets, np.ones(len(gram)))
    return min(map(spectrum.left_out_errors, NOISES), key=lambda e: float(np.square(e).sum()))


def draw_process(covariance: Floats, count: int, rng: np.random.RandomState) -> Floats:
    """Return draws (n, count) from a normal distribution."""
    values, vectors = np.linalg.eigh(covariance)
    noise = rng.normal(size=(len(values), count))
    return np.asarray(vectors @ (np.sqrt(np.maximum(values, 0.0))[:, None] * noise))


def laplace(covariance: Floats, signs: Floats, f: Floats) -> tuple[float, Floats]:
    """Return the log likelihood of signs, and the mode f; Newton's method from a given f."""
    n, reached, step = len(signs), -np.inf, 1.0
    a = np.zeros(n)
    for start in (f, np.zeros(n)):
        f, reached = start, -np.inf
        for _ in range(NEWTON_STEPS):
            m = signs * f
            ratio = np.exp(-m * m / 2 - log_ndtr(m)) / np.sqrt(2 * np.pi)  # φ/Φ
            weights = ratio * (ratio + m)
            root, b = np.sqrt(weights), weights * f + signs * ratio
            system = root[:, None] * covariance * root
            system.flat[:: n + 1] += 1.0
            lower = lapack.dpotrf(system.T, lower=1, overwrite_a=1)[0]
            a = b - root * lapack.dpotrs(lower, root * (covariance @ b), lower=1)[0]
            f = covariance @ a
            now = float(log_ndtr(signs * f).sum() - a @ f / 2)
            step, reached = now - reached, now
            if abs(step) < NEWTON_GAIN or step < 0:
                break
        if abs(step) < NEWTON_GAIN:
            break
    return reached - float(np.log(np.diagonal(lower)).sum()), f
