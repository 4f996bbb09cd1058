"""
Decision regions of order k
===========================

In the plane the regions of k nearest neighbours are exact polygons: unions of the cells of the
Voronoi diagram of order k, whose edges are straight in every geometry. Two columns of the wines,
with the metric that was learned from them; its domain is larger than the picture.
"""

# %%
# A metric is learned from the two columns; the diagram of order k with labels then is the k-NN
# classifier.

import matplotlib.pyplot as plt
import numpy as np

from cayleyklein import CurvedKNeighborsClassifier, CurvedLMNN
from cayleyklein.datasets import load_wine
from cayleyklein.diagrams import CayleyKleinVoronoi
from cayleyklein.plotting import DecisionBoundaryDisplay

wine = load_wine()
columns = [wine.feature_names.index(name) for name in ("flavanoids", "color_intensity")]
X, y = wine.data[:, columns], wine.target
metric = CurvedLMNN(geometry="hyperbolic", random_state=0).fit(X, y).metric_
print(metric)

figure, panels = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
for ax, k in zip(panels, (1, 3, 9), strict=True):
    diagram = CayleyKleinVoronoi(X, metric, order=k, labels=y)
    DecisionBoundaryDisplay.from_diagram(diagram).plot(ax, legend=False)
    frontier = len(diagram.frontier())
    ax.set(
        title=f"$k = {k}$: {len(diagram.cell_generators)} cells, {frontier} frontier segments",
        xlabel="flavanoids",
        ylabel="color intensity",
        aspect="auto",
        xlim=(X[:, 0].min() - 0.3, X[:, 0].max() + 0.3),
        ylim=(X[:, 1].min() - 0.8, X[:, 1].max() + 0.8),
    )
plt.show()

# %%
# ``predict`` locates a query's cell, and agrees with the search for neighbours, row by row.

queries = np.random.default_rng(0).uniform(X.min(axis=0), X.max(axis=0), size=(2000, 2))
queries = queries[metric.contains(queries)]
voted = CurvedKNeighborsClassifier(9, metric=metric).fit(X, y).predict(queries)
print(np.mean(diagram.predict(queries) == voted))
