import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib.colors import to_rgb
from sklearn.datasets import load_iris
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cayleyklein import CurvedKNeighborsClassifier, CurvedLMNN, CurvedMetric, ProductMetric
from cayleyklein.diagrams import CayleyKleinVoronoi
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.plotting import DecisionBoundaryDisplay, VoronoiDisplay
from cayleyklein.plotting.shapes import COLORS

RNG = np.random.default_rng(5)
POINTS = RNG.uniform(-0.6, 0.6, size=(25, 2))
LABELS = np.array(["a", "b", "c"])[RNG.integers(0, 3, 25)]
X, Y = load_iris(return_X_y=True)


class Neighbors:
    """k nearest neighbours by brute force, to compare with."""

    def __init__(self, k, metric):
        self.k, self.metric = k, metric

    def fit(self, rows, labels):
        self.rows = rows
        self.classes_, self.codes = np.unique(labels, return_inverse=True)
        return self

    def predict(self, queries):
        nearest = np.argsort(self.metric.pairwise(queries, self.rows), axis=1)[:, : self.k]
        votes = self.codes[nearest][:, :, None] == np.arange(len(self.classes_))
        return self.classes_[votes.sum(axis=1).argmax(axis=1)]


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("K", [-1.0, 0.0, 1.0])
def test_frontier_parts_what_neighbours_say(K, k):
    metric = CurvedMetric(matrix=[[1.0, 0.3], [0.3, 0.8]], curvature=K)
    diagram = VoronoiDisplay.from_points(POINTS, metric, labels=LABELS, order=k).diagram
    model = Neighbors(k, metric).fit(POINTS, LABELS)
    start, end = np.moveaxis(diagram.frontier(), 1, 0)
    middle, along = (start + end) / 2, end - start
    across = np.stack([-along[:, 1], along[:, 0]], axis=1)
    long = np.linalg.norm(along, axis=1) > 1e-3
    step = 1e-4 * across[long]
    first, second = (model.predict(middle[long] + side * step) for side in (1, -1))
    assert long.sum() > 5
    assert (first != second).all()


def test_regions_agree_with_a_grid():
    metric = CurvedMetric.euclidean(2, curvature=-1.0)
    diagram = VoronoiDisplay.from_points(POINTS, metric, labels=LABELS, order=3).diagram
    shapely = pytest.importorskip("shapely")
    grid = np.random.default_rng(0).uniform(-0.7, 0.7, size=(500, 2))
    model = Neighbors(3, metric).fit(POINTS, LABELS)
    said = model.predict(grid)
    tree = shapely.STRtree(diagram.cells())
    point, cell = tree.query(shapely.points(grid), predicate="within")
    assert len(point) > 450
    np.testing.assert_array_equal(diagram.cell_labels[cell], said[point])


def test_regressors_are_refused_at_once():
    numbers = X[:, 0] + X[:, 1]
    for model in (KNeighborsRegressor(), make_pipeline(StandardScaler(), LinearRegression())):
        with pytest.raises(InvalidInputError, match=r"must be a classifier; .* predicts numbers"):
            DecisionBoundaryDisplay.from_estimator(model.fit(X, numbers), X)

    class Regressor:
        """One that scikit-learn does not know."""

        def predict(self, rows):
            return rows.sum(axis=1)

    with pytest.raises(InvalidInputError, match="Regressor predicts numbers"):
        DecisionBoundaryDisplay.from_estimator(Regressor(), X, resolution=5)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_estimators_see_the_names_of_columns(frame):
    table = frame({f"column {i}": X[:, i] for i in range(4)})
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(table, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # scikit-learn warns where names are missing
        display = DecisionBoundaryDisplay.from_estimator(
            model, table, Y, features=("column 1", "column 3"), resolution=5
        )
    assert display.names == ("column 1", "column 3")
    plain = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y)
    expected = DecisionBoundaryDisplay.from_estimator(plain, X, features=(1, 3), resolution=5)
    np.testing.assert_array_equal(display.regions, expected.regions)


def test_polars_columns_outside_the_domain_are_blank():
    rows = X[:, :2] - X[:, :2].mean(axis=0)
    metric = CurvedMetric.euclidean(2, curvature=-0.25)
    inside = metric.contains(rows)
    table = pl.DataFrame(rows[inside], schema=["length", "width"])
    model = CurvedKNeighborsClassifier(metric=metric).fit(table, Y[inside])
    display = DecisionBoundaryDisplay.from_estimator(model, table, Y[inside], resolution=20)
    np.testing.assert_array_equal(
        display.regions < 0, ~metric.contains(grid_of(display).reshape(-1, 2)).reshape(20, 20)
    )


def test_unlabelled_diagram_is_refused():
    diagram = CayleyKleinVoronoi(POINTS, CurvedMetric.euclidean(2))
    with pytest.raises(InvalidInputError, match="labels=y"):
        VoronoiDisplay.from_diagram(diagram).plot(regions=True)


def grid_of(display):
    """The points (n, n, 2) at which classes were predicted."""
    axes = np.linspace(*display.bounds, len(display.regions)).T
    return np.stack(np.meshgrid(*axes), axis=-1)


