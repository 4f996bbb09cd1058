"""
A diagram as the curvature changes
==================================

The Voronoi diagram of one set of points while the curvature K goes from −1 (hyperbolic, the conic
is the unit circle) through 0 (flat, the conic has gone to infinity) to 1 (elliptic): it changes
smoothly, and its edges stay straight.
"""

import matplotlib.pyplot as plt
import numpy as np
from _output import animate, arguments
from scipy.stats.qmc import Halton

from cayleyklein import CurvedMetric
from cayleyklein.plotting import VoronoiDisplay

disc = 2 * Halton(2, scramble=False).random(51)[1:] - 1
points = disc[np.linalg.norm(disc, axis=1) < 0.95]
labels = np.arange(len(points)) % 7
figure, ax = plt.subplots(figsize=(4, 4.2), layout="constrained")


def draw(K):
    """Draw the diagram of curvature K in place of the last one."""
    ax.clear()
    metric = CurvedMetric.euclidean(2, curvature=K)
    window = None if K < 0 else [[-1.2, -1.2], [1.2, 1.2]]
    display = VoronoiDisplay.from_points(points, metric, labels=labels, window=window)
    display.plot(ax, show_points=False)
    ax.plot(*points.T, "k.", markersize=4)
    ax.set(xlim=(-1.2, 1.2), ylim=(-1.2, 1.2), title=f"{metric.geometry}, $K = {K:+.2f}$")


curvatures = np.linspace(-1, 1, 3 if arguments().quick else 21)
animate(figure, draw, [*curvatures, *curvatures[-2:0:-1]])
