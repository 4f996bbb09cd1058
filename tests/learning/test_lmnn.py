"""CurvedLMNN through its public entrance."""

import io
import pickle
import warnings
from contextlib import redirect_stderr

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import euclidean_distances
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.learning import slow

from cayleyklein import (
    MMC,
    CurvedKNeighborsClassifier,
    CurvedLMNN,
    CurvedMetric,
    MixedMetric,
    ProductMetric,
)
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError

SINGLE = ("flat", "elliptic", "hyperbolic", "learned")
ALL = (*SINGLE, "mixed", "product")
MARGINS = {"flat": 1.0, "elliptic": 0.3, "hyperbolic": 0.1, "learned": 0.3}
X, Y = load_iris(return_X_y=True)


@pytest.fixture(autouse=True)
def _quiet():
    """The checks fit classes of one row, which is warned about."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Classes .* have fewer than")
        yield


@parametrize_with_checks([*(CurvedLMNN(geometry=g) for g in ("product", "hyperbolic")), MMC()])
def test_is_a_scikit_learn_estimator(estimator, check):
    check(estimator)


def blobs(n=120, d=4, seed=0):
    return make_classification(
        n, n_features=d, n_informative=3, n_redundant=0, n_classes=3, n_clusters_per_class=1,
        class_sep=0.8, random_state=seed,
    )  # fmt: skip


def quick(geometry, **parameters):
    return CurvedLMNN(geometry=geometry, random_state=0, **parameters)


def accuracy(metric, X, y, queries, truth):
    model = CurvedKNeighborsClassifier(3, metric=metric, weights="uniform").fit(X, y)
    return model.score(queries, truth)


# -- the loss that is reported is the loss -------------------------------------------------


@pytest.mark.parametrize("geometry", SINGLE)
@pytest.mark.parametrize("n_impostors", [3, None])
def test_losses_are_those_of_a_plain_loop(geometry, n_impostors):
    """With weights, a repeated row, and rows that come and go as impostors."""
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(18, 2))
    y = np.arange(18) % 3
    weights = rng.uniform(0.5, 3.0, size=18)
    repeated = np.vstack([rows, rows[:2]])
    told = []
    K = {"flat": 0.0, "elliptic": 1.0, "hyperbolic": -1.0, "learned": 0.5}[geometry]
    start = CurvedMetric(factor=0.2 * np.eye(2), center=[0.1, 0.0], curvature=K)
    learner = quick(
        geometry, n_targets=2, n_impostors=n_impostors, n_passes=1, init=start, callback=told.append
    )
    learner.fit(repeated, np.append(y, y[:2]), sample_weight=np.append(weights, [1.0, 1.0]))
    weights[:2] += 1
    weights /= weights.mean()  # the unit of the loss
    targets = slow.nearest_of_class(start.pairwise(rows), y, 2)
    given = {"margin": MARGINS[geometry], "push": 0.5, "squared": geometry == "flat"}
    (history,) = learner.loss_history_
    assert len(told) == len(history) - 1 == learner.n_iter_
    for progress, reported in zip(told, history[1:], strict=True):
        D = slow.all_distances(rows, rows, slow.parts_of(progress.metric))
        loss, n_active = slow.loss(D, y, targets, weights=weights, n_impostors=n_impostors, **given)
        assert progress.loss == reported == pytest.approx(float(loss), rel=1e-9)
        assert progress.n_active == n_active


@pytest.mark.parametrize("geometry", ALL)
def test_the_loss_never_rises_within_a_pass(geometry):
    learner = quick(geometry).fit(*blobs(150))
    assert learner.n_iter_ > 0
    for history in learner.loss_history_:
        assert history == sorted(history, reverse=True)
    assert learner.n_iter_ == sum(len(history) - 1 for history in learner.loss_history_)


@pytest.mark.parametrize("geometry", SINGLE)
def test_more_iterations_do_not_hurt(geometry):
    """Held-out accuracy over 100 iterations; K and the scale of L stay bounded."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 900)
    corners = np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])
    rows = np.column_stack(
        [corners[y] + 0.35 * rng.normal(size=(900, 3)), rng.normal(size=(900, 7))]
    )
    train, test = slice(0, 400), slice(400, None)
    seen = []

    def watch(progress):
        if progress.iteration in (5, 10, 20, 40, 60, 80, 100):
            seen.append((accuracy(progress.metric, rows[train], y[train], rows[test], y[test]),
                         progress.metric))  # fmt: skip
        return progress.iteration == 100

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        quick(geometry, n_passes=40, max_iter=10, callback=watch).fit(rows[train], y[train])
    found = [share for share, _ in seen]
    assert len(found) == 7
    start = accuracy(CurvedMetric.euclidean(10), rows[train], y[train], rows[test], y[test])
    assert found[0] > start + 0.02
    assert min(found) > max(found) - 0.04
    sizes = [np.linalg.norm(metric.factor) for _, metric in seen]
    assert max(sizes) < 10 * min(sizes)
    assert all(abs(metric.curvature) < 20 for _, metric in seen)


