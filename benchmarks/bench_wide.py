"""Tables with many more columns than rows, nothing chosen, beside the classifiers people use today.

    python benchmarks/bench_wide.py [--splits 4] [accuracy] [cost]

Generated gene expression (pathways that load on blocks of genes, heavy-tailed noise), spectra
(peaks on a moving baseline) and word counts (topics), digits among columns of noise, and real
tables with all products of three, or two, of their columns. ``cost`` gives CPU seconds and peak
memory of one fit in a process of its own.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVC

from cayleyklein import CurvedKNeighborsClassifier
from cayleyklein.datasets import load_sonar

TEST_ROWS = 400
GRID = {"svc__C": [1, 10, 100], "svc__gamma": ["scale", 1e-4, 1e-3]}
METHODS = {
    "cayleyklein": lambda: CurvedKNeighborsClassifier(random_state=0),
    "k-NN": lambda: make_pipeline(StandardScaler(), KNeighborsClassifier()),
    "logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=300)),
    "random forest": lambda: RandomForestClassifier(200, random_state=0),
    "RBF SVM (CV)": lambda: GridSearchCV(make_pipeline(StandardScaler(), SVC()), GRID, cv=3),
}
COSTS = {"42 × 5,000": (42, 5000), "60 × 5,000": (60, 5000), "120 × 2,000": (120, 2000)}


def genes(n, d, n_classes, rng, signal=1.0, n_pathways=30):
    """Return expressions: pathways load on blocks of genes, classes shift some of both."""
    y = rng.integers(n_classes, size=n)
    load = rng.normal(size=(n_pathways, d)) * (rng.uniform(size=(n_pathways, d)) < 0.08)
    moved = rng.uniform(size=(n_classes, n_pathways)) < 0.2
    shift = 1.5 * signal * rng.normal(size=moved.shape) * moved
    own = signal * rng.normal(size=(n_classes, d)) * (rng.uniform(size=(n_classes, d)) < 0.01)
    noise = rng.standard_t(4, size=(n, d)) * rng.uniform(0.5, 2, size=d)
    X = (rng.normal(size=(n, n_pathways)) + shift[y]) @ load + own[y] + noise
    return 100 * np.exp(0.3 * X), y


def spectra(n, d, n_classes, rng, n_peaks=25):
    """Return spectra: peaks of random height on a quadratic baseline."""
    t, y = np.linspace(0, 1, d), rng.integers(n_classes, size=n)
    centers, widths = rng.uniform(size=n_peaks), rng.uniform(0.005, 0.05, n_peaks)
    peaks = np.exp(-(((t - centers[:, None]) / widths[:, None]) ** 2))
    differ = rng.uniform(size=(n_classes, n_peaks)) < 0.3
    shift = 0.8 * rng.normal(size=differ.shape) * differ
    height = np.exp(0.5 * rng.normal(size=(n, n_peaks)) + shift[y])
    baseline = 2 * rng.normal(size=(n, 3)) @ np.vstack([np.ones(d), t, t * t])
    return height @ peaks + baseline + 0.05 * rng.normal(size=(n, d)), y


def words(n, d, n_classes, rng):
    """Return logarithms of word counts of texts on twenty topics."""
    y, topics = rng.integers(n_classes, size=n), rng.dirichlet(np.full(d, 0.05), size=20)
    tilt = rng.dirichlet(np.full(20, 0.3), size=n_classes)
    mix = 0.6 * rng.dirichlet(np.full(20, 0.3), size=n) + 0.4 * tilt[y]
    counts = [rng.multinomial(rng.integers(60, 200), chance) for chance in mix @ topics]
    return np.log1p(np.array(counts, dtype=float)), y


def noisy_digits(d, rng):
    """Return 48 pixels of digits, and columns of noise."""
    X, y = load_digits(return_X_y=True)
    noise = 5 + 4 * rng.normal(size=(len(X), d - 48))
    return np.hstack([X[:, rng.permutation(64)[:48]], noise]), y


def products(table, degree):
    """Return all products of up to so many columns of a table."""
    X, y = table
    grown = PolynomialFeatures(degree, include_bias=False)
    return grown.fit_transform(StandardScaler().fit_transform(X)), y


def all_sets(seed):
    """Return name → rows, classes and the number of training rows."""
    rng = np.random.default_rng(1000 + seed)
    return {
        "genes 60 × 5,000": (*genes(460, 5000, 2, rng), 60),
        "genes 120 × 2,000": (*genes(520, 2000, 4, rng), 120),
        "genes, weak 100 × 3,000": (*genes(500, 3000, 3, rng, signal=0.6), 100),
        "spectra 80 × 1,000": (*spectra(480, 1000, 4, rng), 80),
        "words 200 × 3,000": (*words(600, 3000, 5, rng), 200),
        "digits + noise 150 × 500": (*noisy_digits(500, rng), 150),
        "digits + noise 300 × 1,000": (*noisy_digits(1000, rng), 300),
        "breast cancer³ 100 × 5,455": (*products(load_breast_cancer(return_X_y=True), 3), 100),
        "wine³ 60 × 559": (*products(load_wine(return_X_y=True), 3), 60),
        "sonar² 100 × 1,890": (*products(load_sonar(return_X_y=True), 2), 100),
    }


def accuracy(n_splits: int) -> None:
    """Print the mean accuracy of each method on each set."""
    right: dict[str, dict[str, list[float]]] = {}
    seconds: dict[str, list[float]] = {}
    for seed in range(n_splits):
        for name, (X, y, n) in all_sets(seed).items():
            train, test, labels, truth = train_test_split(
                X, y, train_size=n, stratify=y, random_state=seed
            )
            for method, make in METHODS.items():
                start = time.process_time()
                model = make().fit(train, labels)
                seconds.setdefault(method, []).append(time.process_time() - start)
                score = model.score(test[:TEST_ROWS], truth[:TEST_ROWS])
                right.setdefault(name, {}).setdefault(method, []).append(score)
    print(f"{'accuracy':28}" + "".join(f"{method:>16}" for method in METHODS))
    for name, found in right.items():
        print(f"{name:28}" + "".join(f"{np.mean(found[m]):16.3f}" for m in METHODS))
    means = [np.mean([np.mean(found[m]) for found in right.values()]) for m in METHODS]
    print(f"{'mean':28}" + "".join(f"{mean:16.4f}" for mean in means))
    print(f"{'CPU s a fit':28}" + "".join(f"{np.mean(seconds[m]):16.2f}" for m in METHODS))


COST = """
import sys, time, warnings
from _timing import peak_memory  # run in the folder of the benchmarks
warnings.simplefilter("ignore")
import numpy as np
from cayleyklein import CurvedKNeighborsClassifier
from sklearn.neighbors import NeighborhoodComponentsAnalysis
n, d, ours = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "ours"
rng = np.random.default_rng(0)
y = np.arange(n) % 3
X = rng.normal(size=(n, d)); X[:, :50] += y[:, None]
small = CurvedKNeighborsClassifier(random_state=0).fit(X[:, :5], y)  # loads compiled code
model = CurvedKNeighborsClassifier(random_state=0) if ours else NeighborhoodComponentsAnalysis(
    n_components=min(n, 10), init="pca", random_state=0)
before = peak_memory()
start = time.process_time()
model.fit(X, y)
print(time.process_time() - start, peak_memory() - before)
"""


def cost() -> None:
    """Print CPU seconds and peak memory beyond what was there before, beside NCA's."""
    print(f"{'one fit':14}{'cayleyklein':>24}{'NCA (10 components)':>24}")
    for name, (n, d) in COSTS.items():
        cells = []
        for who in ("ours", "nca"):
            command = [sys.executable, "-c", COST, str(n), str(d), who]
            run = subprocess.run(
                command, check=True, capture_output=True, text=True, cwd=Path(__file__).parent
            )
            seconds, memory = map(float, run.stdout.split())
            cells.append(f"{seconds:10.2f} CPU s {memory:5.0f} MB")
        print(f"{name:14}" + "".join(f"{cell:>24}" for cell in cells))


def main() -> None:
    """Run what is asked for, or everything."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="*", default=["accuracy", "cost"])
    parser.add_argument("--splits", type=int, default=4)
    given = parser.parse_args()
    if "accuracy" in given.what:
        accuracy(given.splits)
    if "cost" in given.what:
        cost()


if __name__ == "__main__":
    main()
