"""
How do I draw many columns in two?
==================================

A metric of rank two maps many columns to a surface: a plane, a hemisphere or a hyperbolic plane.
Neighbours are then found on that surface, and it can be drawn. Here are the 64 pixels of
handwritten digits, learned from 600 images, beside principal components.
"""

# %%
# ``n_components=2`` makes the factor a 2 × 64 matrix. For a flat metric ``transform`` gives the
# coordinates; a curved metric has charts, and the conformal one (Poincaré's disc, the
# stereographic picture of the sphere) shows true angles.

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from cayleyklein import CurvedKNeighborsClassifier, CurvedLMNN

digits = load_digits()
X, X_test, y, y_test = train_test_split(
    digits.data, digits.target, train_size=600, random_state=0, stratify=digits.target
)
pca = PCA(2).fit(X)
plain = KNeighborsClassifier(3).fit(pca.transform(X), y)
pictures = {
    "principal components": (
        pca.transform(X_test),
        y_test,
        plain.score(pca.transform(X_test), y_test),
    )
}
for geometry in ("flat", "elliptic", "hyperbolic"):
    learner = CurvedLMNN(geometry=geometry, n_components=2, init="lda", random_state=0).fit(X, y)
    metric = learner.metric_
    inside = metric.contains(X_test)
    if geometry == "flat":
        placed = learner.transform(X_test)
    else:
        placed = metric.to_chart(X_test[inside], "conformal")
    score = CurvedKNeighborsClassifier(3, metric=metric).fit(X, y).score(X_test, y_test)
    pictures[geometry] = placed, y_test[inside], score

# %%
# Two dimensions are few for ten digits: 3 neighbours in all 64 columns reach 0.97. The learned
# surfaces look for classes, principal components for variance. Every fourth row is drawn as its
# digit.

colors = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000"]
figure, panels = plt.subplots(2, 2, figsize=(9, 8), layout="constrained")
order = ["elliptic", "hyperbolic", "flat", "principal components"]
for ax, name in zip(panels.flat, order, strict=True):
    placed, labels, score = pictures[name]
    ax.plot(*placed.T, ".", color="0.85", markersize=3, zorder=0)
    for point, label in zip(placed[::4], labels[::4], strict=True):
        ax.text(*point, label, color=colors[label % 5], ha="center", va="center", fontsize=9)
    ax.set(title=f"{name}: accuracy {score:.2f}", aspect="equal", adjustable="datalim")
    ax.set(xlabel="first coordinate", ylabel="second coordinate", xticks=[], yticks=[])
plt.show()
