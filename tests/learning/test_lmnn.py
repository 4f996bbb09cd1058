import pickle
import warnings

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import euclidean_distances
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from cayleyklein import MMC, CurvedLMNN, CurvedMetric, MixedMetric
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError
from cayleyklein.learning._data import TrainingRows
from cayleyklein.learning._selection import sample

SINGLE = ("flat", "elliptic", "hyperbolic", "learned")
X, Y = load_iris(return_X_y=True)


@pytest.fixture(autouse=True)
def _quiet():
    """The checks fit classes of one row, which is warned about."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Classes .* have fewer than")
        yield


@parametrize_with_checks([CurvedLMNN(), *(CurvedLMNN(geometry=g) for g in SINGLE), MMC()])
def test_is_a_scikit_learn_estimator(estimator, check):
    check(estimator)


def blobs(n=120, d=4, seed=0):
    return make_classification(
        n, n_features=d, n_informative=3, n_redundant=0, n_classes=3, n_clusters_per_class=1,
        class_sep=0.8, random_state=seed,
    )  # fmt: skip


def quick(geometry, **parameters):
    return CurvedLMNN(geometry=geometry, n_init=1, random_state=0, **parameters)


def leave_one_out(metric, X, y):
    D = metric.pairwise(X, outside="inf")
    np.fill_diagonal(D, np.inf)
    nearest = y[np.argsort(D, axis=1)[:, :3]]
    votes = np.array([np.bincount(row).argmax() for row in nearest])
    return np.mean(votes == y)


@pytest.mark.parametrize("geometry", SINGLE)
def test_learns_what_noise_hides(geometry):
    """Two columns of three hundred times the noise hide the classes from plain distances."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    rows = np.column_stack([y + 0.3 * rng.normal(size=200), rng.normal(size=(200, 3)) * 300])
    learner = quick(geometry).fit(rows, y)
    plain = leave_one_out(CurvedMetric.euclidean(4), rows, y)
    assert leave_one_out(learner.metric_, rows, y) > max(0.9, plain + 0.2)
    assert learner.loss_history_[-1] < learner.loss_history_[0]
    assert learner.metric_.contains(rows).all()
    assert learner.n_iter_ == len(learner.loss_history_)
    sign = {"flat": 0, "elliptic": 1, "hyperbolic": -1}
    if geometry in sign:
        assert np.sign(learner.curvature_) == sign[geometry]
        assert learner.geometry_ == geometry


def test_mixed_is_a_sum_with_a_reported_share():
    rows, y = blobs()
    learner = CurvedLMNN(geometry="mixed", random_state=0).fit(rows, y)
    assert isinstance(learner.metric_, MixedMetric)
    assert 0 <= learner.alpha_ <= 1
    assert learner.selection_.trials[0].name == "alpha=0.5"
    assert learner.curvature_.tolist() == [1, -1]
    fixed = CurvedLMNN(geometry="mixed", alpha=0.25, random_state=0).fit(rows, y)
    assert fixed.alpha_ == 0.25
    assert fixed.selection_ is None
    with pytest.raises(NotRepresentableError, match="no map to Euclidean space"):
        learner.transform(rows)
    with pytest.raises(NotRepresentableError, match="mixed metric is no Mahalanobis"):
        learner.get_mahalanobis_matrix()


def test_auto_says_what_it_tried():
    rows, y = blobs(150)
    learner = CurvedLMNN(random_state=0).fit(rows, y)
    names = [trial.name for trial in learner.selection_.trials]
    assert names[:3] == ["elliptic + hyperbolic", "elliptic", "hyperbolic"]
    assert "standardised k-NN" in names
    assert learner.selection_.chosen in names
    assert learner.selection_.chosen in repr(learner.selection_)
    assert CurvedLMNN(random_state=0, n_init=1).fit(rows, y).selection_ is None
    few = CurvedLMNN(random_state=0).fit(*blobs(60))
    assert few.geometry_ == "elliptic"
    with pytest.raises(NotRepresentableError, match="no map to Euclidean space"):
        learner.transform(rows)
    with pytest.raises(NotRepresentableError, match="geometry='elliptic'"):
        learner.get_feature_names_out()


