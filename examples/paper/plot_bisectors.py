"""
Bisectors are straight
======================

The points as far from p as from q form a line, in every Cayley-Klein geometry. Here are two
hyperbolic ones, each with its fundamental conic in thick black. Thin: spheres of equal radii
around p and q, which meet on the bisector. Dashed: the geodesic from p to q with its midpoint.
"""

import matplotlib.pyplot as plt
from _output import save

from cayleyklein import CurvedMetric
from cayleyklein.plotting import BallDisplay, GeodesicDisplay

figure, panels = plt.subplots(1, 2, figsize=(10, 4.4), layout="compressed")
cases = [
    (CurvedMetric.euclidean(2, curvature=-1.0), [-0.55, -0.2], [0.35, 0.6]),
    (
        CurvedMetric(matrix=[[1.0, 0.6], [0.6, 1.5]], center=[0.4, 0.1], curvature=-0.5),
        [-0.35, 0.75],
        [0.9, -0.35],
    ),
]
for ax, (metric, p, q) in zip(panels, cases, strict=True):
    distance = metric(p, q)
    for scale in (0.5, 0.7, 0.95):
        BallDisplay.from_metric(metric, [p, q], scale * distance).plot(ax, fill=0, linewidths=0.6)
    GeodesicDisplay.from_points(metric, p, q, marks=3).plot(ax, linestyles="--")
    bisector = metric.bisector(p, q)
    GeodesicDisplay.from_hyperplane(metric, bisector).plot(ax, color="#D55E00", linewidths=2)
    for name, point in {"p": p, "q": q}.items():
        ax.annotate(f"${name}$", point, xytext=(0, 7), textcoords="offset points", ha="center")
    ax.set_title(f"$K = {metric.curvature:g}$")

save(figure)
