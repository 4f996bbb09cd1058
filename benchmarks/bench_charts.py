"""Compare distances from Poincaré and Lorentz coordinates with the peers': digits and speed.

geoopt, geomstats and HypLL run in an environment of their own that is made here
(``.venv-peers/charts``); one that cannot be imported is skipped with a sentence. manify measures by
geoopt's Lorentz model. Errors are the largest over 200 pairs at a distance of 0.1 to 2 at each
radius, against mpmath, from the very coordinates that were given. Times are CPU seconds of one
thread for 200,000 pairs in 10 dimensions, the median of nine in a round; rounds alternate between
the environments. Forests, in Klein's and in raw Poincaré coordinates, come last.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"

import itertools
import statistics
import subprocess
import time
import warnings

import mpmath
import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

import _peers
from cayleyklein import CurvedMetric
from cayleyklein.datasets import make_hyperbolic_tree
from cayleyklein.exceptions import CayleyKleinError
from cayleyklein.geometry import chart_distance

mpmath.mp.dps = 60
D, PAIRS, ROWS, ROUNDS = 10, 200, 200_000, 5
RADII = (1, 5, 10, 15, 20, 25, 30)
PEERS = """
os.environ["GEOMSTATS_BACKEND"] = "numpy"
import torch
torch.set_num_threads(1)
calls = {}
try:
    import geoopt
    lorentz, ball = geoopt.Lorentz(), geoopt.PoincareBall()
    calls["geoopt Lorentz", "hyperboloid"] = lorentz.dist
    calls["geoopt PoincareBall", "poincare"] = ball.dist
except ImportError as error:
    print(f"geoopt is skipped: {error}.")
try:
    from hypll.manifolds.poincare_ball import Curvature, PoincareBall
    from hypll.tensors import ManifoldTensor
    disc = PoincareBall(Curvature(1.0, constraining_strategy=lambda c: c))
    def measure(p, q):
        return disc.dist(*(ManifoldTensor(x, manifold=disc) for x in (p, q)))
    calls["HypLL PoincareBall", "poincare"] = measure
except ImportError as error:
    print(f"HypLL is skipped: {error}.")
try:
    from geomstats.geometry.hyperboloid import Hyperboloid
    from geomstats.geometry.poincare_ball import PoincareBall as Ball
    d = data["poincare"].shape[-1]
    for name, space, chart in (("Hyperboloid", Hyperboloid(d), "hyperboloid"),
                               ("PoincareBall", Ball(d), "poincare")):
        calls["geomstats " + name, chart] = space.metric.dist
except ImportError as error:
    print(f"geomstats is skipped: {error}.")
single = torch.float32 if "single" in data else torch.float64
for (name, chart), call in calls.items():
    rows = np.roll(data[chart], 1, axis=-1) if chart == "hyperboloid" else data[chart]
    if "geomstats" not in name:
        rows = torch.tensor(rows, dtype=single)
    elif "single" in data:
        rows = rows.astype(np.float32)
    with torch.no_grad():
        times = []
        for _ in range(9 if len(rows[0]) > 1000 else 1):
            start = time.process_time()
            found = call(rows[0], rows[1])
            times.append(time.process_time() - start)
        result["seconds " + name] = np.median(times)
    result[chart + " " + name] = np.asarray(found, dtype=float).reshape(-1)