def test_more_passes_are_earned():
    rows, y = make_classification(
        1200, n_features=30, n_informative=6, n_redundant=0, n_classes=4, random_state=1
    )
    learner = CurvedLMNN(geometry="flat", random_state=0).fit(rows[:800], y[:800])
    assert any("n_passes=" in trial.name for trial in learner.selection_.trials)


@pytest.mark.parametrize("geometry", [*SINGLE, "auto"])
def test_does_not_depend_on_threads_or_on_the_order_of_rows(geometry):
    rows, y = blobs(130)
    one = CurvedLMNN(geometry=geometry, random_state=0).fit(rows, y)
    two = CurvedLMNN(geometry=geometry, random_state=0, n_jobs=2).fit(rows, y)
    assert one.metric_ == two.metric_
    order = np.random.default_rng(0).permutation(len(y))
    shuffled = CurvedLMNN(geometry=geometry, random_state=0).fit(rows[order], y[order])
    assert one.metric_ == shuffled.metric_


@pytest.mark.parametrize("geometry", SINGLE)
@pytest.mark.parametrize("unit", [1e-150, 1e150])
def test_any_unit(geometry, unit):
    rows, y = blobs()
    usual = quick(geometry).fit(rows, y)
    strange = quick(geometry).fit(rows * unit, y)
    np.testing.assert_allclose(
        strange.metric_.distance(rows[:9] * unit, rows[9:18] * unit),
        usual.metric_.distance(rows[:9], rows[9:18]),
        rtol=1e-6,
    )


@pytest.mark.parametrize("geometry", SINGLE)
def test_hard_tables(geometry):
    rng = np.random.default_rng(0)
    wide = quick(geometry).fit(rng.normal(size=(20, 40)), np.arange(20) % 2)
    assert wide.components_.shape == (40, 40)
    rows, y = blobs()
    constant = np.column_stack([rows, np.full(len(rows), 3.0), rows[:, 0]])
    learner = quick(geometry).fit(constant, y)
    assert not learner.components_[:, 4].any()
    same = np.repeat(rows[:30], 2, axis=0)
    both = quick(geometry).fit(same, np.arange(60) % 2)  # each row has both labels
    assert np.isfinite(both.components_).all()


@pytest.mark.parametrize("geometry", [*SINGLE, "mixed"])
def test_constant_columns_change_nothing(geometry):
    rows, y = blobs()
    wide = np.column_stack([rows[:, :2], np.full(len(rows), 3.0), rows[:, 2:], np.zeros(len(rows))])
    plain, beside = (quick(geometry).fit(some, y).metric_ for some in (rows, wide))
    np.testing.assert_allclose(beside.pairwise(wide), plain.pairwise(rows), rtol=1e-6, atol=1e-9)


def test_a_flat_start_that_is_shrunk_stays_so():
    """Scaled to the margin it would be the precision start."""
    shrunk, precision = (
        quick("flat", init=init, callback=lambda progress: True).fit(X, Y)  # stop at once
        for init in ("shrunk", "precision")
    )
    assert np.linalg.norm(shrunk.components_) < 0.5 * np.linalg.norm(precision.components_)


def test_small_classes_are_named():
    rows = np.random.default_rng(0).normal(size=(30, 2))
    y = np.array(["a"] * 15 + ["b"] * 13 + ["rare"] * 2)
    with pytest.warns(UserWarning, match=r"Classes \['rare'\] have fewer than 4"):
        quick("elliptic").fit(rows, y)


@pytest.mark.parametrize("geometry", SINGLE)
def test_weights_are_repetitions(geometry):
    rows, y = blobs(60)
    weights = np.random.default_rng(0).integers(0, 3, size=60)
    weighted = quick(geometry).fit(rows, y, sample_weight=weights)
    repeated = quick(geometry).fit(np.repeat(rows, weights, axis=0), np.repeat(y, weights))
    assert weighted.metric_ == repeated.metric_


