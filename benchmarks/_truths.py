"""Draws whose curvature is known, to count how often a verdict on it is right.

Each truth is a function (n, d, rng) → rows (n, d) and targets (n,): floats are numbers, integers
are labels. Noise of a process is relative to its variance, and its length is the median distance.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import shortest_path
from scipy.spatial.distance import cdist

from cayleyklein import CurvedMetric


def normal(n, d, rng):
    return rng.normal(size=(n, d))


def ball(n, d, rng):
    X = normal(n, d, rng)
    return X * (rng.uniform(size=(n, 1)) ** (1 / d) / np.linalg.norm(X, axis=1, keepdims=True))


def process(D, rng, noise=0.05, covariance=lambda t: np.exp(-t)):
    """Return a draw of a Gaussian process with a covariance of distances, plus noise."""
    C = covariance(D / np.median(D[np.triu_indices(len(D), 1)])) + 1e-8 * np.eye(len(D))
    return np.linalg.cholesky(C) @ rng.normal(size=len(D)) + noise**0.5 * rng.normal(size=len(D))


def distances(X):
    return cdist(X, X)


def gaussian(t):
    return np.exp(-2 * t * t)


def matern(t):
    return (1 + 3 * t) * np.exp(-3 * t)


def halves(y):
    return (y > np.median(y)).astype(int)


def moved(X, change):
    """Return rows moved along their rays: of length r to length change(r)."""
    r = np.linalg.norm(X, axis=1, keepdims=True)
    return X / r * change(r)


def plane(n, d, rng):
    X = normal(n, d, rng)
    return X, (X[:, 0] > 0).astype(int)


def plane_off_centre(n, d, rng):
    X = normal(n, d, rng)
    return X, (X.sum(axis=1) / d**0.5 > 1).astype(int)


def noisy_plane(n, d, rng):
    X = normal(n, d, rng)
    return X, (rng.uniform(size=n) < 1 / (1 + np.exp(-4 * X[:, 0]))).astype(int)


def two_thresholds(n, d, rng):
    X = normal(n, d, rng)
    return X, ((X[:, 0] > 0) ^ (X[:, 1] > 0.3)).astype(int)


def smooth_function(n, d, rng):
    X = normal(n, d, rng)
    return X, np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.3 * rng.normal(size=n)


def linear(n, d, rng):
    X = normal(n, d, rng)
    return X, X[:, 0] + X[:, 1] / 2 + 0.5 * rng.normal(size=n)


def cube(n, d, rng):
    X = rng.uniform(-1, 1, size=(n, d))
    return X, np.sin(4 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=n)


def two_normals(n, d, rng):
    y = rng.integers(0, 2, n)
    X = normal(n, d, rng) * np.where(y, 1.0, 1.8)[:, None]
    X[:, 0] += 1.2 * y
    return X, y


def quadratic(n, d, rng):
    X, A = normal(n, d, rng), rng.normal(size=(d, d))
    return X, np.einsum("ij,jk,ik->i", X, A, X) + 0.5 * rng.normal(size=n)


def decision_tree(n, d, rng):
    X = normal(n, d, rng)
    left, right = np.where(X[:, 1] > 0, 2.0, 0.0), np.where(X[:, 1] > -0.5, 1.0, 3.0)
    return X, np.where(X[:, 0] > 0.3, left, right) + 0.3 * rng.normal(size=n)


def rough_process(n, d, rng):
    X = ball(n, d, rng)
    return X, process(distances(X), rng)


def rough_process_little_noise(n, d, rng):
    X = ball(n, d, rng)
    return X, process(distances(X), rng, noise=0.01)


def smooth_process(n, d, rng):
    X = normal(n, d, rng)
    return X, process(distances(X), rng, covariance=gaussian)


def labels_of_matern(n, d, rng):
    X = normal(n, d, rng)
    return X, halves(process(distances(X), rng, covariance=matern))


def four_labels(n, d, rng):
    X = ball(n, d, rng)
    D = distances(X)
    return X, np.stack([process(D, rng) for _ in range(4)]).argmax(axis=0)


def stretched_axes(n, d, rng):
    X, turn = ball(n, d, rng), np.linalg.qr(rng.normal(size=(d, d)))[0]
    return X @ turn * np.geomspace(1, 4, d), process(distances(X), rng)


def heavy_noise(n, d, rng):
    X = ball(n, d, rng)
    return X, process(distances(X), rng, noise=0.0) + 0.2 * rng.standard_t(2, n)


def ring(n, d, rng):
    X = normal(n, d, rng)
    r = np.linalg.norm(X, axis=1) / np.sqrt(d)
    return X, np.exp(-4 * (r - 1) ** 2) + 0.3 * X[:, 0] + 0.1 * rng.normal(size=n)


def merged_prototypes(n, d, rng):
    X, prototypes = ball(n, d, rng), ball(6, d, rng)
    return X, cdist(X, prototypes).argmin(axis=1) % 2


def squashed_radius(n, d, rng):
    X = ball(n, d, rng)
    return moved(X, lambda r: np.tan(1.3 * r)), process(distances(X), rng)


def stretched_radius(n, d, rng):
    X = ball(n, d, rng)
    return moved(X, lambda r: np.tanh(2.5 * r)), process(distances(X), rng)


def smooth_squashed_radius(n, d, rng):
    X = ball(n, d, rng)
    y = process(distances(X), rng, covariance=lambda t: np.exp(-t * t))
    return moved(X, lambda r: np.tan(1.2 * r)), y


def additive_steps(n, d, rng):
    X, at = normal(n, d, rng), np.arange(d)
    return X, np.sign(X - 0.3 * at) @ (1 / (1 + at)) + 0.3 * rng.normal(size=n)


def axis_distances(n, d, rng):
    X = rng.uniform(-1, 1, size=(n, d))
    return X, process(cdist(X, X, "cityblock"), rng)


def noise_outwards(n, d, rng):
    X = normal(n, d, rng)
    noise = 0.3 * np.linalg.norm(X, axis=1) * rng.normal(size=n)
    return X, np.sin(X[:, 0]) + X[:, 1] / 2 + noise


def heavy_rows(n, d, rng):
    X = rng.standard_t(2.5, size=(n, d))
    return X, (X[:, 0] - X[:, 1] > 0.5).astype(int)


def one_column(n, d, rng):
    X = normal(n, d, rng)
    return X, np.tanh(2 * X[:, 0]) + 0.2 * rng.normal(size=n)


# Chosen after the rule was fixed.


def squares(n, d, rng):
    X = rng.uniform(-1, 1, size=(n, d))
    return X, (np.floor(2 * X[:, 0]) + np.floor(2 * X[:, 1])).astype(int) % 2


def spirals(n, d, rng):
    y, t = rng.integers(0, 2, n), np.sqrt(rng.uniform(0.05, 1, n))
    turn = 5 * t + np.pi * y
    X = 0.3 * normal(n, d, rng)
    X[:, :2] = t[:, None] * np.column_stack([np.cos(turn), np.sin(turn)]) + 0.2 * X[:, :2]
    return X, y


def interaction(n, d, rng):
    X = normal(n, d, rng)
    return X, X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n)


def five_normals(n, d, rng):
    y, centers = rng.integers(0, 5, n), 1.5 * rng.normal(size=(5, d))
    return centers[y] + normal(n, d, rng), y


def wave(n, d, rng):
    X = normal(n, d, rng)
    return X, np.cos(2 * X[:, 0] + X[:, 1]) + 0.2 * rng.normal(size=n)


def cone(n, d, rng):
    X = normal(n, d, rng)
    return X, np.linalg.norm(X - 0.7, axis=1) + 0.1 * rng.normal(size=n)


def largest_column(n, d, rng):
    X = normal(n, d, rng)
    return X, X.max(axis=1) + 0.2 * rng.normal(size=n)


def off_centre_ball(n, d, rng):
    X = normal(n, d, rng)
    r = np.linalg.norm(X - 0.5, axis=1)
    return X, (r < np.median(r)).astype(int)


def skewed_columns(n, d, rng):
    X = rng.exponential(size=(n, d))
    return X, np.log1p(X[:, 0]) - np.sqrt(X[:, 1]) + 0.2 * rng.normal(size=n)


def correlated_columns(n, d, rng):
    X = np.cumsum(normal(n, d, rng), axis=1)
    return X, process(distances(X), rng, covariance=matern)


def three_slices(n, d, rng):
    X = normal(n, d, rng)
    return X, np.digitize(X[:, 0] + X[:, 1] / 2 + 0.3 * rng.normal(size=n), [-0.6, 0.6])


def axis_smooth_labels(n, d, rng):
    X = normal(n, d, rng)
    return X, halves(np.sin(3 * X).sum(axis=1) + 0.5 * rng.normal(size=n))


def turned(truth):
    """Return a truth seen along other axes."""

    def seen(n, d, rng):
        X, y = truth(n, d, rng)
        return X @ np.linalg.qr(rng.normal(size=(d, d)))[0], y

    seen.__name__ = f"turned_{truth.__name__}"
    return seen


TURNED = [
    turned(truth)
    for truth in (
        plane,
        noisy_plane,
        two_thresholds,
        decision_tree,
        additive_steps,
        one_column,
        squares,
        axis_distances,
        heavy_rows,
    )
]
FLAT = [
    plane,
    plane_off_centre,
    noisy_plane,
    two_thresholds,
    smooth_function,
    linear,
    cube,
    two_normals,
    quadratic,
    decision_tree,
    rough_process,
    rough_process_little_noise,
    smooth_process,
    labels_of_matern,
    four_labels,
    stretched_axes,
    heavy_noise,
    ring,
    merged_prototypes,
    squashed_radius,
    stretched_radius,
    smooth_squashed_radius,
    additive_steps,
    axis_distances,
    noise_outwards,
    heavy_rows,
    one_column,
]
FRESH_FLAT = [
    squares,
    spirals,
    interaction,
    five_normals,
    wave,
    cone,
    largest_column,
    off_centre_ball,
    skewed_columns,
    correlated_columns,
    three_slices,
    axis_smooth_labels,
]


def directions(n, d, rng):
    X = normal(n, d, rng)
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def hyperbolic(n, d, rng, radius):
    """Return Klein's coordinates of points at even radii up to one, and their distances."""
    X = np.tanh(radius * rng.uniform(size=(n, 1))) * directions(n, d, rng)
    return X, CurvedMetric.euclidean(d, curvature=-1.0).pairwise(X)


