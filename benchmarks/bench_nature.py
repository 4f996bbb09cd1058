"""Compare calls, trees, graphs, means, clusters, cells and searches with those of other packages.

    python benchmarks/bench_nature.py            # all
    python benchmarks/bench_nature.py trees      # of these only: see PARTS
    python benchmarks/bench_nature.py --small    # fewer rows and nodes

One core, median CPU seconds after a first run, ratios ours over theirs. geomstats and networkx take
part if they are installed; geomstats 2.8 needs NumPy below 2.4.
"""

import argparse
import time
import warnings
from importlib.metadata import PackageNotFoundError, version

import numpy as np
from scipy.spatial import SphericalVoronoi
from scipy.spatial.distance import mahalanobis
from sklearn.neighbors import BallTree

from cayleyklein import (
    CurvedKMeans,
    CurvedMDS,
    CurvedMetric,
    CurvedNeighbors,
    FromChart,
    MixedMetric,
    ProductMetric,
    SphereMetric,
    SphereVoronoi,
    embed_tree,
)
from cayleyklein.geometry.sphere import to_lonlat
from cayleyklein.manifold import graph_distances

warnings.simplefilter("ignore")
RNG = np.random.default_rng(0)


def timed(run, times=5):
    run()  # compiled and cached
    taken = []
    for _ in range(times):
        start = time.process_time()
        found = run()
        taken.append(time.process_time() - start)
    return found, float(np.median(taken))


def versus(what, ours, theirs, name, note=""):
    print(
        f"{what}: ours {ours:.4g} s, {name} {theirs:.4g} s, ratio {ours / theirs:.3g}{note}",
        flush=True,
    )


def calls(small):
    """Time a metric called with two rows, as other people's estimators call it."""
    rounds = 2_000 if small else 20_000
    for d in (13, 50):
        factor = RNG.normal(size=(d, d)) / d
        p, q = RNG.normal(size=(2, d)) / 3
        kinds = {K: CurvedMetric(factor=factor, curvature=K) for K in (0.7, 0.0, -0.1)}
        matrix = kinds[0.0].matrix

        def per_call(between, p=p, q=q):
            return timed(lambda: [between(p, q) for _ in range(rounds)])[1] / rounds * 1e6

        theirs = per_call(lambda p, q, VI=matrix: mahalanobis(p, q, VI))
        metrics = {f"CurvedMetric, K={K}": metric for K, metric in kinds.items()}
        metrics["MixedMetric of two"] = MixedMetric([kinds[0.7], kinds[-0.1]])
        metrics["ProductMetric of two"] = ProductMetric([kinds[0.7], kinds[0.0]])
        metrics["ProductMetric of three"] = ProductMetric([kinds[0.7], kinds[0.0], kinds[0.0]])
        for name, metric in metrics.items():
            ours = per_call(metric)
            print(
                f"a call, d={d}, {name}: {ours:.2f} µs, SciPy's mahalanobis {theirs:.2f} µs, "
                f"ratio {ours / theirs:.2f}",
                flush=True,
            )


def search(small):
    n = 10_000 if small else 100_000
    P = RNG.normal(size=(n, 3))
    P /= np.linalg.norm(P, axis=1)[:, None]
    radians = np.radians(to_lonlat(P)[:, ::-1])
    metric = SphereMetric()
    ours, t = timed(lambda: CurvedNeighbors(10, metric=metric).fit(P).kneighbors(P), 3)
    theirs, u = timed(lambda: BallTree(radians, metric="haversine").query(radians, 10), 3)
    off = np.flatnonzero(np.abs(ours[0] - theirs[0]).max(axis=1) > 1e-9)
    versus(f"10 neighbours of {n:,} places", t, u, "BallTree")
    exact = np.sort(metric.pairwise(P[off], P), axis=1)[:, :10] if len(off) else ours[0][off]
    print(
        f"  answers differ for {len(off)} places by up to {np.abs(ours[0] - theirs[0]).max():.3g}; "
        f"off by brute force: ours {np.abs(exact - ours[0][off]).max(initial=0):.2g}, "
        f"BallTree {np.abs(exact - theirs[0][off]).max(initial=0):.2g}"
    )


