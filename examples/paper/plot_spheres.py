"""
Spheres are ellipses
====================

Spheres of one radius at several centres: elliptic (orange), hyperbolic (green) and Mahalanobis
(blue). All are ellipses, that is, Mahalanobis spheres, but the curved ones have displaced
centres: the dots are the points at equal distance from the whole sphere. Away from the centre of
the geometry hyperbolic spheres shrink, elliptic ones grow, and flat ones are all alike.
"""

import matplotlib.pyplot as plt
import numpy as np
from _output import save

from cayleyklein import CurvedMetric
from cayleyklein.plotting import BallDisplay

matrix = [[1.0, 0.3], [0.3, 0.8]]
centers = np.array([[0.0, 0.0], [0.62, 0.0], [-0.5, 0.55], [-0.2, -0.75]])

figure, ax = plt.subplots(figsize=(6.6, 4.6), layout="constrained")
for name, K in [("elliptic", 1.0), ("hyperbolic", -1.0), ("Mahalanobis", 0.0)]:
    metric = CurvedMetric(matrix=matrix, curvature=K)
    BallDisplay.from_metric(metric, centers, 0.25).plot(
        ax, fill=0, show_centers=False, label=f"{name}, $K = {K:g}$"
    )
ax.plot(*centers.T, "k.")
ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))

save(figure)