@pytest.mark.parametrize("geometry", ["flat", "elliptic"])
def test_transform_keeps_the_order(geometry):
    learner = quick(geometry).fit(X, Y)
    D = learner.metric_.pairwise(X[:50], X[50:])
    E = euclidean_distances(learner.transform(X[:50]), learner.transform(X[50:]))
    for row, mapped in zip(D, E, strict=True):
        np.testing.assert_allclose(row[np.argsort(mapped)], np.sort(row), rtol=1e-9)
    if geometry == "flat":
        np.testing.assert_allclose(E, D, rtol=1e-9)
        shape = learner.get_mahalanobis_matrix()
        np.testing.assert_allclose(shape, learner.components_.T @ learner.components_)
    names = learner.get_feature_names_out()
    assert len(names) == learner.transform(X).shape[1]


def test_hyperbolic_transform_is_the_hyperboloid():
    learner = quick("hyperbolic").fit(X, Y)
    H = learner.transform(X)
    np.testing.assert_allclose(H[:, -1] ** 2 - (H[:, :-1] ** 2).sum(axis=1), 1, rtol=1e-9)


@pytest.mark.parametrize("geometry", SINGLE)
def test_low_rank(geometry):
    learner = quick(geometry, n_components=2).fit(X, Y)
    assert learner.components_.shape == (2, 4)
    assert leave_one_out(learner.metric_, X, Y) > 0.93


@pytest.mark.parametrize("init", ["precision", "identity", "std", "flat", "shrunk", "pca", "lda"])
@pytest.mark.parametrize("geometry", SINGLE)
def test_every_start(init, geometry):
    learner = quick(geometry, init=init).fit(X, Y)
    assert leave_one_out(learner.metric_, X, Y) > 0.9


def test_start_from_a_metric_or_an_array():
    first = quick("elliptic").fit(X, Y)
    again = quick("elliptic", init=first.metric_, n_passes=1).fit(X, Y)
    assert again.loss_history_[0] <= first.loss_history_[0]
    assert quick("flat", init=np.eye(4)).fit(X, Y).components_.shape == (4, 4)
    with pytest.raises(InvalidInputError, match="init is for 3 columns, but X has 4"):
        quick("flat", init=np.eye(3)).fit(X, Y)


@pytest.mark.parametrize("geometry", SINGLE)
def test_warm_start_goes_on(geometry):
    learner = quick(geometry, n_passes=1, warm_start=True).fit(X, Y)
    before = leave_one_out(learner.metric_, X, Y)
    first = learner.metric_
    learner.fit(X, Y)
    assert learner.metric_ != first
    assert leave_one_out(learner.metric_, X, Y) > before - 0.03
    new = X[::2] + 0.5  # some lie outside a hyperbolic domain of before
    assert learner.fit(new, Y[::2]).metric_.contains(new).all()


@pytest.mark.parametrize("init", ["flat", "auto"])
def test_selection_sees_only_rows_that_candidates_did_not(init):
    """On noise no candidate may look better than chance."""
    rng = np.random.default_rng(0)
    rows, y = rng.normal(size=(150, 60)), rng.integers(0, 2, 150)
    learner = CurvedLMNN(geometry="mixed", init=init, random_state=0).fit(rows, y)
    assert np.mean([trial.accuracy for trial in learner.selection_.trials]) < 0.6


@pytest.mark.parametrize("geometry", [*SINGLE, "mixed", "auto"])
def test_a_class_of_one_row(geometry):
    rows = np.random.default_rng(0).normal(size=(111, 3))
    y = np.zeros(111, int)
    y[0] = 1
    learner = CurvedLMNN(geometry=geometry, random_state=0).fit(rows, y)
    assert np.isfinite(learner.metric_.pairwise(rows, outside="inf")[0, 1])


@pytest.mark.parametrize("geometry", SINGLE)
def test_all_columns_constant(geometry):
    learner = quick(geometry).fit(np.ones((20, 3)), np.arange(20) % 2)
    assert not learner.components_.any()


