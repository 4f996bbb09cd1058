"""
Hyperbolic Voronoi diagrams
===========================

Bisectors are straight, so a Voronoi diagram of a curved metric is an affine one: the power
diagram of other balls, clipped to the domain. Two hyperbolic examples, with a round
fundamental conic and with a general one.
"""

import matplotlib.pyplot as plt
import numpy as np
from _output import save
from scipy.stats.qmc import Halton

from cayleyklein import CurvedMetric
from cayleyklein.plotting import VoronoiDisplay

disc = 2 * Halton(2, scramble=False).random(61)[1:] - 1
disc = disc[np.linalg.norm(disc, axis=1) < 0.95]
metrics = [
    CurvedMetric.euclidean(2, curvature=-1.0),
    CurvedMetric(matrix=[[1.0, 0.6], [0.6, 1.5]], center=[0.4, 0.1], curvature=-0.5),
]
figure, panels = plt.subplots(1, 2, figsize=(10, 4.6), layout="compressed")
for ax, metric in zip(panels, metrics, strict=True):
    points = metric.domain.from_euclidean(disc)
    VoronoiDisplay.from_points(points, metric).plot(ax)
    ax.set_title(f"$K = {metric.curvature:g}$")

save(figure)