@pytest.mark.parametrize("features", [(2, 3), "pca", None])
def test_grid_holds_what_the_estimator_predicts(features):
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y)
    display = DecisionBoundaryDisplay.from_estimator(
        model, X, Y, features=features, resolution=40
    ).plot()
    codes = display.regions
    assert codes.shape == (40, 40)
    assert set(np.unique(codes)) <= {0, 1, 2}
    if features == (2, 3):
        row = X.mean(axis=0)
        row[2:] = grid_of(display)[30, 7]
        assert codes[30, 7] == model.predict([row])[0]
        np.testing.assert_array_equal(display.X, X[:, 2:])
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend == ["0", "1", "2"]


def test_plane_data_are_shown_as_they_are():
    model = KNeighborsClassifier().fit(X[:, :2], Y)
    display = DecisionBoundaryDisplay.from_estimator(model, X[:, :2], resolution=20)
    np.testing.assert_array_equal(display.X, X[:, :2])


@pytest.mark.parametrize("shown", [[1, 2], [2]])
def test_rows_have_the_colours_of_their_regions(shown):
    """Also when some classes have no row in the picture."""
    model = LogisticRegression(max_iter=1000).fit(X[:, :2], Y)
    some = np.isin(Y, shown)
    display = DecisionBoundaryDisplay.from_estimator(
        model, X[some, :2], Y[some], resolution=5
    ).plot()
    dots = display.ax_.collections[-3:]
    assert [dot.get_label() for dot in dots] == ["0", "1", "2"]
    for name, dot in enumerate(dots):
        assert len(dot.get_offsets()) == (Y[some] == name).sum()
        np.testing.assert_allclose(dot.get_facecolor()[0, :3], to_rgb(COLORS["light"][name]))


def test_a_constant_column_is_drawn():
    rows = X[:, :2] * [1, 0]
    model = KNeighborsClassifier().fit(rows, Y)
    display = DecisionBoundaryDisplay.from_estimator(model, rows, Y, resolution=5).plot()
    assert (np.ptp(display.bounds, axis=0) > 0).all()


def test_repeated_rows_each_have_a_vote():
    rows, labels = POINTS[[0, 1, 1, 1, 2]], [0, 1, 0, 1, 0]
    metric = CurvedMetric.euclidean(2)
    diagram = VoronoiDisplay.from_points(rows, metric, labels=labels, order=3).diagram
    assert 1 in diagram.cell_labels  # around the three


def test_refusals():
    model = KNeighborsClassifier().fit(X, Y)
    for options, words in [
        ({"resolution": 1}, "at least 2"),
        ({"feature_names": ["a", "b"]}, "length=2, .* 4 columns in X"),
        ({"features": 3}, "features=3"),
    ]:
        with pytest.raises(InvalidInputError, match=words):
            DecisionBoundaryDisplay.from_estimator(model, X, Y, **options)
    with pytest.raises(InvalidInputError, match="two columns or more"):
        DecisionBoundaryDisplay.from_estimator(model, X[:, :1], Y)


def test_outside_the_domain_stays_blank():
    metric = CurvedMetric(factor=np.eye(2) / 0.62, curvature=-1.0)
    rows = POINTS[np.linalg.norm(POINTS, axis=1) < 0.6]
    labels = (rows[:, 0] > 0).astype(int)
    model = Neighbors(1, metric).fit(rows, labels)
    display = DecisionBoundaryDisplay.from_estimator(model, rows, labels, resolution=30).plot()
    outside = np.linalg.norm(grid_of(display), axis=-1) >= 0.62
    assert outside.any()
    np.testing.assert_array_equal(display.regions == -1, outside)
    (domain,) = display.domains
    np.testing.assert_allclose(domain.semi_axes, 0.62)


@pytest.mark.parametrize("K", [0.0, -0.01])
def test_regions_of_a_metric_of_lower_rank(K):
    """Its domain is a strip, which is drawn blank outside, but without a conic."""
    metric = CurvedMetric(factor=[[1.0, 0.5]], curvature=K)
    model = Neighbors(1, metric).fit(POINTS, LABELS)
    display = DecisionBoundaryDisplay.from_estimator(model, POINTS, LABELS, resolution=9)
    assert display.domains == ()
    assert set(display.regions.ravel()) >= {0, 1}


def test_regions_of_a_product_are_its_predictions():
    product = ProductMetric([CurvedMetric.euclidean(2, 1.0), CurvedMetric.euclidean(2)], [0.5, 1.0])
    model = CurvedKNeighborsClassifier(5, metric=product).fit(POINTS, LABELS)
    display = DecisionBoundaryDisplay.from_estimator(model, POINTS, LABELS, resolution=20).plot()
    found = display.classes[display.regions.ravel()]
    np.testing.assert_array_equal(found, model.predict(grid_of(display).reshape(-1, 2)))
    assert display.domains == ()


def test_hyperbolic_learner_in_a_pipeline():
    learner = CurvedLMNN(geometry="hyperbolic", random_state=0)
    model = make_pipeline(StandardScaler(), learner, KNeighborsClassifier(3)).fit(X, Y)
    display = DecisionBoundaryDisplay.from_estimator(model, X, Y, features=(0, 3), resolution=25)
    assert (display.regions >= 0).any()
    assert display.domains == ()  # it is one of the standardised rows
    display.plot()


def test_named_columns_label_the_axes_and_reach_the_estimator():
    data = load_iris(as_frame=True)
    model = LogisticRegression(max_iter=1000).fit(data.data, data.target)
    names = list(data.data.columns)
    display = DecisionBoundaryDisplay.from_estimator(
        model, data.data, features=names[1:3], resolution=10
    ).plot()
    assert [display.ax_.get_xlabel(), display.ax_.get_ylabel()] == names[1:3]
