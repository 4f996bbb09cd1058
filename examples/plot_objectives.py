"""
What if I have no classes?
==========================

A metric can be learned from numbers to predict, and from comparisons such as "a is closer to b than
to c". Two experiments with generated rows show what that is worth.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cayleyklein import CurvedKNeighborsRegressor, CurvedMetric, CurvedTriplets

# %%
# **Numbers.** Five columns decide the target, and columns of noise are added. Plain neighbours
# drown in them, neighbours by a learned metric do not.

noise = (0, 10, 20, 40)
scores = {"plain, k by cross-validation": [], "learned metric": []}
for extra in noise:
    X, y = make_friedman1(1400, n_features=5 + extra, noise=1.0, random_state=0)
    grid = {"kneighborsregressor__n_neighbors": [1, 3, 5, 9, 15, 25]}
    plain = GridSearchCV(make_pipeline(StandardScaler(), KNeighborsRegressor()), grid)
    learned = CurvedKNeighborsRegressor(random_state=0)
    for name, model in zip(scores, (plain, learned), strict=True):
        scores[name].append(model.fit(X[:400], y[:400]).score(X[400:], y[400:]))

figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for (name, values), look in zip(scores.items(), ("s--", "o-"), strict=True):
    ax.plot(noise, values, look, color="0.5" if look == "s--" else "#0072B2", label=name)
ax.set(xlabel="columns of noise", ylabel="R² on held-out rows", ylim=(0, 1))
ax.set_title("Numbers: columns of noise")
figure.legend(loc="outside lower center", ncols=2, frameon=False)

# %%
# **Triplets.** The order of distances on a sphere, whose points are seen through an oblique linear
# map. A flat metric gets a sixth of them wrong however many it is told; an elliptic one learns
# nearly all, and so does one that learns its curvature.

rng = np.random.default_rng(0)
sphere = CurvedMetric.euclidean(3, curvature=1.0)
points = 2 * rng.normal(size=(300, 3))
seen = points @ rng.normal(size=(3, 3))
a, b, c = rng.integers(300, size=(3, 4000))
farther = sphere.distance(points[a], points[b]) > sphere.distance(points[a], points[c])
b, c = np.where(farther, c, b), np.where(farther, b, c)
triplets = np.stack([a, b, c], axis=1)[(a != b) & (b != c) & (a != c)]
train, test = triplets[:2000], triplets[2000:]

sizes = (50, 100, 200, 400, 800, 1600)
figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for geometry, color, look in (
    ("flat", "#0072B2", "s--"),
    ("elliptic", "#D55E00", "o-"),
    ("learned", "#009E73", "^-"),
):
    learner = CurvedTriplets(geometry=geometry, margin=0.1, preprocessor=seen)
    shares = [learner.fit(train[:n]).score(test) for n in sizes]
    label = geometry
    if geometry == "learned":
        label += f", $K$ = {learner.curvature_[0]:.1f}"
    ax.semilogx(sizes, shares, look, color=color, label=label)
ax.set_xticks(sizes, sizes)
ax.minorticks_off()
ax.set(xlabel="triplets to learn from", ylabel="held-out triplets in order")
ax.set_title("Triplets: distances of a sphere")
figure.legend(loc="outside lower center", ncols=3, frameon=False)
plt.show()
