"""One hypothesis profile: the same examples every time, so that a failure is a change's own.

``HYPOTHESIS_PROFILE=explore`` draws new and more ones. NumPy's global generator, which estimators
with ``random_state=None`` draw from, starts each test in the same state. Tests that share a
browser, a server, a cluster or a fixture of their file run in one worker, so that these are
started once. The last line before the result says what was skipped, and why.
"""

import os
import re
from collections import Counter

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


# -- what was skipped, in one line -----------------------------------------------------------------

SLOW = pytest.StashKey[int]()


def pytest_deselected(items):
    """Count slow tests that nobody asked for; those that ``-k`` leaves out do not count."""
    slow = [item for item in items if item.get_closest_marker("slow") is not None]
    if items and len(slow) == len(items) and items[0].config.option.markexpr == "not slow":
        items[0].config.stash[SLOW] = len(slow)


def pytest_sessionfinish(session):
    """Tell the process that started this worker, if there is one."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["slow"] = session.config.stash.get(SLOW, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error):
    """Take what a worker counted: all of them see the same tests."""
    node.config.stash[SLOW] = getattr(node, "workeroutput", {}).get("slow", 0)


def pytest_terminal_summary(terminalreporter, config):
    """Say what was skipped, by reason."""
    reports = terminalreporter.stats.get("skipped", ())
    line = describe_skipped(
        [str(report.longrepr[2]) for report in reports], config.stash.get(SLOW, 0)
    )
    if line:
        terminalreporter.write_line(line)


def describe_skipped(reasons, slow):
    """Return one line about the reasons of skipped tests, and about slow tests not asked for."""
    known = re.compile(r"^Skipped: (\S+ is not run: )?|: No module.*")
    counted = Counter(known.sub("", reason) for reason in reasons)
    parts = [f"{n} × {reason}" for reason, n in counted.most_common()]
    if slow:
        parts.append(f"""{slow} slow (ARGS='-m ""' runs them)""")
    return f"Skipped: {'; '.join(parts)}." if parts else ""
