"""
Why does the model say so?
==========================

A prediction by neighbours can be explained: these rows voted, this near, and these columns made
them near. Wines of three cultivars, 13 chemical measurements each.
"""

# %%
# ``explain`` lists the voters of one wine, the largest vote first, and the columns with the largest
# shares in the distance to each of them. The absolute values of all shares add up to 1; a column
# with a negative share brings the two wines closer than the other columns alone would have them.
# This is one of the few divided votes.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cayleyklein import CurvedKNeighborsClassifier
from cayleyklein.datasets import load_wine
from cayleyklein.plotting import FeatureWeightsDisplay, MetricDisplay

frame = load_wine(as_frame=True).frame
X, y = frame.drop(columns="class"), "cultivar " + frame["class"].astype(str)
model = CurvedKNeighborsClassifier(random_state=0).fit(X[::2], y[::2])
others, answers = X[1::2], y[1::2]
doubtful = np.argsort(model.predict_proba(others).max(axis=1))[1]
print("truly", answers.iloc[doubtful])
print(model.explain(others.iloc[doubtful]))

# %%
# Which columns count overall: the share of each one in the squared distances between close rows.
# Shares do not depend on units. They say what the metric does, not what the classes need: two
# copies of a column may get half each.

figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
FeatureWeightsDisplay.from_estimator(model, X).plot(ax)
ax.set_title("Which columns count")

# %%
# The metric itself, on the plane of two standardised columns. All outlines are balls of one radius:
# where they are narrow, a small step is a large distance. Colour intensity counts for much among
# pale wines, and for little among dark ones: that is what curvature does.

scaled = make_pipeline(StandardScaler(), CurvedKNeighborsClassifier(random_state=0)).fit(X, y)
names = ["flavanoids", "color_intensity"]
figure, ax = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
MetricDisplay.from_estimator(scaled, X, y, features=names).plot(ax)
plt.show()
