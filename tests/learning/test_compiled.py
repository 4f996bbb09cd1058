"""A kernel from the cache rounds as the one that was compiled just now."""

import os
import subprocess
import sys

SCRIPT = """
import hashlib
import numpy as np
from cayleyklein.learning._kernels import gather_forces
from cayleyklein.learning._loss import Links, Pairs

rng = np.random.default_rng(0)
n, k, m, r = 50, 3, 20, 13
targets = rng.integers(0, n, size=(n, k))
pairs = Pairs(np.arange(n + 1) * m, rng.integers(0, n, size=n * m))
links = Links.of(targets, pairs)
z, sigma = rng.normal(size=(n, r)), rng.uniform(1, 2, size=n)
force, along = rng.normal(size=(2, len(links.column)))
gradient = np.empty_like(z)
gather_forces(z, sigma, *links, force, along, (0, n), gradient)
print(hashlib.sha256(gradient.tobytes()).hexdigest(), len(gather_forces.stats.cache_hits))
"""


def test_gather_forces_is_the_same_from_the_cache(tmp_path):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    found = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env=environment, capture_output=True, text=True, check=True,
        ).stdout.split()
        for _ in range(2)
    ]  # fmt: skip
    assert [hits for _, hits in found] == ["0", "1"]
    assert found[0][0] == found[1][0]
