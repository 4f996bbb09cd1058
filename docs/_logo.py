# The logo: a Voronoi diagram of the hyperbolic plane in Poincaré's disc, drawn by the package.
#     python docs/_logo.py    writes docs/_static/logo.svg

from pathlib import Path

import numpy as np

from cayleyklein import CayleyKleinVoronoi, CurvedMetric

INNER = ("#b0559a", "#f0b429", "#12805c", "#f0b429", "#12805c", "#35a7c9")
OUTER = ("#0067a5", "#c94a00")


def rings(metric):
    """Return a point in the centre and two rings of points around it, ever closer to the rim."""
    turns = [(0.0, 1, 0.0), (1.1, 5, 0.0), (2.1, 10, 0.5)]
    points = [
        np.tanh(radius) * np.array([np.cos(angle), np.sin(angle)])
        for radius, n, shift in turns
        for angle in np.pi / 2 + 2 * np.pi * (np.arange(n) + shift) / n
    ]
    return metric.points(np.array(points))


def outline(metric, corners):
    """Return a cell of straight sides in the chart as a closed curve of Poincaré's disc."""
    after = np.roll(corners, -1, axis=0)
    t = np.linspace(0, 1, 24, endpoint=False)[:, None]
    sides = [p + t * (q - p) for p, q in zip(corners, after, strict=True)]
    inside = (1 - 1e-9) * np.concatenate(sides)  # corners on the rim are no points of the plane
    return metric.to_chart(inside, "poincare")


def logo():
    """Return the logo as SVG."""
    metric = CurvedMetric.euclidean(2, curvature=-1.0)
    points = rings(metric)
    diagram = CayleyKleinVoronoi(points, metric)
    parts = []
    for i, corners in enumerate(diagram.outlines(1e-4)):
        xy = 100 + 96 * outline(metric, corners) * [1, -1]
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in xy) + "Z"
        color = INNER[i] if i < len(INNER) else OUTER[i % 2]
        parts.append(f'<path d="{path}" fill="{color}" stroke="#fff" stroke-width="2.5"/>')
    dots = 100 + 96 * metric.to_chart(points, "poincare") * [1, -1]
    radii = 5 * (1 - (((dots - 100) / 96) ** 2).sum(axis=1)) + 1
    parts += [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r:.1f}" fill="#fff"/>'
        for (x, y), r in zip(dots, radii, strict=True)
    ]
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 200 200" role="img" '
        f'aria-label="cayleyklein"><title>cayleyklein</title><clipPath id="rim"><circle cx="100" '
        f'cy="100" r="94"/></clipPath><g clip-path="url(#rim)">{"".join(parts)}</g></svg>\n'
    )


if __name__ == "__main__":
    (Path(__file__).parent / "_static" / "logo.svg").write_text(logo(), "utf-8")
