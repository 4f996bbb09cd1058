"""A metric called with two rows, and its compiled function, against `distance`."""

import numpy as np
import pytest

from cayleyklein import CurvedMetric, FormMetric, MixedMetric, ProductMetric
from cayleyklein.exceptions import InvalidInputError, OutsideDomainError

RNG = np.random.default_rng(0)
FULL = RNG.normal(size=(4, 4)) / 3
CENTER = RNG.normal(size=4) / 5
METRICS = {
    f"{kind}, K={K}": CurvedMetric(factor=factor, center=CENTER, curvature=K)
    for kind, factor in {"full": FULL, "diagonal": [0.5, 0.2, 0.3, 0.4], "low": FULL[:2]}.items()
    for K in (-0.3, 0.0, 0.7, 1e-9, -1e-9)
}
FORM = FormMetric.from_form(np.diag([1.0, 1.0, 1.0, -1.0, 9.0]))
SUMS = {
    "mixed": MixedMetric([METRICS["full, K=-0.3"], METRICS["diagonal, K=0.7"]], [0.3, 0.7]),
    "product": ProductMetric([METRICS["full, K=0.7"], METRICS["diagonal, K=0.0"]], [0.5, 2.0]),
    "form": FORM,
}


def pairs(metric):
    p, q = RNG.normal(size=(2, 20, 4)) / 3
    if metric is FORM:
        away = np.array([0, 0, 0, 9.0])
        p, q = p + away, q + away
    for x, y in zip(p, q, strict=True):
        for share in (1.0, 1e-3, 1e-9, 0.0):
            yield x, x + share * (y - x)


@pytest.mark.parametrize("name", [*METRICS, *SUMS])
def test_a_call_is_the_distance(name):
    metric = (METRICS | SUMS)[name]
    for x, y in pairs(metric):
        wanted = float(metric.distance(x, y))
        assert metric(x, y) == pytest.approx(wanted, rel=1e-12, abs=0)
        assert metric(x.tolist(), y) == wanted
        assert type(metric(x, y)) is float


def test_next_to_the_boundary_and_in_single_precision():
    ball = CurvedMetric.euclidean(3, curvature=-1.0)
    x, y = np.array([1 - 1e-12, 0, 0]), np.array([0, 1 - 1e-9, 0])
    assert ball(x, y) == float(ball.distance(x, y))
    single = np.float32([0.1, 0.2, 0.3]), np.float32([0.4, 0.5, 0.6])
    assert ball(*single) == pytest.approx(float(ball.distance(*np.float64(single))), rel=1e-12)
    strided = np.arange(12.0).reshape(3, 4) / 30
    assert ball(strided[:, 1], strided[:, 2]) == pytest.approx(
        float(ball.distance(strided[:, 1], strided[:, 2]))
    )


def test_far_out_on_a_sphere():
    sphere = CurvedMetric.euclidean(2, curvature=1.0)
    for x, y in [([1e6, 0], [-1e6, 1]), ([1e8, 1], [1e8, -1]), ([1e120, 0], [0, 1.0])]:
        x, y = np.array(x, float), np.array(y, float)
        assert sphere(x, y) == pytest.approx(float(sphere.distance(x, y)), rel=1e-9)


def test_bad_pairs_raise_as_before():
    ball = CurvedMetric.euclidean(2, curvature=-1.0)
    with pytest.raises(OutsideDomainError):
        ball(np.array([2.0, 0.0]), np.zeros(2))
    with pytest.raises(InvalidInputError, match="NaN"):
        ball(np.array([np.nan, 0.0]), np.zeros(2))
    with pytest.raises(InvalidInputError, match="3 coordinates"):
        ball(np.zeros(3), np.zeros(3))
    with pytest.raises(InvalidInputError, match="two points"):
        ball(np.zeros((2, 2)), np.zeros(2))


@pytest.mark.parametrize(
    "name",
    [
        "full, K=-0.3",
        pytest.param("diagonal, K=0.7", marks=pytest.mark.slow),
        pytest.param("mixed", marks=pytest.mark.slow),
        pytest.param("product", marks=pytest.mark.slow),
        pytest.param("form", marks=pytest.mark.slow),
    ],
)
def test_compiled(name):
    metric = (METRICS | SUMS)[name]
    between = metric.compiled()
    for x, y in pairs(metric):
        wanted = float(metric.distance(x, y))
        near = 1e-14 if name == "form" else 0
        assert between(x, y) == pytest.approx(wanted, rel=1e-11, abs=near)
    if name == "full, K=-0.3":
        assert between(100 * x, y) == np.inf
