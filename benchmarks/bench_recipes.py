"""Time other people's estimators on a curved metric: ways that are fast, and the slow one.

Usage: python benchmarks/bench_recipes.py [rows]

UMAP and PyNNDescent run if they are installed.
"""

import sys
import time
import warnings
from importlib.metadata import version

import numpy as np
from sklearn.cluster import DBSCAN, HDBSCAN, SpectralClustering
from sklearn.datasets import load_wine
from sklearn.manifold import TSNE
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cayleyklein import CurvedKMeans, CurvedMetric, CurvedNeighbors, ProductMetric

warnings.simplefilter("ignore")


def timed(name, run):
    start = time.process_time()
    found = run()
    print(f"{name:46} {time.process_time() - start:8.2f} CPU s", flush=True)
    return found


def main():
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    rng = np.random.default_rng(0)
    wine = StandardScaler().fit_transform(load_wine().data)
    X = wine[rng.integers(len(wine), size=rows)] + 0.2 * rng.normal(size=(rows, wine.shape[1]))
    metric = CurvedMetric.mahalanobis(X, curvature=0.05)
    radius = float(np.median(CurvedNeighbors(5, metric=metric).fit(X).kneighbors()[0][:, -1]))
    print(f"{rows} rows, {X.shape[1]} columns, {metric}")
    x, y = X[:2]
    metric(x, y)
    start = time.process_time()
    for _ in range(100_000):
        metric(x, y)
    print(f"a call metric(x, y): {(time.process_time() - start) * 10:.2f} µs")

    near = CurvedNeighbors(metric=metric, radius=radius, mode="radius")
    graph = CurvedNeighbors(30, metric=metric)
    slow = timed(
        "DBSCAN(metric=metric), 178 rows", lambda: DBSCAN(radius, metric=metric).fit(X[:178])
    )
    del slow
    labels = timed(
        "DBSCAN on the graph within a radius",
        lambda: make_pipeline(near, DBSCAN(radius, metric="precomputed")).fit_predict(X),
    )
    again = timed(
        "DBSCAN on metric.embed", lambda: DBSCAN(chord(metric, radius)).fit(metric.embed(X))
    )
    print("  the same clusters:", bool((labels == again.labels_).all()))
    timed(
        "HDBSCAN on metric.pairwise",
        lambda: HDBSCAN(metric="precomputed", copy=True).fit(metric.pairwise(X)),
    )
    timed(
        "t-SNE on the graph of 91 neighbours",
        lambda: make_pipeline(
            CurvedNeighbors(91, metric=metric), TSNE(metric="precomputed", init="random")
        ).fit_transform(X),
    )
    timed(
        "SpectralClustering on the graph",
        lambda: make_pipeline(
            CurvedNeighbors(10, metric=metric, mode="connectivity"),
            SpectralClustering(3, affinity="precomputed_nearest_neighbors", n_neighbors=10),
        ).fit_predict(X),
    )
    timed("CurvedKMeans", lambda: CurvedKMeans(3, metric=metric, random_state=0).fit(X))
    try:
        import pynndescent
        import umap
    except ImportError:
        print("umap-learn is not installed")
        return
    print(f"umap-learn {version('umap-learn')}, pynndescent {version('pynndescent')}")
    between = metric.compiled()
    umap.UMAP(metric=between, n_epochs=5).fit(X[:300])  # compiles
    timed("UMAP(metric=metric.compiled())", lambda: umap.UMAP(metric=between).fit(X))
    pynndescent.NNDescent(X[:300], metric=between)  # compiles
    timed("NNDescent(metric=metric.compiled())", lambda: pynndescent.NNDescent(X, metric=between))
    both = ProductMetric([metric, CurvedMetric.mahalanobis(X)])
    between = both.compiled()
    umap.UMAP(metric=between, n_epochs=5).fit(X[:300])
    timed("UMAP(metric=product.compiled())", lambda: umap.UMAP(metric=between).fit(X))
    distances, indices = graph.fit(X).kneighbors(X, 15)
    timed(
        "UMAP(precomputed_knn=…)",
        lambda: umap.UMAP(15, precomputed_knn=(indices, distances.astype(np.float32))).fit(X),
    )


def chord(metric, distance):
    k = np.sqrt(metric.curvature)
    return 2 * np.sin(k * distance / 2) / k


if __name__ == "__main__":
    main()
