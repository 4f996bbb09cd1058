"""
Sonar: is the difference real?
==============================

208 echoes of mines and rocks in 60 frequency bands: few rows, many columns. One split says little
here. This example compares methods on the same splits, and says what may be concluded.
"""

# %%
# Ten random splits, 30 % of the rows to test. Each method sees the same ones, and what counts is
# the difference split by split.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cayleyklein import CurvedKNeighborsClassifier, CurvedLMNN
from cayleyklein.datasets import load_sonar
from cayleyklein.experiments import paired_difference

X, y = load_sonar(return_X_y=True)
splits = StratifiedShuffleSplit(n_splits=10, test_size=0.3, random_state=0)
models = {"k-NN": make_pipeline(StandardScaler(), KNeighborsClassifier(3))}
for name in ("flat", "elliptic", "hyperbolic"):
    learner = CurvedLMNN(geometry=name, random_state=0)
    models[name] = CurvedKNeighborsClassifier(3, learner=learner)
scores = {name: cross_val_score(model, X, y, cv=splits) for name, model in models.items()}

# %%
# Training sets of different splits share rows, so that the plain standard error would be too
# small. :func:`~cayleyklein.experiments.paired_difference` widens it (Nadeau and Bengio's
# correction). Where the interval holds 0, the data do not tell.

print(f"k-NN       {np.mean(scores['k-NN']):.3f}")
for name in list(models)[1:]:
    gain = paired_difference(scores[name], scores["k-NN"], test_ratio=0.3 / 0.7)
    interval = f"{gain.difference:+.3f} ({gain.low:+.3f} to {gain.high:+.3f})"
    print(f"{name:10} {np.mean(scores[name]):.3f}, over k-NN {interval}, p = {gain.p_value:.2f}")

# %%
# Lines join the scores of one split. They cross: on some split each of the methods is the best, so
# that a single split could have shown anything.

figure, ax = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
ax.plot(list(scores), np.array(list(scores.values())), "o-", color="0.75", markersize=3)
ax.plot(list(scores), [np.mean(s) for s in scores.values()], "ko-", linewidth=2, label="mean")
ax.set(ylabel="accuracy", title="3 neighbours on sonar, ten splits")
ax.legend(frameon=False)
plt.show()
