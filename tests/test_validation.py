"""Checks of arguments accept what their interval says, and suggest the name that was meant."""

import pytest

from cayleyklein._validation import as_real, did_you_mean
from cayleyklein.exceptions import InvalidInputError


def test_an_end_of_an_interval_counts_only_with_its_bracket():
    assert as_real(0, "rtol", "[0, 1)") == 0.0
    with pytest.raises(InvalidInputError, match=r"Got rtol=1, but expected a number in \[0, 1\)"):
        as_real(1, "rtol", "[0, 1)")


def test_a_near_name_is_suggested_and_others_are_listed():
    assert did_you_mean("Clas", ["colour", "class"]) == " Did you mean 'class'?"
    assert did_you_mean("x", ["colour", "class"]) == " The columns are 'colour', 'class'."
    assert did_you_mean("x", ["colour", "class"], None) == ""
