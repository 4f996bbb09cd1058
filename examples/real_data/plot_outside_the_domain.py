"""
Queries outside a hyperbolic domain
===================================

A hyperbolic metric lives inside an ellipsoid that holds all training rows. New rows may fall
outside, where no real distance is defined. They are infinitely far away and still have
neighbours: the straight lines between the regions go on beyond the boundary.
"""

# %%
# How often does it happen? Four random halves of two data sets. With the defaults, which keep the
# rows near the centre, not at all here; with the paper's unit margin, which drives them to the
# boundary, for a few rows in a hundred. Those get a label too.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from cayleyklein import CurvedKNeighborsClassifier, CurvedLMNN, CurvedMetric
from cayleyklein.datasets import load_sonar, load_wine
from cayleyklein.plotting import DecisionBoundaryDisplay

learners = {
    "defaults": CurvedLMNN(geometry="hyperbolic", random_state=0),
    "unit margin": CurvedLMNN(geometry="hyperbolic", margin=1.0, n_passes=1, random_state=0),
}
for load in (load_wine, load_sonar):
    X, y = load(return_X_y=True)
    for name, learner in learners.items():
        inside, right = [], []
        for seed in range(4):
            A, B, a, b = train_test_split(X, y, test_size=0.5, random_state=seed, stratify=y)
            model = CurvedKNeighborsClassifier(3, learner=learner).fit(A, a)
            inside += model.metric_.contains(B).tolist()
            right += (model.predict(B) == b).tolist()
        inside, right = np.array(inside), np.array(right)
        line = f"{load.__name__:12} {name:11} {sum(~inside):2} of {len(inside)} rows outside"
        line += f"; right inside {right[inside].mean():.3f}"
        print(line + (f", outside {right[~inside].mean():.3f}" if (~inside).any() else ""))

# %%
# ``outside="raise"`` refuses such rows instead, and names them.

disc = CurvedMetric.euclidean(2, curvature=-1.0)
strict = CurvedKNeighborsClassifier(3, metric=disc, outside="raise")
try:
    strict.fit([[0.0, 0.0], [0.5, 0.0], [0.0, 0.5]], [0, 1, 1]).predict([[0.2, 0.1], [0.9, 0.9]])
except ValueError as error:
    print(error)

# %%
# A picture of the rule, with a tight domain on two columns of the wines: the regions inside (thick
# ellipse) and what is said outside of it. No line bends at the boundary.

wine = load_wine()
columns = [wine.feature_names.index(name) for name in ("flavanoids", "color_intensity")]
X, y = wine.data[:, columns], wine.target
flat = CurvedMetric.mahalanobis(X)
reach = flat.distance(X, flat.center).max()
metric = CurvedMetric(matrix=flat.matrix, center=flat.center, curvature=-0.98 / reach**2)
model = CurvedKNeighborsClassifier(1, metric=metric).fit(X, y)
low, high = X.min(axis=0) - 1.5, X.max(axis=0) + 1.5
xs, ys = (np.linspace(a, b, 250) for a, b in zip(low, high, strict=True))
lattice = np.stack(np.meshgrid(xs, ys), axis=-1)
said = model.predict(lattice.reshape(-1, 2)).reshape(lattice.shape[:2])

figure, ax = plt.subplots(figsize=(6, 4.4), layout="constrained")
colors = ["#D55E00", "#0072B2", "#009E73"]  # those of the display
ax.contourf(xs, ys, said, levels=[-0.5, 0.5, 1.5, 2.5], colors=colors, alpha=0.3)
DecisionBoundaryDisplay.from_points(X, y, metric, n_neighbors=1).plot(ax, legend=False)
ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="auto")
ax.set(xlabel="flavanoids", ylabel="color intensity")
plt.show()