def cap(n, d, rng, angle):
    """Return gnomonic coordinates of points spread evenly over a cap, and their distances."""
    grid = np.linspace(0, angle, 2000)
    below = np.cumsum(np.sin(grid) ** (d - 1))
    r = np.interp(rng.uniform(size=n), below / below[-1], grid)
    X = np.tan(r)[:, None] * directions(n, d, rng)
    return X, CurvedMetric.euclidean(d, curvature=1.0).pairwise(X)


def hyperbolic_process(n, d, rng, radius=3.0):
    X, D = hyperbolic(n, d, rng, radius)
    return X, process(D, rng, noise=0.01)


def wide_hyperbolic_process(n, d, rng):
    return hyperbolic_process(n, d, rng, 4.0)


def hyperbolic_in_poincare(n, d, rng):
    X, y = hyperbolic_process(n, d, rng)
    return moved(X, lambda r: np.tanh(np.arctanh(r) / 2)), y


def hyperbolic_labels(n, d, rng):
    X, y = wide_hyperbolic_process(n, d, rng)
    return X, halves(y)


def hyperbolic_prototypes(n, d, rng):
    X = hyperbolic(n + 8, d, rng, 3.0)[0]
    D = CurvedMetric.euclidean(d, curvature=-1.0).pairwise(X)
    return X[:n], D[:n, n:].argmin(axis=1) % 2


