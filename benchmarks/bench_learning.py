"""Time learning and predicting against pylmnn, mlpack, NCA and scikit-learn's neighbours.

    python benchmarks/bench_learning.py [loss] [flat] [auto] [predict] [--rounds 3]

pylmnn and mlpack run in environments of their own, made here (``.venv-peers``). Everything uses
one thread; CPU seconds, interleaved, medians of the rounds.
"""

import argparse
import os
import time
import warnings

os.environ["OMP_NUM_THREADS"] = "1"  # read when NumPy is loaded
warnings.simplefilter("ignore")

import numpy as np  # noqa: E402
from sklearn.datasets import make_classification  # noqa: E402
from sklearn.neighbors import (  # noqa: E402
    KNeighborsClassifier,
    NearestNeighbors,
    NeighborhoodComponentsAnalysis,
)
from sklearn.preprocessing import StandardScaler  # noqa: E402

import _peers  # noqa: E402
from cayleyklein import (  # noqa: E402
    CurvedKNeighborsClassifier,
    CurvedLMNN,
    CurvedMetric,
    ProductMetric,
)
from cayleyklein.learning.objectives.large_margin import LargeMargin, nearest_of_class  # noqa: E402
from cayleyklein.learning.objectives.lifted import Parameters  # noqa: E402

LMNN = """
start = time.process_time()
learner = LMNN(n_neighbors=3, max_iter=50, random_state=0).fit(data["X"], data["y"])
result = {"seconds": time.process_time() - start, "factor": learner.components_}
"""
SCRIPTS = {
    "pylmnn": _peers.PYLMNN + LMNN,
    "mlpack": """
import mlpack
start = time.process_time()
found = mlpack.lmnn(input_=data["X"], labels=data["y"].astype(np.uint64), k=3,
                    optimizer="lbfgs", max_iterations=50, seed=1)
result = {"seconds": time.process_time() - start, "factor": found["output"]}
""",
}


def cpu(function) -> tuple[float, object]:
    """Return CPU seconds and the result."""
    start = time.process_time()
    result = function()
    return time.process_time() - start, result


def fastest(function, repeats: int = 5) -> float:
    """Return the least CPU seconds of a few calls."""
    return min(cpu(function)[0] for _ in range(repeats))


