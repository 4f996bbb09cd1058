"""
Labelled points and the bichromatic diagram
===========================================

(a) Points of two classes in a hyperbolic plane. (b) The Voronoi diagram with its cells in the
colours of their generators is what the nearest neighbour says everywhere. The frontier between
the classes is piecewise linear.
"""

import matplotlib.pyplot as plt
import numpy as np
from _output import save
from scipy.stats.qmc import Halton

from cayleyklein import CurvedMetric
from cayleyklein.diagrams import CayleyKleinVoronoi
from cayleyklein.plotting import VoronoiDisplay

metric = CurvedMetric(matrix=[[1.0, -0.3], [-0.3, 1.3]], curvature=-1.0)
disc = 2 * Halton(2, scramble=False).random(81)[1:] - 1
disc = disc[np.linalg.norm(disc, axis=1) < 0.95]
labels = np.where(disc[:, 0] + 0.5 * np.sin(5 * disc[:, 1]) > 0, "blue", "red")
points = metric.domain.from_euclidean(disc)
diagram = CayleyKleinVoronoi(points, metric, labels=labels)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.6), layout="compressed")
VoronoiDisplay.from_diagram(diagram).plot(left, fill=False, linewidths=0)
VoronoiDisplay.from_diagram(diagram).plot(right, linewidths=0.4)
VoronoiDisplay.from_diagram(diagram).plot(right, regions=True, linewidths=2)
left.set_title("(a) labelled points")
right.set_title("(b) bichromatic Voronoi diagram")

save(figure)
