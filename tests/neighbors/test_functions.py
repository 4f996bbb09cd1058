"""Search by a function of two rows gives what brute force does, and measures fewer pairs."""

import math
import pickle
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.neighbors.rows import families, kinds, make
from tests.strategies import seeds

from cayleyklein import CurvedKNeighborsClassifier, CurvedMetric, CurvedNeighbors
from cayleyklein.exceptions import InvalidInputError, OutsideDomainError
from cayleyklein.geometry import Ellipsoid, Polytope, hilbert_distance
from cayleyklein.neighbors import functions, vantage

RNG = np.random.default_rng(5)
X = RNG.uniform(-0.5, 0.5, size=(400, 2))
Q = RNG.uniform(-0.5, 0.5, size=(25, 2))
SQUARE = Polytope.from_vertices([[-1, -1], [1, -1], [1, 1], [-1, 1]])
HILBERT = partial(hilbert_distance, SQUARE)


def euclidean(p, q):
    return math.sqrt(((p - q) ** 2).sum())


def city_block(p, q):
    return np.abs(p - q).sum()


def differing(p, q):
    """Count the columns that differ: nearly every distance ties."""
    return int((p != q).sum())


def levenshtein(p, q):
    """Edit distance of two rows of letters."""
    row = list(range(len(q) + 1))
    for i, a in enumerate(p, 1):
        before, row[0] = row[0], i
        for j, b in enumerate(q, 1):
            step = min(row[j] + 1, row[j - 1] + 1, before + (a != b))
            before, row[j] = row[j], step
    return row[-1]


FUNCTIONS = {
    "euclidean": euclidean,
    "city block": city_block,
    "differing": differing,
    "edit": levenshtein,
    "hilbert": HILBERT,
}


def rows_for(rng, name, n, d):
    if name in ("differing", "edit"):
        return rng.integers(0, 3, size=(n, d)).astype(float)
    if name == "hilbert":
        return rng.uniform(-0.999, 0.999, size=(n, 2))
    rows = rng.normal(size=(n, d))
    return np.round(2 * rows) if rng.integers(2) else rows  # a lattice: ties and copies


