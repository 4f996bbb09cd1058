"""The paper's method against a second writing of it, with its formulas as they are printed.

`reference` follows §4 line by line: dense tables of distances, the printed gradients (with the sign
of the hyperbolic one corrected), γ/2 and 1.01γ. Whole fits must agree with it.
"""

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning

from cayleyklein import (
    CayleyKleinLMNN,
    CurvedKNeighborsClassifier,
    CurvedMetric,
    FormMetric,
    MixedMetric,
)
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning import paper

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
X, Y = load_iris(return_X_y=True)
WINE, CULTIVARS = load_wine(return_X_y=True)
CURVED = ("elliptic", "hyperbolic")


def blobs(seed=2, n=40, d=3):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    rows = rng.normal(size=(n, d)) * [1.0, 3.0, 0.5][:d] + 0.8 * y[:, None] + [2.0, -1.0, 5.0][:d]
    return rows, y


# -- the paper, a second time -------------------------------------------------------------


class Reference:
    """One fit by §4, from L and the diagonal of D; L of shape (d, d) and D None is flat."""

    def __init__(self, rows, y, L, D, *, n_targets=3, push=0.5, margin=1.0, interval=10):
        self.X, self.y, self.D, self.L = rows, y, D, L
        self.homogeneous = np.column_stack([rows, np.ones(len(rows))])
        self.push, self.margin, self.interval = push, margin, interval
        apart = ((rows[:, None] - rows[None]) ** 2).sum(axis=2)
        apart[y[:, None] != y[None]] = np.inf
        np.fill_diagonal(apart, np.inf)
        self.targets = np.argsort(apart, axis=1, kind="stable")[:, :n_targets]
        self.other = y[:, None] != y[None]
        self.losses, self.n_halved, self.rates = [], 0, []

    def distances(self, L):
        """Return d (or d² in flat space), and S of all pairs."""
        if self.D is None:
            moved = self.X @ L.T
            return ((moved[:, None] - moved[None]) ** 2).sum(axis=2), None
        S = self.homogeneous @ L.T @ np.diag(self.D) @ L @ self.homogeneous.T
        own = np.sqrt(np.outer(np.diag(S), np.diag(S)))
        ratio = np.abs(S) / own if self.D[0] < 0 else S / own
        found = np.arccosh(np.maximum(ratio, 1)) if self.D[0] < 0 else np.arccos(ratio.clip(-1, 1))
        np.fill_diagonal(found, 0.0)
        return found, S

    def impostors(self, L):
        d, _ = self.distances(L)
        farthest = np.take_along_axis(d, self.targets, axis=1).max(axis=1)
        return self.other & (d < self.margin + farthest[:, None])

    def loss_and_gradient(self, L, impostors):
        d, S = self.distances(L)
        loss, by_d = 0.0, np.zeros_like(d)
        for i, place in np.ndindex(self.targets.shape):
            j = self.targets[i, place]
            loss += (1 - self.push) * d[i, j]
            by_d[i, j] += 1 - self.push
            for k in np.flatnonzero(impostors[i]):
                hinge = self.margin + d[i, j] - d[i, k]
                if hinge > 0:
                    loss += self.push * hinge
                    by_d[i, j] += self.push
                    by_d[i, k] -= self.push
        gradient = np.zeros_like(L)
        for i, j in np.argwhere(by_d):
            gradient += by_d[i, j] * self.distance_gradient(L, S, i, j)
        return loss, gradient

    def distance_gradient(self, L, S, i, j):
        if self.D is None:  # 2 L C with the outer product C
            u = self.X[i] - self.X[j]
            return 2 * L @ np.outer(u, u)
        p, q = self.homogeneous[i], self.homogeneous[j]
        bracket = S[i, j] / S[i, i] * np.outer(p, p) + S[i, j] / S[j, j] * np.outer(q, q)
        bracket -= np.outer(p, q) + np.outer(q, p)
        if self.D[0] > 0:
            return L @ bracket / np.sqrt(S[i, i] * S[j, j] - S[i, j] ** 2)
        # corrected: the other sign; S_ij < 0 for points on two sheets, where d is of |S_ij|
        root = np.sign(S[i, j]) * np.sqrt(S[i, j] ** 2 - S[i, i] * S[j, j])
        return -np.diag(self.D) @ L @ bracket / root

    def inside(self, L):
        if self.D is None or self.D[0] > 0:
            return True
        own = np.einsum("ij,j,ij->i", self.homogeneous @ L.T, self.D, self.homogeneous @ L.T)
        return bool((own > 0).all())

    def run(self, n_steps, rate):
        for step in range(n_steps):
            if step % self.interval == 0:
                impostors = self.impostors(self.L)
            loss, gradient = self.loss_and_gradient(self.L, impostors)
            self.losses.append(loss)
            while not self.inside(self.L - rate * gradient):
                rate /= 2
                self.n_halved += 1
            self.L = self.L - rate * gradient
            self.rates.append(rate)
            if self.D is not None and self.D[0] < 0:
                rate *= 1.01
        if n_steps % self.interval == 0:
            impostors = self.impostors(self.L)
        self.losses.append(self.loss_and_gradient(self.L, impostors)[0])
        return self


