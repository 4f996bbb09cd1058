"""Count how often verdicts of estimate_curvature are right, and how often intervals hold K.

``verdicts`` draws targets whose curvature is known (``_truths.py``) and counts verdicts, with
95 % intervals of the shares (Clopper and Pearson). ``maps`` does so for dissimilarities.

The other parts check the interval of K under the model that it assumes. Rows are uniform in a ball,
moved to mean 0 and scaled to R = 1, the distance of the farthest from the mean. Numbers are a
Gaussian process with covariance exp(-d_K/R), plus noise of variance 0.05; two labels say which of
these are above the median, and four which of four processes is largest. Dissimilarities are d_K
with independent normal errors of a tenth of the mean distance. Every draw has rows of its own.
"covered" is the share of draws whose 95 % interval holds the K they were drawn with, "0 outside"
that with an interval without 0.

    python benchmarks/bench_curvature.py                         # about two hours
    python benchmarks/bench_curvature.py verdicts --rows 300 --draws 2
    python benchmarks/bench_curvature.py later --rows 1000 --draws 1 --dimensions 2 4
    python benchmarks/bench_curvature.py numbers --rows 100 --draws 30
    python benchmarks/bench_curvature.py real --sets bundled --tables FOLDER
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from scipy import stats
from sklearn.preprocessing import StandardScaler

import _peers
import _sets
import _truths
from cayleyklein import CurvedLMNN, CurvedMetric, CurvedMLKR, estimate_curvature
from cayleyklein.curvature.estimate import judge_rows

NOISE, ERROR = 0.05, 0.1
CURVATURES, DIMENSIONS = (-0.9, 0.0, 2.0), (2, 5)
HEAD = "| K·R² | d | n | draws | covered | 0 outside | median K | CPU s |\n" + "|---" * 8 + "|"


def draw_rows(n, d, rng):
    X = rng.normal(size=(n, d))
    X *= (rng.uniform(size=n) ** (1 / d) / np.linalg.norm(X, axis=1))[:, None]
    X -= X.mean(axis=0)
    return X / np.linalg.norm(X, axis=1).max()


def draw_process(D, count, rng):
    root = np.linalg.cholesky(np.exp(-D) + 1e-10 * np.eye(len(D)))
    return root @ rng.normal(size=(len(D), count)) + NOISE**0.5 * rng.normal(size=(len(D), count))


WORDS = (
    "curved",
    "curved in these coordinates",
    "no evidence",
    "too few rows, or nothing predicts y",
)


def share(k, n):
    """Return a share and its 95 % interval as text."""
    low = stats.beta.ppf(0.025, k, n - k + 1) if k else 0.0
    high = stats.beta.ppf(0.975, k + 1, n - k) if k < n else 1.0
    return f"{k} of {n} ({100 * low:.1f} to {100 * high:.1f} %)"


def judged(truth, n, d, seed):
    """Return the verdict on a draw."""
    rng = np.random.default_rng([seed, n, d, sum(map(ord, truth.__name__))])
    X, y = truth(n, d, rng)
    return judge_rows(X, y, "auto", n, np.random.RandomState(seed))[2]


def count(truths, rows, dimensions, seeds, sign=0):
    """Print how often each verdict is given to each truth; return all counts.

    With a sign, claims of the other sign are counted as wrong.
    """
    total = {}
    print("| truth | n | d | " + " | ".join((*WORDS, "wrong sign", "CPU s")) + " |")
    print("|---" * 9 + "|")
    for n in rows:
        for truth in truths:
            for d in dimensions:
                start, found = time.process_time(), [0] * 5
                for seed in seeds(n):
                    verdict = judged(truth, n, d, seed)
                    at = WORDS.index(verdict.word)
                    found[4 if sign and at < 2 and verdict.sign != sign else at] += 1
                seconds = (time.process_time() - start) / len(seeds(n))
                total[truth.__name__, n, d] = np.array(found)
                shown = " | ".join(map(str, found))
                print(f"| {truth.__name__} | {n} | {d} | {shown} | {seconds:.2f} |", flush=True)
    return total


FIRST = 2000  # seed; smaller ones chose the thresholds


def level(given):
    """Count verdicts on flat truths."""
    print("\nflat truths")
    summary(count_asked(_truths.FLAT + _truths.TURNED, given))


def later(given):
    """Count verdicts on flat truths that were chosen after the rule."""
    print("\nchosen later")
    summary(count_asked(_truths.FRESH_FLAT, given))


def found(given):
    """Count verdicts on curved truths."""
    for title, truths, sign in (
        ("elliptic truths", _truths.ELLIPTIC, 1),
        ("hyperbolic truths", _truths.HYPERBOLIC, -1),
    ):
        print(f"\n{title}")
        count_asked(truths, given, sign)


def count_asked(truths, given, sign=0):
    """Count verdicts on those of the truths that the command asks for, curved ones up to d = 4."""
    asked = [truth for truth in truths if truth.__name__ in (given.truths or [truth.__name__])]
    dimensions = [d for d in given.dimensions if d < 8 or not sign]
    seeds = range(given.first, given.first + given.draws)
    return count(asked, given.rows, dimensions, lambda n: seeds, sign)


def by_rows(draws):
    """Count verdicts on the curved truths of the documentation's picture, by number of rows."""
    print("\nhow many rows it takes")
    for truths, sign in (
        ([_truths.cap_process], 1),
        ([_truths.hyperbolic_process, _truths.wide_hyperbolic_process], -1),
    ):
        count(
            truths,
            (60, 100, 200, 300, 500, 1000),
            (2, 4),
            lambda n: range(FIRST, FIRST + draws),
            sign,
        )


