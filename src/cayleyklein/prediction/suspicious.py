"""Which targets look wrong: what the other rows say of each row, against what was given."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr

from cayleyklein._typing import AnyArray, Bools, Floats, Ints
from cayleyklein._validation import require


@dataclass(frozen=True, repr=False)
class SuspiciousRows:
    """Rows whose target looks wrong, those that look most wrong first.

    Attributes
    ----------
    rows : ndarray of shape (s,)
        Numbers of the rows.
    given : ndarray of shape (s,)
        Their classes or numbers.
    likely : ndarray of shape (s,)
        What the other rows say instead.
    sure : ndarray of shape (s,)
        How sure it is that the target is wrong or rare, from 0 to 1. Of classes: one minus the
        probability of the given class. Of numbers: one minus the ratio of how many errors of this
        size a normal distribution lets expect to how many there are.
    neighbors : ndarray of shape (s, k)
        The nearest fitted rows, without the row itself.
    neighbor_targets : ndarray of shape (s, k)
        Their classes or numbers.
    scores : ndarray of shape (n,)
        The suspicion of every row that was looked at: one minus the probability of its class, or
        the size of its error in units of the errors around it.

    Examples
    --------
    >>> import numpy as np
    >>> from cayleyklein import CurvedKNeighborsClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> names = np.array(["setosa", "versicolor", "virginica"])[y]
    >>> names[7] = "virginica"
    >>> model = CurvedKNeighborsClassifier(random_state=0).fit(X, names)
    >>> found = model.suspicious()
    >>> int(found.rows[0]), str(found.given[0]), str(found.likely[0]), bool(found.sure[0] > 0.9)
    (7, 'virginica', 'setosa', True)
    >>> found.to_frame().columns.tolist()
    ['row', 'given', 'likely', 'sure', 'neighbors', 'neighbor_targets']
    """

    rows: Ints
    given: AnyArray
    likely: AnyArray
    sure: Floats
    neighbors: Ints
    neighbor_targets: AnyArray
    scores: Floats

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        n = len(self.scores)
        if not len(self):
            return f"none of {n:,} rows looks wrong"
        lines = [
            f"{len(self):,} of {n:,} rows look wrong",
            "  row  sure  given, likely, neighbours",
        ]
        for at in range(min(10, len(self))):
            targets = [self.given[at], self.likely[at], *self.neighbor_targets[at]]
            listed = ", ".join(map(target_words, targets))
            lines.append(f"  {self.rows[at]:3}  {self.sure[at]:.2f}  {listed}")
        if len(self) > 10:
            lines.append(f"  and {len(self) - 10:,} more")
        return "\n".join(lines)

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a line for each row; neighbours are lists."""
        pandas = require("pandas", "cli")
        return pandas.DataFrame(
            {
                "row": self.rows,
                "given": list(self.given),
                "likely": list(self.likely),
                "sure": self.sure,
                "neighbors": self.neighbors.tolist(),
                "neighbor_targets": self.neighbor_targets.tolist(),
            }
        )


class Suspicion(NamedTuple):
    """What is said of each of m rows.

    Attributes
    ----------
    numbers : ndarray of shape (s,)
        The rows that look wrong.
    likely : ndarray of shape (m,) or (m, t)
    sure : ndarray of shape (m,)
    scores : ndarray of shape (m,)
    """

    numbers: Ints
    likely: AnyArray
    sure: Floats
    scores: Floats


def target_words(target: Any) -> str:
    """Return a class or a number, or several, as text."""
    if isinstance(target, float | np.floating):
        return f"{target:.6g}"
    if np.ndim(target):
        return "(" + ", ".join(map(target_words, target)) + ")"
    return str(target)


def suspicious_classes(shares: Floats, given: Ints) -> Suspicion:
    """Return which of the given classes (m,) look wrong: another one is much more probable.

    Confident learning (Northcutt, Jiang and Chuang 2021) asks instead that another class be as
    probable as it is on average for its own rows; that reports more rows whose class is right.
    """
    each = np.arange(len(given))
    own = shares[each, given]
    likely = np.asarray(shares.argmax(axis=1))
    wrong = shares[each, likely] >= 5.0 * own  # odds of another class to the given one
    return Suspicion(np.flatnonzero(wrong), likely, 1 - own, 1 - own)


def suspicious_numbers(errors: Floats, fitted: Floats) -> tuple[Bools, Floats]:
    """Return which errors (m,) are too large to be noise, and how sure that is.

    The bulk of the `fitted` errors (n,) is taken as normal, with the standard deviation that their
    median size says. Of all that are as large as one or larger, `expected / found` are noise
    (Benjamini and Hochberg 1995).
    """
    sizes = np.abs(errors)
    spread = 1.4826 * float(np.median(np.abs(fitted)))
    if spread == 0:
        return sizes > 0, (sizes > 0).astype(float)
    ratio = sizes / spread
    known = np.sort(np.abs(fitted) / spread)
    # the k-th largest of the fitted errors, and how much noise is expected to be as large
    noise = 2 * len(known) * ndtr(-known) / np.arange(len(known), 0, -1)
    # a larger error is never less sure
    noise = np.minimum.accumulate(np.minimum(noise, 1.0))
    at = np.searchsorted(known, ratio, side="right") - 1
    found = np.where(at < 0, 1.0, noise[np.maximum(at, 0)])
    # Errors of four robust standard deviations or more are looked at.
    return (ratio >= 4.0) & (found <= 0.5), 1 - found
