"""Which rows train and which test."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import LeaveOneOut, StratifiedKFold, StratifiedShuffleSplit

from cayleyklein._validation import as_choice, as_count, as_finite_array, as_real
from cayleyklein.exceptions import InvalidInputError

__all__ = ["FULL", "QUICK", "Protocol", "Split", "repeated_splits"]

Index = NDArray[np.intp]
Split = tuple[Index, Index]

DATASETS = ("balance", "pima", "sonar", "vowel", "wine")
LEAVE_ONE_OUT = ("wine", "sonar")
"""Wine as the paper says; for sonar, of which it says nothing, we do the same."""


@dataclass(frozen=True)
class Protocol:
    """The paper's protocol (section 5), or a shorter one of the same shape.

    Every method and every k sees the same splits, so that differences are paired.

    Attributes
    ----------
    name : str
    repetitions : int
        Random training subsets of vowel, balance and pima, tested on the rest.
    folds : int or None
        For wine and sonar. None leaves one row out at a time.
    training_rows : int
        Of a random subset.

    Examples
    --------
    >>> from cayleyklein.experiments import FULL, QUICK
    >>> print(QUICK.describe().partition(";")[0])
    wine and sonar by 10 folds
    >>> FULL.is_partition("wine"), FULL.is_partition("pima")
    (True, False)
    """

    name: str
    repetitions: int
    folds: int | None
    training_rows: int = 250

    def splits(self, dataset: str, y: NDArray[np.int64]) -> list[Split]:
        """Return (training, test) rows; the same at every call.

        >>> [len(QUICK.splits("vowel", np.repeat(np.arange(11), 48))[0][part]) for part in (0, 1)]
        [250, 278]
        """
        as_choice(dataset, "dataset", DATASETS)
        if as_finite_array(y, "y").ndim != 1 or not len(y):
            raise InvalidInputError(f"y must be a list of class codes; got shape {np.shape(y)}.")
        if self.is_partition(dataset):
            return list(self._cross_validation().split(np.zeros(len(y)), y))
        orders = [np.random.default_rng(seed).permutation(len(y)) for seed in self._seeds()]
        return [(order[: self.training_rows], order[self.training_rows :]) for order in orders]

    def is_partition(self, dataset: str) -> bool:
        """Whether each row of the data set is tested just once."""
        return dataset in LEAVE_ONE_OUT

    def _seeds(self) -> range:
        return range(self.repetitions)

    def _cross_validation(self) -> LeaveOneOut | StratifiedKFold:
        if self.folds is None:
            return LeaveOneOut()
        return StratifiedKFold(self.folds, shuffle=True, random_state=0)

    def describe(self) -> str:
        """Say it in a sentence."""
        left_out = "one row out at a time" if self.folds is None else f"{self.folds} folds"
        return (
            f"{' and '.join(LEAVE_ONE_OUT)} by {left_out}; the others on {self.repetitions} random "
            f"subsets of {self.training_rows} training rows, tested on the rest"
        )


FULL = Protocol("full", repetitions=10, folds=None)
"""The paper's repetition, exactly."""

QUICK = Protocol("quick", repetitions=5, folds=10)
"""A fifth of the work: ten folds test every row as well, with a tenth fewer to train on."""


def repeated_splits(y: NDArray[np.int64], n_splits: int, test_size: float) -> list[Split]:
    """Return random splits with every class in proportion; the same at every call.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Class codes.
    n_splits : int
    test_size : float
        Share of the rows that test, between 0 and 1.

    Examples
    --------
    >>> train, test = repeated_splits(np.array([0, 0, 0, 0, 1, 1, 1, 1]), 3, 0.25)[0]
    >>> len(train), len(test)
    (6, 2)
    """
    if not 0 < as_real(test_size, "test_size") < 1:
        raise InvalidInputError(f"Got test_size={test_size!r}, but expected a share of 0 to 1.")
    counts = np.bincount(y)
    if np.count_nonzero(counts) < 2:
        raise InvalidInputError("All rows are of one class; there is nothing to tell apart.")
    if counts[counts > 0].min() < 2:
        raise InvalidInputError(
            f"{np.count_nonzero(counts == 1)} of the classes have a single row, which cannot both "
            f"train and test; leave such rows out, or merge their classes."
        )
    splitter = StratifiedShuffleSplit(
        as_count(n_splits, "n_splits"), test_size=test_size, random_state=0
    )
    try:
        return list(splitter.split(np.zeros(len(y)), y))
    except ValueError as error:  # more classes than test rows
        raise InvalidInputError(
            f"{len(y)} rows of {np.count_nonzero(counts)} classes are too few for "
            f"test_size={test_size}: {error}"
        ) from error
