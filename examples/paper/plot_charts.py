"""
One diagram in five charts
==========================

The same hyperbolic Voronoi diagram as data, in Klein's and in Poincaré's disc, in the half-plane
and on the hemisphere. Edges are straight in the first two; angles are true in the last three.
"""

import numpy as np
from _output import save
from scipy.stats.qmc import Halton

from cayleyklein import CayleyKleinVoronoi, CurvedMetric
from cayleyklein.plotting import ChartDisplay

metric = CurvedMetric(matrix=[[0.5, 0.3], [0.3, 0.8]], center=[1.0, 0.5], curvature=-1.0)
disc = 2 * Halton(2, scramble=False).random(41)[1:] - 1
points = metric.domain.from_euclidean(disc[np.linalg.norm(disc, axis=1) < 0.95])

display = ChartDisplay.from_diagram(CayleyKleinVoronoi(points, metric)).plot()

save(display.figure_)
