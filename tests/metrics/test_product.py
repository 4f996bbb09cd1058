"""Products of spheres and flat spaces: a metric, and one Euclidean map."""

import pickle

import mpmath
import numpy as np
import pytest
from scipy.spatial.distance import cdist

from cayleyklein import CurvedMetric, ProductMetric
from cayleyklein.exceptions import InvalidInputError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3))


def random_metric(K, r=3):
    return CurvedMetric(factor=RNG.normal(size=(r, 3)), center=RNG.normal(size=3), curvature=K)


PRODUCT = ProductMetric([random_metric(0.09), random_metric(1.0), random_metric(0.0, r=2)],
                        units=[0.3, 1.0, 2.0])  # fmt: skip


def test_is_the_euclidean_distance_of_its_map():
    Z = PRODUCT.embed(X)
    assert Z.shape == (30, 4 + 4 + 2)
    np.testing.assert_allclose(PRODUCT.pairwise(X), cdist(Z, Z), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        PRODUCT.distance(X[:5], X[5:10]), cdist(Z, Z)[range(5), range(5, 10)]
    )


def test_is_the_sum_of_squared_chords():
    """By the definition, in many digits."""
    p, q = X[0], X[1]
    total = mpmath.mpf(0)
    with mpmath.workdps(40):
        for metric, unit in zip(PRODUCT.metrics, PRODUCT.units.tolist(), strict=True):
            K = mpmath.mpf(metric.curvature)
            L, mu = mpmath.matrix(metric.factor.tolist()), mpmath.matrix(metric.center.tolist())
            z, w = (L * (mpmath.matrix(x.tolist()) - mu) for x in (p, q))
            if K == 0:
                chord = mpmath.norm(z - w)
            else:
                dot = lambda a, b: (a.T * b)[0]  # noqa: E731
                ratio = (1 + K * dot(z, w)) / mpmath.sqrt((1 + K * dot(z, z)) * (1 + K * dot(w, w)))
                chord = 2 / mpmath.sqrt(K) * mpmath.sin(mpmath.acos(ratio) / 2)
            total += (chord / mpmath.mpf(unit)) ** 2
        assert PRODUCT(p, q) == pytest.approx(float(mpmath.sqrt(total)), rel=1e-12)


def test_close_points_keep_their_digits():
    near = X[0] + 1e-9 * np.array([1.0, -2.0, 0.5])
    twice = X[0] + 2e-9 * np.array([1.0, -2.0, 0.5])
    assert PRODUCT(X[0], twice) / PRODUCT(X[0], near) == pytest.approx(2.0, rel=1e-6)


@pytest.mark.parametrize("rows", ["far", "close", "tiny", "mixed scales"])
def test_pairwise_keeps_the_digits_of_distance(rows):
    rng = np.random.default_rng(1)
    far = {"far": 1e6 + 1e-6 * X, "close": 1e-9 * X, "tiny": 1e-170 * X}
    points = far.get(rows, np.vstack([X, X[:9] + 1e-9 * rng.normal(size=(9, 3)), 1e3 * X[:5]]))
    for product in (PRODUCT, ProductMetric([PRODUCT.metrics[1]]), ProductMetric(PRODUCT.metrics)):
        expected = product.distance(points[:, None], points)
        np.testing.assert_allclose(product.pairwise(points), expected, rtol=2e-12)
        np.testing.assert_allclose(
            product.pairwise(points, points[:7]), expected[:, :7], rtol=2e-12
        )


def test_is_a_metric():
    D = PRODUCT.pairwise(X)
    np.testing.assert_array_equal(D, D.T)
    assert (np.diag(D) == 0).all()
    assert (D[:, :, None] + D[None, :, :] >= D[:, None, :] - 1e-12).all()
    assert PRODUCT.contains(X).all()
    assert PRODUCT.domain is None


def test_a_single_flat_part_is_that_metric():
    flat = random_metric(0.0)
    np.testing.assert_allclose(ProductMetric([flat]).pairwise(X), flat.pairwise(X), rtol=1e-9)


def test_manners():
    again = pickle.loads(pickle.dumps(PRODUCT))
    assert again == PRODUCT
    assert hash(again) == hash(PRODUCT)
    assert PRODUCT.geometry == "product"
    assert "elliptic(K=0.09) / 0.3" in repr(PRODUCT)
    assert PRODUCT.embed(X.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([],), "at least one"),
        ((3,), "sequence of at least one CurvedMetric or FormMetric"),
        ((["flat"],), r"at least one CurvedMetric or FormMetric; got \['str'\]"),
        (([random_metric(-1.0)],), "hyperbolic, which have no chord"),
        (([random_metric(1.0), CurvedMetric.euclidean(2)],), r"one dimension; got \[3, 2\]"),
        (([random_metric(1.0)], [0.0]), "units must be positive"),
        (([random_metric(1.0)], [1.0, 2.0]), "units"),
    ],
)
def test_bad_parts(arguments, message):
    with pytest.raises(InvalidInputError, match=message):
        ProductMetric(*arguments)
