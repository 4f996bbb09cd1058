"""Compare flat meshes with those of Triangle, and time meshes and Lloyd steps in all geometries.

The peer is the package ``triangle`` (Shewchuk's Triangle), in an environment of its own that is
made here (``.venv-peers``), with the switches ``pqa``, with and without ``D`` (all triangles
Delaunay, as ours are). Seconds are CPU seconds of one thread, the best of a few runs.
"""

import argparse
import os
import time
import warnings

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import _peers
from cayleyklein import CurvedMetric
from cayleyklein.meshes import PlaneMesh, lloyd, mesh_polygon

TRIANGLE = """
import triangle
edges = np.arange(len(data["polygon"]))
given = {"vertices": data["polygon"], "segments": np.stack([edges, np.roll(edges, -1)], axis=1)}
seconds = []
for _ in range(int(data["repeats"])):
    start = time.process_time()
    found = triangle.triangulate(given, str(data["switches"]))
    seconds.append(time.process_time() - start)
result = {"vertices": found["vertices"], "triangles": found["triangles"], "seconds": min(seconds)}
"""
FLAT = CurvedMetric.euclidean(2)
TURN = np.linspace(0, 2 * np.pi, 40, endpoint=False)
CIRCLE = np.stack([np.cos(TURN), np.sin(TURN)], axis=1)
NOISE = np.random.default_rng(0).normal(size=(40, 1)).clip(-1.5, 1.5)
POLYGONS = {
    "square": np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]),
    "40-gon": CIRCLE,
    "blob": CIRCLE * (1 + 0.4 * NOISE),
    "star": CIRCLE * np.where(np.arange(40) % 2, 0.4, 1.0)[:, None],
}


def seconds_of(make: object, repeats: int) -> tuple[float, object]:
    """Return the least CPU seconds of a call, and its answer."""
    best = np.inf
    for _ in range(repeats):
        start = time.process_time()
        found = make()
        best = min(best, time.process_time() - start)
    return best, found


def describe(mesh: PlaneMesh, seconds: float) -> str:
    """Give counts, angles and the time in one line."""
    smallest = mesh.angles.min(axis=1)
    return (
        f"{len(mesh.vertices):7,} {len(mesh.triangles):7,} {smallest.min():8.2f} "
        f"{np.median(smallest):8.2f} {seconds:9.3f}"
    )


def compare_flat(repeats: int) -> None:
    """Print counts and angles beside those of Triangle."""
    print(f"{'':32} vertices  tri.   min angle  median  CPU s")
    for name, polygon in POLYGONS.items():
        for angle, n in ((20, 0), (20, 10_000), (30, 10_000)):
            after = np.roll(polygon, -1, axis=0)
            size = abs(float((polygon[:, 0] * after[:, 1] - polygon[:, 1] * after[:, 0]).sum())) / 2
            area = 1.6 * size / n if n else None  # the mean is 0.6 of the largest
            label = f"{name}, {angle}°{', a' if area else ''}"
            seconds, mesh = seconds_of(
                lambda polygon=polygon, angle=angle, area=area: mesh_polygon(
                    polygon, FLAT, min_angle=angle, max_area=area
                ),
                repeats,
            )
            print(f"{label:18} cayleyklein  {describe(mesh, seconds)}")
            for conforming in ("D", ""):
                switches = f"pq{angle}{conforming}" + (f"a{area:.12f}" if area else "")
                given = {"polygon": polygon, "switches": switches, "repeats": repeats}
                found = _peers.run("triangle", TRIANGLE, **given)
                triangles = found["triangles"].astype(np.intp)
                no = np.zeros(len(triangles), dtype=bool)
                mesh = PlaneMesh(found["vertices"], triangles, triangles[:0, :2], no, FLAT)
                print(f"{'':18} triangle {conforming:2}  {describe(mesh, float(found['seconds']))}")


def time_geometries(repeats: int) -> None:
    """Print meshes of over ten thousand triangles, and Lloyd steps, in three geometries."""
    print(f"\n{'':32} vertices  tri.   min angle  median  CPU s")
    rng = np.random.default_rng(1)
    angle = np.arange(40) * np.pi / 20
    polygon = (0.75 + 0.08 * np.sin(5 * angle))[:, None] * CIRCLE
    for K in (-1.0, 0.0, 1.0):
        metric = CurvedMetric(factor=[[1.0, 0.3], [0.0, 0.9]], curvature=K)
        area = mesh_polygon(polygon, metric).areas.sum() / 6600
        seconds, mesh = seconds_of(
            lambda metric=metric, area=area: mesh_polygon(polygon, metric, max_area=area), repeats
        )
        print(f"{metric.geometry:18} cayleyklein  {describe(mesh, seconds)}")
        points = rng.uniform(-0.45, 0.45, size=(1000, 2))
        lloyd(points, metric, polygon, max_iter=1, tol=0.99)  # compiles
        seconds, found = seconds_of(
            lambda metric=metric, points=points: lloyd(points, metric, polygon, max_iter=50), 1
        )
        steps = len(found.energies) - 1
        fall = found.energies[-1] / found.energies[0]
        rise = np.diff(found.energies).max()
        print(
            f"{'':18} lloyd, 1,000 points: {steps} steps, {1e3 * seconds / (steps + 1):.0f} ms "
            f"each, energy to {fall:.3f} of the first, largest change {rise:.1e}"
        )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)  # Lloyd's method is stopped early
    compare_flat(given.repeats)
    time_geometries(given.repeats)


if __name__ == "__main__":
    main()
