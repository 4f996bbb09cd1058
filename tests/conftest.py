"""One hypothesis profile: the same examples every time, so that a failure is a change's own.

``HYPOTHESIS_PROFILE=explore`` draws new and more ones. Tests that share a browser, a server, a
cluster or a comparison run in one worker, so that these are started once.
"""

import os

import pytest
from hypothesis import settings

SHARED = ("tests/app/", "tests/scale/", "tests/experiments/test_compare.py")

settings.register_profile("fixed", derandomize=True, deadline=None, max_examples=60)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


def pytest_collection_modifyitems(items):
    for item in items:
        for shared in SHARED:
            if item.nodeid.startswith(shared):
                item.add_marker(pytest.mark.xdist_group(shared))
