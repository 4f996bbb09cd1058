"""Show the geometry at work: ``python -m cayleyklein [picture.png]``."""

import sys
from pathlib import Path
from typing import Any

import numpy as np

from cayleyklein import CurvedMetric, __version__
from cayleyklein._validation import require
from cayleyklein.exceptions import CayleyKleinError

SHAPE = np.array([[1.0, 0.3], [0.3, 0.8]])
PANELS = ((-0.8, "#009e73"), (0.0, "#0072b2"), (0.8, "#d55e00"))  # green, blue, red
CENTERS = np.array([[x, y] for x in (-0.6, 0.0, 0.6) for y in (-0.6, 0.0, 0.6)])


def table() -> str:
    """Return the same two points in geometries of rising curvature."""
    p, q = np.array([-0.6, 0.2]), np.array([0.7, -0.4])
    lines = [
        f"cayleyklein {__version__}: p = {p}, q = {q}, Σ = {SHAPE.tolist()}",
        "",
        "     K  geometry    d(p, q)  midpoint           ball(p, 0.3): displaced centre",
    ]
    for K in (-1.0, -0.5, -1e-9, 0.0, 1e-9, 0.5, 1.0):
        metric = CurvedMetric(shape=SHAPE, curvature=K)
        middle = np.array2string(metric.midpoint(p, q), precision=4, floatmode="fixed", sign=" ")
        center = metric.ball(p, 0.3).ellipsoid().center
        moved = np.array2string(center, precision=4, floatmode="fixed", sign=" ")
        lines.append(f"{K:6.2g}  {metric.geometry:10}  {metric(p, q):.5f}  {middle}  {moved}")
    return "\n".join(lines)


def draw(axes: Any, K: float, color: str) -> None:
    """Draw unit-free balls at nine centres, a geodesic and a bisector."""
    metric = CurvedMetric(shape=SHAPE, curvature=K)
    if metric.domain is not None:
        edge = metric.domain.boundary()
        axes.fill(*edge.T, facecolor="none", edgecolor="black", linewidth=2.5)
    for center in CENTERS:
        axes.fill(*metric.ball(center, 0.18).ellipsoid().boundary().T, color=color, alpha=0.35)
        axes.plot(*center, "k.", markersize=3)
    p, q = CENTERS[1], CENTERS[8]
    axes.plot(*metric.geodesic(p, q, np.linspace(0, 1, 9)).T, "k.-", linewidth=1, markersize=6)
    normal, offset = metric.bisector(p, q)
    foot, along = -offset * normal / (normal @ normal), np.array([-normal[1], normal[0]])
    reach = np.linspace(-3, 3, 2001)[:, None] * along / np.linalg.norm(along)
    line = foot + reach
    axes.plot(*line[metric.contains(line)].T, "k--", linewidth=1)
    axes.set(title=f"{metric.geometry}, K = {K:g}", xlabel="x₁", ylabel="x₂", aspect="equal")
    axes.set(xlim=(-1.35, 1.35), ylim=(-1.5, 1.5))


def picture(path: Path) -> None:
    """Draw balls of one radius, a geodesic in equal steps and its bisector, for three K."""
    require("matplotlib", "plot")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 4.8), layout="constrained")
    for axes, (K, color) in zip(figure.subplots(1, 3), PANELS, strict=True):
        draw(axes, K, color)
    figure.suptitle("Balls of one radius, a geodesic in eight equal steps, and its bisector")
    figure.savefig(path, dpi=150)


def main() -> int:
    """Print the table and write the picture."""
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "geometry.png")
    print(table())
    try:
        picture(path)
    except (CayleyKleinError, OSError, ValueError) as error:
        print(f"cayleyklein: no picture written to {path}: {error}", file=sys.stderr)
        return 1
    print(f"\nPicture: {path.resolve()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
