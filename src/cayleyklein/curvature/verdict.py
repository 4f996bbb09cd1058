"""Curved, or not? The best curved space against every flat rival."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cayleyklein._typing import Bools, Floats, Ints
from cayleyklein.curvature import rivals, spaces
from cayleyklein.curvature.processes import Fit, Sample, Settings, View

SCREENED = 300
PARTITIONS = 2
FOLDS = 5


class Candidate(NamedTuple):
    name: str
    kind: str  # flat, rescaled, curved
    errors: Floats  # (n,)
    densities: Floats  # (n,)
    log_likelihood: float
    sign: int


def candidate(name, kind, e, v, ll, sign):
    scale = (e / v[:, None]).mean(axis=0)
    var = np.maximum(scale, 1e-300) * v[:, None]
    l = -0.5 * (np.log(2 * np.pi * var) + e / var).sum(axis=1)
    return Candidate(name, kind, e.sum(axis=1), l, ll, sign)


def judge(z, Y, labels, rng, screened=SCREENED, partitions=PARTITIONS):
    n = len(z)
    parts = [deal(Y, labels, rng) for _ in range(partitions)]
    ball = rivals.smallest_ball(z)
    sets = {
        "flat": list(rivals.in_place(z)),
        "rescaled": list(rivals.rescaled(z, ball)),
        "curved": [*spaces.spheres(z), *spaces.hyperbolic_spaces(z, ball)],
    }
    few = np.arange(n) if n <= screened else np.sort(rng.choice(n, screened, replace=False))
    sub = Sample(z[few], Y[few] - Y[few].mean(axis=0), few)
    full = Sample(z, Y, np.arange(n))
    found = []
    for kind, views in sets.items():
        fits = sub.fit_all(views)
        if n > screened:
            best = {}
            for f in fits:
                k = (f.view.family, f.view.kernel)
                if k not in best or best[k].log_likelihood < f.log_likelihood:
                    best[k] = f
            chosen = list(best.values())
            chosen = sorted(chosen, key=lambda f: -f.log_likelihood)[:8]
            fits = [full.fit(f.view, f.settings) for f in chosen]
        for f in fits:
            e, v = full.held_out(f, parts)
            found.append(candidate(f.view.name + " " + f.view.kernel.__name__, kind, e, v, f.log_likelihood, f.view.sign))
    for name, e in rivals.predictors(z, Y, labels, parts, 0).items():
        found.append(candidate(name, "flat", e, np.ones(n), -np.inf, 0))
    return found, parts


def deal(Y, labels, rng):
    n = len(Y)
    order = rng.permutation(n)
    if labels:
        codes = Y.argmax(axis=1) if Y.shape[1] > 1 else (Y[:, 0] > 0).astype(int)
        order = order[np.argsort(codes[order], kind="stable")]
    folds = np.empty(n, int)
    folds[order] = np.arange(n) % FOLDS
    return folds


def z_score(gain):
    sd = gain.std(ddof=1)
    return float(gain.mean() / (sd / np.sqrt(len(gain)))) if sd > 0 else 0.0


def summary(found, Y):
    n, t = Y.shape
    curved = [c for c in found if c.kind == "curved"]
    star = max(curved, key=lambda c: c.densities.mean())
    flats = {1: [c for c in found if c.kind == "flat"], 2: [c for c in found if c.kind != "curved"]}
    out = {"star": star.name, "sign": star.sign}
    for j, some in flats.items():
        ml = max(some, key=lambda c: c.log_likelihood)
        bl = max(some, key=lambda c: c.densities.mean())
        be = min(some, key=lambda c: c.errors.mean())
        out[f"N{j}"] = (star.log_likelihood - ml.log_likelihood) / (t / 2 if t > 1 else 1)
        out[f"zl{j}"] = z_score(star.densities - bl.densities)
        out[f"ze{j}"] = z_score(be.errors - star.errors)
        out[f"ml{j}"], out[f"bl{j}"], out[f"be{j}"] = ml.name, bl.name, be.name
    ey = np.square(Y - Y.mean(axis=0)).sum(axis=1)
    best = min(found, key=lambda c: c.errors.mean())
    out["r2"] = 1 - best.errors.mean() / ey.mean()
    out["zr"] = z_score(ey - best.errors)
    # bests by kind, for looking at
    for kind in ("flat", "rescaled", "curved"):
        some = [c for c in found if c.kind == kind]
        out["ML_" + kind] = max(c.log_likelihood for c in some)
    return out


def word(o):
    if o["r2"] <= 0.05 or o["zr"] <= 3:
        return "few"
    if o["N2"] > 3 and o["zl2"] > 0.5 and o["ze2"] > 0:
        return "B"
    if o["N1"] > 3 and o["zl1"] > 1.5 and o["ze1"] > 0.5:
        return "A"
    return "no"
