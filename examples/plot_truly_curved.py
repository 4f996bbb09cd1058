"""
Rows that are truly curved
==========================

Round clusters of one size, as rows of a table. (a) On a hemisphere, of which the columns are the
gnomonic chart: towards the horizon they are drawn out. (b) Around the nodes of a tree in the
hyperbolic plane, in Klein's disc: towards the rim they are pressed flat. (c) Accuracy of 3
neighbours on held-out rows: a metric that learns its curvature finds the sign of K, and does better
than a flat one and nearly as well as the metric the rows were made with.
"""

import matplotlib.pyplot as plt
import numpy as np
from _output import arguments, save
from sklearn.model_selection import train_test_split

from cayleyklein import CurvedKNeighborsClassifier, CurvedLMNN, CurvedMetric
from cayleyklein.datasets import make_elliptic_blobs, make_hyperbolic_tree

figure, panels = plt.subplots(1, 3, figsize=(14, 4.4), layout="constrained")

X, y = make_elliptic_blobs(1200, 2, centers=12, cluster_std=0.08, reach=1.3, random_state=0)
panels[0].scatter(*X.T, c=y, s=4, cmap="tab20")
panels[0].set(title="(a) clusters of a hemisphere", aspect="equal")
X, y = make_hyperbolic_tree(1380, depth=3, cluster_std=0.15, random_state=1)
panels[1].scatter(*X.T, c=y % 20, s=4, cmap="tab20")
panels[1].add_patch(plt.Circle((0, 0), 1, fill=False, linewidth=2.5))
panels[1].set(title="(b) a tree in the hyperbolic plane", aspect="equal")


def accuracies(make, seed):
    """Return K as learned, and the accuracy of the known, the learned and two flat metrics."""
    X, y, metric = make(random_state=seed, return_metric=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=seed, stratify=y)
    learned = CurvedLMNN(geometry="learned", random_state=0).fit(X, y)
    flat = CurvedLMNN(geometry="flat", random_state=0).fit(X, y)
    metrics = [metric, learned.metric_, flat.metric_, CurvedMetric.euclidean(X.shape[1])]
    models = [CurvedKNeighborsClassifier(3, metric=metric).fit(X, y) for metric in metrics]
    return learned.curvature_, [model.score(X_test, y_test) for model in models]


names = ["known", "learned", "flat LMNN", "Euclidean"]
for shift, (make, color) in enumerate(
    [(make_elliptic_blobs, "#D55E00"), (make_hyperbolic_tree, "#009E73")]
):
    curvatures, scores = zip(
        *(accuracies(make, seed) for seed in range(2 if arguments().quick else 10)), strict=True
    )
    K, score = np.mean(curvatures), np.mean(scores, axis=0)
    error = np.std(scores, axis=0, ddof=1) / np.sqrt(len(scores))
    label = f"{make.__name__}: learned $K = {K:.2f}$"
    at = np.arange(4) + 0.4 * shift - 0.2
    panels[2].bar(at, score, 0.38, yerr=error, color=color, label=label)
    print(label, dict(zip(names, score.round(3).tolist(), strict=True)))
panels[2].set_xticks(range(4), names)
panels[2].set(title="(c) accuracy on held-out rows", ylim=(0.5, 1))
panels[2].legend(frameon=False, fontsize=8)

save(figure, __file__)