def summary(total):
    """Print shares over all draws, by number of rows, and of the truths that are called so most."""
    for n in sorted({key[1] for key in total}):
        counts = sum(found for key, found in total.items() if key[1] == n)
        strong, either, draws = counts[0], counts[:2].sum(), counts.sum()
        print(f"{n} rows: curved {share(strong, draws)}; in either strength {share(either, draws)}")
    names = {key[0] for key in total}
    by_name = {name: sum(f for key, f in total.items() if key[0] == name) for name in names}
    for what, last in (("curved", 1), ("in either strength", 2)):
        most = sorted(by_name, key=lambda name: -by_name[name][:last].sum())[:3]
        told = [f"{m} {by_name[m][:last].sum()} of {by_name[m].sum()}" for m in most]
        print(f"{what}, most: {'; '.join(told)}")


def estimate(kind, K, d, n, seed, **options):
    """Return an estimate from a draw at K."""
    rng = np.random.default_rng(seed)
    X = draw_rows(n, d, rng)
    D = CurvedMetric.euclidean(d, curvature=K).pairwise(X)
    if kind == "dissimilarities":
        errors = np.triu(rng.normal(size=D.shape) * ERROR * D.mean(), 1)
        given = {"dissimilarity": "precomputed", "n_components": d, "random_state": seed}
        return estimate_curvature(np.abs(D + errors + errors.T), **given, **options)
    if kind == "numbers":
        y = draw_process(D, 1, rng)[:, 0]
    elif kind == "labels":
        y = draw_process(D, 1, rng)[:, 0]
        y = y > np.median(y)
    else:
        y = draw_process(D, 4, rng).argmax(axis=1)
    return estimate_curvature(X, y, random_state=seed, **options)


