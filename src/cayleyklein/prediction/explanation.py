"""Why a classifier predicts a class: the rows that voted, and what their distances are made of."""

from dataclasses import dataclass

import numpy as np

from cayleyklein._typing import AnyArray, Floats, Ints

PRINTED_ROWS, PRINTED_COLUMNS = 10, 5  # voters and columns that are printed


@dataclass(frozen=True, repr=False)
class Explanation:
    """The vote of one row.

    Attributes
    ----------
    prediction : object
        The class with the largest probability.
    probabilities : ndarray of shape (n_classes,)
        In the order of `classes`.
    classes : ndarray of shape (n_classes,)
    rows : ndarray of shape (k,)
        The fitted rows that voted, those with the largest votes first.
    labels : ndarray of shape (k,)
        Their classes.
    distances : ndarray of shape (k,)
    votes : ndarray of shape (k,)
        Their shares of all votes, with sum 1.
    columns : ndarray of shape (k, d)
        Signed share of each column in the distance to each voter, see ``metric_.column_shares``:
        a column with a negative share brings the two rows closer. NaN where the distance is
        infinite.
    names : ndarray of shape (d,)
        Names of the columns.

    Examples
    --------
    >>> from cayleyklein import CurvedKNeighborsClassifier, CurvedMetric
    >>> model = CurvedKNeighborsClassifier(2, metric=CurvedMetric.euclidean(2), weights="linear")
    >>> model = model.fit([[0.0, 0.0], [3.0, 4.0], [9.0, 9.0]], ["a", "b", "b"])
    >>> model.explain([0.0, 1.0])
    a (a 0.57, b 0.43)
      vote  class  row  distance  columns
      0.59  a        0         1  x1 1.00, x0 0.00
      0.41  b        1     4.243  x0 0.50, x1 0.50
    """

    prediction: object
    probabilities: Floats
    classes: AnyArray
    rows: Ints
    labels: AnyArray
    distances: Floats
    votes: Floats
    columns: Floats
    names: AnyArray

    def __repr__(self) -> str:
        shares = (f"{c} {p:.2f}" for c, p in zip(self.classes, self.probabilities, strict=True))
        lines = [f"{self.prediction} ({', '.join(shares)})"]
        width = max(5, *(len(str(label)) for label in self.labels[:PRINTED_ROWS]))
        lines.append(f"  vote  {'class':{width}}  row  distance  columns")
        closer = False
        for at in range(min(len(self.rows), PRINTED_ROWS)):
            largest = np.argsort(-np.abs(self.columns[at]), kind="stable")[:PRINTED_COLUMNS]
            closer |= bool((self.columns[at, largest] <= -0.005).any())  # printed as -0.01 or less
            made = ", ".join(f"{self.names[j]} {self.columns[at, j]:.2f}" for j in largest)
            lines.append(
                f"  {self.votes[at]:.2f}  {self.labels[at]!s:{width}}  {self.rows[at]:3}  "
                f"{self.distances[at]:8.4g}  {made}"
            )
        if len(self.rows) > PRINTED_ROWS:
            lines.append(f"  and {len(self.rows) - PRINTED_ROWS} more voters")
        if closer:
            lines.append("  (a column with a negative share brings the two rows closer)")
        return "\n".join(lines)
