import numpy as np
import pytest

from cayleyklein import _lbfgs


def minimise(function, x, steps):
    values = []
    start = np.array(x, dtype=float)
    found = _lbfgs.minimise(
        function, start, max_iter=steps, tol=0.0, callback=lambda x, v: values.append(v)
    )
    values.insert(0, function(start)[0])
    assert values == sorted(values, reverse=True)
    return found.x, values


def test_rosenbrock():
    def function(x):
        a, b = 1 - x[0], x[1] - x[0] ** 2
        return (a * a + 100 * b * b, np.array([-2 * a - 400 * x[0] * b, 200 * b]))

    x, _ = minimise(function, [-1.2, 1.0], 100)
    np.testing.assert_allclose(x, [1, 1], atol=1e-6)


def test_kinks():
    """Σ |x_i| · i has no gradient at its minimum."""
    scale = np.arange(1, 6)

    def function(x):
        return (float(scale @ np.abs(x)), scale * np.sign(x))

    _, values = minimise(function, [3.0, -2.0, 1.0, 0.5, -0.1], 60)
    assert values[-1] < 1e-2 * values[0]


def test_wall():
    """The minimum of a linear function against a barrier that is infinite beyond 1."""

    def function(x):
        if x[0] >= 1:
            return (np.inf, np.zeros(1))
        return (float(-x[0] - 1e-3 * np.log(1 - x[0])), np.array([-1 + 1e-3 / (1 - x[0])]))

    x, _ = minimise(function, [0.0], 100)
    assert x[0] == pytest.approx(0.999, abs=1e-6)


def test_says_how_it_ended():
    def function(x):
        return float(x @ x), 2 * x

    start = np.array([3.0, 4.0])
    assert not _lbfgs.minimise(function, start, max_iter=1, tol=0.0).converged
    assert _lbfgs.minimise(function, start, max_iter=50, tol=1e-9).converged
    stopped = _lbfgs.minimise(function, start, max_iter=50, tol=0.0, callback=lambda x, v: True)
    assert stopped.stopped
    assert not stopped.converged