def show(kind, K, d, n, draws, first=0, **options):
    """Print a row of a table, of the seeds from the first on."""
    start = time.process_time()
    found = [estimate(kind, K, d, n, seed, **options) for seed in range(first, first + draws)]
    seconds = (time.process_time() - start) / draws
    # bends, because a learned L has another unit of length
    bends = [
        K * np.square(draw_rows(n, d, np.random.default_rng(first + i))).sum() / n
        for i in range(draws)
    ]
    if kind != "dissimilarities":
        pairs = [(e.bend_interval, bend) for e, bend in zip(found, bends, strict=True)]
    else:
        pairs = [(e.interval, K) for e in found]
    covered = np.mean([low <= true <= high for (low, high), true in pairs])
    rejected = np.mean([not e.interval[0] <= 0 <= e.interval[1] for e in found])
    middle = np.median([e.curvature for e in found])
    print(
        f"| {K:g} | {d} | {n} | {draws} | {covered:.3f} | {rejected:.3f} | {middle:.2f} "
        f"| {seconds:.2f} |",
        flush=True,
    )


def coverage(kind, rows, draws):
    print(f"\n{kind}\n{HEAD}")
    for n in rows:
        for d in DIMENSIONS:
            for K in CURVATURES:
                show(kind, K, d, n, draws, n_grid=9)


def cpu_time():
    """Print the time of an estimate by default, 300 rows in five dimensions."""
    print("\nCPU seconds, 300 rows, d = 5, five draws: median and most")
    for kind in ("numbers", "labels", "four classes"):
        seconds = []
        for seed in range(5):
            start = time.process_time()
            estimate(kind, 0.0, 5, 300, seed)
            seconds.append(time.process_time() - start)
        print(f"{kind}: {np.median(seconds):.2f}, {max(seconds):.2f}", flush=True)


def power(draws):
    for kind, n in (("numbers", 100), ("numbers", 300), ("labels", 300)):
        print(f"\npower, {kind}, {n} rows\n{HEAD}")
        for K in (-0.99, -0.6, 1.0, 5.0, 20.0):
            show(kind, K, 2, n, draws, n_grid=9)


def shapes(draws):
    """Print power in three shapes of L, on rows whose columns are isotropic in truth."""
    for kind, learner in (("numbers", CurvedMLKR), ("labels", CurvedLMNN)):
        learned = learner(geometry="flat", random_state=0)
        for name, shape in (
            ("isotropic", "isotropic"),
            ("diagonal", "diagonal"),
            ("learned", learned),
        ):
            print(f"\nshape of L: {name}, {kind}\n{HEAD}")
            for K in CURVATURES:
                show(kind, K, 2, 200, draws, shape=shape, n_grid=9)


def turned_about(X, rng):
    """Return rows along other axes."""
    return X @ np.linalg.qr(rng.normal(size=(X.shape[1],) * 2))[0]


# Changes that should not matter: the rows, the names of classes (numbers stay) and the seed.
CHANGES = {
    "turned": lambda X, y, rng: (turned_about(X, rng), y, 0),
    "moved and scaled": lambda X, y, rng: (1000 * X + 50, y, 0),
    "one column scaled": lambda X, y, rng: (X * np.where(np.arange(X.shape[1]), 1, 100), y, 0),
    "classes renamed": lambda X, y, rng: (X, y if y.dtype.kind == "f" else 7 - 2 * y, 0),
    "another seed": lambda X, y, rng: (X, y, 1),
    "rows in another order": lambda X, y, rng: (X[::-1], y[::-1], 0),
}


def robust(draws, rows=200):
    """Print how much verdicts change with what should not matter, and verdicts on halves."""
    truths = [
        _truths.cap_process,
        _truths.four_labels,
        _truths.hyperbolic_process,
        _truths.plane,
        _truths.turned(_truths.decision_tree),
        _truths.smooth_function,
    ]
    print(f"\nwhat should not matter, {rows} rows, d = 2 and 4: verdicts that differ, and nats")
    print(
        "| truth | change | other verdict | largest change of nats | median |\n" + "|---" * 5 + "|"
    )
    total = {name: [] for name in CHANGES}
    for truth in truths:
        asked = [(d, seed) for d in (2, 4) for seed in range(FIRST, FIRST + draws)]
        pairs = [changed(truth, rows, d, seed) for d, seed in asked]
        for name in CHANGES:
            own = [pair[name] for pair in pairs]
            total[name] += own
            print(f"| {truth.__name__} | {name} | {differences(own)} |", flush=True)
        same = [halves_agree(truth, rows, d, seed) for d, seed in asked]
        print(
            f"| {truth.__name__} | other half | {len(same) - sum(same)} of {len(same)} | | |",
            flush=True,
        )
    for name, own in total.items():
        print(f"| all | {name} | {differences(own)} |", flush=True)


