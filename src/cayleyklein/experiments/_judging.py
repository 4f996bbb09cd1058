"""Results of several methods on the same splits, and what their differences are worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np

from cayleyklein.experiments._outcomes import Outcome, accuracies, ratio_of_test_rows
from cayleyklein.experiments._statistics import (
    SIGNIFICANCE,
    PairedDifference,
    holm,
    none_for_nan,
    paired_difference,
    standard_error,
)

__all__ = ["Gain", "Scores", "gains_over"]

Name = TypeVar("Name")


@dataclass(frozen=True)
class Scores:
    """What a method reached on some splits.

    Attributes
    ----------
    outcomes : tuple of Outcome
        One for each split.
    """

    outcomes: tuple[Outcome, ...]

    @property
    def accuracy(self) -> float:
        """The mean over the splits."""
        return float(np.mean(accuracies(self.outcomes)))

    @property
    def standard_error(self) -> float:
        """Of the mean; NaN for a single split."""
        return standard_error(accuracies(self.outcomes))

    @property
    def text(self) -> str:
        """The mean and its standard error, as tables write them; a single split has no error."""
        error = self.standard_error
        return f"{self.accuracy:.3f}" + ("" if np.isnan(error) else f" ± {error:.3f}")

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "accuracy": self.accuracy,
            "standard_error": none_for_nan(self.standard_error),
            "outcomes": [outcome.to_dict() for outcome in self.outcomes],
        }


class Gain(NamedTuple):
    """A difference to another method, and whether it stands as a gain.

    Attributes
    ----------
    difference : PairedDifference
    is_shown : bool
        Whether it is positive and stands a corrected test at 5 %, adjusted for all the methods that
        were tried (Holm).
    """

    difference: PairedDifference
    is_shown: bool


def gains_over(baseline: Name, outcomes: Mapping[Name, Sequence[Outcome]]) -> dict[Name, Gain]:
    """Compare every method with one of them, split by split; that one is no gain over itself.

    Parameters
    ----------
    baseline : hashable
        A key of `outcomes`.
    outcomes : mapping
        Of methods to their outcomes, on the same splits.
    """
    base = outcomes[baseline]
    differences = {
        name: paired_difference(
            accuracies(found), accuracies(base), test_ratio=ratio_of_test_rows(base)
        )
        for name, found in outcomes.items()
    }
    tested = [name for name in outcomes if name != baseline]
    adjusted = dict(zip(tested, holm([differences[m].p_value for m in tested]), strict=True))
    return {
        name: Gain(
            difference,
            bool(difference.difference > 0 and adjusted.get(name, 1.0) < SIGNIFICANCE),
        )
        for name, difference in differences.items()
    }
