"""What a run of the tests says at its end."""

from tests.conftest import describe_skipped


def test_skipped_tests_are_one_line():
    reasons = [
        "Skipped: README.md:3 is not run: needs a cluster",
        "Skipped: docs/scale.md:9 is not run: needs a cluster",
        "Skipped: could not import 'cvxpy': No module named 'cvxpy'",
        "there is no Chromium",
    ]
    assert describe_skipped(reasons, 5) == (
        "Skipped: 2 × needs a cluster; 1 × could not import 'cvxpy'; 1 × there is no Chromium; "
        """5 slow (ARGS='-m ""' runs them)."""
    )
    assert describe_skipped([], 0) == ""