def changed(truth, n, d, seed):
    """Return, for each change, whether the verdict is another one, and the change of nats."""
    rng = np.random.default_rng([seed, n, d])
    X, y = truth(n, d, rng)
    expected = judge_rows(X, y, "auto", n, np.random.RandomState(0))[2]
    found = {}
    for name, change in CHANGES.items():
        rows, targets, folds = change(X, y, rng)
        got = judge_rows(rows, targets, "auto", n, np.random.RandomState(folds))[2]
        is_other = (got.word, got.geometry) != (expected.word, expected.geometry)
        found[name] = is_other, abs(got.rescaled.nats - expected.rescaled.nats)
    return found


def differences(found):
    """Return how many verdicts are others, and the largest and the median change of nats."""
    differ, nats = zip(*found, strict=True)
    return f"{sum(differ)} of {len(differ)} | {max(nats):.2g} | {np.median(nats):.2g}"


def halves_agree(truth, n, d, seed):
    """Return whether two halves of twice as many rows have one geometry."""
    X, y = truth(2 * n, d, np.random.default_rng([seed, 2 * n, d]))
    first, second = (
        judge_rows(X[i::2], y[i::2], "auto", n, np.random.RandomState(0))[2] for i in (0, 1)
    )
    return first.geometry == second.geometry


def trees(draws):
    """Count verdicts on nodes of trees, and print the closest flat model of each draw."""
    print("\nnodes of a tree, 300 rows in the plane: verdict, nats over flat models, closest one")
    for truth in _truths.TREES:
        for seed in range(FIRST, FIRST + draws):
            found = judged(truth, 300, 2, seed)
            over = f"{found.rescaled.nats:+.1f} nats, R² {found.r2:.2f}"
            print(f"{truth.__name__}: {found.word}; {over}; {found.rescaled.rival}", flush=True)


def hard_rows(draws):
    """Count verdicts where data are hard: much noise, many classes, idle columns, 60 rows."""
    print("\nmuch noise, many classes, idle columns: curved truths")
    for truths, sign in ((_truths.HARD_ELLIPTIC, 1), (_truths.HARD_HYPERBOLIC, -1)):
        count(truths, (300,), (2,), lambda n: range(FIRST, FIRST + draws), sign)
    print("\nmuch noise, many classes, idle columns: flat truths")
    summary(count(_truths.HARD_FLAT, (300,), (2, 4), lambda n: range(FIRST, FIRST + draws)))


def maps(draws):
    """Count verdicts on dissimilarities of flat, curved and other spaces."""
    for title, truths in (("flat or neither", _truths.FLAT_MAPS), ("curved", _truths.CURVED_MAPS)):
        print(f"\ndissimilarities, {title}")
        print(
            "| truth | n | elliptic | hyperbolic | no evidence | 0 outside | CPU s |\n"
            + "|---" * 7
            + "|"
        )
        for truth in truths:
            start, results = time.process_time(), []
            for seed in range(FIRST, FIRST + draws):
                D = truth(60, np.random.default_rng(seed))
                given = {"dissimilarity": "precomputed", "random_state": seed, "n_grid": 9}
                results.append(estimate_curvature(D, **given))
            seconds = (time.process_time() - start) / draws
            shown = [
                sum(e.geometry == g for e in results) for g in ("elliptic", "hyperbolic", "flat")
            ]
            shown.append(sum(not e.interval[0] <= 0 <= e.interval[1] for e in results))
            print(
                f"| {truth.__name__} | 60 | {' | '.join(map(str, shown))} | {seconds:.2f} |",
                flush=True,
            )


