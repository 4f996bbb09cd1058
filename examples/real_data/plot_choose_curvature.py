"""
Choosing K
==========

How strongly should the metric be curved? Two ways to find out on the balance scale data, where
curvature matters: scan K for one shape, or let the learner have it as a parameter.
"""

# %%
# Curvature has the unit 1/distance². What matters is K times the square of the data's radius R
# in the metric: multiply the factor by two, and the same bend has a quarter of K.
# At K R² = -1 the farthest row is on the boundary of the hyperbolic domain.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit, cross_val_score

from cayleyklein import CurvedKNeighborsClassifier, CurvedLMNN, CurvedMetric
from cayleyklein.datasets import load_balance

X, y = load_balance(return_X_y=True)
base = CurvedMetric.mahalanobis(X)
squared_radius = (base.distance(X, base.center) ** 2).max()
bends = np.array([-0.99, -0.9, -0.7, -0.4, -0.2, 0, 0.2, 0.5, 1, 2, 5, 10, 30, 100])
splits = StratifiedShuffleSplit(n_splits=10, train_size=250, random_state=0)


def accuracy(K):
    """Return the mean accuracy of 3 neighbours with nothing learned but the precision matrix."""
    metric = CurvedMetric(matrix=base.matrix, center=base.center, curvature=K)
    return cross_val_score(CurvedKNeighborsClassifier(3, metric=metric), X, y, cv=splits).mean()


scan = [accuracy(bend / squared_radius) for bend in bends]
best = bends[int(np.argmax(scan))]
print(f"flat {scan[list(bends).index(0)]:.3f}, best {max(scan):.3f} at K R² = {best:g}")

# %%
# On these data an elliptic metric is the better one even before anything is learned: what
# counts on a balance is the ratio of weights and lengths, that is, a direction.
#
# The learner with ``geometry="learned"`` moves K together with the shape and the centre; it may
# cross zero on the way. Its answer is ``curvature_``.

train, test = next(splits.split(X, y))
few = StratifiedShuffleSplit(n_splits=4, train_size=250, random_state=0)
learned = CurvedLMNN(geometry="learned", random_state=0).fit(X[train], y[train])
radius = learned.metric_.distance(X[train], learned.metric_.center).max()
print(f"learned: {learned.metric_}, K R² = {learned.metric_.curvature * radius**2:.2f}")
for geometry in ("flat", "learned", "elliptic", "hyperbolic"):
    learner = CurvedLMNN(geometry=geometry, random_state=0)
    model = CurvedKNeighborsClassifier(3, learner=learner)
    print(f"{geometry:10} {cross_val_score(model, X, y, cv=few).mean():.3f}")

# %%
# Once the shape is learned as well, the geometries come close to each other: shape and centre make
# up for much of a wrong curvature. So there is no need to tune K finely, and fixing it at ±1
# (elliptic, hyperbolic) loses nothing, since the factor can grow instead.

figure, ax = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
ax.plot(bends, scan, "ko-")
ax.set_xscale("symlog", linthresh=1)
ax.set_xticks([-1, 0, 1, 10, 100], ["−1", "0", "1", "10", "100"])
ax.axvline(0, color="0.7", zorder=0)
ax.set(xlabel="$K R^2$", ylabel="accuracy", title="balance: precision matrix, curvature scanned")
ax.text(-0.95, max(scan), "hyperbolic", va="top")
ax.text(3, min(scan), "elliptic")
plt.show()