# -- what it learns ------------------------------------------------------------------------


@pytest.mark.parametrize("geometry", ALL)
def test_learns_what_noise_hides(geometry):
    """Three columns of noise a thousand times as wide hide the classes from plain distances."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    rows = np.column_stack([y + 0.3 * rng.normal(size=400), rng.normal(size=(400, 3)) * 300])
    learner = quick(geometry).fit(rows[:200], y[:200])
    split = rows[:200], y[:200], rows[200:], y[200:]
    assert accuracy(learner.metric_, *split) > max(
        0.85, accuracy(CurvedMetric.euclidean(4), *split)
    )
    assert learner.metric_.contains(rows[:200]).all()
    sign = {
        "flat": [0],
        "elliptic": [1],
        "hyperbolic": [-1],
        "mixed": [1, -1],
        "product": [0, 1, 1],
    }
    if geometry in sign:
        assert np.sign(learner.curvature_).tolist() == sign[geometry]
    assert len(learner.components_) == 4 * len(learner.curvature_)


def test_the_default_is_a_product_of_spheres():
    learner = CurvedLMNN(random_state=0).fit(*blobs(150))
    assert isinstance(learner.metric_, ProductMetric)
    assert learner.geometry_ == "product"
    np.testing.assert_allclose(learner.curvature_, [0.0, 0.09, 1.0])


def test_a_large_fit_uses_anchors_whatever_the_order():
    rows, y = blobs(3200, d=5)
    learner = CurvedLMNN(random_state=0).fit(rows, y)
    again = CurvedLMNN(random_state=0).fit(rows[::-1], y[::-1])
    np.testing.assert_array_equal(again.components_, learner.components_)


def test_mixed_is_a_sum_with_a_share():
    learner = quick("mixed").fit(*blobs())
    assert isinstance(learner.metric_, MixedMetric)
    assert learner.curvature_.tolist() == [1, -1]
    assert learner.get_metric() is learner.metric_
    assert learner.metric_.weights.sum() == pytest.approx(1.0)
    assert learner.alpha_ == learner.metric_.weights[0]
    other = quick("mixed", alpha=0.25).fit(*blobs())
    assert other.metric_ == MixedMetric(learner.metric_.metrics, [0.25, 0.75])
    # without an α, both parts weigh the same in units of their near neighbours
    rows, _ = blobs()
    nearest = [np.sort(m.pairwise(rows), axis=1)[:, 1:4] for m in learner.metric_.metrics]
    shares = learner.metric_.weights * [np.median(some) for some in nearest]
    np.testing.assert_allclose(shares[0], shares[1], rtol=0.02)
    with pytest.raises(NotRepresentableError, match="mixed metric is not a Mahalanobis"):
        learner.get_mahalanobis_matrix()


# -- what must not matter ------------------------------------------------------------------


@pytest.mark.parametrize("geometry", ALL)
def test_does_not_depend_on_the_order_of_rows(geometry):
    rows, y = blobs(130)
    order = np.random.default_rng(0).permutation(130)
    one, other = quick(geometry).fit(rows, y), quick(geometry).fit(rows[order], y[order])
    np.testing.assert_array_equal(one.components_, other.components_)


@pytest.mark.parametrize("geometry", ALL)
def test_weights_are_repetitions(geometry):
    rows, y = blobs(90)
    counts = np.random.default_rng(0).integers(0, 3, size=90)
    counts[:3] = 0
    weighted = quick(geometry).fit(rows, y, sample_weight=counts)
    repeated = quick(geometry).fit(np.repeat(rows, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_array_equal(weighted.components_, repeated.components_)
    assert weighted.loss_history_ == repeated.loss_history_


@pytest.mark.parametrize("geometry", ALL)
def test_a_common_factor_of_weights_changes_nothing(geometry):
    rows, y = blobs(90)
    weights = np.random.default_rng(0).uniform(0.5, 2, size=90)
    one = quick(geometry).fit(rows, y, sample_weight=weights)
    for factor in (2.0**-40, 1e-300, 3.7):
        other = quick(geometry).fit(rows, y, sample_weight=factor * weights)
        np.testing.assert_allclose(other.components_, one.components_, rtol=1e-6, atol=1e-9)


def test_weights_are_repetitions_in_a_sample_too():
    rows, y = blobs(200)
    counts = np.random.default_rng(0).integers(0, 3, size=200)
    weighted = quick("flat", subsample=60).fit(rows, y, sample_weight=counts)
    repeated = quick("flat", subsample=60)
    repeated.fit(np.repeat(rows, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_array_equal(weighted.components_, repeated.components_)
    assert weighted.n_samples_learned_ == repeated.n_samples_learned_ == 60


@pytest.mark.parametrize("geometry", SINGLE)
@pytest.mark.parametrize("unit", [1e-150, 1e150])
def test_any_unit(geometry, unit):
    rows, y = blobs()
    one = quick(geometry).fit(rows, y)
    other = quick(geometry).fit(rows * unit, y)
    np.testing.assert_allclose(other.components_ * unit, one.components_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("geometry", ALL)
def test_constant_columns_change_nothing(geometry):
    rows, y = blobs(100)
    wide = np.column_stack([rows[:, :2], np.full(100, 7.0), rows[:, 2:]])
    one, other = quick(geometry).fit(rows, y), quick(geometry).fit(wide, y)
    np.testing.assert_allclose(
        one.metric_.pairwise(rows), other.metric_.pairwise(wide), rtol=1e-5, atol=1e-8
    )


@pytest.mark.parametrize("geometry", SINGLE)
def test_hard_tables(geometry):
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    all_constant = np.ones((40, 3))
    far_out = np.vstack([rng.normal(size=(39, 3)), [[1e6, -1e6, 1e6]]])
    collinear = np.outer(rng.normal(size=40), [1.0, 2.0, 3.0])
    for rows in (all_constant, far_out, collinear):
        learner = quick(geometry).fit(rows, y)
        assert np.isfinite(learner.components_).all()


@pytest.mark.parametrize("scale", [1e-200, 1e300])
def test_weights_of_any_scale(scale):
    rows, y = blobs()
    weights = np.random.default_rng(0).uniform(1, 2, size=len(y))
    one = quick("elliptic", n_passes=1).fit(rows, y, sample_weight=weights)
    other = quick("elliptic", n_passes=1).fit(rows, y, sample_weight=scale * weights)
    np.testing.assert_allclose(one.components_, other.components_, rtol=1e-6)


# -- starts, ranks, rows -------------------------------------------------------------------


@pytest.mark.parametrize("init", ["precision", "identity", "std", "flat", "pca", "lda"])
@pytest.mark.parametrize("geometry", SINGLE)
def test_every_start(init, geometry):
    learner = quick(geometry, init=init).fit(X[::2], Y[::2])
    assert accuracy(learner.metric_, X[::2], Y[::2], X[1::2], Y[1::2]) > 0.9


def test_start_from_a_metric_or_an_array():
    first = quick("elliptic", max_iter="auto").fit(X, Y)
    going_on = quick("elliptic", init=first.metric_, n_passes=1).fit(X, Y)
    assert going_on.loss_history_[0][0] < quick("elliptic").fit(X, Y).loss_history_[0][0]
    array = quick("flat", init=np.eye(2, 4), n_passes=1).fit(X, Y)
    assert array.components_.shape == (2, 4)
    with pytest.raises(InvalidInputError, match="outside the domain of a hyperbolic metric"):
        quick("hyperbolic", init=np.eye(4)).fit(X, Y)
    with pytest.raises(InvalidInputError, match="give one geometry, or a start by name"):
        CurvedLMNN(init=first.metric_).fit(X, Y)


def test_targets_of_the_first_pass_are_those_of_the_start():
    """init="identity" chooses them in the columns as they are, not in standardised ones."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(30, 2)) * [1.0, 100.0]
    y = np.arange(30) % 2
    told = []
    learner = quick("flat", init="identity", n_passes=1, n_targets=1, callback=told.append)
    learner.fit(rows, y)
    targets = slow.nearest_of_class(euclidean_distances(rows), y, 1)
    D = told[0].metric.pairwise(rows)
    loss, _ = slow.loss(D, y, targets, margin=1.0, push=0.5, squared=True, n_impostors=10)
    assert told[0].loss == pytest.approx(float(loss), rel=1e-9)


