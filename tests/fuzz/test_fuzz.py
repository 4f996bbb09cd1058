"""Some of each kind of case; ``make fuzz`` throws many more."""

import pytest
from hypothesis import HealthCheck, given, settings
from tests.fuzz.targets import TARGETS

EXAMPLES = {"tables": 100, "models": 120, "command lines": 40, "uploads": 150, "addresses": 30}


@pytest.mark.parametrize("name", TARGETS)
def test_every_case_is_answered_or_refused(name):
    strategy, function = TARGETS[name]

    @settings(max_examples=EXAMPLES[name], suppress_health_check=list(HealthCheck))
    @given(strategy)
    def attempt(case):
        function(case)

    attempt()
