"""Compiled loops: late, nested, and where nothing can be written."""

import numpy as np
import pytest

from cayleyklein import _jit
from cayleyklein._jit import Kernel


@Kernel
def halve(x):
    return x / 2


@Kernel
def total_of_halves(x):
    found = 0.0
    for value in x:
        found += halve(value)
    return found


def test_kernels_call_kernels():
    assert total_of_halves(np.arange(5.0)) == 5.0


def test_compiles_without_a_cache_and_says_so_once(monkeypatch):
    """As in a container where neither the package's folder nor a home is writable."""
    from numba.core import caching

    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    _jit.warn_once.cache_clear()
    with pytest.warns(UserWarning, match="NUMBA_CACHE_DIR"):
        assert Kernel(halve.__wrapped__)(3.0) == 1.5
    assert Kernel(halve.__wrapped__)(5.0) == 2.5  # a second warning would be an error
