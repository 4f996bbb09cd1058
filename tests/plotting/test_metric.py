import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cayleyklein import (
    CurvedKNeighborsClassifier,
    CurvedLMNN,
    CurvedMetric,
    MixedMetric,
    ProductMetric,
)
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError
from cayleyklein.plotting import MetricDisplay
from cayleyklein.plotting.sections import choose_section

X, Y = load_iris(return_X_y=True)


def random_metric(K, seed=0, d=4):
    rng = np.random.default_rng(seed)
    factor = np.eye(d) + 0.3 * rng.normal(size=(d, d))
    return CurvedMetric(factor=factor, center=0.1 * rng.normal(size=d), curvature=K)


@pytest.mark.parametrize("features", [(0, 1), (3, 1), "pca"])
@pytest.mark.parametrize("K", [-0.3, 0.0, 1.0])
@settings(max_examples=20)
@given(seed=st.integers(0, 1000))
def test_section_keeps_distances(features, K, seed):
    rng = np.random.default_rng(seed)
    rows = 0.2 * rng.normal(size=(10, 4))
    metric = random_metric(K, seed)
    mixed = MixedMetric([metric, CurvedMetric.euclidean(4)], [0.2, 0.8])
    section = choose_section(metric, rows, features)
    t = 0.1 * rng.normal(size=(6, 2)) + section.project(rows.mean(axis=0))
    for whole in (metric, mixed):
        plane = section.restrict(whole)
        assert plane.dimension == 2
        expected = whole.pairwise(section.embed(t))
        np.testing.assert_allclose(plane.pairwise(t), expected, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(section.project(section.embed(t)), t, atol=1e-12)


def test_section_of_features_shows_them_as_they_are():
    section = choose_section(random_metric(0.0), X, ("c", "a"), ("a", "b", "c", "d"))
    np.testing.assert_array_equal(section.project(X), X[:, [2, 0]])
    assert section.names == ("c", "a")


def test_section_outside_the_domain_is_refused():
    metric = CurvedMetric.euclidean(3, curvature=-1.0)
    rows = np.full((2, 3), [0.0, 0.0, 5.0])
    with pytest.raises(NotRepresentableError, match="misses the domain"):
        MetricDisplay.from_metric(metric, rows, features=(0, 1))


def test_section_that_the_metric_does_not_see_is_refused():
    metric = CurvedMetric(factor=[[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    with pytest.raises(NotRepresentableError, match="is 0 between some points"):
        MetricDisplay.from_metric(metric, features=(0, 1))


@pytest.mark.parametrize("features", [(0, 0), (0, 4), (0,), ("a", "b"), (0.0, 1.0), "tsne"])
def test_wrong_features_are_named(features):
    with pytest.raises(InvalidInputError, match="features="):
        MetricDisplay.from_metric(random_metric(0.0), X, features=features)


@pytest.mark.parametrize("geometry", ["flat", "elliptic", "hyperbolic", "mixed", "product"])
def test_learned_metric(geometry):
    asked = geometry
    learner = CurvedLMNN(geometry=asked, random_state=0)
    model = make_pipeline(StandardScaler(), learner).fit(X, Y)
    display = MetricDisplay.from_estimator(model, X, Y, features=(2, 3)).plot()
    assert display.metric.geometry == geometry
    centers, outlines = display.balls.centers, display.balls.outlines
    for center, outline in zip(centers, outlines, strict=True):
        if len(outline):
            found = display.metric.distance(center, outline)
            np.testing.assert_allclose(found, display.balls.radii[0], rtol=1e-6)
    np.testing.assert_allclose(display.X, StandardScaler().fit_transform(X)[:, 2:])
    assert geometry in display.ax_.get_title()
    assert "K" in display.ax_.get_title()
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend == ["0", "1", "2"]


def test_a_product_on_a_plane_has_the_distances_of_space():
    product = ProductMetric(
        [random_metric(1.0), random_metric(0.25), random_metric(0.0)], [1, 2, 3]
    )
    section = choose_section(product, X, (1, 3))
    t = section.project(X[::10])
    expected = product.pairwise(section.embed(t))
    np.testing.assert_allclose(section.restrict(product).pairwise(t), expected, atol=1e-9)


def test_feature_names_label_the_axes():
    data = load_iris(as_frame=True)
    learner = CurvedLMNN(geometry="flat").fit(data.data, data.target)
    names = list(data.data.columns)
    display = MetricDisplay.from_estimator(learner, data.data, features=names[:2]).plot()
    assert [display.ax_.get_xlabel(), display.ax_.get_ylabel()] == names[:2]


def test_columns_that_a_step_has_made_have_no_old_names():
    data = load_iris(as_frame=True)
    learner = CurvedLMNN(geometry="flat")
    model = make_pipeline(PCA(3), learner).fit(data.data, data.target)
    display = MetricDisplay.from_estimator(model, data.data, features=(0, 2))
    assert display.names == ("$x_{1}$", "$x_{3}$")


def test_one_row_is_enough():
    assert MetricDisplay.from_metric(random_metric(-1.0, d=2), [[0.1, 0.0]]).plot().ax_ is not None


def test_a_domain_far_larger_than_the_data_is_drawn_apart():
    rows = 0.05 * np.random.default_rng(0).normal(size=(30, 2))
    metric = CurvedMetric.euclidean(2, curvature=-1.0)
    ax = MetricDisplay.from_metric(metric, rows).plot().ax_
    (corner,) = ax.child_axes
    assert np.ptp(ax.get_xlim()) < 0.5
    assert corner.get_xlim()[1] > 1
    near = MetricDisplay.from_metric(metric, 8 * rows).plot().ax_
    assert not near.child_axes
    assert near.get_xlim()[1] > 1


@pytest.mark.parametrize("K", [-1.0, 0.0, 1.0])
def test_without_data(K):
    display = MetricDisplay.from_metric(random_metric(K, d=2), radius=0.1).plot()
    assert (display.balls.radii == 0.1).all()
    assert display.metric.contains(display.balls.centers).all()


def test_estimator_without_a_metric_is_refused():
    with pytest.raises(InvalidInputError, match="no metric"):
        MetricDisplay.from_estimator(StandardScaler().fit(X), X)


def test_labels_and_names_of_something_else_are_refused():
    with pytest.raises(InvalidInputError, match="150 points"):
        MetricDisplay.from_metric(random_metric(0.0), X, Y[:-1])
    model = CurvedKNeighborsClassifier(metric=random_metric(0.0)).fit(X, Y)
    with pytest.raises(InvalidInputError, match="feature_names of length=2"):
        MetricDisplay.from_estimator(model, X, feature_names=["a", "b"])


def test_rows_outside_the_domain_are_refused():
    metric = CurvedMetric.euclidean(2, curvature=-1.0)
    with pytest.raises(InvalidInputError, match="domain"):
        MetricDisplay.from_metric(metric, [[5.0, 5.0], [6.0, 6.0]])


@pytest.mark.parametrize("K", [-1.0, 0.0, 1.0])
def test_balls_of_the_lattice_do_not_overlap_on_the_whole(K):
    """They are at most as wide as the gap between neighbours, in the median."""
    display = MetricDisplay.from_metric(random_metric(K, d=2), lattice=5)
    distances = display.metric.pairwise(display.balls.centers)
    np.fill_diagonal(distances, np.inf)
    assert 2 * display.balls.radii[0] < np.median(distances.min(axis=1))


def test_one_ball_is_a_lattice_too():
    display = MetricDisplay.from_metric(CurvedMetric.euclidean(2, curvature=-1.0), lattice=1)
    assert len(display.balls.centers) == 1
    assert 0 < display.balls.radii[0] < np.inf
