"""
A Voronoi diagram of order 3
============================

Each cell of the diagram of order 3 belongs to three points: everywhere in it, they are the three
nearest. One cell is shown in yellow, and its three generators are large. The walls are straight, as
in the diagram of order 1.
"""

import matplotlib.pyplot as plt
import numpy as np
from _output import save
from scipy.stats.qmc import Halton

from cayleyklein import CurvedMetric
from cayleyklein.diagrams import CayleyKleinVoronoi
from cayleyklein.plotting import VoronoiDisplay

metric = CurvedMetric.euclidean(2, curvature=-1.0)
disc = 2 * Halton(2, scramble=False).random(31)[1:] - 1
points = disc[np.linalg.norm(disc, axis=1) < 0.95]
diagram = CayleyKleinVoronoi(points, metric, order=3)

figure, ax = plt.subplots(figsize=(5.2, 5.2), layout="compressed")
(cell,) = diagram.locate([[0.1, -0.1]])
VoronoiDisplay.from_diagram(diagram).plot(ax, highlight=cell)
ax.set_title(f"{len(points)} points, {len(diagram.cell_generators)} cells of order 3")

save(figure)
