"""
What a learner has learned
==========================

CurvedLMNN learns a metric from labelled rows, here of wines with 13 columns: a flat one, a
hyperbolic one, and by default a product of two spheres and a flat space. A plane section of a
curved metric is a curved metric again, so its balls can be drawn exactly: all in one picture have
the same radius. A hyperbolic domain much larger than the data is shown apart, in the corner.
"""

import matplotlib.pyplot as plt
from _output import save
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cayleyklein import CurvedLMNN
from cayleyklein.datasets import load_wine
from cayleyklein.plotting import MetricDisplay

wine = load_wine()
X, y = wine.data, wine.target_names[wine.target]
columns = ("flavanoids", "color_intensity")
figure, panels = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
for ax, geometry in zip(panels, ["flat", "hyperbolic", "auto"], strict=True):
    learner = CurvedLMNN(geometry=geometry, random_state=0)
    model = make_pipeline(StandardScaler(), learner).fit(X, y)
    MetricDisplay.from_estimator(
        model, X, y, features=columns, feature_names=wine.feature_names
    ).plot(ax, legend=ax is panels[-1])

save(figure)
