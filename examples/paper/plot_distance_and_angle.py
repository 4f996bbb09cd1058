"""
Distance and angle from a conic
===============================

Cayley and Klein measure with a conic alone. (a) The line pq meets it in P and Q, and the
distance of p and q is a multiple of Log (p, q; P, Q). (b) From the common point of two lines l and
m two tangents L and M touch it, and the angle is a multiple of Log (l, m; L, M). When the lines
meet outside the conic, as here, it is imaginary, and its modulus is the distance of the two
lines along their common perpendicular (dashed), which is part of the chord of contact.
"""

import matplotlib.pyplot as plt
import numpy as np
from _output import save

from cayleyklein import CurvedMetric
from cayleyklein.geometry import hyperplane_measure, line_intersections
from cayleyklein.plotting import CrossRatioDisplay, GeodesicDisplay

metric = CurvedMetric(matrix=[[0.5, 0.15], [0.15, 0.9]], curvature=-1.0)
conic = metric.absolute
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4), layout="compressed")

# (a) The distance of two points.
display = CrossRatioDisplay.from_metric(metric, [-0.5, -0.3], [0.55, 0.35]).plot(left)
left.set_title(f"(a) $d(p, q) = |\\mathrm{{Log}}(p, q; P, Q)|/2 = {display.distance:.3f}$")

# (b) The angle of two lines. Homogeneous vectors join and meet by cross products.
o = np.array([1.9, 0.9, 1.0])
line_l, line_m = np.cross(o, [0.0, 0.35, 1.0]), np.cross(o, [0.1, -0.35, 1.0])
polar = conic.matrix @ o
a, b = (x[:2] / x[2] for x in (np.cross(polar, line_l), np.cross(polar, line_m)))
touch_L, touch_M = ((x / x[2]).real[:2] for x in line_intersections(conic.matrix, a, b))
GeodesicDisplay.from_points(metric, a, b).plot(right, linestyles="--")
for name, through, length, color in [
    ("l", a, 2.45, "#0072B2"),
    ("m", b, 2.5, "#0072B2"),
    ("L", touch_L, 1.45, "0.35"),
    ("M", touch_M, 1.45, "0.35"),
]:
    end = o[:2] + length * (through - o[:2])
    right.plot(*np.transpose([o[:2], end]), color=color, linewidth=1.2)
    right.annotate(f"${name}$", end, xytext=(-5, 0), textcoords="offset points", ha="right")
right.plot(*o[:2], "k.")
right.margins(0.08)
right.plot(*np.transpose([touch_L, touch_M]), "wo", markeredgecolor="k", markersize=5, zorder=5)
angle = abs(hyperplane_measure(conic.dual, line_l, line_m))
right.set_title(f"(b) $|∠(l, m)| = |\\mathrm{{Log}}(l, m; L, M)|/2 = {angle:.3f}$")

save(figure)