def precision_factor(rows):
    covariance = (rows - rows.mean(axis=0)).T @ (rows - rows.mean(axis=0)) / len(rows)
    return np.linalg.cholesky(np.linalg.inv(covariance)).T


def printed_start(geometry, rows, factor, kappa=None, *, diagonal=False):
    """Return L and the diagonal of D of G₊, G₋, or L = diag(L', 1) with D."""
    if geometry == "flat":
        return factor, None
    d = rows.shape[1]
    center = np.zeros(d) if diagonal else rows.mean(axis=0)
    farthest = (((rows - center) @ factor.T) ** 2).sum(axis=1).max()
    L = np.eye(d + 1)
    L[:d, :d], L[:d, d] = factor, -factor @ center
    if geometry == "elliptic":
        L[d, d] = 1 / (kappa or 1.0)
        return L, np.ones(d + 1)
    last = kappa * farthest if diagonal else 1 / kappa**2 if kappa else 2 * farthest
    return L, np.append(-np.ones(d), last)


def assert_same_fit(learner, reference, rows):
    np.testing.assert_allclose(learner.loss_history_[0], reference.losses, rtol=1e-7)
    d, _ = reference.distances(reference.L)
    d = np.sqrt(d) if reference.D is None else d
    np.testing.assert_allclose(learner.metric_.pairwise(rows), d, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("geometry", ["flat", *CURVED])
def test_whole_fits_are_those_of_the_paper(geometry):
    rows, y = blobs()
    reference = Reference(rows, y, *printed_start(geometry, rows, precision_factor(rows)))
    reference.run(25, rate := 1e-4)
    learner = CayleyKleinLMNN(geometry, learning_rate=rate, max_iter=25, tol=0).fit(rows, y)
    assert_same_fit(learner, reference, rows)
    assert learner.loss_history_[0][-1] < learner.loss_history_[0][0]


@pytest.mark.parametrize(("rate", "interval", "seed"), [(5e-4, 10, 5), (5e-4, 4, 8), (2e-3, 1, 8)])
def test_steps_that_leave_the_domain_are_halved(rate, interval, seed):
    rows, y = blobs(seed)
    start = printed_start("hyperbolic", rows, precision_factor(rows))
    reference = Reference(rows, y, *start, interval=interval).run(22, rate)
    assert reference.n_halved > 1
    assert reference.rates[-1] < rate  # later steps go on from the halved one, 1 % more each
    how = {"learning_rate": rate, "impostor_interval": interval, "max_iter": 22, "tol": 0}
    learner = CayleyKleinLMNN("hyperbolic", **how).fit(rows, y)
    assert_same_fit(learner, reference, rows)


@pytest.mark.parametrize("geometry", ["flat", "elliptic"])
def test_only_a_hyperbolic_rate_changes(geometry):
    """L moves by a multiple of its gradient that stays: the first steps of two fits agree."""
    rows, y = blobs()
    one = CayleyKleinLMNN(geometry, max_iter=1, tol=0).fit(rows, y)
    (rate,) = one.learning_rate_
    start = printed_start(geometry, rows, precision_factor(rows))
    reference = Reference(rows, y, *start).run(15, rate)
    assert reference.rates == [rate] * 15
    assert_same_fit(CayleyKleinLMNN(geometry, max_iter=15, tol=0).fit(rows, y), reference, rows)


def test_a_descent_that_diverges_says_so_and_leaves_a_metric():
    with pytest.warns(ConvergenceWarning, match="diverged: .* learning_rate smaller than 1"):
        learner = CayleyKleinLMNN("flat", learning_rate=1.0).fit(WINE, CULTIVARS)
    assert np.isfinite(learner.loss_history_[0]).all()
    assert np.isfinite(learner.metric_.matrix).all()


def test_the_number_of_targets_the_push_and_the_margin():
    rows, y = blobs(7)
    how = {"n_targets": 2, "push": 0.3, "margin": 0.4}
    start = printed_start("hyperbolic", rows, precision_factor(rows))
    reference = Reference(rows, y, *start, **how).run(6, 1e-3)
    learner = CayleyKleinLMNN("hyperbolic", learning_rate=1e-3, max_iter=6, tol=0, **how)
    assert_same_fit(learner.fit(rows, y), reference, rows)


# -- starts ---------------------------------------------------------------------------------


def first_metric(geometry, rows, y, **parameters):
    """Return the metric before the first step."""
    return CayleyKleinLMNN(geometry, callback=lambda _: True, **parameters).fit(rows, y).metric_


@pytest.mark.parametrize("kappa", ["auto", 0.7])
def test_g_plus(kappa):
    rows, y = blobs()
    metric = first_metric("elliptic", rows, y, kappa=kappa)
    m = rows.mean(axis=0)
    precision = np.linalg.inv(np.cov(rows.T, bias=True))
    k = 1.0 if kappa == "auto" else kappa
    corner = m @ precision @ m + 1 / k**2
    G = np.block([[precision, -precision @ m[:, None]], [-m[None] @ precision, corner]])
    np.testing.assert_allclose(metric.form / metric.form[0, 0], G / G[0, 0], rtol=1e-9)


@pytest.mark.parametrize("kappa", ["auto", 0.05])
def test_g_minus(kappa):
    rows, y = blobs()
    metric = first_metric("hyperbolic", rows, y, kappa=kappa)
    m = rows.mean(axis=0)
    precision = np.linalg.inv(np.cov(rows.T, bias=True))
    farthest = np.einsum("ij,jk,ik->i", rows - m, precision, rows - m).max()
    inverse = 2 * farthest if kappa == "auto" else 1 / kappa**2
    corner = m @ precision @ m - inverse
    G = np.block([[precision, -precision @ m[:, None]], [-m[None] @ precision, corner]])
    np.testing.assert_allclose(metric.form / metric.form[0, 0], G / G[0, 0], rtol=1e-9)


@pytest.mark.parametrize(("kappa", "factor"), [("auto", 2.0), (1.5, 1.5)])
def test_the_diagonal_start(kappa, factor):
    """The origin is the centre, and κ max‖L'x‖² the square of the boundary's radius."""
    rows, y = blobs()
    metric = first_metric("hyperbolic", rows, y, init="diagonal", kappa=kappa)
    precision = np.linalg.inv(np.cov(rows.T, bias=True))
    lengths = np.einsum("ij,jk,ik->i", rows, precision, rows)
    D = np.diag([0.0, 0.0, 0.0, -factor * lengths.max()])
    D[:3, :3] = precision
    np.testing.assert_allclose(metric.form / metric.form[0, 0], D / D[0, 0], rtol=1e-9, atol=1e-9)
    assert np.isclose(metric.form_values(rows).min(), 1 - 1 / factor)


@pytest.mark.parametrize(
    ("geometry", "init"),
    [("elliptic", "lmnn"), ("hyperbolic", "lmnn"), ("hyperbolic", "diagonal-lmnn")],
)
def test_the_matrix_of_mahalanobis_lmnn(geometry, init):
    rows, y = blobs()
    flat = CayleyKleinLMNN("flat", max_iter=15).fit(rows, y).metric_
    told = []
    learner = CayleyKleinLMNN(geometry, init=init, max_iter=15, callback=told.append)
    learner.fit(rows, y)
    metric = next(each.metric for each in told if each.metric.geometry == geometry)
    shape = metric.form[:3, :3] / metric.form[0, 0]
    np.testing.assert_allclose(shape, flat.matrix / flat.matrix[0, 0], rtol=1e-8)
    center = np.zeros(3) if init == "diagonal-lmnn" else rows.mean(axis=0)
    np.testing.assert_allclose(metric.center, center, atol=1e-9)


def test_the_identity():
    rows, y = blobs()
    metric = first_metric("elliptic", rows, y, init="identity")
    np.testing.assert_allclose(metric.factor, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(metric.center, rows.mean(axis=0))


@pytest.mark.parametrize("geometry", ["flat", *CURVED])
def test_goes_on_from_its_own_metric(geometry):
    first = CayleyKleinLMNN(geometry, max_iter=10).fit(X, Y)
    again = CayleyKleinLMNN(geometry, init=first.metric_, max_iter=1).fit(X, Y)
    assert again.loss_history_[0][0] == pytest.approx(first.loss_history_[0][-1], rel=1e-6)


# -- domains that are no ellipsoid -----------------------------------------------------------


def test_a_row_that_leaves_halves_the_step_and_a_conic_that_is_no_ellipsoid_does_not():
    learner = CayleyKleinLMNN("hyperbolic", standardize=True).fit(WINE, CULTIVARS)
    metric = learner.metric_
    assert isinstance(metric, FormMetric)
    assert metric.contains(WINE).all()
    sigma = metric.form[:-1, :-1]
    assert np.linalg.eigvalsh(sigma)[0] < 0
    stricter = CayleyKleinLMNN("hyperbolic", standardize=True, domain="ellipsoid")
    stricter.fit(WINE, CULTIVARS)
    assert isinstance(stricter.metric_, CurvedMetric)
    assert learner.loss_history_[0][-1] < stricter.loss_history_[0][-1]


def test_a_form_metric_starts_and_predicts():
    first = CayleyKleinLMNN("hyperbolic", standardize=True).fit(WINE, CULTIVARS)
    how = {"init": first.metric_, "standardize": True, "max_iter": 1}
    again = CayleyKleinLMNN("hyperbolic", **how).fit(WINE, CULTIVARS)
    assert again.loss_history_[0][0] == pytest.approx(first.loss_history_[0][-1], rel=1e-6)
    assert first.transform(WINE).shape == WINE.shape
    model = CurvedKNeighborsClassifier(3, metric=first.metric_).fit(WINE, CULTIVARS)
    assert model.score(None, CULTIVARS) > 0.8
    assert len(model.explain(WINE[0]).columns[0]) == 13


def test_a_constant_column_changes_nothing():
    rows = np.column_stack([WINE[:, :6], np.full(len(WINE), 3.0)])
    how = {"geometry": "hyperbolic", "standardize": True, "max_iter": 12}
    with_it = CayleyKleinLMNN(**how).fit(rows, CULTIVARS).metric_
    without = CayleyKleinLMNN(**how).fit(rows[:, :6], CULTIVARS).metric_
    assert isinstance(with_it, type(without))
    np.testing.assert_allclose(
        with_it.pairwise(rows), without.pairwise(rows[:, :6]), rtol=1e-6, atol=1e-7
    )


# -- columns, weights, and the mix -------------------------------------------------------------


def test_standardised_columns_have_no_units():
    how = {"geometry": "hyperbolic", "standardize": True, "max_iter": 20}
    rows, y = blobs()  # without ties between targets, which rounding would break
    one = CayleyKleinLMNN(**how).fit(rows, y)
    other = CayleyKleinLMNN(**how).fit(rows * [1.0, 100.0, 0.01] + 3.0, y)
    np.testing.assert_allclose(one.loss_history_[0], other.loss_history_[0], rtol=1e-6)
    raw = CayleyKleinLMNN("hyperbolic", max_iter=20).fit(rows, y)
    assert not np.allclose(raw.loss_history_[0], one.loss_history_[0], rtol=1e-3)


@pytest.mark.parametrize("geometry", ["flat", *CURVED])
def test_a_weight_of_two_is_two_rows(geometry):
    rows, y = blobs(n=30)
    weights = np.where(np.arange(30) < 10, 2.0, 1.0)
    once = CayleyKleinLMNN(geometry, max_iter=8).fit(rows, y, weights)
    copies = np.concatenate([np.arange(30), np.arange(10)])
    twice = CayleyKleinLMNN(geometry, max_iter=8).fit(rows[copies], y[copies])
    assert np.array_equal(once.metric_.pairwise(rows), twice.metric_.pairwise(rows))


def test_the_mix_is_the_printed_one():
    how = {"standardize": True, "max_iter": 12}
    elliptic, hyperbolic = (CayleyKleinLMNN(g, **how).fit(X, Y).metric_ for g in CURVED)
    mixed = CayleyKleinLMNN("mixed", alpha=0.3, **how).fit(X, Y)
    assert mixed.alpha_ == 0.3
    assert mixed.metric_ == MixedMetric([elliptic, hyperbolic], [0.3, 0.7])


def test_alpha_is_tuned_for_the_votes_that_were_asked_for():
    """The classifier's k and votes decide, on rows that the metrics were not learned from."""
    learner = CayleyKleinLMNN("mixed", standardize=True, max_iter=10, random_state=0)
    model = CurvedKNeighborsClassifier(3, learner=learner, weights="uniform").fit(X, Y)
    alphas = [f"α = {a:g}" for a in np.linspace(0, 1, 21).round(2)]
    assert [trial.name for trial in model.selection_.trials] == alphas
    assert {trial.n_neighbors for trial in model.selection_.trials} == {3}
    best = min(model.selection_.trials, key=lambda trial: trial.scores["log loss"])
    assert best.scores == pytest.approx(
        next(t.scores for t in model.selection_.trials if t.name == model.selection_.chosen)
    )
    assert model.learner_.alpha_ == float(model.selection_.chosen.removeprefix("α = "))
    other = CurvedKNeighborsClassifier(25, learner=learner, weights="distance").fit(X, Y)
    assert {trial.n_neighbors for trial in other.selection_.trials} == {25}
    scores = [[t.scores["log loss"] for t in m.selection_.trials] for m in (model, other)]
    assert not np.allclose(*scores)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"geometry": "product"}, "geometry"),
        ({"geometry": "flat", "init": "lmnn"}, "learns; take"),
        ({"geometry": "elliptic", "init": "diagonal"}, 'start of geometry="hyperbolic"'),
        ({"geometry": "hyperbolic", "init": "diagonal", "kappa": 1.0}, "κ > 1"),
        ({"geometry": "hyperbolic", "kappa": 10.0}, "unless kappa < 0"),
        ({"geometry": "mixed", "init": np.eye(4)}, "learns two metrics"),
        ({"geometry": "elliptic", "init": np.eye(3)}, "init is for 3 columns"),
        ({"geometry": "elliptic", "init": np.eye(4)[:2]}, "full rank"),
        ({"geometry": "hyperbolic", "init": 10 * np.eye(4)}, "outside the domain"),
        ({"geometry": "Mahalanobis"}, 'is geometry="flat"'),
        ({"geometry": "hyperbolic", "kappa": -1.0}, "without its sign"),
        ({"geometry": "flat", "kappa": 2.0}, "has no κ"),
        ({"geometry": "elliptic", "alpha": 0.5}, 'for "mixed"'),
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"impostor_interval": 0}, "impostor_interval"),
        ({"domain": "all"}, "domain"),
        ({"init": "pca"}, "init"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(InvalidInputError, match=message):
        CayleyKleinLMNN(**parameters).fit(X, Y)


def test_a_form_is_turned_into_that_of_an_ellipsoid():
    """The same form MᵀJM, and a last row that has the weight of the homogeneous coordinate only."""
    rng = np.random.default_rng(0)
    signs = np.array([1.0, 1.0, 1.0, -1.0])
    for _ in range(5):
        upright = np.eye(4) + 0.2 * rng.normal(size=(4, 4))
        upright[-1, :-1] = 0.0
        p = 0.5 * rng.normal(size=3)
        rise = np.sqrt(1 + p @ p)
        boost = np.block([[np.eye(3) + np.outer(p, p) / (1 + rise), p[:, None]], [p, rise]])
        turned = paper.in_ellipsoid_form(boost @ upright)
        assert (turned[-1, :-1] == 0.0).all()
        expected = upright.T @ (signs[:, None] * upright)
        np.testing.assert_allclose(turned.T @ (signs[:, None] * turned), expected, atol=1e-10)
    assert paper.in_ellipsoid_form(np.array([[0.0, 1.0], [1.0, 0.0]])) is None