@pytest.mark.parametrize("scale", [1e-200, 1e300])
def test_weights_of_any_scale(scale):
    weights = np.random.default_rng(0).uniform(0.5, 2, size=150)
    usual = quick("elliptic").fit(X, Y, sample_weight=weights)
    strange = quick("elliptic").fit(X, Y, sample_weight=weights * scale)
    np.testing.assert_allclose(strange.components_, usual.components_, rtol=1e-6)


@pytest.mark.parametrize(("curvature", "center"), [(0.0, 9.0), (0.3, 2.0)])
def test_a_metric_start_keeps_its_meaning_beside_a_constant_column(curvature, center):
    rng = np.random.default_rng(0)
    rows = np.column_stack([X, np.full(150, 2.0)])
    middle = np.append(rng.normal(size=4), center)
    start = CurvedMetric(factor=rng.normal(size=(5, 5)), center=middle, curvature=curvature)
    data = TrainingRows.from_raw(rows, Y, np.ones(150))
    back = CurvedMetric.from_frame(data.to_raw(data.from_raw_frame(start.frame)))
    np.testing.assert_allclose(back.pairwise(rows), start.pairwise(rows), rtol=1e-8)


def test_a_callback_stops_every_part_of_a_mixture():
    calls = []

    def stop(progress):
        calls.append(progress.iteration)
        return len(calls) == 3

    learner = CurvedLMNN(geometry="mixed", alpha=0.5, callback=stop).fit(X, Y)
    assert calls == [1, 2, 3]
    assert [len(history) for history in learner.loss_history_] == [3, 1]


def test_an_interrupted_refit_leaves_the_first():
    learner = quick("elliptic").fit(X, Y)
    first = learner.metric_

    def interrupt(progress):
        raise KeyboardInterrupt

    learner.set_params(callback=interrupt)
    with pytest.raises(KeyboardInterrupt):
        learner.fit(X[:, :2], Y)
    assert learner.metric_ == first
    assert learner.transform(X).shape == (150, 5)


def test_selection_samples_every_class():
    labels = np.repeat([0, 1, 2], [5000, 900, 100])
    data = TrainingRows(np.zeros((6000, 1)), labels, np.ones(6000), np.zeros(1), np.ones(1))
    rows = sample(data, 1500, np.random.default_rng(0))
    np.testing.assert_allclose(np.bincount(labels[rows]), [1250, 225, 25], atol=1)


def test_callback_watches_and_stops():
    seen = []

    def stop(progress):
        seen.append(progress)
        return len(seen) == 3

    learner = quick("learned", callback=stop).fit(X, Y)
    assert learner.n_iter_ == 3
    assert [progress.iteration for progress in seen] == [1, 2, 3]
    assert seen[-1].loss == learner.loss_history_[-1]
    assert learner.metric_.pairwise(X).shape == (150, 150)


def test_interrupt_leaves_no_half_fitted_estimator():
    def interrupt(progress):
        raise KeyboardInterrupt

    learner = quick("elliptic", callback=interrupt)
    with pytest.raises(KeyboardInterrupt):
        learner.fit(X, Y)
    with pytest.raises(NotFittedError):
        learner.transform(X)


def test_verbose_shows_progress_and_silence_is_the_default(capsys):
    quick("elliptic").fit(X, Y)
    assert capsys.readouterr() == ("", "")
    quick("elliptic", verbose=True).fit(X, Y)
    out, err = capsys.readouterr()
    assert out == ""
    assert "loss" in err
    assert "active" in err


def test_says_when_it_has_not_converged():
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        quick("elliptic", max_iter=2).fit(X, Y)


def test_memory_budget_is_said():
    with pytest.warns(UserWarning, match="memory_budget=10000 binds"):
        quick("flat", memory_budget=1e4).fit(*blobs())


def test_pairs():
    learner = quick("elliptic").fit(X, Y)
    pairs = np.stack([X[:5], X[5:10]], axis=1)
    np.testing.assert_array_equal(
        learner.pair_distance(pairs), learner.metric_.distance(X[:5], X[5:10])
    )
    np.testing.assert_array_equal(learner.pair_score(pairs), -learner.pair_distance(pairs))
    assert learner.get_metric()(X[0], X[1]) == learner.metric_(X[0], X[1])
    with pytest.raises(InvalidInputError, match=r"shape \(n, 2, d\)"):
        learner.pair_distance(X)


