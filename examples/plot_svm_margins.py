"""
What is a largest margin in a curved space?
===========================================

The hyperplane of largest margin between two classes (black, the curves of the margin dashed,
support rows ringed), and the one that a flat machine finds in the same coordinates (grey). (a) In
the hyperbolic plane, drawn in Poincaré's disc: hyperplanes are arcs that meet the rim at right
angles. Towards the rim a small step is a long way, and the flat machine does not know. (b) On the
hemisphere, in its gnomonic chart, where hyperplanes are great circles and drawn straight. Far from
the middle a long step is a short way.
"""

import matplotlib.pyplot as plt
import numpy as np

from cayleyklein import CurvedLinearSVC, CurvedMetric

HARD = 1e6
ORANGE, BLUE, GREY = "#D55E00", "#0072B2", "0.55"


def draw(ax, metric, X, y, plane, chart):
    """Draw rows, the largest margin of the space, and that of the flat machine."""
    model = CurvedLinearSVC(metric, C=HARD).fit(X, y)
    flat = CurvedLinearSVC(CurvedMetric.euclidean(2), C=HARD).fit(X, y)
    grid = metric.from_chart(plane, chart).reshape(-1, 2)
    for machine, color, levels in ((flat, GREY, [0]), (model, "black", [-1, 0, 1])):
        values = machine.decision_function(grid).reshape(plane.shape[:2])
        styles = ["-."] if len(levels) == 1 else ["--", "-", "--"]
        ax.contour(*np.moveaxis(plane, -1, 0), values, levels, colors=color, linestyles=styles)
    points = metric.to_chart(X, chart)
    for label, color, marker in ((0, BLUE, "s"), (1, ORANGE, "o")):
        ax.scatter(*points[y == label].T, color=color, marker=marker, s=16, zorder=3)
    support = np.abs(model.decision_function(X)) < 1 + 1e-3
    ax.scatter(*points[support].T, s=70, facecolors="none", edgecolors="black", zorder=3)
    nearest = [abs_distance(machine, metric, X).min() for machine in (model, flat)]
    print(f"{metric.geometry}: margin {nearest[0]:.3f}, of the flat machine {nearest[1]:.3f}")
    ax.set_aspect("equal")
    ax.locator_params(nbins=5)
    title = f"{metric.geometry}, $K = {metric.curvature:g}$: margin {nearest[0]:.2f}"
    ax.set_title(f"{title}, flat machine {nearest[1]:.2f}", fontsize=11)


def abs_distance(machine, metric, X):
    """Return the distances, in the space, of rows to a hyperplane: sin_K d = f / √[n, n]."""
    w, b, K = machine.coef_[0], machine.intercept_[0], metric.curvature
    sine = np.abs(X @ w + b) / np.sqrt(metric.form_values(X) * (w @ w + K * b * b))
    return np.arcsinh(sine) if K < 0 else np.arcsin(sine)


def around(metric, center, radius, n, rng):
    """Return rows within a radius of a point."""
    angle, length = rng.uniform(0, 2 * np.pi, n), radius * np.sqrt(rng.uniform(size=n))
    tangent = np.column_stack([length * np.cos(angle), length * np.sin(angle)])
    at_origin = metric.exp(np.zeros(2), tangent)
    homogeneous = np.column_stack([at_origin, np.ones(n)]) @ metric.transvection([0, 0], center).T
    return homogeneous[:, :2] / homogeneous[:, 2:]


rng = np.random.default_rng(3)
figure, panels = plt.subplots(1, 2, figsize=(10, 5), layout="constrained")

disc = CurvedMetric.euclidean(2, curvature=-1.0)
clusters = [([0.93, 0.25], 0), ([0.2, 0.3], 0), ([0.55, -0.8], 1), ([-0.45, -0.55], 1)]
X = np.vstack([around(disc, center, 0.55, 12, rng) for center, _ in clusters])
y = np.repeat([label for _, label in clusters], 12)
radius, angle = np.meshgrid(np.linspace(0, 0.995, 300), np.linspace(0, 2 * np.pi, 400))
plane = np.stack([radius * np.cos(angle), radius * np.sin(angle)], -1)
draw(panels[0], disc, X, y, plane, "conformal")
panels[0].add_patch(plt.Circle((0, 0), 1, fill=False, linewidth=2.5))
panels[0].set(xlabel="$y_1$", ylabel="$y_2$")

sphere = CurvedMetric.euclidean(2, curvature=1.0)
clusters = [([4.5, 3.2], 0), ([-0.4, 0.7], 0), ([4.2, -0.2], 1), ([0.6, -0.8], 1)]
X = np.vstack([around(sphere, center, 0.12, 12, rng) for center, _ in clusters])
y = np.repeat([label for _, label in clusters], 12)
wide = np.linspace(-3, 7, 801)
draw(panels[1], sphere, X, y, np.stack(np.meshgrid(wide, wide - 1), -1), "klein")
panels[1].set(xlim=(-1.8, 6.9), ylim=(-3, 5.7), xlabel="$x_1$", ylabel="$x_2$")

plt.show()
