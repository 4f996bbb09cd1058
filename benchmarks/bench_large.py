"""Large tables, nothing chosen: a million rows, embeddings, and what more rows are worth.

    python benchmarks/bench_large.py [million] [embeddings] [curves] [--share 1]
        [--tables FOLDER]

``million``: 1,000,000 × 50, ten classes. ``embeddings``: 48,000 × 384 in float32. Each model has
a process of its own: seconds, CPU seconds, peak memory beyond the data, and 10,000 predictions
beside scikit-learn's brute search. ``curves``: log loss and accuracy of 2,000 test rows by a
metric learned from 1,000 to 100,000 rows, all training rows being neighbours, on generated rows
and on the large tables of a folder (CSV with a header, the class in the last column).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np

SIZES = {"million": (1_000_000, 50, "float64"), "embeddings": (48_000, 384, "float32")}
CURVE = (1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 100_000)
QUERIES = 10_000

MODELS = {
    "cayleyklein": "model = CurvedKNeighborsClassifier(random_state=0)",
    "k-NN (brute)": "model = KNeighborsClassifier(15, algorithm='brute')",
    "NCA of 5,000 rows, k-NN": "model = SampledNCA()",
}
RUN = """
import json, sys, time, warnings
from pathlib import Path
sys.path.insert(0, sys.argv[1])
warnings.simplefilter("ignore")
import numpy as np
from bench_large import rows_of_classes
from _timing import peak_memory
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from cayleyklein import CurvedKNeighborsClassifier

class SampledNCA:
    def fit(self, X, y):
        some = slice(min(5000, len(X) // 9))
        self.map = NeighborhoodComponentsAnalysis(random_state=0).fit(X[some], y[some])
        self.votes = KNeighborsClassifier(15, algorithm="brute").fit(self.map.transform(X), y)
        return self
    def predict(self, Q):
        return self.votes.predict(self.map.transform(Q))

n, d, dtype, queries = int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], int(sys.argv[5])
X, y = rows_of_classes(n + queries, d, dtype)
Q, truth, X, y = X[n:], y[n:], X[:n], y[:n]
CurvedKNeighborsClassifier(random_state=0).fit(X[:200, :3], y[:200])  # loads compiled code
{make}
before = peak_memory()
wall, cpu = time.perf_counter(), time.process_time()
model.fit(X, y)
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
memory = peak_memory() - before
start = time.process_time(), time.perf_counter()
right = float(np.mean(model.predict(Q) == truth))
print(json.dumps([wall, cpu, memory, time.perf_counter() - start[1],
                  time.process_time() - start[0], right]))
"""


def rows_of_classes(n: int, d: int, dtype: str = "float64", seed: int = 0):
    """Return rows of ten classes: three clusters each in 15 directions, mixed into d columns."""
    rng = np.random.default_rng(seed)
    centers, mix = 0.9 * rng.normal(size=(30, 15)), rng.normal(size=(15, d))
    own = rng.integers(30, size=n)
    X = np.empty((n, d), dtype=dtype)
    for start in range(0, n, 50_000):
        some = own[start : start + 50_000]
        inner = centers[some] + rng.normal(size=(len(some), 15))
        X[start : start + 50_000] = inner @ mix + 2 * rng.normal(size=(len(some), d))
    return X, own % 10


def cost(name: str, share: float) -> None:
    """Print time, memory and accuracy of each model."""
    n, d, dtype = SIZES[name]
    n = int(share * n)
    print(f"{n:,} × {d} {dtype}, {QUERIES:,} predictions; memory beyond the data")
    print(f"{'':26}{'fit s':>8}{'CPU s':>8}{'MB':>8}{'predict s':>11}{'CPU s':>8}{'accuracy':>10}")
    found = {}
    for model, make in MODELS.items():
        code = RUN.replace("{make}", make)
        here = str(Path(__file__).parent)
        command = [sys.executable, "-c", code, here, str(n), str(d), dtype, str(QUERIES)]
        run = subprocess.run(command, check=True, capture_output=True, text=True)
        found[model] = wall, cpu, memory, late, late_cpu, right = json.loads(run.stdout)
        print(
            f"{model:26}{wall:8.1f}{cpu:8.1f}{memory:8.0f}{late:11.1f}{late_cpu:8.1f}{right:10.3f}",
            flush=True,
        )
    ratio = found["cayleyklein"][4] / found["k-NN (brute)"][4]
    print(f"predictions over scikit-learn's brute search: {ratio:.2f} × its CPU time")


def curves(folder: Path | None) -> None:
    """Print what a metric learned from more rows is worth."""
    import pandas as pd
    from sklearn.metrics import log_loss

    from cayleyklein import CurvedKNeighborsClassifier, CurvedLMNN

    sets = {}
    for path in sorted(folder.glob("*.csv*")) if folder else ():
        table = pd.read_csv(path)
        if len(table) >= 6000:
            rows = table.iloc[:, :-1].to_numpy(dtype=float)
            name = f"{path.name.split('.')[0]}, {len(rows):,} × {rows.shape[1]}"
            sets[name] = rows, table.iloc[:, -1].astype(str).to_numpy()
    sets |= {
        "generated, 102,000 × 20": rows_of_classes(102_000, 20),
        "generated, 52,000 × 100": rows_of_classes(52_000, 100),
    }
    for name, (X, y) in sets.items():
        order = np.random.default_rng(0).permutation(len(X))
        train, test = order[:-2000], order[-2000:]
        print(f"{name}: log loss and accuracy by the rows that the metric was learned from")
        default = CurvedKNeighborsClassifier(random_state=0).fit(X[train], y[train])
        models = {"default": default}
        for size in CURVE:
            if size < len(train):
                some = CurvedKNeighborsClassifier(
                    default.n_neighbors_, learner=CurvedLMNN(subsample=size, random_state=0)
                )
                models[f"{size:,}"] = some.fit(X[train], y[train])
        for label, model in models.items():
            chance = model.predict_proba(X[test])
            loss = log_loss(y[test], chance, labels=model.classes_)
            right = np.mean(model.classes_[chance.argmax(axis=1)] == y[test])
            print(f"  {label:>8}  {loss:.3f}  {right:.3f}", flush=True)
        print(f"  {default.selection_}")


def main() -> None:
    """Run what is asked for, or everything."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    everything = ["million", "embeddings", "curves"]
    parser.add_argument("what", nargs="*", choices=everything, default=everything)
    parser.add_argument("--share", type=float, default=1.0, help="of the rows")
    parser.add_argument("--tables", type=Path)
    given = parser.parse_args()
    for name in given.what:
        if name == "curves":
            curves(given.tables)
        else:
            cost(name, given.share)


if __name__ == "__main__":
    main()