def test_pipelines_grids_clones_pickles():
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
        ({"geometry": "round"}, "Got geometry='round'"),
        ({"n_neighbors": 0}, "Got n_neighbors=0, but expected an integer of at least 1"),
        ({"push": 1.5}, "Got push=1.5"),
        ({"margin": -1}, "Got margin=-1"),
        ({"init": "random"}, "Got init='random'"),
        ({"max_iter": 2.5}, "Got max_iter=2.5"),
        ({"alpha": 2}, "Got alpha=2"),
        ({"n_components": 9}, "Got n_components=9, but X has only 4 columns"),
        ({"init": np.eye(4), "n_components": 2}, "init has a factor of 4 rows"),
        ({"init": "diagonal"}, "Got init='diagonal'"),
        ({"init": None}, "Got init=None"),
        ({"learning_rate": -1}, "Got learning_rate=-1"),
        ({"margin": np.inf}, "Got margin=inf, but expected a finite number"),
        ({"memory_budget": np.inf}, "Got memory_budget=inf"),
        ({"callback": 3}, "expected a function"),
        ({"solver": "gradient", "geometry": "auto"}, "one fixed geometry"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(InvalidInputError, match=message):
        CurvedLMNN(**parameters).fit(X, Y)


def test_bad_labels():
    with pytest.raises(InvalidInputError, match="1 class"):
        CurvedLMNN().fit(X, np.zeros(150))
    with pytest.raises(ValueError, match="NaN"):
        CurvedLMNN().fit(X, np.where(Y == 1, np.nan, Y))
    with pytest.raises(ValueError, match="continuous"):
        CurvedLMNN().fit(X, X[:, 0] * 1.37)


@pytest.mark.parametrize("geometry", ["flat", "elliptic", "hyperbolic"])
def test_the_papers_solver(geometry):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        learner = CurvedLMNN(geometry=geometry, solver="gradient", max_iter=60).fit(X, Y)
    assert min(learner.loss_history_) < 0.9 * learner.loss_history_[0]
    assert learner.metric_.contains(X).all()
    assert leave_one_out(learner.metric_, X, Y) > 0.88


def test_the_papers_diagonal_start():
    learner = CurvedLMNN(geometry="hyperbolic", solver="gradient", init="diagonal").fit(X, Y)
    assert learner.metric_.contains(X).all()
    assert learner.geometry_ == "hyperbolic"


def test_mmc_draws_classes_together():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 60)
    rows = np.column_stack([4 * y + rng.normal(size=120), 5 * rng.normal(size=120)])
    metric = MMC().fit(rows, y).metric_
    weights = np.sqrt(np.diag(metric.matrix)) * rows.std(axis=0)
    assert weights[0] > 3 * weights[1]
    assert MMC(n_components=1).fit(rows, y).transform(rows).shape == (120, 1)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_in_and_out(library):
    frames = pytest.importorskip(library)
    names = ["a", "b", "c", "d"]
    table = frames.DataFrame({name: X[:, i] for i, name in enumerate(names)})
    learner = quick("elliptic").set_output(transform=library).fit(table, Y)
    assert learner.feature_names_in_.tolist() == names
    out = learner.transform(table)
    assert isinstance(out, frames.DataFrame)
    assert list(out.columns) == [f"curvedlmnn{i}" for i in range(5)]
    np.testing.assert_allclose(out.to_numpy(), quick("elliptic").fit_transform(X, Y), rtol=1e-12)


def test_sample_weight_is_routed():
    weights = np.random.default_rng(0).uniform(0.5, 2, size=len(Y))
    with config_context(enable_metadata_routing=True):
        learner = quick("elliptic").set_fit_request(sample_weight=True)
        model = make_pipeline(learner, KNeighborsClassifier(3)).fit(X, Y, sample_weight=weights)
    alone = quick("elliptic").fit(X, Y, sample_weight=weights)
    assert model[0].metric_ == alone.metric_