def cells(small):
    for n in (1000,) if small else (1000, 10_000):
        P = RNG.normal(size=(n, 3))
        P /= np.linalg.norm(P, axis=1)[:, None]
        ours, t = timed(lambda P=P: SphereVoronoi(P).areas())

        def theirs(P=P):
            diagram = SphericalVoronoi(P)
            diagram.sort_vertices_of_regions()
            return diagram.calculate_areas()

        areas, u = timed(theirs)
        note = f", areas differ by {np.abs(ours - areas).max():.1e}"
        versus(f"cells of {n:,} points on the sphere", t, u, "SphericalVoronoi", note)


def report(name, along, distances, t):
    """Print how well distances agree with those along a graph, at the best scale."""
    pairs = np.triu_indices(len(along), 1)
    d, goal = distances[pairs], along[pairs]
    ratio = d * (d @ goal) / (d @ d) / goal
    print(
        f"  {name:34} mean distortion {np.abs(ratio - 1).mean():7.1%}, worst "
        f"{ratio.max() / ratio.min():9.4g}, {t:.3g} s",
        flush=True,
    )


def layouts(graph, along):
    """Report on the layouts of networkx, if it is installed."""
    try:
        import networkx as nx
    except ImportError:
        print("  networkx is not installed")
        return
    found = {
        "kamada_kawai": lambda: nx.kamada_kawai_layout(graph, weight=None),
        "spring": lambda: nx.spring_layout(graph, weight=None, seed=0),
        "forceatlas2": lambda: nx.forceatlas2_layout(graph, seed=0),
    }
    if nx.is_tree(graph):
        found["bfs"] = lambda: nx.bfs_layout(graph, next(iter(graph)))
    for name, layout in found.items():
        places, t = timed(layout, 1)
        at = np.array([places[node] for node in graph])
        report(f"networkx {name}", along, np.linalg.norm(at[:, None] - at[None], axis=-1), t)


