"""Hyperbolic metrics of forms whose domain is no ellipsoid."""

import pickle

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cayleyklein import CurvedMetric, CurvedNeighbors, FormMetric, MixedMetric
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError, OutsideDomainError
from cayleyklein.geometry import measure, metric_tensor

TWO_SHEETS = np.diag([1.0, -1.0, 1.0])  # y² > 1 + x²


def random_form(d, rng):
    """Return S of signature (1, 0, d) with an indefinite Σ, and rows inside."""
    while True:
        M = rng.normal(size=(d + 1, d + 1))
        S = (M.T * np.append(np.ones(d), -1.0)) @ M
        rows = rng.normal(size=(400, d)) * 2
        homogeneous = np.column_stack([rows, np.ones(len(rows))])
        inside = np.einsum("ij,jk,ik->i", homogeneous, S, homogeneous) < -1e-3
        if np.linalg.eigvalsh(S[:d, :d])[0] < 0 and inside.sum() > 30:
            return S, rows[inside][:30]


@pytest.fixture(params=[1, 2, 3, 5])
def case(request):
    return random_form(request.param, np.random.default_rng(request.param))


def exact_distance(S, p, q):
    """Return arccosh |S_pq|/√(S_pp S_qq) in 50 digits."""
    with mpmath.workdps(50):
        form = mpmath.matrix(S.tolist())
        x, y = (mpmath.matrix([*map(float, v), 1.0]) for v in (p, q))
        s_pp, s_pq, s_qq = ((a.T * form * b)[0] for a, b in ((x, x), (x, y), (y, y)))
        ratio = abs(s_pq) / mpmath.sqrt(s_pp * s_qq)
        return float(mpmath.acosh(max(ratio, mpmath.mpf(1))))


def test_distances_are_those_of_the_form(case):
    S, rows = case
    metric = FormMetric.from_form(S)
    assert metric.contains(rows).all()
    found = metric.pairwise(rows)
    for i, j in ((0, 1), (3, 7), (5, 2), (10, 20)):
        assert found[i, j] == pytest.approx(exact_distance(S, rows[i], rows[j]), rel=1e-9)
    np.testing.assert_allclose(found, metric.distance(rows[:, None], rows), rtol=1e-9, atol=1e-12)
    modulus = np.abs(measure(-S, rows[0], rows[1:]))
    np.testing.assert_allclose(metric.distance(rows[0], rows[1:]), modulus, rtol=1e-8)


def test_close_points_keep_their_digits(case):
    S, rows = case
    metric = FormMetric.from_form(S)
    step = np.full(rows.shape[1], 1e-9)
    for p in rows[:5]:
        # the form that the metric has, not the one that was given, which it rounds
        exact = exact_distance(metric.form, p, p + step)
        assert metric(p, p + step) == pytest.approx(exact, rel=1e-5)
    assert metric(rows[0], rows[0]) == 0
    assert np.array_equal(np.diag(metric.pairwise(rows)), np.zeros(len(rows)))


def test_it_is_symmetric_and_has_a_triangle_inequality(case):
    S, rows = case
    d = FormMetric.from_form(S).pairwise(rows)
    assert np.array_equal(d, d.T)
    assert (d[:, None, :] <= d[:, :, None] + d[None, :, :] + 1e-9).all()


