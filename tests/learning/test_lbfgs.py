from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from cayleyklein.learning._lbfgs import LBFGS


class Point(NamedTuple):
    loss: float
    vector: NDArray


def minimise(function, x, steps):
    solver = LBFGS(np.array(x, dtype=float))
    here = function(solver.x)
    values = [here.loss]
    for _ in range(steps):
        there = solver.step(function, here)
        if there is None:
            break
        here = there
        values.append(here.loss)
    assert values == sorted(values, reverse=True)
    return solver.x, values


def test_rosenbrock():
    def function(x):
        a, b = 1 - x[0], x[1] - x[0] ** 2
        return Point(a * a + 100 * b * b, np.array([-2 * a - 400 * x[0] * b, 200 * b]))

    x, _ = minimise(function, [-1.2, 1.0], 100)
    np.testing.assert_allclose(x, [1, 1], atol=1e-6)


def test_kinks():
    """Σ |x_i| · i has no gradient at its minimum."""
    scale = np.arange(1, 6)

    def function(x):
        return Point(float(scale @ np.abs(x)), scale * np.sign(x))

    _, values = minimise(function, [3.0, -2.0, 1.0, 0.5, -0.1], 60)
    assert values[-1] < 1e-2 * values[0]


def test_wall():
    """The minimum of a linear function against a barrier that is infinite beyond 1."""

    def function(x):
        if x[0] >= 1:
            return Point(np.inf, np.zeros(1))
        return Point(float(-x[0] - 1e-3 * np.log(1 - x[0])), np.array([-1 + 1e-3 / (1 - x[0])]))

    x, _ = minimise(function, [0.0], 100)
    assert x[0] == pytest.approx(0.999, abs=1e-6)
