"""Compare trees, means, clusters, cells and searches with those of other packages.

Usage: python benchmarks/bench_nature.py

One core, CPU seconds, ratios ours over theirs. geomstats and networkx take part if installed.
"""

import time
import warnings

import numpy as np
from scipy.spatial import SphericalVoronoi
from sklearn.neighbors import BallTree

from cayleyklein import (
    CurvedKMeans,
    CurvedMDS,
    CurvedMetric,
    CurvedNeighbors,
    FromChart,
    SphereMetric,
    SphereVoronoi,
    embed_tree,
)
from cayleyklein.geometry.sphere import to_lonlat
from cayleyklein.manifold import graph_distances

warnings.simplefilter("ignore")
RNG = np.random.default_rng(0)


def timed(run, times=1):
    run()  # compiled and cached
    start = time.process_time()
    for _ in range(times):
        found = run()
    return found, (time.process_time() - start) / times


def versus(what, ours, theirs, name, note=""):
    print(
        f"{what}: ours {ours:.4g} s, {name} {theirs:.4g} s, ratio {ours / theirs:.3g}{note}",
        flush=True,
    )


def search():
    P = RNG.normal(size=(100_000, 3))
    P /= np.linalg.norm(P, axis=1)[:, None]
    radians = np.radians(to_lonlat(P)[:, ::-1])
    metric = SphereMetric()
    ours, t = timed(lambda: CurvedNeighbors(10, metric=metric).fit(P).kneighbors(P))
    theirs, u = timed(lambda: BallTree(radians, metric="haversine").query(radians, 10))
    off = np.flatnonzero(np.abs(ours[0] - theirs[0]).max(axis=1) > 1e-9)
    versus("10 neighbours of 100,000 places", t, u, "BallTree")
    exact = np.sort(metric.pairwise(P[off], P), axis=1)[:, :10] if len(off) else ours[0][off]
    print(
        f"  answers differ for {len(off)} places by up to {np.abs(ours[0] - theirs[0]).max():.3g}; "
        f"off by brute force: ours {np.abs(exact - ours[0][off]).max(initial=0):.2g}, "
        f"BallTree {np.abs(exact - theirs[0][off]).max(initial=0):.2g}"
    )


def cells():
    for n in (1000, 10_000):
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


def trees():
    rows = [(int(RNG.integers(max(0, i // 3 - 2), i // 2 + 1)), i) for i in range(1, 300)]
    along = graph_distances(rows).distances
    big = [(int(RNG.integers(0, i)), i) for i in range(1, 10_000)]
    tree, t = timed(lambda: embed_tree(big))
    print(f"embed_tree, 10,000 nodes: {t:.3g} s, {tree.distortion}")

    def report(name, distances, t):
        pairs = np.triu_indices(len(along), 1)
        d, goal = distances[pairs], along[pairs]
        d = d * (d @ goal) / (d @ d)  # the best scale
        ratio = d / goal
        print(
            f"  {name:34} mean distortion {np.abs(ratio - 1).mean():7.1%}, worst "
            f"{ratio.max() / ratio.min():9.4g}, {t:.3g} s"
        )

    print("a tree of 300 nodes in two dimensions:")
    for options in ({"scale": 1.0}, {"scale": 4.0}, {"scale": "auto", "max_distortion": 1.05}):
        tree, t = timed(lambda options=options: embed_tree(rows, **options))
        report(f"embed_tree, scale={options['scale']}", tree.pairwise(), t)
    for K in (-1.0, 0.0):
        mds, t = timed(
            lambda K=K: CurvedMDS(metric="precomputed", curvature=K, random_state=0).fit(along)
        )
        report(f"CurvedMDS, curvature={K}", mds.distances_, t)
    try:
        import networkx as nx
    except ImportError:
        print("  networkx is not installed")
        return
    graph = nx.Graph(rows)
    layouts = {"kamada_kawai": nx.kamada_kawai_layout, "spring": nx.spring_layout}
    for name, layout in layouts.items():
        found, t = timed(lambda layout=layout: layout(graph))
        at = np.array([found[i] for i in range(len(graph))])
        report(f"networkx {name}", np.linalg.norm(at[:, None] - at[None], axis=-1), t)


def mean_of(d, space, estimator):
    X = RNG.normal(size=(500, d))
    X *= np.tanh(RNG.uniform(0.1, 1.5, size=(500, 1))) / np.linalg.norm(X, axis=1)[:, None]
    rows = FromChart("poincare").fit_transform(X)
    metric = CurvedMetric.euclidean(d, curvature=-1.0)
    ours, t = timed(lambda: metric.frechet_mean(rows), 5)
    theirs, u = timed(lambda: estimator(space).fit(X).estimate_)
    other = metric.from_chart(np.asarray(theirs), "poincare")
    sums = [np.square(metric.distance(x, rows)).sum() for x in (other, ours)]
    note = f", Σd² higher there by {sums[0] - sums[1]:.1e}"
    versus(f"Fréchet mean, 500 rows, d={d}", t, u, "geomstats", note)


def means():
    try:
        import geomstats.backend as gs
        from geomstats.geometry.poincare_ball import PoincareBall
        from geomstats.learning.frechet_mean import FrechetMean
        from geomstats.learning.kmeans import RiemannianKMeans
    except ImportError as error:  # geomstats 2.8 fails with NumPy 2.4
        print(f"geomstats cannot be imported: {error}")
        return
    del gs
    for d in (2, 10):
        mean_of(d, PoincareBall(d), FrechetMean)
    middles = ([0.5, 0], [-0.3, 0.4], [0, -0.5])
    X = np.concatenate([0.1 * RNG.normal(size=(70, 2)) + middle for middle in middles])
    rows = FromChart("poincare").fit_transform(X)
    metric = CurvedMetric.euclidean(2, curvature=-1.0)
    ours, t = timed(lambda: CurvedKMeans(3, metric=metric, random_state=0).fit(rows))

    def run():
        return RiemannianKMeans(PoincareBall(2), n_clusters=3, init="kmeans++").fit(X)

    theirs, u = timed(run)
    centers = metric.from_chart(np.asarray(theirs.cluster_centers_), "poincare")
    other = np.square(metric.pairwise(rows, centers).min(axis=1)).sum()
    note = f", Σd² {ours.inertia_:.5g} and {other:.5g}"
    versus("k-means, 210 rows, 3 clusters (4 starts and 1)", t, u, "geomstats", note)


if __name__ == "__main__":
    search()
    cells()
    trees()
    means()
