"""
The cross-ratio and its invariance
==================================

(a) Seen from a point O, four points of a line fall on four points of another line. Lengths and
ratios change, but not the cross-ratio (p, q; P, Q): it is invariant under collineations.
(b) Cross-ratios with the same P and Q multiply, (p, q; P, Q) = (p, r; P, Q) × (r, q; P, Q), so
that their logarithms add up along a line, as distances should.
"""

import matplotlib.pyplot as plt
import numpy as np
from _output import save

from cayleyklein import CurvedMetric
from cayleyklein.geometry import apply_collineation, cross_ratio
from cayleyklein.plotting import CrossRatioDisplay

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="compressed")

# (a) This collineation moves every point along its ray through O, the origin.
H = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.14, 0.36, 1.0]]
t = np.array([0.3, 0.6, 0.0, 1.0])[:, None]
points = (1 - t) * [-1.0, -1.0] + t * [1.2, -1.4]
images = apply_collineation(H, points)
for image in images:
    left.plot(*np.transpose([(0, 0), 1.1 * image]), color="0.75", linewidth=0.8, zorder=0)
left.plot(0, 0, "k.")
left.annotate("$O$", (0, 0), xytext=(8, 0), textcoords="offset points", va="center")
first = CrossRatioDisplay.from_points(*points).plot(left)
primed = ("p'", "q'", "P'", "Q'")
second = CrossRatioDisplay.from_points(*images).plot(left, labels=primed)
left.set_title(f"(a) $(p, q; P, Q) = {first.value:.3f} = {second.value:.3f} = (p', q'; P', Q')$")

# (b) A conic gives the line its P and Q.
metric = CurvedMetric(matrix=np.diag([0.25, 0.5]), curvature=-1.0)
p, r, q = [-1.1, 0.5], [0.3, 0.5], [1.1, 0.5]
display = CrossRatioDisplay.from_metric(metric, p, q).plot(right)
P, Q = display.points[2:]
right.plot(*r, "o", color="#D55E00", markersize=5, zorder=4)
right.annotate("$r$", r, xytext=(0, 11), textcoords="offset points", ha="center", va="center")
bar = {"arrowstyle": "|-|, widthA=0.25, widthB=0.25", "shrinkA": 0, "shrinkB": 0}
for name, start, end, y in [("p, r", p, r, 0.2), ("r, q", r, q, -0.2), ("p, q", p, q, -0.6)]:
    right.annotate("", (start[0], y), (end[0], y), arrowprops=bar)
    text = f"$({name}; P, Q) = {cross_ratio(start, end, P, Q):.3f}$"
    right.text((start[0] + end[0]) / 2, y - 0.09, text, ha="center", va="top", fontsize=9)
right.set_title("(b) $(p, q; P, Q) = (p, r; P, Q) \\times (r, q; P, Q)$")

save(figure)
