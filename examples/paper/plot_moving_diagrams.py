"""
Diagrams that move
==================

What does curvature do to neighbourhoods? The same sites turn about a point beside the centre of a
hyperbolic, a flat and an elliptic plane, and each picture element takes the colour of its nearest
site. The motion keeps all distances, so that every cell keeps its shape *in the metric*. In the
hyperbolic plane (Poincaré's disc), cells shrink on the picture as they near the rim, which is
infinitely far away; on the sphere (seen from outside) they narrow at the horizon.
"""

import matplotlib.pyplot as plt
import numpy as np
from _output import animate, arguments
from scipy.stats.qmc import Halton

from cayleyklein import CurvedMetric

PIXELS, PIVOT, N_SITES = 260, 0.17 + 0.07j, 60
OKABE_ITO = ("#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7")
side = np.linspace(-1.02, 1.02, PIXELS)
u, v = np.meshgrid(side, side)
inside = u**2 + v**2 < 0.999

angle, share = Halton(2, scramble=False).random(N_SITES + 1)[1:].T
REACH = {-1: 3.2, 0: 0.9, 1: 0.5}  # sinh, nothing and sin of half the radius of all sites


def sites_at(K, turn):
    """Return the sites, turned about the pivot, as complex numbers of the conformal chart."""
    t = np.sqrt(share) * REACH[K]  # even over the area, for every K
    z = t / np.sqrt(1 - K * t**2) * np.exp(1j * (2 * np.pi * angle + turn))
    return (z + PIVOT) / (1 - K * PIVOT.conjugate() * z)


def pixels_of(K):
    """Return the points of the plane that are seen at the picture elements."""
    x = np.column_stack([u[inside], v[inside]])
    if K < 0:
        return CurvedMetric.euclidean(2, curvature=-1.0).from_chart(x, "conformal")
    return x / np.sqrt(1 - (x**2).sum(axis=1, keepdims=True)) if K > 0 else x


colors = np.array([plt.matplotlib.colors.to_rgb(name) for name in OKABE_ITO])
figure, axes = plt.subplots(1, 3, figsize=(8, 2.95), layout="constrained")
panels = []
for ax, K, name in zip(axes, (-1, 0, 1), ("hyperbolic", "flat", "elliptic"), strict=True):
    image = ax.imshow(np.ones((PIXELS, PIXELS, 3)), extent=(-1.02, 1.02) * 2, origin="lower")
    dots = ax.plot([], [], "k.", markersize=3)[0]
    rim = ax.add_patch(plt.Circle((0, 0), 1, fill=False, color="0.2", linewidth=1.5))
    dots.set_clip_path(rim)
    ax.set_title(f"{name}, $K {'=' if K == 0 else '<' if K < 0 else '>'} 0$")
    ax.set_axis_off()
    panels.append((K, CurvedMetric.euclidean(2, curvature=float(K)), pixels_of(K), image, dots))


def draw(turn):
    """Draw the three diagrams at one moment."""
    for K, metric, pixels, image, dots in panels:
        z = sites_at(K, turn)
        chart = np.column_stack([z.real, z.imag])
        sites = metric.from_chart(chart, "conformal") if K else chart
        nearest = metric.pairwise(pixels, sites).argmin(axis=1)
        picture = np.ones((PIXELS, PIXELS, 3))
        cells = np.full((PIXELS, PIXELS), -1)
        cells[inside] = nearest
        picture[inside] = colors[nearest % 7] * 0.55 + 0.45
        edge = (cells[1:-1, 1:-1] != cells[1:-1, 2:]) | (cells[1:-1, 1:-1] != cells[2:, 1:-1])
        picture[1:-1, 1:-1][edge & inside[1:-1, 1:-1]] = 0.25
        image.set_data(picture)
        seen = chart if K <= 0 else 2 * chart / (1 + (chart**2).sum(axis=1, keepdims=True))
        dots.set_data(*seen.T)


turns = np.linspace(0, 2 * np.pi, 4 if arguments().quick else 30, endpoint=False)
animate(figure, draw, turns, fps=9)