"""


def pairs(radius: float, n: int, spread: float, seed: int = 0) -> dict[str, np.ndarray]:
    """Return pairs around a radius in three charts, turned by about `spread` in distance."""
    rng = np.random.default_rng(seed)
    u = rng.normal(size=(n, D))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    v = u + spread / np.sinh(radius) * rng.normal(size=(n, D)) / np.sqrt(D)
    v /= np.linalg.norm(v, axis=1, keepdims=True)
    r = radius - spread * rng.uniform(size=(2, n, 1))
    both = list(zip(r, (u, v), strict=True))
    return {
        "klein": np.array([np.tanh(a) * x for a, x in both]),
        "poincare": np.array([np.tanh(a / 2) * x for a, x in both]),
        "hyperboloid": np.array([np.hstack([np.sinh(a) * x, np.cosh(a)]) for a, x in both]),
    }


def truth(p: np.ndarray, q: np.ndarray, chart: str) -> mpmath.mpf:
    """Return the distance in 60 digits from the given coordinates."""
    p, q = ([mpmath.mpf(float(v)) for v in x] for x in (p, q))
    if chart == "poincare":
        gap = mpmath.fsum((a - b) ** 2 for a, b in zip(p, q, strict=True))
        return 2 * mpmath.asinh(
            mpmath.sqrt(gap / ((1 - mpmath.fdot(p, p)) * (1 - mpmath.fdot(q, q))))
        )
    if chart == "klein":
        inner = 1 - mpmath.fdot(p, q)
        return mpmath.acosh(inner / mpmath.sqrt((1 - mpmath.fdot(p, p)) * (1 - mpmath.fdot(q, q))))
    p, q = p[:-1], q[:-1]
    times = mpmath.sqrt((1 + mpmath.fdot(p, p)) * (1 + mpmath.fdot(q, q)))
    return mpmath.acosh(times - mpmath.fdot(p, q))


def run_peers(**arrays: object) -> dict[str, np.ndarray]:
    """Run the peers; without an environment for them, say so and return nothing."""
    try:
        return _peers.run("charts", PEERS, **arrays)
    except (subprocess.CalledProcessError, OSError) as error:
        print(f"The peers are skipped, since their environment could not be made: {error}.")
        return {}


def in_ball(points: np.ndarray) -> bool:
    """Say whether points are inside the unit ball."""
    return bool(CurvedMetric.euclidean(D, curvature=-1.0).contains(points).all())


def measured(points: np.ndarray, chart: str) -> np.ndarray:
    """Return our distances, inf where we refuse the points."""
    try:
        return np.asarray(chart_distance(*points, chart))
    except CayleyKleinError:
        return np.full(points.shape[1], np.inf)


def errors(single: bool) -> None:
    """Print the largest error of each library at each radius."""
    kind = np.float32 if single else np.float64
    print(f"\nlargest error of a distance of 0.1 to 2, coordinates in {kind.__name__}")
    rows: dict[str, list[str]] = {}
    for radius in RADII:
        given = {k: x.astype(kind).astype(float) for k, x in pairs(radius, PAIRS, 1.0).items()}
        found = run_peers(**given, **({"single": True} if single else {}))
        answers = {k: x for k, x in found.items() if not k.startswith("seconds")}
        for chart in ("poincare", "hyperboloid", "klein"):
            answers[f"{chart} ours"] = measured(given[chart], chart)
        true = {}
        for key, values in answers.items():
            chart, _, name = key.partition(" ")
            if np.isinf(values).all() or (chart != "hyperboloid" and not in_ball(given[chart])):
                rows.setdefault(f"{name}, {chart}", []).append("outside")
                continue
            if chart not in true:
                true[chart] = [truth(p, q, chart) for p, q in zip(*given[chart], strict=True)]
            error = [
                abs(float(t - float(v))) if np.isfinite(v) else np.nan
                for t, v in zip(true[chart], values, strict=True)
            ]
            text = "NaN" if np.isnan(error).any() else f"{max(error):.1e}"
            rows.setdefault(f"{name}, {chart}", []).append(text)
    print(f"{'radius':34}" + "".join(f"{r:>9}" for r in RADII))
    for name, cells in sorted(rows.items()):
        print(f"{name:34}" + "".join(f"{cell:>9}" for cell in cells))


def speed(radius: float) -> None:
    """Print the CPU seconds of all, and their ratio to geoopt's Lorentz model."""
    given = pairs(radius, ROWS, 1.0)
    rng = np.random.default_rng(1)
    given = {name: np.array([x[0], x[1][rng.permutation(ROWS)]]) for name, x in given.items()}
    metric = CurvedMetric.euclidean(D, curvature=-1.0)
    ours = {
        "CurvedMetric.distance, Klein": lambda: metric.distance(*given["klein"]),
        "chart_distance, poincare": lambda: chart_distance(*given["poincare"], "poincare"),
        "chart_distance, hyperboloid": lambda: chart_distance(*given["hyperboloid"], "hyperboloid"),
    }
    seconds: dict[str, list[float]] = {}
    for _ in range(ROUNDS):
        found = run_peers(**given)
        for key, value in found.items():
            if key.startswith("seconds "):
                seconds.setdefault(key.removeprefix("seconds "), []).append(float(value))
        for name, call in ours.items():
            times = []
            for _ in range(9):
                start = time.process_time()
                call()
                times.append(time.process_time() - start)
            seconds.setdefault(name, []).append(statistics.median(times))
    base = statistics.median(seconds.get("geoopt Lorentz", [float("nan")]))
    print(f"\n{ROWS:,} pairs, d = {D}, radius {radius:g}: CPU ms, and over geoopt's Lorentz model")
    for name, values in seconds.items():
        middle = statistics.median(values)
        print(f"{name:34}{1e3 * middle:9.1f}{middle / base:9.2f}")


def forests() -> None:
    """Print the accuracy of forests in Klein and in Poincaré coordinates, rows turned at random."""
    print("\nforests of 50 trees, 322 of 644 rows around the nodes of a tree, 10 seeds each:")
    print(f"{'class':10}{'d':>3}{'edge':>6}{'Klein':>8}{'raw':>8}{'difference':>17}")
    for label, d, edge in itertools.product(("node", "branch"), (2, 5), (1.0, 1.5)):
        found = []
        for seed in range(10):
            X, y, metric = make_hyperbolic_tree(
                644, d, edge=edge, random_state=seed, return_metric=True
            )
            level = np.log2(np.maximum(y + 2, 3) / 3).astype(int)  # 0 for children of the root
            branch = np.where(y > 0, (y - 1 - 3 * (2**level - 1)) // 2**level, 3)
            y = y if label == "node" else branch
            X = X @ np.linalg.qr(np.random.default_rng(seed).normal(size=(d, d)))[0].T
            train, test = train_test_split(np.arange(644), test_size=0.5, random_state=seed)
            forest = RandomForestClassifier(50, random_state=0)
            both = (X, metric.to_chart(X, "poincare"))
            found.append([forest.fit(Z[train], y[train]).score(Z[test], y[test]) for Z in both])
        klein, raw = np.transpose(found)
        error = (klein - raw).std(ddof=1) / np.sqrt(len(found))
        print(
            f"{label:10}{d:3}{edge:6}{klein.mean():8.3f}{raw.mean():8.3f}"
            f"{(klein - raw).mean():9.3f} ± {error:.3f}"
        )


def main() -> None:
    """Print accuracy, speed and forests."""
    warnings.simplefilter("ignore")
    errors(single=False)
    errors(single=True)
    for radius in (2.5, 6.0):
        speed(radius)
    forests()


if __name__ == "__main__":
    main()
