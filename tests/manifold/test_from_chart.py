"""Embeddings made elsewhere: round trips, pipelines, precision, and what is said of bad rows."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from cayleyklein import (
    CayleyKleinVoronoi,
    CurvedKNeighborsClassifier,
    CurvedLinearSVC,
    CurvedMetric,
    FromChart,
)
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError, OutsideDomainError
from cayleyklein.geometry import CHARTS

DISC = CurvedMetric.euclidean(2, curvature=-1.0)


@parametrize_with_checks([FromChart("conformal", curvature=0.0), FromChart("klein", curvature=2.0)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def embedding(n=60, radius=4.0, seed=0):
    """Rows of Poincaré's disc, and three classes by their direction."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, size=n)
    r = np.tanh(radius * rng.uniform(0.3, 1.0, size=n) / 2)
    return r[:, None] * np.c_[np.cos(angle), np.sin(angle)], (3 * angle / (2 * np.pi)).astype(int)


@pytest.mark.parametrize(("chart", "sign"), [(c, s) for c in CHARTS for s in CHARTS[c] if s])
@pytest.mark.parametrize("curvature", [1.0, 0.3, 5.0])
def test_distances_are_those_of_the_metric_and_the_way_back_is_exact(chart, sign, curvature):
    K = sign * curvature
    metric = CurvedMetric.euclidean(3, curvature=K)
    X = np.random.default_rng(0).uniform(-0.5, 0.5, size=(20, 3)) / np.sqrt(curvature)
    for axis in (-1, 0, 1):
        unit = 1 / np.sqrt(curvature)
        given = metric.to_chart(X, chart) * unit
        if chart in ("sphere", "hyperboloid", "half_space", "hemisphere"):
            given = np.insert(given[:, :-1], axis % given.shape[1], given[:, -1], axis=1)
        model = FromChart(chart, curvature=K, axis=axis).fit(given)
        assert model.metric_ == metric
        back = model.transform(given)
        np.testing.assert_allclose(back, X, atol=1e-14)
        np.testing.assert_allclose(model.inverse_transform(back), given, atol=1e-14)
        np.testing.assert_allclose(model.pairwise(given), metric.pairwise(X), atol=1e-13)
        whole = FromChart(chart, curvature=K, axis=axis, radius=1.0).fit(given / unit)
        np.testing.assert_allclose(whole.transform(given / unit), back, atol=1e-14)


X, Y = [[0.1, 0.2, 0.3]], [[0.3, 0.2, 0.1]]
T = np.sqrt(1.14)


@pytest.mark.parametrize(
    ("model", "p", "q", "expected"),
    [  # geoopt 0.5.1: Lorentz(k=4), PoincareBall(c=4), Sphere(); geomstats 2.8: PoincareHalfSpace
        (FromChart("hyperboloid", curvature=-0.25, axis=0), [[2 * T, 0.2, 0.4, 0.6]],
         [[2 * T, 0.6, 0.4, 0.2]], 0.5638165781082923),
        (FromChart("poincare", curvature=-4.0), np.divide(X, 2), np.divide(Y, 2),
         0.32322906477970337),
        (FromChart("sphere", curvature=1.0, axis=0), [[T, 0.1, 0.2, 0.3]] / np.sqrt(1.28),
         [[T, 0.3, 0.2, 0.1]] / np.sqrt(1.28), 0.2506556623361308),
        (FromChart("half_space"), [[0.0, 1.0]], [[1.0, 2.0]], 0.9624236501192069),
    ],
)  # fmt: skip
def test_agrees_with_geoopt_and_geomstats(model, p, q, expected):
    assert model.pairwise(p, q)[0, 0] == pytest.approx(expected, rel=1e-14)


def test_pairwise_of_two_tables_in_blocks():
    X, _ = embedding(700)
    model = FromChart("poincare")
    whole = model.pairwise(X)
    assert (whole == whole.T).all()
    assert not whole.diagonal().any()
    np.testing.assert_allclose(model.pairwise(X[:3], X[1:])[:, 5], whole[:3, 6], rtol=1e-15)


@pytest.mark.parametrize(
    "model",
    [
        CurvedKNeighborsClassifier(metric=DISC, n_neighbors=5),
        CurvedLinearSVC(DISC, C=100.0),
        RandomForestClassifier(20, random_state=0),
    ],
)
def test_pipelines(model):
    X, y = embedding(150)
    pipeline = make_pipeline(FromChart("poincare"), model).fit(X[::2], y[::2])
    assert pipeline.score(X[1::2], y[1::2]) > 0.85
    assert pipeline[0].get_feature_names_out().tolist() == ["fromchart0", "fromchart1"]


def test_diagrams():
    X, _ = embedding(20)
    model = FromChart("poincare").fit(X)
    diagram = CayleyKleinVoronoi(model.transform(X), model.metric_)
    assert diagram.locate(model.transform(X)).tolist() == list(range(20))