def deep(k, function, algorithm, rows):
    """Return a search whose leaves are so small that there are several levels."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vantage, "LEAF", 3)
        return CurvedNeighbors(k, metric=function, algorithm=algorithm).fit(rows)


def same(first, second):
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)


def same_balls(first, second):
    for one, other in zip(first, second, strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)


@given(seeds, st.sampled_from(list(FUNCTIONS)), st.integers(1, 150), st.sampled_from((1, 2, 5, 16)))
def test_vantage_points_give_what_brute_force_gives(seed, name, n, d):
    rng = np.random.default_rng(seed)
    n = min(n, 25) if name in ("edit", "hilbert") else n
    rows = rows_for(rng, name, n, d)
    queries = np.concatenate([rows_for(rng, name, 4, d), rows[:3]])
    k = int(rng.integers(1, n + 1))
    brute, tree = (deep(k, FUNCTIONS[name], how, rows) for how in ("brute", "vantage"))
    found = tree.kneighbors(queries)
    same(found, brute.kneighbors(queries))
    plain = np.array([[FUNCTIONS[name](q, row) for row in rows] for q in queries], dtype=float)
    nearest = np.argsort(plain, axis=1, kind="stable")[:, :k]
    same(found, (np.take_along_axis(plain, nearest, 1), nearest))
    for radius in (0.0, float(np.quantile(plain, 0.3))):
        distances, inside = tree.radius_neighbors(queries, radius)
        for i in range(len(queries)):
            np.testing.assert_array_equal(inside[i], np.flatnonzero(plain[i] <= radius))
            np.testing.assert_array_equal(distances[i], plain[i, inside[i]])
    if n > 1:
        same(
            tree.kneighbors(n_neighbors=min(k, n - 1)), brute.kneighbors(n_neighbors=min(k, n - 1))
        )
        same_balls(tree.radius_neighbors(None, radius), brute.radius_neighbors(None, radius))


@given(seeds, families, kinds)
def test_a_metric_as_a_function_finds_the_rows_of_the_metric(seed, family, kind):
    """Far out, close together, nearly opposite: the function is what it is, and so the answer."""
    rng = np.random.default_rng(seed)
    metric, rows = make(rng, family, 2, -1.0, kind, n=30)
    table = {row.tobytes(): i for i, row in enumerate(rows)}
    distances = metric.distance(rows[:, None], rows)
    brute, tree = (
        deep(5, lambda p, q: distances[table[p.tobytes()], table[q.tobytes()]], how, rows)
        for how in ("brute", "vantage")
    )
    same(tree.kneighbors(), brute.kneighbors())


def test_formulas_that_lose_half_of_the_digits_of_close_rows():
    """arccosh knows no distance below 1e-8, and its copies are not at 0."""
    centres = RNG.uniform(-0.5, 0.5, size=(20, 2))
    rows = np.concatenate([centres, centres + 1e-8 * RNG.normal(size=(20, 2)), X[:100]])

    def by_arccosh(p, q):
        s = (1 - p @ q) / math.sqrt((1 - p @ p) * (1 - q @ q))
        return math.acosh(max(s, 1.0))

    brute, tree = (
        CurvedNeighbors(3, metric=by_arccosh, algorithm=how).fit(rows)
        for how in ("brute", "vantage")
    )
    same(tree.kneighbors(rows), brute.kneighbors(rows))


def test_hilbert_distance_of_an_ellipsoid_is_hyperbolic():
    disc = CurvedMetric.euclidean(2, curvature=-1.0)
    body = Ellipsoid([0.0, 0.0], np.eye(2), 1.0)
    ours = CurvedNeighbors(4, metric=disc).fit(X).kneighbors(Q)
    found = (
        CurvedNeighbors(4, metric=lambda p, q: hilbert_distance(body, p, q)).fit(X).kneighbors(Q)
    )
    np.testing.assert_array_equal(found[1], ours[1])
    np.testing.assert_allclose(found[0], ours[0], rtol=1e-12)


def test_what_the_function_refuses_is_its_own_error():
    search = CurvedNeighbors(metric=HILBERT).fit(X)
    with pytest.raises(OutsideDomainError, match="outside"):
        search.kneighbors([[2.0, 0.0]])
    with pytest.raises(OutsideDomainError, match="outside"):
        CurvedNeighbors(metric=HILBERT).fit([[2.0, 0.0], [0.0, 0.0]])


# -- how many pairs are measured ------------------------------------------------------


def counted(search, ask):
    before = search._searcher.measured
    ask()
    return search._searcher.measured - before


def test_every_call_is_counted_and_no_pair_is_measured_twice():
    pairs = []

    def watched(p, q):
        pairs.append((*p.tolist(), *q.tolist()))
        return euclidean(p, q)

    search = CurvedNeighbors(10, metric=watched, algorithm="vantage").fit(X)
    assert search._searcher.measured == len(pairs)
    for ask in (
        lambda: search.kneighbors(Q),
        lambda: search.kneighbors(),
        lambda: search.radius_neighbors(Q, 0.1),
    ):
        pairs.clear()
        assert counted(search, ask) == len(pairs) == len(set(pairs))


def test_bounds_leave_room_for_what_a_function_may_be_off_by():
    index = CurvedNeighbors(5, metric=euclidean).fit(X)._searcher
    largest = np.linalg.norm(X[:, None] - X, axis=2).max()
    for distance in (0.0, 1e-3, largest):  # 1e-7 of it, and of nearly the largest distance
        low, high = index.bounds(distance)
        room = 1e-7 * (distance + 0.7 * largest)
        assert low < distance - room < distance + room < high
        assert high - low < 4e-7 * largest + 1e-12


def test_a_tree_spares_most_pairs():
    rows = RNG.uniform(-0.5, 0.5, size=(2000, 2))
    tree = CurvedNeighbors(5, metric=euclidean, algorithm="vantage").fit(rows)
    assert counted(tree, lambda: tree.kneighbors(Q)) < 0.02 * len(rows) * len(Q)
    assert counted(tree, lambda: tree.radius_neighbors(Q, 0.02)) < 0.02 * len(rows) * len(Q)
    brute = CurvedNeighbors(5, metric=euclidean, algorithm="brute").fit(rows)
    assert counted(brute, lambda: brute.kneighbors(Q)) == len(rows) * len(Q)
    copies = CurvedNeighbors(5, metric=euclidean, algorithm="vantage").fit(np.ones((300, 2)))
    same(copies.kneighbors([[1.0, 1.0]]), (np.zeros((1, 5)), np.arange(5)[None]))


def test_auto_gives_a_tree_up_that_spares_too_little():
    wide = RNG.normal(size=(200, 30))
    assert CurvedNeighbors(metric=euclidean).fit(wide).algorithm_used_ == "brute"
    assert CurvedNeighbors(metric=euclidean, algorithm="vantage").fit(wide)._searcher.tree
    assert CurvedNeighbors(metric=euclidean).fit(X).algorithm_used_ == "vantage"


# -- as with every metric -------------------------------------------------------------


def test_conventions():
    search = CurvedNeighbors(3, metric=HILBERT, radius=0.1)
    assert search.fit(X[:50]).algorithm_used_ == "brute"
    assert search.fit(X).algorithm_used_ == "vantage"
    assert search.metric_(X[0], X[1]) == HILBERT(X[0], X[1])
    expected = search.kneighbors(Q)
    same(pickle.loads(pickle.dumps(search)).kneighbors(Q), expected)
    same(search.set_params(n_jobs=2, outside="raise").kneighbors(Q), expected)
    parts = CurvedNeighbors(3, metric=HILBERT)
    for start in range(0, len(X), 100):
        parts.partial_fit(X[start : start + 100])
    same(parts.kneighbors(Q), expected)
    graph = search.kneighbors_graph(Q, mode="distance")
    np.testing.assert_array_equal(graph.data.reshape(-1, 3), expected[0])
    ball = search.radius_neighbors_graph(Q)
    counts = [len(rows) for rows in search.radius_neighbors(Q)[1]]
    assert ball.sum(axis=1).A1.tolist() == counts
    assert "Neighbors" in search._repr_html_()
    with pytest.raises(InvalidInputError, match="n_neighbors <= 399"):
        search.kneighbors(n_neighbors=400)


def test_no_answer_within_a_radius():
    distances, rows = CurvedNeighbors(metric=euclidean).fit(X).radius_neighbors([[9.0, 9.0]], 0.1)
    assert len(distances[0]) == len(rows[0]) == 0
    assert rows[0].dtype == np.intp


# -- functions that are no metrics ----------------------------------------------------


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda p, q: ((p - q) ** 2).sum(), r"triangle inequality: it gives [\d.]+ for rows \d+ "),
        (lambda p, q: city_block(p, q) + (p[0] > q[0]), r"not symmetric: .* for rows 0 and \d+ of"),
        (lambda p, q: 1.0, "gives 1 for row 0 of X and itself"),
        (lambda p, q: p[0] - q[0], r"gives np.float64\(-[\d.]+\) for row 0 of X and fitted row"),
        (
            lambda p, q: np.nan,
            "gives nan for row 0 of X and fitted row 0; a distance is one finite",
        ),
        (lambda p, q: np.inf, "gives inf"),
        (lambda p, q: "far", "gives 'far'"),
        (lambda p, q: None, "gives None"),
        (lambda p, q: p - q, r"gives array\(\[0., 0.\]\)"),
        (lambda p, q: np.abs(p - q)[:1], r"gives array\(\[0.\]\)"),
        (lambda p, q: 1j, "gives 1j"),
    ],
)
def test_functions_that_are_no_metrics(function, message):
    with pytest.raises(InvalidInputError, match=message):
        CurvedNeighbors(metric=function).fit(X)


def test_what_is_said_of_the_triangle_is_so():
    with pytest.raises(InvalidInputError) as error:
        CurvedNeighbors(metric=lambda p, q: (p - q) @ (p - q)).fit([[0.0], [1.0], [3.0]])
    assert (
        "it gives 9 for rows 0 and 2 of X, but by way of row 1 only 1 + 4 = 5. "
        'algorithm="brute" measures every row'
    ) in str(error.value)


def test_brute_force_needs_no_triangle_inequality():
    search = CurvedNeighbors(2, metric=lambda p, q: (p - q) @ (p - q), algorithm="brute")
    same(search.fit([[0.0], [1.0], [3.0]]).kneighbors([[2.5]]), ([[0.25, 2.25]], [[2, 1]]))
    with pytest.raises(InvalidInputError, match="not symmetric"):
        CurvedNeighbors(metric=lambda p, q: max(p[0] - q[0], 0.0), algorithm="brute").fit(X)


def test_later_values_are_checked_too():
    def breaks(p, q):
        return -1.0 if 2.0 in (p[0], q[0]) else euclidean(p, q)

    search = CurvedNeighbors(metric=breaks).fit(X)
    with pytest.raises(InvalidInputError, match=r"gives -1.0 for the query \[2. 0.\] and fitted"):
        search.kneighbors([[2.0, 0.0]])
    rows = X.copy()
    rows[1] = [2.0, 0.0]
    with pytest.raises(InvalidInputError, match=r"gives -1.0 for row 0 of X and fitted row 1;"):
        CurvedNeighbors(metric=breaks).fit(rows)
    metric = functions.FunctionMetric(breaks, 2)
    with pytest.raises(InvalidInputError, match="row 1000 of X and fitted row 1001;"):
        functions.FunctionIndex(rows[:9], metric, first_row=1000)  # a block of a cluster's rows


def test_where_functions_are_not_taken():
    with pytest.raises(InvalidInputError, match=r'is a k-d tree, .* take "vantage", "brute"'):
        CurvedNeighbors(metric=euclidean, algorithm="tree").fit(X)
    with pytest.raises(InvalidInputError, match=r"'metric' parameter .* Got <function euclidean"):
        CurvedKNeighborsClassifier(metric=euclidean).fit(X, np.arange(len(X)) % 2)
    with pytest.raises(InvalidInputError, match=r"got type\.$"):
        CurvedNeighbors(metric=CurvedMetric).fit(X)
