"""
Numbers to predict, comparisons to keep
=======================================

Class labels are not the only teachers of a metric. (a) Targets: five of the columns decide them,
and more and more columns of noise are added. Plain neighbours drown, neighbours by a learned metric
do not. (b) Triplets "a is closer to b than to c", ordered by the distances of a sphere whose points
are seen through an oblique linear map. A flat metric gets a sixth of them wrong however many it is
told; an elliptic one learns nearly all, and so does one that learns its curvature.
"""

import matplotlib.pyplot as plt
import numpy as np
from _output import arguments, save
from sklearn.datasets import make_friedman1
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cayleyklein import CurvedKNeighborsRegressor, CurvedMetric, CurvedTriplets

quick = arguments().quick
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")

# %%
# Targets

noise = (0, 10) if quick else (0, 5, 10, 20, 40)
scores = {"plain, k by cross-validation": [], "learned metric": []}
for extra in noise:
    X, y = make_friedman1(1400, n_features=5 + extra, noise=1.0, random_state=0)
    grid = {"kneighborsregressor__n_neighbors": [1, 3, 5, 9, 15, 25]}
    plain = GridSearchCV(make_pipeline(StandardScaler(), KNeighborsRegressor()), grid)
    learned = CurvedKNeighborsRegressor(random_state=0)
    for name, model in zip(scores, (plain, learned), strict=True):
        scores[name].append(model.fit(X[:400], y[:400]).score(X[400:], y[400:]))
for (name, values), color in zip(scores.items(), ("#999999", "#0072B2"), strict=True):
    left.plot(noise, values, "o-", color=color, label=name)
left.set(xlabel="columns of noise", ylabel="R² on held-out rows", ylim=(0, 1))
left.set_title("(a) targets: neighbours predict numbers")
left.legend(frameon=False, loc="lower left")

# %%
# Triplets

rng = np.random.default_rng(0)
sphere = CurvedMetric.euclidean(3, curvature=1.0)
points = 2 * rng.normal(size=(300, 3))
seen = points @ rng.normal(size=(3, 3))
a, b, c = rng.integers(300, size=(3, 4000))
farther = sphere.distance(points[a], points[b]) > sphere.distance(points[a], points[c])
b, c = np.where(farther, c, b), np.where(farther, b, c)
triplets = np.stack([a, b, c], axis=1)[(a != b) & (b != c) & (a != c)]
train, test = triplets[:2000], triplets[2000:]

sizes = (100, 400) if quick else (50, 100, 200, 400, 800, 1600)
for geometry, color in (("flat", "#0072B2"), ("elliptic", "#D55E00"), ("learned", "#009E73")):
    learner = CurvedTriplets(geometry=geometry, margin=0.1, preprocessor=seen)
    shares = [learner.fit(train[:n]).score(test) for n in sizes]
    label = geometry
    if geometry == "learned":
        label += f", $K$ = {learner.curvature_[0]:.1f}"
    right.semilogx(sizes, shares, "o-", color=color, label=label)
right.set_xticks(sizes, sizes)
right.minorticks_off()
right.set(xlabel="triplets", ylabel="held-out triplets in order", ylim=(0.7, 1.01))
right.set_title("(b) triplets: distances of a sphere")
right.legend(frameon=False, loc="lower right")

save(figure)
