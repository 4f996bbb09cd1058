"""One hypothesis profile: the same examples every time, so that a failure is a change's own.

``HYPOTHESIS_PROFILE=explore`` draws new and more ones. NumPy's global generator, which estimators
with ``random_state=None`` draw from, starts each test in the same state. Tests that share a
browser, a server, a cluster or a fixture of their file run in one worker, so that these are
started once.
"""

import os

import numpy as np
import pytest
from hypothesis import settings

SHARED = ("tests/app/", "tests/scale/")

settings.register_profile("fixed", derandomize=True, deadline=None, max_examples=60)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Send the tests of a file, or of a folder in SHARED, to one worker."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            folder = next((name for name in SHARED if nodeid.startswith(name)), None)
            return folder or nodeid.partition("::")[0]

    return Scheduling(config, log)


@pytest.fixture(autouse=True)
def _same_draws():
    np.random.seed(0)  # noqa: NPY002
