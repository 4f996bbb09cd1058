"""
How do I mesh a region in a curved metric?
==========================================

``mesh_polygon`` does it. Here one polygon with a hole is meshed under a hyperbolic, a flat and an
elliptic metric (top). Every triangle has angles of at least 25° and at most a thousandth of the
polygon's area, both *in the metric*: so triangles shrink towards the boundary of a hyperbolic
domain (thick), and grow outwards in an elliptic one. Below, ``lloyd`` has moved sixty points to the
centroids of their Voronoi cells, which spreads them evenly in each metric.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.patches import Polygon

from cayleyklein import CurvedMetric, lloyd, mesh_polygon

turn = np.linspace(0, 2 * np.pi, 60, endpoint=False)
around = np.stack([np.cos(turn), np.sin(turn)], axis=1)
leaf = (0.8 + 0.12 * np.sin(5 * turn))[:, None] * around
hole = 0.2 * around[::5] + [0.1, -0.1]
start = 0.5 * np.random.default_rng(0).uniform(-1, 1, size=(60, 2))

shape = {"figsize": (10, 6.8), "layout": "compressed", "sharex": True, "sharey": True}
figure, panels = plt.subplots(2, 3, **shape)
for (top, bottom), K in zip(panels.T, (-1.0, 0.0, 4.0), strict=True):
    metric = CurvedMetric.euclidean(2, curvature=K)
    area = mesh_polygon(leaf, metric).areas.sum() / 1000
    mesh = mesh_polygon(leaf, metric, holes=[hole], min_angle=25, max_area=area)
    colors = top.tripcolor(
        *mesh.vertices.T,
        mesh.triangles,
        mesh.angles.min(axis=1),
        vmin=20,
        vmax=60,
        cmap="viridis",
        edgecolors="white",
        linewidth=0.2,
    )
    top.set_title(f"$K = {K:g}$: {len(mesh.triangles)} triangles, ≥ {mesh.angles.min():.1f}°")

    found = lloyd(start, metric, leaf, tol=1e-3)
    outline = Polygon(leaf, fill=False, color="black")
    bottom.add_patch(outline)
    _, walls = found.diagram.ridge_segments()
    lines = bottom.add_collection(LineCollection(walls, color="#0072B2", linewidth=0.8))
    lines.set_clip_path(outline)
    bottom.scatter(*found.points.T, s=6, color="#D55E00", zorder=3)
    fall = 100 * (1 - found.energies[-1] / found.energies[0])
    bottom.set_title(f"{len(found.energies) - 1} steps, energy −{fall:.0f} %")
    for ax in (top, bottom):
        if metric.domain is not None:
            ax.plot(*metric.domain.from_euclidean(around[[*range(60), 0]]).T, color="black", lw=2)
        ax.set(xlim=(-1.05, 1.05), ylim=(-1.05, 1.05), aspect="equal")
        ax.set(xticks=[-1, 0, 1], yticks=[-1, 0, 1])
    bottom.set_xlabel("$x_1$")
for ax in panels[:, 0]:
    ax.set_ylabel("$x_2$")
figure.colorbar(colors, ax=panels[0], label="smallest angle in the metric, degrees")

plt.show()