def cap_process(n, d, rng, angle=1.4):
    X, D = cap(n, d, rng, angle)
    return X, process(D, rng, noise=0.01)


def small_cap_process(n, d, rng):
    return cap_process(n, d, rng, 1.2)


def cap_labels(n, d, rng):
    X, y = cap_process(n, d, rng)
    return X, halves(y)


def tree_nodes(n, d, rng):
    """Return nodes of a binary tree on hyperbolic rings, and a walk along its branches."""
    X, y = np.zeros((n, d)), np.zeros(n)
    angle, width = np.zeros(n), np.full(n, 2 * np.pi)
    for i in range(1, n):
        parent, level = (i - 1) // 2, np.floor(np.log2(i + 1))
        width[i] = width[parent] / 2
        angle[i] = angle[parent] + (width[i] / 2 if i % 2 else -width[i] / 2)
        X[i, :2] = np.tanh(0.6 * level) * np.array([np.cos(angle[i]), np.sin(angle[i])])
        y[i] = y[parent] + rng.normal()
    X[:, 2:] = 0.01 * rng.normal(size=(n, d - 2))
    return X, y + 0.3 * rng.normal(size=n)


ELLIPTIC = [cap_process, small_cap_process, cap_labels]
HYPERBOLIC = [
    hyperbolic_process,
    wide_hyperbolic_process,
    hyperbolic_in_poincare,
    hyperbolic_labels,
    hyperbolic_prototypes,
    tree_nodes,
]