def generated(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of five classes, ten columns of which say something."""
    X, y = make_classification(n, d, n_informative=10, n_classes=5, random_state=seed)
    return StandardScaler().fit_transform(X), y  # as the peers want them


def loss(_rounds: int) -> None:
    """Time one evaluation of the loss and gradient over its matrix product."""
    print("one evaluation over its GEMM, 1,250 anchors among 5,000 rows:")
    for d in (16, 50, 200):
        Z, labels = np.random.default_rng(0).normal(size=(5000, d)), np.sort(np.arange(5000) % 5)
        anchors, ratios = np.arange(0, 5000, 4), []
        for K in (0.0, 1.0, -1.0):
            scale = 0.5 / np.linalg.norm(Z, axis=1).max() if K < 0 else 1.0
            metric = Parameters(scale * np.eye(d), np.zeros(d), K)
            targets = nearest_of_class(Z, labels, anchors, 3, metric)
            margin = {0.0: 1.0, 1.0: 0.3, -1.0: 0.05}[K]
            objective = LargeMargin(
                Z, labels, np.ones(5000), anchors, targets, margin, 0.5, 10, K == 0
            )
            objective(metric)
            ratios.append(
                fastest(lambda f=objective, m=metric: f(m))
                / fastest(lambda Z=Z, a=anchors: Z[a] @ Z.T)
            )
        print(
            f"  d = {d}: flat {ratios[0]:.2f}, elliptic {ratios[1]:.2f}, hyperbolic {ratios[2]:.2f}"
        )


def flat(rounds: int) -> None:
    """Time flat LMNN beside pylmnn's and mlpack's, 50 iterations; 3-NN accuracy on 2,000 rows."""
    X, y = generated(7000, 50)
    X_train, y_train, X_test, y_test = X[:5000], y[:5000], X[5000:], y[5000:]
    seconds: dict[str, list[float]] = {}
    shares = {}
    for _ in range(rounds):
        for name in ("cayleyklein", "pylmnn", "mlpack"):
            if name == "cayleyklein":
                learner = CurvedLMNN(geometry="flat", random_state=0)
                spent, fitted = cpu(lambda learner=learner: learner.fit(X_train, y_train))
                factor = fitted.components_
            else:
                found = _peers.run(name, SCRIPTS[name], X=X_train, y=y_train)
                spent, factor = float(found["seconds"]), found["factor"]
            seconds.setdefault(name, []).append(spent)
            model = KNeighborsClassifier(3).fit(X_train @ factor.T, y_train)
            shares[name] = model.score(X_test @ factor.T, y_test)
    plain = KNeighborsClassifier(3).fit(X_train, y_train).score(X_test, y_test)
    print("flat LMNN, 5,000 × 50, CPU seconds and 3-NN accuracy:")
    print(f"  nothing learned: 0 s, {plain:.4f}")
    for name, all_seconds in seconds.items():
        print(f"  {name}: {np.median(all_seconds):.2f} s, {shares[name]:.4f}")


def auto(rounds: int) -> None:
    """Time the default learner beside NCA."""
    for n, d in ((500, 20), (5000, 50)):
        X, y = generated(n + 2000, d)
        train, test = (X[:n], y[:n]), (X[n:], y[n:])
        ours, nca = [], []
        for _ in range(rounds if n < 1000 else 1):
            model = CurvedKNeighborsClassifier(random_state=0)
            ours.append(cpu(lambda m=model, t=train: m.fit(*t))[0])
            linear = NeighborhoodComponentsAnalysis(random_state=0)
            nca.append(cpu(lambda m=linear, t=train: m.fit(*t))[0])
        other = KNeighborsClassifier(3).fit(linear.transform(train[0]), train[1])
        print(
            f"auto, {n} × {d}: {np.median(ours):.2f} CPU-s, NCA {np.median(nca):.2f}: "
            f"{np.median(ours) / np.median(nca):.3f} of it; accuracy "
            f"{model.score(*test):.4f}, "
            f"NCA {other.score(linear.transform(test[0]), test[1]):.4f}"
        )


def predict(_rounds: int) -> None:
    """Time predictions over scikit-learn's Euclidean brute search of the same rows."""
    print("1,000 predictions by 15 neighbours over scikit-learn's brute search of the same rows:")
    for n, d in ((20_000, 50), (10_000, 384)):
        rng = np.random.default_rng(0)
        X, Q, y = rng.normal(size=(n, d)), rng.normal(size=(1000, d)), np.arange(n) % 5
        F = np.eye(d) + 0.01 * rng.normal(size=(d, d))
        small = F * 0.5 / np.linalg.norm(np.vstack([X, Q]) @ F.T, axis=1).max()
        metrics = {
            "product (default)": ProductMetric(
                [CurvedMetric(factor=F, curvature=K) for K in (0.09, 1.0, 0.0)]
            ),
            "elliptic": CurvedMetric(factor=F, curvature=1.0),
            "hyperbolic": CurvedMetric(factor=small, curvature=-1.0),
        }
        plain = NearestNeighbors(n_neighbors=16, algorithm="brute").fit(X)
        models = {
            name: CurvedKNeighborsClassifier(15, metric=m, algorithm="brute").fit(X, y)
            for name, m in metrics.items()
        }
        base = fastest(lambda s=plain, Q=Q: s.kneighbors(Q))
        ratios = {
            name: fastest(lambda m=model, Q=Q: m.predict(Q)) / base
            for name, model in models.items()
        }
        print(f"  n = {n}, d = {d}:", ", ".join(f"{k} {v:.2f}" for k, v in ratios.items()))


PARTS = {"loss": loss, "flat": flat, "auto": auto, "predict": predict}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=list(PARTS))
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    X, y = generated(120, 20)
    CurvedKNeighborsClassifier(random_state=0).fit(X, y).predict(X)  # compiles
    for name in given.parts:
        PARTS[name](given.rounds)
