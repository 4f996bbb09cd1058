"""Fit and predict in processes started in one way: python -m tests.trust.processes fork."""

import hashlib
import multiprocessing
import sys
import threading

import numpy as np

from cayleyklein import CurvedKNeighborsClassifier, CurvedLMNN, CurvedMetric, CurvedNeighbors


def rows(n: int = 160) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of two classes, inside the unit disc."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    return rng.uniform(-0.4, 0.4, (n, 2)) + 0.2 * y[:, None], y


def answer(n_jobs: int | None) -> str:
    """Return a fingerprint of models and of what they say."""
    X, y = rows()
    learner = CurvedLMNN(geometry="elliptic", random_state=0, n_jobs=n_jobs).fit(X, y)
    model = CurvedKNeighborsClassifier(metric=learner.metric_, n_jobs=n_jobs).fit(X, y)
    disc = CurvedMetric.euclidean(2, curvature=-1.0)
    found = [learner.components_, model.predict_proba(X), disc.pairwise(X)]
    for how in ("brute", "vptree"):
        found += CurvedNeighbors(disc, algorithm=how, n_jobs=n_jobs).fit(X).kneighbors(X[:20])
    return hashlib.sha256(b"".join(array.tobytes() for array in found)).hexdigest()


def main(method: str) -> None:
    """Compute it here, then in two processes at once, and in threads there too."""
    here = answer(2)  # compiled, and with threads started, before the first fork
    with multiprocessing.get_context(method).Pool(2) as pool:
        there = pool.map(in_threads, [1, 2, None])
    assert there == [{here}] * 3, (here, there)
    sys.stdout.write("same\n")


def in_threads(n_jobs: int | None) -> set[str]:
    """Compute it in two threads at once."""
    found: set[str] = set()
    threads = [threading.Thread(target=lambda: found.add(answer(n_jobs))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


if __name__ == "__main__":
    main(sys.argv[1])
