"""
When does curvature help?
=========================

When the rows truly are curved. Clusters of one size on a hemisphere, whose columns are its gnomonic
chart, are drawn out towards the horizon. Clusters around the nodes of a tree in the hyperbolic
plane, seen in Klein's disc, are pressed flat towards the rim. No linear map of the columns can undo
that; a metric that learns its curvature can.
"""

# %%
# The two kinds of rows. The thick circle is where the hyperbolic plane ends.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from cayleyklein import CurvedKNeighborsClassifier, CurvedLMNN, CurvedMetric
from cayleyklein.datasets import make_elliptic_blobs, make_hyperbolic_tree

palette = ["#D55E00", "#0072B2", "#009E73", "#E69F00", "#CC79A7", "#56B4E9", "#000000"]


def draw(ax, X, y):
    """Draw rows, each class with a colour and a marker of its own."""
    for label in range(y.max() + 1):
        look = {"color": palette[label % 7], "marker": "o^sx"[label // 7], "linewidths": 0.7}
        ax.scatter(*X[y == label].T, s=8, **look)
    ax.set(xlabel="$x_1$", ylabel="$x_2$", aspect="equal")


figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained")
X, y = make_elliptic_blobs(1200, 2, centers=12, cluster_std=0.08, reach=1.3, random_state=0)
draw(left, X, y)
left.set(title="Clusters on a hemisphere")
X, y = make_hyperbolic_tree(1380, depth=3, cluster_std=0.15, random_state=1)
draw(right, X, y)
right.add_patch(plt.Circle((0, 0), 1, fill=False, linewidth=2.5))
right.set(title="A tree in the hyperbolic plane")
right.locator_params(nbins=5)

# %%
# Accuracy of 3 neighbours on held-out rows, by the metric that the rows were made with, by a
# learned one whose curvature is learned too, by a learned flat one (LMNN), and by plain Euclidean
# distance.
#
# The fits go on until the loss falls no more, ``max_iter=100`` a pass. The default stops after five
# iterations, which is as good on ordinary tables, but too early for a curvature as strong as this.

names = ["the true metric", "learned, K too", "learned, flat", "Euclidean"]


def accuracies(make, seed):
    """Return the accuracy of the four metrics, and the learned curvature."""
    X, y, known = make(random_state=seed, return_metric=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=seed, stratify=y)
    curved, flat = (
        CurvedLMNN(geometry=name, max_iter=100, random_state=0).fit(X, y).metric_
        for name in ("learned", "flat")
    )
    metrics = [known, curved, flat, CurvedMetric.euclidean(X.shape[1])]
    models = [CurvedKNeighborsClassifier(3, metric=m, weights="uniform").fit(X, y) for m in metrics]
    return [model.score(X_test, y_test) for model in models], curved.curvature


figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for make, color, marker, title, shift in (
    (make_elliptic_blobs, "#D55E00", "o", "hemisphere", -0.12),
    (make_hyperbolic_tree, "#009E73", "s", "hyperbolic tree", 0.12),
):
    scores, curvatures = zip(*(accuracies(make, seed) for seed in range(4)), strict=True)
    mean, error = np.mean(scores, axis=0), np.std(scores, axis=0, ddof=1) / 2
    label = f"{title}, learned K = {np.mean(curvatures):+.1f}".replace("-", "−")
    place = np.arange(4) + shift
    ax.errorbar(mean, place, xerr=error, fmt=marker, color=color, markersize=8, label=label)
    print(title, dict(zip(names, mean.round(3).tolist(), strict=True)))
ax.set_yticks(range(4), names)
ax.invert_yaxis()
ax.margins(y=0.15)
ax.set(xlabel="accuracy, mean of four draws ± standard error", title="The right curvature wins")
figure.legend(loc="outside lower center", ncols=2, frameon=False)
plt.show()