def tree_branches(n, d, rng):
    """Return nodes of a binary tree, and which of eight branches they are on; not its root."""
    X = tree_nodes(n + 7, d, rng)[0]
    branch = np.arange(n + 7)
    for i in range(15, n + 7):
        branch[i] = branch[(i - 1) // 2]
    return X[7:], branch[7:] - 7


def tree_merged_branches(n, d, rng):
    """Return nodes of a binary tree, and eight branches merged at random to two labels."""
    X, branch = tree_branches(n, d, rng)
    return X, rng.permutation(8)[branch] % 2


def tree_levels(n, d, rng):
    return tree_nodes(n, d, rng)[0], np.floor(np.log2(np.arange(1, n + 1))).astype(int)


TREES = [tree_nodes, tree_branches, tree_merged_branches, tree_levels]


# With much noise, many classes, or columns that say nothing.


def much_noise(truth, share=0.5):
    """Return a truth of numbers with noise, as a share of their variance."""

    def noisy(n, d, rng):
        X, y = truth(n, d, rng)
        return X, y + share**0.5 * y.std() * rng.normal(size=n)

    noisy.__name__ = f"{truth.__name__}_much_noise"
    return noisy


def idle_columns(truth, more=4):
    """Return a truth with columns as wide as the others that say nothing."""

    def seen(n, d, rng):
        X, y = truth(n, d, rng)
        return np.hstack([X, X.std() * rng.normal(size=(n, more))]), y

    seen.__name__ = f"{truth.__name__}_idle_columns"
    return seen


def many_classes(truth, classes=12):
    """Return a truth of numbers as classes of equal size."""

    def sliced(n, d, rng):
        X, y = truth(n, d, rng)
        return X, (classes * np.argsort(np.argsort(y)) // n).astype(int)

    sliced.__name__ = f"{truth.__name__}_many_classes"
    return sliced


HARD_ELLIPTIC = [change(cap_process) for change in (much_noise, idle_columns, many_classes)]
HARD_HYPERBOLIC = [
    change(wide_hyperbolic_process) for change in (much_noise, idle_columns, many_classes)
]
HARD_FLAT = [
    change(truth)
    for change in (much_noise, idle_columns, many_classes)
    for truth in (smooth_function, rough_process, decision_tree)
]


# Dissimilarities (n, n) of n rows, for maps in the plane.


def with_errors(D, rng, share):
    """Return distances with independent errors, a share of the mean distance."""
    errors = np.triu(rng.normal(size=D.shape), 1) * share * D.mean()
    return np.abs(D + errors + errors.T) * (1 - np.eye(len(D)))


def flat_map(n, rng):
    return with_errors(distances(ball(n, 2, rng)), rng, 0.1)


def flat_map_much_noise(n, rng):
    return with_errors(distances(ball(n, 2, rng)), rng, 0.3)


def relative_errors(n, rng):
    factors = np.triu(rng.normal(size=(n, n)), 1)
    return distances(ball(n, 2, rng)) * np.exp(0.2 * (factors + factors.T))


def three_dimensions(n, rng):
    return with_errors(distances(ball(n, 3, rng)), rng, 0.05)


def five_dimensions(n, rng):
    return with_errors(distances(ball(n, 5, rng)), rng, 0.05)


def twenty_dimensions(n, rng):
    return with_errors(distances(normal(n, 20, rng)), rng, 0.05)


def along_axes(n, rng):
    X = rng.uniform(size=(n, 2))
    return with_errors(cdist(X, X, "cityblock"), rng, 0.05)


def along_axes_exactly(n, rng):
    X = rng.uniform(size=(n, 2))
    return cdist(X, X, "cityblock")


def along_four_axes(n, rng):
    X = rng.uniform(size=(n, 4))
    return with_errors(cdist(X, X, "cityblock"), rng, 0.05)


def largest_difference(n, rng):
    X = rng.uniform(size=(n, 2))
    return with_errors(cdist(X, X, "chebyshev"), rng, 0.05)


def along_a_graph(n, rng, k=6):
    """Return lengths of shortest paths along edges between nearest neighbours."""
    D = distances(ball(n, 2, rng))
    edges = np.where(np.sort(D, axis=1)[:, [k]] >= D, D, 0.0)
    found = shortest_path(np.maximum(edges, edges.T), directed=False)
    return np.where(np.isfinite(found), found, found[np.isfinite(found)].max())


def squared(n, rng):
    return distances(ball(n, 2, rng)) ** 2


def rooted(n, rng):
    return distances(ball(n, 2, rng)) ** 0.5


def with_offset(n, rng):
    return (distances(ball(n, 2, rng)) + 0.3) * (1 - np.eye(n))


def somewhat_hyperbolic(n, rng):
    X = ball(n, 2, rng)
    return with_errors(CurvedMetric.euclidean(2, curvature=-0.9).pairwise(X), rng, 0.1)


def somewhat_elliptic(n, rng):
    X = ball(n, 2, rng)
    return with_errors(CurvedMetric.euclidean(2, curvature=2.0).pairwise(X), rng, 0.1)


def strongly_hyperbolic(n, rng):
    return with_errors(hyperbolic(n, 2, rng, 3.0)[1], rng, 0.1)


def globe(n, rng):
    x = directions(n, 3, rng)
    return with_errors(np.arccos(np.clip(x @ x.T, -1, 1)), rng, 0.1)


def hemisphere(n, rng):
    x = directions(n, 3, rng)
    x[:, 2] = np.abs(x[:, 2])
    return with_errors(np.arccos(np.clip(x @ x.T, -1, 1)), rng, 0.1)


def tree(n, rng):
    """Return path lengths along a binary tree with edges of random length."""
    edges = np.zeros((n, n))
    for i in range(1, n):
        edges[i, (i - 1) // 2] = rng.uniform(0.5, 1.5)
    return shortest_path(edges, directed=False)


def noisy_tree(n, rng):
    return with_errors(tree(n, rng), rng, 0.1)


FLAT_MAPS = [
    flat_map,
    flat_map_much_noise,
    relative_errors,
    three_dimensions,
    five_dimensions,
    twenty_dimensions,
    along_axes,
    along_axes_exactly,
    along_four_axes,
    largest_difference,
    along_a_graph,
    squared,
    rooted,
    with_offset,
]
CURVED_MAPS = [
    somewhat_hyperbolic,
    somewhat_elliptic,
    strongly_hyperbolic,
    globe,
    hemisphere,
    tree,
    noisy_tree,
]
