"""
Is the gain real?
=================

One split says little, and a random split may flatter. Two checks before you believe that one
method is better than another: compare on the same splits, and split as the model will be used. And
a third before you believe that rows are curved: ask their flat rivals.
"""

# %%
# **The same splits.** Sonar has 208 echoes of mines and rocks in 60 frequency bands: few rows, many
# columns. Ten random splits, 30 % of the rows to test; every method sees the same ones.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cayleyklein import CurvedKNeighborsClassifier, estimate_curvature
from cayleyklein.datasets import load_balance, load_pima, load_sonar, load_vowel
from cayleyklein.experiments import paired_difference
from cayleyklein.plotting import CurvatureDisplay

X, y = load_sonar(return_X_y=True)
splits = StratifiedShuffleSplit(n_splits=10, test_size=0.3, random_state=0)
models = {"k-NN": make_pipeline(StandardScaler(), KNeighborsClassifier(3))} | {
    name: CurvedKNeighborsClassifier(3, geometry=name, random_state=0)
    for name in ("flat", "elliptic", "hyperbolic")
}
scores = {name: cross_val_score(model, X, y, cv=splits) for name, model in models.items()}

# %%
# Training sets of different splits share rows, so the plain standard error would be too small.
# :func:`~cayleyklein.experiments.paired_difference` widens it (Nadeau and Bengio's correction).
# Where the interval holds 0, the data do not tell.

print(f"k-NN       {np.mean(scores['k-NN']):.3f}")
for name in list(models)[1:]:
    gain = paired_difference(scores[name], scores["k-NN"], test_ratio=0.3 / 0.7)
    interval = f"{gain.difference:+.3f} ({gain.low:+.3f} to {gain.high:+.3f})"
    print(f"{name:10} {np.mean(scores[name]):.3f}, over k-NN {interval}, p = {gain.p_value:.2f}")

# %%
# A grey line joins the scores of one split. The lines cross: on a single split almost any of the
# methods could have looked best.

figure, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
ax.plot(list(scores), np.array(list(scores.values())), "o-", color="0.75", markersize=3)
ax.plot(list(scores), [np.mean(s) for s in scores.values()], "ko-", linewidth=2, markersize=7)
ax.set(ylabel="accuracy on test rows", title="Sonar: ten splits (grey) and their mean")

# %%
# **Split as the model will be used.** Eleven English vowels, spoken by 15 people; the rows of one
# person are alike. Random folds mix the speakers, and flatter every method. ``speakers="all"`` has
# the 528 rows of eight training speakers first, then the 462 rows of seven others.

vowel = load_vowel(speakers="all")
X, y = vowel.data[:528], vowel.target[:528]
X_new, y_new = vowel.data[528:], vowel.target[528:]
shuffled = StratifiedKFold(3, shuffle=True, random_state=0)
names = ("k-NN", "flat", "elliptic")
same = [cross_val_score(models[name], X, y, cv=shuffled).mean() for name in names]
new = [models[name].fit(X, y).score(X_new, y_new) for name in names]

figure, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
at = np.arange(len(names))
for values, shift, color, label in (
    (same, -0.2, "#0072B2", "the same speakers"),
    (new, 0.2, "#E69F00", "new speakers"),
):
    ax.bar_label(ax.bar(at + shift, values, 0.38, color=color, label=label), fmt="%.2f")
ax.set_xticks(at, names)
ax.set(ylim=(0, 1.05), ylabel="accuracy", title="Vowel: who speaks in the test rows?")
figure.legend(loc="outside lower center", ncols=2, frameon=False)

# %%
# The price of new speakers is far larger than any difference between metrics, and what learning
# gains on known speakers is gone on new ones.

# %%
# **Is the curvature real?** :func:`~cayleyklein.estimate_curvature` asks flat models whether they
# can say the same, in two seconds. Put your own rows and labels (or numbers) in place of these.
#
# A scale tips by weight times distance: what counts of a row is its direction from a corner rather
# than its place. One process takes that for a small sphere, and its interval of K excludes 0. But a
# flat space in which some directions count more predicts better: no evidence of curvature. For
# diabetes among the Pima, 300 rows exclude no K at all. The dashed line is the accuracy of each
# row predicted from the others: it hardly moves with K.

figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
for ax, (name, load) in zip(
    axes, {"Balance": load_balance, "Pima": load_pima}.items(), strict=True
):
    X, y = load(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    found = estimate_curvature(X, y.astype(str), max_samples=300, random_state=0)
    print(f"{name}: {found.sentence}")
    CurvatureDisplay.from_estimate(found).plot(ax)
    ax.set_title(f"{name}: {found.headline}")
plt.show()
