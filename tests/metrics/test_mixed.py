import pickle

import numpy as np
import pytest

from cayleyklein import CurvedMetric, MixedMetric
from cayleyklein.exceptions import InvalidInputError, OutsideDomainError

ELLIPTIC = CurvedMetric(matrix=[[2.0, 0.3], [0.3, 1.0]], curvature=1.0)
HYPERBOLIC = CurvedMetric.euclidean(2, curvature=-1.0)
FLAT = CurvedMetric.euclidean(2)
X = np.random.default_rng(0).uniform(-0.6, 0.6, size=(40, 2))


def test_is_the_papers_sum():
    alpha = 0.3
    mixed = MixedMetric([ELLIPTIC, HYPERBOLIC], [alpha, 1 - alpha])
    expected = alpha * ELLIPTIC.pairwise(X) + (1 - alpha) * HYPERBOLIC.pairwise(X)
    np.testing.assert_allclose(mixed.pairwise(X), expected, rtol=1e-14)
    np.testing.assert_allclose(mixed.pairwise(X, X[:5]), expected[:, :5], rtol=1e-12, atol=1e-300)
    assert mixed(X[0], X[1]) == pytest.approx(expected[0, 1], rel=1e-14)
    assert mixed.geometry == "mixed"
    assert mixed.pairwise(X.astype(np.float32)).dtype == np.float32


def test_triangle_inequality_and_three_parts():
    D = MixedMetric([ELLIPTIC, HYPERBOLIC, FLAT]).pairwise(X)
    assert (D[:, None, :] <= (D[:, :, None] + D[None]) * (1 + 1e-12)).all()


def test_zero_weight_lifts_the_domain():
    mixed = MixedMetric([ELLIPTIC, HYPERBOLIC], [1.0, 0.0])
    assert mixed.domain == ()
    far = np.array([[3.0, 0.0]])
    assert mixed.contains(far).all()
    assert mixed(far[0], [0.0, 0.0]) == ELLIPTIC(far[0], [0.0, 0.0])
    both = MixedMetric([ELLIPTIC, HYPERBOLIC])
    assert len(both.domain) == 1
    assert not both.contains(far).any()
    with pytest.raises(OutsideDomainError):
        both.pairwise(far, X)
    assert np.isinf(both.pairwise(far, X, outside="inf")).all()


def test_manners():
    mixed = MixedMetric([ELLIPTIC, HYPERBOLIC], [0.5, 0.5])
    assert mixed == MixedMetric([ELLIPTIC, HYPERBOLIC])
    assert hash(mixed) == hash(MixedMetric([ELLIPTIC, HYPERBOLIC]))
    assert mixed != MixedMetric([HYPERBOLIC, ELLIPTIC])
    assert pickle.loads(pickle.dumps(mixed)) == mixed
    with pytest.raises(AttributeError, match="immutable"):
        mixed.weights = [1, 1]
    with pytest.raises(AttributeError, match="cannot be deleted"):
        del mixed.weights
    with pytest.raises(InvalidInputError, match=r"use distance\(\)"):
        mixed(X, X[0])


@pytest.mark.parametrize(
    ("metrics", "weights", "message"),
    [
        ([], None, r"at least one CurvedMetric or FormMetric; got \[\]"),
        (None, None, "got NoneType"),
        (FLAT, None, "got CurvedMetric"),
        ([FLAT, "euclidean"], None, r"got \['CurvedMetric', 'str'\]"),
        ([FLAT, CurvedMetric.euclidean(3)], None, r"one dimension; got \[2, 3\]"),
        ([FLAT], [1.0, 2.0], "1 are expected"),
        ([FLAT], [-1.0], "≥ 0"),
        ([FLAT, FLAT], [0.0, 0.0], "not all 0"),
        ([FLAT], [np.nan], "NaN"),
    ],
)
def test_refusals(metrics, weights, message):
    with pytest.raises(InvalidInputError, match=message):
        MixedMetric(metrics, weights)