def test_radii_beyond_the_klein_chart():
    X = np.tanh(np.array([[14.0, 0.0], [13.0, 0.0], [0.0, 15.0]]))
    model = FromChart("poincare").fit(X)
    assert model.pairwise(X)[0, 1] == pytest.approx(2, abs=1e-3)  # 2.0 but for rounding of tanh
    with pytest.raises(OutsideDomainError, match=r"Y: y at index 0, 1, 2 .*FromChart.pairwise"):
        model.transform(X)
    near = np.tanh(np.array([[7.4, 0.0], [1.0, 0.0]]))
    with pytest.warns(UserWarning, match=r"row 0 only to ±0.0002\d?, and those of 1 of 2 rows"):
        model.transform(near)
    half = FromChart("poincare", curvature=-4.0).fit(near / 2)
    with pytest.warns(UserWarning, match=r"row 0 only to ±9.9e-05"):
        half.transform(near / 2)


@pytest.mark.parametrize("chart", ["poincare", "hyperboloid", "half_space"])
def test_float32_is_exact_or_said_not_to_be(chart):
    X, _ = embedding(40, radius=5.0)
    klein = DISC.from_chart(X, "poincare")
    given = DISC.to_chart(klein, chart).astype(np.float32)
    model = FromChart(chart).fit(given)
    back = model.transform(given)
    assert back.dtype == np.float64
    np.testing.assert_allclose(DISC.pairwise(back), DISC.pairwise(klein), atol=1e-4)
    np.testing.assert_allclose(model.pairwise(given), DISC.pairwise(klein), atol=1e-4)
    far = {"poincare": [np.tanh(5.5), 0.0], "hyperboloid": [np.sinh(11.0), 0.0, np.cosh(11.0)],
           "half_space": [1.0, np.exp(-11.0)]}[chart]  # fmt: skip
    far = np.array([far, given[0]], dtype=np.float32)
    for call in (model.transform, model.pairwise, lambda x: model.pairwise(given[:2], x)):
        with pytest.warns(UserWarning, match=r"in float32 fix .* of row 0 only to ±0.00[1-4]"):
            assert np.isfinite(call(far)).all()


@pytest.mark.parametrize(
    ("model", "rows", "error", "said"),
    [
        (FromChart(), [[0.1, 0.2], [0.6, 0.8]], OutsideDomainError, "X at index 1 .* ‖X‖ < 1"),
        (FromChart(), [[0.1, 0.2], [2.0, 0.8]], OutsideDomainError, "X at index 1"),
        (FromChart(curvature=-4.0), [[0.1, 0.0], [0.6, 0.0]], OutsideDomainError,
         "Over 0.5: X at index 1"),
        (FromChart(curvature=1.0), [[0.1, 0.2]], NotRepresentableError, "elliptic .* 'poincare'"),
        (FromChart("sphere"), [[0.0, 1.0]], NotRepresentableError, "hyperbolic .* 'sphere'"),
        (FromChart("hyperboloid", curvature=0.0), [[0.0, 1.0]], NotRepresentableError, "A flat"),
        (FromChart("hyperboloid"), [[0.0, 0.0, 1.0], [0.1, 0.2, 0.3]], OutsideDomainError,
         "X at index 1 .* √"),
        (FromChart("hyperboloid"), [[1.0, 0.0, 0.0]], OutsideDomainError, "give FromChart axis=0"),
        (FromChart("hyperboloid"), [[1.0]], InvalidInputError, "2 or more coordinates"),
        (FromChart("sphere", curvature=1.0), [[0.6, 0.8], [0.6, -0.8]], OutsideDomainError,
         "X at index 1"),
        (FromChart("half_space"), [[0.6, 0.0]], OutsideDomainError, "a last coordinate > 0"),
        (FromChart(axis=2), [[0.1, 0.2]], InvalidInputError, "Got axis=2, .* which has 2"),
        (FromChart(radius=0.0), [[0.1, 0.2]], InvalidInputError, "radius"),
        (FromChart("mercator"), [[0.1, 0.2]], InvalidInputError, "chart"),
        (FromChart(), [[0.1, np.nan]], InvalidInputError, r"\(0, 1\)"),
    ],
)  # fmt: skip
def test_bad_input(model, rows, error, said):
    with pytest.raises(error, match=said):
        model.fit(rows)
    if not np.isnan(rows).any():
        with pytest.raises(error):
            model.pairwise(rows)


def test_rows_of_another_dimension():
    model = FromChart("hyperboloid").fit([[0.0, 0.0, 1.0]])
    with pytest.raises(InvalidInputError, match="2 features"):
        model.transform([[0.0, 1.0]])
    with pytest.raises(InvalidInputError, match="2 coordinates per point, but 3 are expected"):
        model.pairwise([[0.0, 0.0, 1.0]], [[0.0, 1.0]])
