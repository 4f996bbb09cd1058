"""
Rows that are truly curved
==========================

Round clusters of one size, as rows of a table. (a) On a hemisphere, of which the columns are the
gnomonic chart: towards the horizon they are drawn out. (b) Around the nodes of a tree in the
hyperbolic plane, in Klein's disc: towards the rim they are pressed flat. (c) Accuracy of 3
neighbours on held-out rows: a metric that learns its curvature finds the sign of K, and does better
than a flat one and as well as the metric the rows were made with. (d) Rows with an elliptic and a
hyperbolic half: a sum of two learned metrics does better than either, and than a flat one.

The fits go on until the loss falls no more, ``max_iter=100`` a pass. The default stops after five,
which is as good on ordinary tables, but too early for a curvature as strong as that of the tree.
"""

import matplotlib.pyplot as plt
import numpy as np
from _output import arguments, save
from sklearn.model_selection import train_test_split

from cayleyklein import CurvedKNeighborsClassifier, CurvedLMNN, CurvedMetric
from cayleyklein.datasets import make_elliptic_blobs, make_hyperbolic_tree, make_mixed

figure, panels = plt.subplots(2, 2, figsize=(10, 9.2), layout="constrained")
panels = panels.ravel()
quick = arguments().quick
seeds = range(2 if quick else 10)

X, y = make_elliptic_blobs(1200, 2, centers=12, cluster_std=0.08, reach=1.3, random_state=0)
panels[0].scatter(*X.T, c=y, s=4, cmap="tab20")
panels[0].set(title="(a) clusters on a hemisphere", aspect="equal")
X, y = make_hyperbolic_tree(1380, depth=3, cluster_std=0.15, random_state=1)
panels[1].scatter(*X.T, c=y % 20, s=4, cmap="tab20")
panels[1].add_patch(plt.Circle((0, 0), 1, fill=False, linewidth=2.5))
panels[1].set(title="(b) a tree in the hyperbolic plane", aspect="equal")
panels[1].locator_params(nbins=5)


def accuracies(make, seed, geometries):
    """Return the accuracy of the known, the learned and the Euclidean metric, and the learned K."""
    X, y, known = make(random_state=seed, return_metric=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=seed, stratify=y)
    learners = [
        CurvedLMNN(geometry=name, max_iter="auto" if quick else 100, random_state=0).fit(X, y)
        for name in geometries
    ]
    learned = [learner.metric_ for learner in learners]
    metrics = [known, *learned, CurvedMetric.euclidean(X.shape[1])]
    models = [
        CurvedKNeighborsClassifier(3, metric=metric, weights="uniform").fit(X, y)
        for metric in metrics
    ]
    return [model.score(X_test, y_test) for model in models], learners[0].curvature_[0]


def bars(ax, make, geometries, color, place, width):
    """Draw means and standard errors over the seeds; return the mean learned K."""
    scores, curvatures = zip(*(accuracies(make, seed, geometries) for seed in seeds), strict=True)
    error = np.std(scores, axis=0, ddof=1) / np.sqrt(len(scores))
    at = np.arange(len(error)) + place
    mean = np.mean(scores, axis=0)
    drawn = ax.bar(at, mean, width, yerr=error, color=color)
    names = ("known", *geometries, "Euclidean")
    print(make.__name__, dict(zip(names, mean.round(3).tolist(), strict=True)))
    return drawn, np.mean(curvatures, axis=0)


for make, color, place in [
    (make_elliptic_blobs, "#D55E00", -0.2),
    (make_hyperbolic_tree, "#009E73", 0.2),
]:
    drawn, K = bars(panels[2], make, ("learned", "flat"), color, place, 0.38)
    drawn.set_label(f"{make.__name__}: learned $K = {K:.2f}$")
panels[2].set_xticks(range(4), ["known", "learned", "flat LMNN", "Euclidean"])
panels[2].set(title="(c) accuracy on held-out rows", ylim=(0.5, 1))
panels[2].legend(frameon=False, fontsize=8)

bars(panels[3], make_mixed, ("mixed", "elliptic", "hyperbolic", "flat"), "#0072B2", 0.0, 0.6)
names = ["known", "mixed", "elliptic", "hyperbolic", "flat", "Euclidean"]
panels[3].set_xticks(range(6), names, fontsize=9)
panels[3].set(title="(d) two curvatures at once (make_mixed)", ylim=(0.5, 1))

save(figure)