@pytest.mark.parametrize("geometry", ALL)
def test_low_rank(geometry):
    learner = quick(geometry, n_components=2).fit(X, Y)
    parts = len(learner.curvature_)
    assert learner.components_.shape == (2 * parts, 4)
    assert learner.transform(X).shape == (150, 2 * parts + int((learner.curvature_ > 0).sum()))


def test_a_sample_is_drawn_from_large_tables():
    rows, y = blobs(500)
    half = CurvedLMNN(geometry="flat", subsample=0.5, random_state=0).fit(rows, y)
    count = CurvedLMNN(geometry="flat", subsample=250, random_state=0).fit(rows, y)
    np.testing.assert_array_equal(half.components_, count.components_)
    whole = CurvedLMNN(geometry="flat", subsample=None, random_state=0).fit(rows, y)
    assert not np.allclose(half.components_, whole.components_)


def test_small_classes_are_named_at_the_callers_line():
    y = np.where(np.arange(150) == 7, 9, Y)
    warnings.simplefilter("always")
    with pytest.warns(UserWarning, match=r"Classes \[9\] have fewer than 4") as caught:
        quick("flat").fit(X, y)
    assert caught[0].filename == __file__


# -- transform -----------------------------------------------------------------------------


@pytest.mark.parametrize("geometry", ["flat", "elliptic", "product"])
def test_transform_keeps_the_order(geometry):
    rows, y = blobs(150)
    learner = quick(geometry).fit(rows, y)
    D = learner.metric_.pairwise(rows)
    E = euclidean_distances(learner.transform(rows))
    for i in range(0, 150, 10):
        np.testing.assert_array_equal(
            np.argsort(np.delete(D[i], i))[:9], np.argsort(np.delete(E[i], i))[:9]
        )
    if geometry == "product":
        np.testing.assert_allclose(E, D, atol=1e-6)


