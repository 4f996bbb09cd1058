"""
Decision boundaries
===================

(a, b) In the plane the regions of nearest neighbours are exact, from the Voronoi diagram of order
k: with more neighbours the frontier becomes smoother. (c) In more dimensions a plane section is
sampled with any classifier: here 3 neighbours in the elliptic metric that CurvedLMNN has learned
from 13 columns, on the principal plane of the standardised data.
"""

import matplotlib.pyplot as plt
from _output import save
from sklearn.datasets import make_moons
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cayleyklein import CurvedLMNN, CurvedMetric
from cayleyklein.datasets import load_wine
from cayleyklein.plotting import DecisionBoundaryDisplay

figure, panels = plt.subplots(1, 3, figsize=(13, 3.6), layout="constrained")

X, y = make_moons(80, noise=0.25, random_state=0)
metric = CurvedMetric.mahalanobis(X, curvature=-0.1)
for ax, k, part in zip(panels, [1, 7], "ab", strict=False):
    DecisionBoundaryDisplay.from_points(X, y, metric, n_neighbors=k).plot(ax, legend=False)
    ax.set_title(f"({part}) exact, $k = {k}$")

wine = load_wine()
learner = CurvedLMNN(geometry="elliptic", random_state=0)
model = make_pipeline(StandardScaler(), learner, KNeighborsClassifier(3))
model.fit(wine.data, wine.target)
DecisionBoundaryDisplay.from_estimator(model, wine.data, wine.target).plot(panels[2])
panels[2].set_title("(c) a plane section of 13 dimensions")

save(figure)