@pytest.mark.parametrize("K", [-1.0, -0.3])
def test_ellipsoids_are_curved_metrics(K):
    curved = CurvedMetric(matrix=[[2.0, 0.3], [0.3, 1.0]], center=[0.1, 0.2], curvature=K)
    form = FormMetric.from_form(curved.form, curvature=K)
    rows = np.random.default_rng(0).uniform(-0.4, 0.4, size=(12, 2))
    np.testing.assert_allclose(form.pairwise(rows), curved.pairwise(rows), rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(form.tensor(rows[0]), metric_tensor(rows[0], curved), rtol=1e-10)
    np.testing.assert_allclose(form.feature_weights(rows), curved.feature_weights(rows))
    np.testing.assert_allclose(
        form.column_shares(rows[:6], rows[6:]), curved.column_shares(rows[:6], rows[6:]), rtol=1e-8
    )
    outside = [9.0, 9.0]
    for how in ("inf", "modulus"):
        given = form.distance(rows[0], outside, outside=how)
        assert given == pytest.approx(curved.distance(rows[0], outside, outside=how))


def test_the_tensor_is_the_second_derivative_of_the_squared_distance(case):
    S, rows = case
    metric, x, d = FormMetric.from_form(S), rows[0], rows.shape[1]
    tensor, step = metric.tensor(x), 1e-5
    for u in np.random.default_rng(1).normal(size=(4, d)):
        length = metric(x - step * u / 2, x + step * u / 2) / step
        assert length**2 == pytest.approx(u @ tensor @ u, rel=1e-5)


@given(st.integers(0, 10**6), st.sampled_from(["auto", "brute", "tree", "vantage"]))
def test_neighbours_are_those_of_all_distances(seed, algorithm):
    rng = np.random.default_rng(seed)
    S, rows = random_form(int(rng.integers(1, 5)), rng)
    metric = FormMetric.from_form(S)
    search = CurvedNeighbors(n_neighbors=4, metric=metric, algorithm=algorithm).fit(rows)
    distances, _ = search.kneighbors(rows[:8])
    table = np.sort(metric.pairwise(rows[:8], rows), axis=1)[:, :4]
    np.testing.assert_allclose(distances, table, rtol=1e-8, atol=1e-7)


def test_queries_outside_the_domain():
    rows = [[0.0, 2.0], [1.0, 3.0], [0.0, -4.0]]
    search = CurvedNeighbors(n_neighbors=2, metric=FormMetric.from_form(TWO_SHEETS)).fit(rows)
    distances, found = search.kneighbors([[0.0, 0.5], [0.0, 0.0]])
    assert np.isinf(distances).all()
    assert found[0, 0] == 0
    strict = CurvedNeighbors(metric=search.metric_, outside="raise").fit(rows)
    with pytest.raises(OutsideDomainError, match="0"):
        strict.kneighbors([[0.0, 0.5]], n_neighbors=1)
    with pytest.raises(OutsideDomainError, match="1"):
        CurvedNeighbors(metric=search.metric_).fit([[0.0, 2.0], [0.0, 0.5]])
    with pytest.raises(OutsideDomainError, match=r"S\(x, x\) < 0"):
        search.metric_([0.0, 2.0], [0.0, 0.5])


def test_as_a_part_of_a_sum(case):
    S, rows = case
    d = rows.shape[1]
    form, sphere = FormMetric.from_form(S), CurvedMetric.euclidean(d, curvature=1.0)
    mixed = MixedMetric([sphere, form], [0.25, 0.75])
    expected = 0.25 * sphere.pairwise(rows) + 0.75 * form.pairwise(rows)
    np.testing.assert_allclose(mixed.pairwise(rows), expected, rtol=1e-9, atol=1e-12)
    distances, _ = CurvedNeighbors(n_neighbors=3, metric=mixed).fit(rows).kneighbors(rows[:5])
    np.testing.assert_allclose(distances, np.sort(expected[:5], axis=1)[:, :3], atol=1e-7)
    assert mixed.embed(rows).shape[0] == len(rows)
    assert mixed.feature_weights(rows).sum() == pytest.approx(1.0)


def test_of_lower_rank():
    full = FormMetric.from_form(TWO_SHEETS)
    wide = FormMetric(np.insert(full.factor, 1, 0.0, axis=1))  # a column without weight
    p, q = np.array([0.0, 5.0, 2.0]), np.array([1.0, -7.0, 3.0])
    assert wide(p, q) == full(p[[0, 2]], q[[0, 2]])


def test_the_form_and_the_centre():
    metric = FormMetric.from_form(TWO_SHEETS)
    np.testing.assert_allclose(metric.form, TWO_SHEETS, atol=1e-12)
    np.testing.assert_allclose(FormMetric.from_form(-TWO_SHEETS).form, TWO_SHEETS, atol=1e-12)
    shift = np.eye(3)
    shift[:2, 2] = [-0.5, 0.25]
    moved = FormMetric(metric.factor, center=[0.5, -0.25])
    np.testing.assert_allclose(moved.form, shift.T @ TWO_SHEETS @ shift, atol=1e-12)
    assert list(metric.absolute.side([[0.0, 2.0], [0.0, 1.0], [0.0, 0.0]])) == [-1, 0, 1]
    assert pickle.loads(pickle.dumps(moved)) == moved != metric


def test_the_horizon_is_outside():
    """Points with w = 0 have no image in the ball, and are not inside."""
    metric = FormMetric.from_form(np.diag([-1.0, 1.0, 1.0]))  # x² > 1 + y²
    assert not metric.contains([0.0, 3.0])
    assert metric.distance([2.0, 0.0], [0.0, 3.0], outside="inf") == np.inf
    assert np.isfinite(metric.embed([[0.0, 3.0]])).all()


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: FormMetric.from_form(np.eye(3)), NotRepresentableError, r"\(0, 0, 3\)"),
        (lambda: FormMetric.from_form(np.diag([1, -1, 0])), NotRepresentableError, "signature"),
        (lambda: FormMetric.from_form(np.ones((2, 3))), InvalidInputError, "S"),
        (lambda: FormMetric(np.eye(3), curvature=0.5), InvalidInputError, "a number < 0"),
        (lambda: FormMetric(np.eye(3), center=[0.0]), InvalidInputError, "center"),
        (lambda: FormMetric([1.0, 2.0]), InvalidInputError, "factor of shape"),
        (lambda: FormMetric(np.eye(3)).domain, NotRepresentableError, "no ellipsoid"),
        (lambda: FormMetric(np.eye(3)).feature_weights(), NotRepresentableError, "give the rows"),
        (lambda: FormMetric(np.eye(3)).images([1.0]), InvalidInputError, "X"),
    ],
)
def test_refusals(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_a_curved_metric_says_where_other_forms_go():
    with pytest.raises(NotRepresentableError, match="FormMetric"):
        CurvedMetric.from_form(TWO_SHEETS)