@pytest.mark.parametrize("geometry", ["hyperbolic", "mixed"])
def test_transform_of_rows_outside_is_finite(geometry):
    rows, y = blobs(100)
    learner = quick(geometry).fit(rows, y)
    far = 1e6 * np.sign(rows[:3])
    assert np.isfinite(learner.transform(far)).all()
    assert len(learner.get_feature_names_out()) == learner.transform(rows).shape[1]


@pytest.mark.parametrize(
    ("geometry", "load"),
    [
        *((geometry, load_iris) for geometry in ALL),
        ("product", load_wine),
        ("product", load_breast_cancer),
    ],
)
def test_pipelines_with_any_geometry(geometry, load):
    rows, y = load(return_X_y=True)
    model = make_pipeline(CurvedLMNN(geometry=geometry, random_state=0), KNeighborsClassifier())
    scores = cross_val_score(model, rows, y, cv=3, error_score="raise")
    assert scores.min() > 0.85
    assert repr(model.fit(rows, y))
    assert "metric_" in dir(model[0])
    assert len(model[:-1].get_feature_names_out()) == model[0].transform(rows).shape[1]
    assert model._repr_html_()


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("geometry", ["elliptic", "product"])
def test_frames_in_and_out(library, geometry):
    frames = pytest.importorskip(library)
    names = ["a", "b", "c", "d"]
    table = frames.DataFrame({name: X[:, i] for i, name in enumerate(names)})
    learner = quick(geometry).set_output(transform=library).fit(table, Y)
    assert learner.feature_names_in_.tolist() == names
    out = learner.transform(table)
    assert isinstance(out, frames.DataFrame)
    assert list(out.columns) == list(learner.get_feature_names_out())
    np.testing.assert_allclose(out.to_numpy(), quick(geometry).fit_transform(X, Y), rtol=1e-12)


# -- watching, stopping, refusing ----------------------------------------------------------


@pytest.mark.parametrize("geometry", ["learned", "mixed", "product"])
def test_a_callback_stops_every_part(geometry):
    seen = []

    def stop(progress):
        seen.append(progress)
        return len(seen) == 3

    rows, y = blobs(150)
    learner = quick(geometry, callback=stop).fit(rows, y)
    assert 3 <= len(seen) <= 4
    assert [progress.iteration for progress in seen[:3]] == [1, 2, 3]
    assert seen[2].loss == learner.loss_history_[0][3]
    assert learner.metric_.pairwise(rows).shape == (150, 150)


def test_an_interrupted_refit_leaves_the_first():
    def interrupt(progress):
        raise KeyboardInterrupt

    learner = quick("elliptic", callback=interrupt)
    with pytest.raises(KeyboardInterrupt):
        learner.fit(X, Y)
    with pytest.raises(NotFittedError):
        learner.transform(X)
    learner.set_params(callback=None).fit(X, Y)
    first = learner.metric_
    learner.set_params(callback=interrupt)
    with pytest.raises(KeyboardInterrupt):
        learner.fit(X + 1, Y)
    assert learner.metric_ is first
    assert learner.transform(X).shape == (150, 5)