GAMFIT = """
import gamfit, pandas as pd
found = []
for X, y in zip(data["X"], data["y"]):
    X = X / abs(X).max() / 2
    table = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y.astype(float)})
    try:
        told = gamfit.fit(table, "y ~ curv(a, b)").curvature(table)[0]
        found.append((told["kappa_hat"], told["flatness_p_value"]))
    except Exception:  # the search for K did not converge
        found.append((float("nan"), float("nan")))
result["found"] = np.array(found)
"""


def gamfit(draws, n=200):
    """Print how often gamfit rejects flatness at 5 %, and the verdict on the same draws."""
    print(
        f"\ngamfit, {n} rows in the plane: flatness rejected at 5 %; curved in either strength here"
    )
    truths = _truths.linear, _truths.smooth_function, _truths.rough_process, _truths.plane
    for truth in (*truths, _truths.hyperbolic_in_poincare):
        given, ours = [], 0
        for seed in range(FIRST, FIRST + draws):
            given.append(truth(n, 2, np.random.default_rng([seed, n])))
            verdict = judge_rows(*given[-1], "auto", n, np.random.RandomState(seed))[2]
            ours += verdict.geometry != "flat"
        X, y = (np.array(each) for each in zip(*given, strict=True))
        K, p = _peers.run("gamfit", GAMFIT, X=X, y=y)["found"].T
        done = np.isfinite(p)
        claims = f"{(p[done] <= 0.05).sum()} of {done.sum()}, median K {np.median(K[done]):.2g}"
        print(f"{truth.__name__}: gamfit {claims}; here {ours} of {draws}", flush=True)


def few_rows(draws):
    print(f"\nfew rows: numbers\n{HEAD}")
    for K in CURVATURES:
        show("numbers", K, 2, 30, draws, n_grid=9)


def standardised(X):
    X = StandardScaler().fit_transform(X)
    return X[:, X.std(axis=0) > 0]


def real_tables(sets, folder):
    """Return the tables asked for: bundled ones, those of KEEL, and those of a folder."""
    found = _sets.bundled() if "bundled" in sets else {}
    found |= _sets.keel() if "keel" in sets else {}
    return found | (_sets.tables(folder) if folder else {})


def real(rows, tables):
    """Print the verdict for tables, columns standardised, and for two halves of each."""
    print(f"\nreal tables, at most {rows} rows, and each of two halves")
    print("| table | n | d | classes | verdict | rival | nats in place, of all | halves | bend |")
    print("|---" * 9 + "|")
    agree, counts = 0, dict.fromkeys(WORDS, 0)
    for name, (X, y) in tables.items():
        X, y = standardised(X), y.astype(str)
        e = estimate_curvature(X, y, max_samples=rows, n_grid=9, random_state=0)
        order = np.random.default_rng(0).permutation(len(X))
        halves = []
        for some in (order[::2], order[1::2]):
            verdict = judge_rows(X[some], y[some], "auto", rows, np.random.RandomState(0))[2]
            halves.append(verdict.word)
        agree += halves[0] == halves[1]
        counts[e.verdict] += 1
        nats = f"{e.margins.in_place.nats:.1f}, {e.margins.rescaled.nats:.1f}"
        print(
            f"| {name} | {e.n_rows} | {X.shape[1]} | {len(set(y.tolist()))} | {e.headline} "
            f"| {e.rival} | {nats} | {'; '.join(halves)} | {e.bend:.2g} |",
            flush=True,
        )
    print()
    for word, k in counts.items():
        print(f"{word}: {share(k, len(tables))}")
    print(f"halves agree: {share(agree, len(tables))}")


