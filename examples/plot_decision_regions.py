"""
What does the classifier say where?
===================================

In the plane the regions of k nearest neighbours are exact polygons: unions of the cells of the
Voronoi diagram of order k, whose walls are straight in every geometry. In more dimensions any
classifier is drawn on a plane section.
"""

# %%
# Two columns of the wines and the metric that was learned from them. With more neighbours the
# frontier has fewer corners and islands.

import matplotlib.pyplot as plt
import numpy as np

from cayleyklein import CurvedKNeighborsClassifier, CurvedLMNN
from cayleyklein.datasets import load_wine
from cayleyklein.diagrams import CayleyKleinVoronoi
from cayleyklein.plotting import DecisionBoundaryDisplay, VoronoiDisplay

wine = load_wine()
columns = [wine.feature_names.index(name) for name in ("flavanoids", "color_intensity")]
X, y = wine.data[:, columns], wine.target
metric = CurvedLMNN(geometry="hyperbolic", random_state=0).fit(X, y).metric_

figure, panels = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", sharey=True)
for ax, k in zip(panels, (1, 9), strict=True):
    diagram = CayleyKleinVoronoi(X, metric, order=k, labels=y)
    VoronoiDisplay.from_diagram(diagram).plot(ax, regions=True)
    ax.set(
        title=f"{k} neighbour" + "s" * (k > 1),
        xlabel="flavanoids",
        ylabel="color intensity" if k == 1 else " ",
        aspect="auto",
        xlim=(X[:, 0].min() - 0.3, X[:, 0].max() + 0.3),
        ylim=(X[:, 1].min() - 0.8, X[:, 1].max() + 0.8),
    )

# %%
# ``predict`` of the diagram locates a query's cell. Up to ties it agrees with a vote of neighbours.

queries = np.random.default_rng(0).uniform(X.min(axis=0), X.max(axis=0), size=(2000, 2))
queries = queries[metric.contains(queries)]
vote = CurvedKNeighborsClassifier(9, metric=metric, weights="uniform").fit(X, y)
print("the same answer:", np.mean(diagram.predict(queries) == vote.predict(queries)))

# %%
# All 13 columns: a section along the principal plane of the standardised rows. Rows are projected
# to it, so a few appear in a region that is not theirs.

model = CurvedKNeighborsClassifier(random_state=0).fit(wine.data, wine.target)
figure, ax = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
DecisionBoundaryDisplay.from_estimator(model, wine.data, wine.target, features="pca").plot(ax)
ax.set_title("A plane section of 13 dimensions")
plt.show()