def test_verbose_writes_lines_and_silence_is_the_default():
    for verbose in (True, False):
        with redirect_stderr(io.StringIO()) as written:
            quick("flat", verbose=verbose).fit(X, Y)
        lines = written.getvalue().splitlines()
        assert len(lines) == (20 if verbose else 0)  # each iteration
        assert all("loss" in line for line in lines)
        assert not any("\r" in line for line in lines)


def test_says_when_it_has_not_converged():
    with pytest.warns(ConvergenceWarning, match="still falls after max_iter=2") as caught:
        quick("flat", max_iter=2).fit(X, Y)
    assert caught[0].filename == __file__


def test_pairs():
    learner = quick("elliptic").fit(X, Y)
    pairs = np.stack([X[:3], X[50:53]], axis=1)
    np.testing.assert_array_equal(
        learner.pair_distance(pairs), learner.metric_.distance(X[:3], X[50:53])
    )
    np.testing.assert_array_equal(learner.pair_score(pairs), -learner.pair_distance(pairs))
    with pytest.raises(InvalidInputError, match=r"pairs must be rows of shape \(n, 2, d\)"):
        learner.pair_distance(X)


def test_grids_clones_pickles():
    model = make_pipeline(StandardScaler(), quick("elliptic"), KNeighborsClassifier(3))
    grid = GridSearchCV(model, {"curvedlmnn__margin": [0.1, 0.3]}, cv=2).fit(X, Y)
    assert grid.best_score_ > 0.9
    learner = grid.best_estimator_[1]
    copy = pickle.loads(pickle.dumps(learner))
    assert copy.metric_ == learner.metric_
    assert not hasattr(clone(learner), "metric_")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"geometry": "round"}, "'geometry' parameter"),
        ({"n_targets": 0}, "'n_targets' parameter"),
        ({"push": 1.5}, "'push' parameter"),
        ({"margin": -1}, "'margin' parameter"),
        ({"init": "random"}, "'init' parameter"),
        ({"max_iter": 2.5}, "'max_iter' parameter"),
        ({"n_components": 9}, "Got n_components=9, but X has only 4 columns"),
        ({"init": np.eye(4), "n_components": 2, "geometry": "flat"}, "factor of 4 rows"),
        ({"init": np.eye(3), "geometry": "flat"}, "init is for 3 columns"),
        ({"init": "diagonal"}, "'init' parameter"),
        ({"callback": 3}, "'callback' parameter"),
        ({"subsample": 1.5}, "'subsample' parameter"),
        ({"geometry": "auto"}, 'take geometry="product"'),
        ({"margin": 0.3}, "drop it, or give one geometry"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        CurvedLMNN(**parameters).fit(X, Y)


def test_bad_labels_and_rows():
    from scipy import sparse

    with pytest.raises(InvalidInputError, match=r"1 class .*\[0.0\]"):
        CurvedLMNN().fit(X, np.zeros(150))
    with pytest.raises(ValueError, match="NaN"):
        CurvedLMNN().fit(X, np.where(Y == 1, np.nan, Y))
    with pytest.raises(ValueError, match="continuous"):
        CurvedLMNN().fit(X, X[:, 0] * 1.37)
    with pytest.raises(TypeError, match=r"X is sparse.*1,001 columns.*TruncatedSVD.*toarray"):
        CurvedLMNN().fit(sparse.csr_array((150, 1001)), Y)


def test_sample_weight_is_routed():
    weights = np.random.default_rng(0).uniform(0.5, 2, size=len(Y))
    with config_context(enable_metadata_routing=True):
        learner = quick("elliptic").set_fit_request(sample_weight=True)
        model = make_pipeline(learner, KNeighborsClassifier(3)).fit(X, Y, sample_weight=weights)
    alone = quick("elliptic").fit(X, Y, sample_weight=weights)
    assert model[0].metric_ == alone.metric_


@pytest.mark.parametrize("verbose", [0, 1, True, np.False_])
def test_flags_may_be_numbers(verbose):
    with redirect_stderr(io.StringIO()) as written:
        CurvedLMNN(geometry="flat", verbose=verbose).fit(X, Y)
        CurvedKNeighborsClassifier(geometry="flat", verbose=verbose).fit(X, Y)
    assert bool(written.getvalue()) == bool(verbose)
