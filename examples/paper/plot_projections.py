"""
Gnomonic and central projection
===============================

The chart in which geodesics are straight is a projection from the origin to the line w = 1 (one
dimension is shown, d = 1, with K = ±1). (a) Elliptic: from the unit hemisphere, where the
distance d(x, y) = arccos⟨x', y'⟩ is the length of the arc from x' to y'. (b) Hyperbolic: from the
upper sheet of the hyperboloid in Minkowski's space, d(x, y) = arccosh(−⟨x', y'⟩). Its asymptotes
(dotted) meet the line in the fundamental conic, here two points.
"""

import matplotlib.pyplot as plt
import numpy as np
from _output import save

from cayleyklein import CurvedMetric

cases = [
    ("(a) gnomonic projection", "sphere", 1.0, [-0.7, 1.3], np.tan(np.linspace(-1.57, 1.57, 999))),
    ("(b) central projection", "hyperboloid", -1.0, [-0.5, 0.8], np.linspace(-0.88, 0.88, 999)),
]
figure, panels = plt.subplots(1, 2, figsize=(10, 4), layout="compressed")
for ax, (title, model, K, ends, everywhere) in zip(panels, cases, strict=True):
    metric = CurvedMetric.euclidean(1, curvature=K)
    color = "#D55E00" if K > 0 else "#009E73"
    ax.axhline(1, color="0.35", linewidth=1.2, zorder=0)
    ax.plot(*metric.to_chart(everywhere[:, None], model).T, "k", linewidth=1.5)
    arc = metric.to_chart(np.linspace(*ends, 100)[:, None], model)
    ax.plot(*arc.T, color=color, linewidth=3.5, solid_capstyle="round")
    for name, x, lifted in zip("xy", ends, arc[[0, -1]], strict=True):
        farther = max((x, 1.0), tuple(lifted), key=lambda point: point[1])
        ax.plot(*np.transpose([(0, 0), farther]), color="0.6", linewidth=0.8, zorder=0)
        ax.plot(x, 1, "o", color="white", markeredgecolor="black", markersize=5)
        ax.plot(*lifted, "o", color=color, markersize=6)
        side = np.sign(x)
        for text, place, shift in [
            (f"${name}$", (x, 1), (0, 9) if K > 0 else (-5, 10 * side)),
            (f"${name}'$", lifted, (12 * side, 0 if K > 0 else -5)),
        ]:
            ax.annotate(text, place, shift, textcoords="offset points", ha="center", va="center")
    if K < 0:
        ax.plot([-1.5, 0, 1.5], [1.5, 0, 1.5], "k:", linewidth=1)
        ax.plot([-1, 1], [1, 1], "ko", markersize=6)
    ax.plot(0, 0, "k.")
    ax.set(xlabel="$x$", ylabel="$w$", aspect="equal", ylim=(-0.1, 1.25 if K > 0 else 2.2))
    ax.set_title(f"{title}: $d(x, y) = {metric(ends[:1], ends[1:]):.3f}$")

save(figure)