def trees(small):
    n = 1000 if small else 10_000
    big = [(int(RNG.integers(0, i)), i) for i in range(1, n)]
    tree, t = timed(lambda: embed_tree(big))
    found = tree.distortion
    print(f"embed_tree, {n:,} nodes: {t:.3g} s, worst {found.worst:.3g}, mean {found.mean:.3g}")
    tree, t = timed(lambda: embed_tree(big, scale="auto"))
    print(f"embed_tree, {n:,} nodes, scale=auto: {t:.3g} s, {tree}")
    try:
        import networkx as nx
    except ImportError:
        nx = None
    rows = [(int(RNG.integers(max(0, i // 3 - 2), i // 2 + 1)), i) for i in range(1, 300)]
    kinds = {"a tree of 300 nodes": rows}
    if nx is not None:
        kinds["networkx: a random labelled tree of 300 nodes"] = nx.random_labeled_tree(300, seed=0)
        kinds["networkx: a balanced tree, 3 children, 121 nodes"] = nx.balanced_tree(3, 4)
    for name, graph in kinds.items():
        print(f"{name}, in two dimensions:")
        along = graph_distances(graph).distances
        for options in ({"scale": 1.0}, {"scale": 4.0}, {"scale": "auto", "max_distortion": 1.05}):
            tree, t = timed(lambda graph=graph, options=options: embed_tree(graph, **options))
            report(f"embed_tree, scale={options['scale']}", along, tree.pairwise(), t)
        maps(along)
        layouts(graph if nx is None else nx.Graph(graph), along)


def maps(along):
    """Report on a flat map, and on one with a learned curvature."""
    for K in (0.0, None):
        given = {} if K is None else {"curvature": K}
        mds, t = timed(
            lambda given=given: CurvedMDS(metric="precomputed", random_state=0, **given).fit(along),
            1,
        )
        name = f"curvature={K}" if K is not None else f"K={mds.curvature_:.3g} learned"
        report(f"CurvedMDS, {name}", along, mds.distances_, t)


def graphs(small):
    """Report on graphs with cycles, which networkx brings."""
    try:
        import networkx as nx
    except ImportError:
        print("graphs: networkx is not installed")
        return
    kinds = {
        "Zachary's karate club": nx.karate_club_graph(),
        "characters of Les Misérables": nx.les_miserables_graph(),
    }
    if not small:
        kinds["a grid of 12 × 12"] = nx.grid_2d_graph(12, 12)
    for name, graph in kinds.items():
        along = graph_distances(graph, weight=None).distances
        print(f"{name}, {len(graph)} nodes, steps along edges, in two dimensions:")
        maps(along)
        layouts(graph, along)


def mean_of(d, space, estimator):
    X = RNG.normal(size=(500, d))
    X *= np.tanh(RNG.uniform(0.1, 1.5, size=(500, 1))) / np.linalg.norm(X, axis=1)[:, None]
    rows = FromChart("poincare").fit_transform(X)
    metric = CurvedMetric.euclidean(d, curvature=-1.0)
    ours, t = timed(lambda: metric.frechet_mean(rows))
    theirs, u = timed(lambda: estimator(space).fit(X).estimate_)
    other = metric.from_chart(np.asarray(theirs), "poincare")
    sums = [np.square(metric.distance(x, rows)).sum() for x in (other, ours)]
    note = f", Σd² higher there by {sums[0] - sums[1]:.1e}"
    versus(f"Fréchet mean, 500 rows, d={d}", t, u, "geomstats", note)


def means(small):
    try:
        from geomstats.geometry.poincare_ball import PoincareBall
        from geomstats.learning.frechet_mean import FrechetMean
        from geomstats.learning.kmeans import RiemannianKMeans
    except ImportError as error:
        print(f"geomstats cannot be imported: {error}")
        return
    for d in (2, 10):
        mean_of(d, PoincareBall(d), FrechetMean)
    middles = ([0.5, 0], [-0.3, 0.4], [0, -0.5])
    blobs = np.concatenate([0.1 * RNG.normal(size=(70, 2)) + middle for middle in middles])
    spread = RNG.uniform(-0.6, 0.6, size=(2_000 if small else 20_000, 2))
    metric = CurvedMetric.euclidean(2, curvature=-1.0)
    for X, k in ((blobs, 3), (spread, 8)):
        rows = FromChart("poincare").fit_transform(X)

        def geomstats_clusters(X=X, k=k, rows=rows):
            found = RiemannianKMeans(PoincareBall(2), n_clusters=k, init="kmeans++").fit(X)
            centers = metric.from_chart(np.asarray(found.cluster_centers_), "poincare")
            return np.square(metric.pairwise(rows, centers).min(axis=1)).sum()

        np.random.seed(0)  # noqa: NPY002  geomstats draws from it
        gs_sums = [geomstats_clusters() for _ in range(9)]
        _, u = timed(
            lambda X=X, k=k: RiemannianKMeans(PoincareBall(2), n_clusters=k, init="kmeans++").fit(
                X
            ),
            9,
        )
        for starts in (1, 4):
            sums = []

            def run(starts=starts, k=k, rows=rows, sums=sums):
                model = CurvedKMeans(k, metric=metric, n_init=starts, random_state=len(sums))
                sums.append(model.fit(rows).inertia_)

            _, t = timed(run, 9)
            note = f", Σd² {np.median(sums):.5g} and {np.median(gs_sums):.5g}"
            what = f"k-means, {len(rows):,} rows, {k} clusters, {starts} start{'s'[: starts > 1]}"
            versus(what, t, u, "geomstats, 1 start", note)


PARTS = {f.__name__: f for f in (calls, search, cells, trees, graphs, means)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--small", action="store_true", help="fewer rows and nodes")
    given = parser.parse_args()
    for name in ("geomstats", "networkx"):
        try:
            print(name, version(name))
        except PackageNotFoundError:
            print(name, "is not installed")
    for name in given.parts or PARTS:
        PARTS[name](given.small)


if __name__ == "__main__":
    main()