def gain(rows, tables, splits=2):
    """Print what curvature adds to kernel machines on test rows, by the verdict of training rows.

    "One kernel" is the machine in the metric alone, "sum" the default; flat is the product of
    metrics without its spheres. A split counts under the verdict of its own training rows.
    """
    from bench_curved_parts import GEOMETRIES, SETTINGS, judge

    by_verdict = {}
    print(f"\nkernel machines, {rows} rows: verdict, and accuracy and log loss over flat")
    print("| table | split | verdict | one kernel | sum |\n" + "|---" * 5 + "|")
    for name, (X, y) in tables.items():
        for seed in range(splits):
            known, labels, *_ = _sets.split(X, y, rows, seed)
            found = estimate_curvature(
                standardised(known), labels.astype(str), random_state=0, n_grid=9
            )
            verdict = found.headline
            gains = []
            for how in SETTINGS.values():
                flat, curved = (
                    np.array(judge(X, y, rows, seed, *GEOMETRIES[which], **how))
                    for which in ("flat only", "product")
                )
                gains += [*(curved - flat)]
            by_verdict.setdefault(verdict, []).append(gains)
            one, both = ("{:+.4f} {:+.4f}".format(*pair) for pair in (gains[:2], gains[2:]))
            print(f"| {name} | {seed} | {verdict} | {one} | {both} |", flush=True)
    for verdict, gains in sorted(by_verdict.items()):
        mean, error = np.mean(gains, axis=0), np.std(gains, axis=0) / np.sqrt(len(gains))
        shown = ", ".join(f"{m:+.4f} ± {e:.4f}" for m, e in zip(mean, error, strict=True))
        print(f"{verdict}, {len(gains)} splits: {shown}")


def main():
    """Print the tables asked for."""
    parser = argparse.ArgumentParser()
    known = [
        "verdicts",
        "rows",
        "robust",
        "trees",
        "hard",
        "maps",
        "numbers",
        "labels",
        "dissimilarities",
        "four",
        "time",
        "real",
        "gain",
        "power",
    ]
    known += ["shape", "few"]
    parser.add_argument("parts", nargs="*", default=known)
    parser.add_argument("--rows", nargs="+", type=int, default=[100, 300])
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--dimensions", nargs="+", type=int, default=[2, 4, 8])
    parser.add_argument("--first", type=int, default=FIRST, help="the first seed of verdicts")
    parser.add_argument("--truths", nargs="+", help="some of the truths of verdicts, by name")
    parser.add_argument("--most", type=int, default=300, help="rows of a real table")
    parser.add_argument("--sets", nargs="*", default=["bundled", "keel"])
    parser.add_argument("--tables", type=Path, help="a folder of further tables")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    for part in given.parts:
        if part in ("level", "verdicts"):
            level(given)
        if part in ("later", "level", "verdicts"):
            later(given)
        if part in ("found", "verdicts"):
            found(given)
        elif part == "rows":
            by_rows(given.draws)
        elif part == "robust":
            robust(given.draws)
        elif part == "trees":
            trees(given.draws)
        elif part == "hard":
            hard_rows(given.draws)
        elif part == "gamfit":
            gamfit(given.draws)
        elif part == "maps":
            maps(given.draws)
        elif part in ("numbers", "labels"):
            coverage(part, given.rows, given.draws)
        elif part == "time":
            cpu_time()
        elif part == "four":
            coverage("four classes", given.rows[:1], given.draws)
        elif part == "dissimilarities":
            coverage(part, [60], given.draws // 2)
        elif part == "few":
            few_rows(given.draws // 10)
        elif part == "power":
            power(given.draws // 4)
        elif part == "shape":
            shapes(given.draws // 4)
        elif part == "real":
            real(given.most, real_tables(given.sets, given.tables))
        elif part == "gain":
            gain(300, real_tables(given.sets, given.tables))


if __name__ == "__main__":
    main()
