"""Why a row is predicted as it is: which fitted rows voted or pulled, and which columns did it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, cast

import numpy as np

from cayleyklein._typing import AnyArray, Bools, Floats, Ints
from cayleyklein._validation import require
from cayleyklein.neighbors.search import SearchIndex, slices
from cayleyklein.parts.base import AnyQueries, TableRows, numbers_of
from cayleyklein.parts.votes import FittedVotes, candidates_of
from cayleyklein.prediction.sums import Sum

# values (…, d), one for each number of a row, → names of the columns of X, and their sums
ByColumn = Callable[[Floats], tuple[AnyArray, Floats]]

TOLD_FROM = 0.95  # strangeness of rows that are told to be strange


@dataclass(frozen=True, repr=False)
class Explanation:
    """Explanation of a prediction by the votes of its neighbours.

    Attributes
    ----------
    prediction : object
        The class with the largest probability, or the mean of numbers.
    probabilities : ndarray of shape (n_classes,)
        In the order of `classes`.
    classes : ndarray of shape (n_classes,)
        Empty for numbers.
    rows : ndarray of shape (k,)
        The fitted rows that voted, those with the largest votes first.
    labels : ndarray of shape (k,)
        Their classes or numbers; the mean number of equal rows, which vote as one.
    distances : ndarray of shape (k,)
        Their distances from the row.
    votes : ndarray of shape (k,)
        Their shares of all votes, with sum 1.
    columns : ndarray of shape (k, d)
        Signed share of each column in the distance to each voter, see ``metric_.column_shares``:
        a column with a negative share brings the two rows closer. NaN where the distance is
        infinite.
    names : ndarray of shape (d,)
        Names of the columns.
    strangeness : float
        How unlike the fitted rows the row is, see ``strangeness`` of the estimator; NaN where that
        is not known.

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
    strangeness: float = np.nan

    def __repr__(self) -> str:
        shares = (f"{c} {p:.2f}" for c, p in zip(self.classes, self.probabilities, strict=True))
        lines, what = [f"{self.prediction} ({', '.join(shares)})"], "class"
        printed = 10  # voters
        labels = [str(label) for label in self.labels[:printed]]
        if not len(self.classes):
            first, *labels = (
                ", ".join(f"{number:.6g}" for number in np.ravel(found))
                for found in (self.prediction, *self.labels[:printed])
            )
            lines, what = [first], "value"
        width = max(5, *map(len, labels))
        lines.append(f"  vote  {what:{width}}  row  distance  columns")
        closer = False
        for at in range(len(labels)):
            largest = np.argsort(-np.abs(self.columns[at]), kind="stable")[:5]
            closer |= bool((self.columns[at, largest] <= -0.005).any())  # printed as -0.01 or less
            made = ", ".join(f"{self.names[j]} {self.columns[at, j]:.2f}" for j in largest)
            lines.append(
                f"  {self.votes[at]:.2f}  {labels[at]:{width}}  {self.rows[at]:3}  "
                f"{self.distances[at]:8.4g}  {made}"
            )
        if len(self.rows) > printed:
            lines.append(f"  and {len(self.rows) - printed} more voters")
        if self.strangeness > TOLD_FROM:
            lines.append(f"  strange: unlike the fitted rows ({self.strangeness:.3f})")
        if closer:
            lines.append("  (a column with a negative share brings the two rows closer)")
        return "\n".join(lines)


@dataclass(frozen=True, repr=False)
class KernelExplanation:
    """Explanation of a prediction by the rows, parts and columns that count for and against it.

    For a class, effects are in units of its score: log odds against the mean of the other classes.
    For a number they are in units of the target.

    Attributes
    ----------
    prediction : object
        The predicted class or number.
    unit : str
        What effects are added up to: "log odds of …", or the target.
    rows : ndarray of shape (p,)
        Numbers of the fitted rows, those with the largest effects first. Of equal rows the first
        one stands for all. Where the rows are many, those in the leaves of the explained row, or
        the landmarks.
    effects : ndarray of shape (p,)
        What each of these rows adds, through the kernel machines: positive for, negative against.
    labels : ndarray of shape (p,)
        Their classes, or targets.
    parts : dict of float
        What each part adds: "metric" and "columns" (kernel machines), "neighbors" and "plain"
        (votes), "rules" (trees), and estimators by their names.
    columns : ndarray of shape (d,)
        What each column adds: the prediction minus its mean where the column has the values of
        other fitted rows.
    names : ndarray of shape (d,)
        Names of the columns.
    probabilities : ndarray of shape (n_classes,), or None
        In the order of `classes_`.
    base : float
        The mean of what the parts add up to where all columns have the values of other rows.
    together : float
        What no single column adds: the base, the columns and this add up to the parts.
    strangeness : float
        How unlike the fitted rows the row is, see ``strangeness`` of the estimator; NaN where that
        is not known.

    Examples
    --------
    >>> from cayleyklein import CurvedKernelClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = CurvedKernelClassifier(random_state=0).fit(X[1:], y[1:])
    >>> why = model.explain(X[0])
    >>> int(why.prediction), bool(why.effects[0] > 0), list(why.parts) == list(model.part_weights_)
    (0, True, True)
    """

    prediction: object
    unit: str
    rows: Ints
    effects: Floats
    labels: AnyArray
    parts: dict[str, float]
    columns: Floats
    names: AnyArray
    probabilities: Floats | None = None
    base: float = np.nan
    together: float = np.nan
    strangeness: float = np.nan

    def __repr__(self) -> str:
        sure = "" if self.probabilities is None else f" ({self.probabilities.max():.2f})"
        lines = [f"{self.prediction}{sure}; effects on {self.unit}"]
        if self.strangeness > TOLD_FROM:
            lines.append(f"  strange  unlike the fitted rows ({self.strangeness:.3f})")
        lines.append("  parts    " + ", ".join(f"{n} {v:+.2f}" for n, v in self.parts.items()))
        largest = np.argsort(-np.abs(self.columns), kind="stable")[:5]
        told = (f"{self.names[j]} {self.columns[j]:+.2f}" for j in largest)
        lines.append("  columns  " + ", ".join(told))
        for word, sign in (("for", 1), ("against", -1)):
            some = np.flatnonzero(sign * self.effects > 0)[:5]
            told = (f"row {self.rows[i]} ({self.labels[i]!s}) {self.effects[i]:+.2f}" for i in some)
            lines.append(f"  {word:7}  " + (", ".join(told) or "no row"))
        return "\n".join(lines)


def explain_votes(
    votes: FittedVotes,
    queries: Floats,
    n_neighbors: int,
    by_column: ByColumn,
    *,
    encoded: bool,
    classes: AnyArray | None,
    single_target: bool,
    answers: Floats,
    strangeness: Floats,
) -> list[Explanation]:
    """Explain what the nearest rows say of queries.

    If `encoded`, several numbers are one column of X, in which their signs cancel. `classes` are
    None for numbers, of which a `single_target` is a scalar. `answers` (m, t) are probabilities or
    numbers.
    """
    index = cast(SearchIndex, votes.index)
    found = index.nearest(queries, candidates_of(votes.table.weights, n_neighbors), votes.n_jobs)
    ballots = votes.table.ballots(found, n_neighbors)
    fitted = cast(Floats, votes.all_rows)
    explained = []
    for at, query in enumerate(queries):
        mine = np.flatnonzero((ballots.queries == at) & (ballots.votes > 0))
        mine = mine[np.argsort(-ballots.votes[mine], kind="stable")]
        rows = ballots.rows[mine]
        far = found.distances[at, ballots.positions[mine]]
        columns = np.full((len(mine), len(query)), np.nan)
        finite = np.isfinite(far)
        if finite.any():
            left, right = np.broadcast_arrays(query, fitted[rows[finite]])
            columns[finite] = votes.metric.column_shares(left, right)
        names, columns = by_column(columns)
        if encoded:
            totals = np.abs(columns).sum(axis=-1, keepdims=True)
            columns = columns / np.where(totals > 0, totals, 1.0)
        prediction: object
        labels: AnyArray = ballots.labels[mine]
        probabilities = np.empty(0)
        if classes is not None:
            prediction = classes[answers[at].argmax()]
            probabilities = answers[at]
            labels = classes[labels]
        else:
            prediction = answers[at, 0] if single_target else answers[at]
            labels = labels[:, 0] if single_target else labels
        explained.append(
            Explanation(
                prediction=prediction,
                probabilities=probabilities,
                classes=np.empty(0) if classes is None else classes,
                rows=rows,
                labels=labels,
                distances=far,
                votes=ballots.votes[mine] / ballots.votes[mine].sum(),
                columns=columns,
                names=names,
                strangeness=float(strangeness[at]),
            )
        )
    return explained


class Told(NamedTuple):
    """What was predicted for a row, to be explained.

    Attributes
    ----------
    prediction : object
    unit : str
    direction : ndarray of shape (t,)
        The score that is explained is the sum's product with it.
    probabilities : ndarray of shape (n_classes,), or None
    strangeness : float
    """

    prediction: object
    unit: str
    direction: Floats
    probabilities: Floats | None
    strangeness: float


def explain_sum(
    found: Sum,
    rows: AnyQueries,
    told: list[Told],
    reference: AnyQueries,
    by_column: ByColumn,
    labels: AnyArray,
) -> list[KernelExplanation]:
    """Explain the products of a sum (m, t) at rows with directions.

    Machines are linear in the targets of the fitted rows: what each adds is exact. What a column
    adds is the value minus its mean where the column has the values of reference rows.
    """
    names, groups = columns_of(rows, by_column)
    usual = found.total(reference).mean(axis=0)
    scores = found.scores(rows)
    numbers = numbers_of(found.seen(rows))
    n_others = len(reference)
    explained = []
    at_once = 16384 // (n_others * max(1, len(names)))  # of so many rows that are predicted
    for some in slices(len(told), max(1, at_once)):
        at = np.arange(some.start, some.stop)
        same = taken(rows, np.repeat(at, n_others))
        others = taken(reference, np.tile(np.arange(n_others), len(at)))
        total = found.total(with_columns_of(same, others, groups, names))
        means = total.reshape(len(names), len(at), n_others, -1).mean(axis=2)
        for row in at:
            one = told[row]
            parts = {
                name: weight * float(scores[name][row] @ one.direction)
                for name, weight in found.weights.items()
            }
            whole = sum(parts.values())
            columns = whole - means[:, row - some.start] @ one.direction
            base = float(usual @ one.direction)
            fitted, effects = row_effects(found, numbers[row], one.direction)
            explained.append(
                KernelExplanation(
                    prediction=one.prediction,
                    unit=one.unit,
                    rows=fitted,
                    effects=effects,
                    labels=labels[fitted],
                    parts=parts,
                    columns=columns,
                    names=names,
                    probabilities=one.probabilities,
                    base=base,
                    together=float(whole - base - columns.sum()),
                    strangeness=one.strangeness,
                )
            )
    return explained


def columns_of(rows: AnyQueries, by_column: ByColumn) -> tuple[AnyArray, Bools]:
    """Return the names of the columns (c,), and which numbers of a row each one makes (c, d).

    Columns of a table that become no numbers, but which parts that take tables see, come last.
    """
    names, groups = by_column(np.eye(numbers_of(rows).shape[1]))
    if not isinstance(rows, TableRows):
        return names, groups.T > 0
    more = np.array([name for name in rows.table.columns if name not in set(names)], dtype=object)
    none = np.zeros((len(more), groups.shape[0]), dtype=bool)
    return np.concatenate([names, more]), np.vstack([groups.T > 0, none])


def with_columns_of(
    rows: AnyQueries, others: AnyQueries, groups: Bools, names: AnyArray
) -> AnyQueries:
    """Return rows (c * m), m for each column, which has the values of as many other rows."""
    X, Y = numbers_of(rows), numbers_of(others)
    changed: Floats = np.where(groups[:, None], Y, X).reshape(-1, X.shape[1])
    if not isinstance(rows, TableRows):
        return changed
    pandas = require("pandas", "cli")
    both = pandas.concat([rows.table, cast(TableRows, others).table])
    m = len(rows)
    usual = np.tile(np.arange(m), len(names))
    cells = {}
    for name in both.columns:
        at = usual.copy()
        for column in np.flatnonzero(names == name):
            at[column * m : (column + 1) * m] += m
        cells[name] = both[name].iloc[at].reset_index(drop=True)
    return TableRows(changed, pandas.DataFrame(cells))


def taken(rows: AnyQueries, at: Ints) -> AnyQueries:
    """Return rows by their numbers."""
    if isinstance(rows, TableRows):
        return TableRows(rows.X[at], rows.table.iloc[at])
    return np.asarray(rows)[at]


def row_effects(found: Sum, query: Floats, direction: Floats) -> tuple[Ints, Floats]:
    """Return fitted rows and what each adds to a sum at a row (d,), largest effects first."""
    effects: dict[int, float] = {}
    for name, weight in found.weights.items():
        known = found.parts[name].row_effects(query)
        if known is None:
            continue
        added = weight * (known[1] @ direction)
        for number, effect in zip(known[0].tolist(), added.tolist(), strict=True):
            effects[number] = effects.get(number, 0.0) + effect
    rows = np.array(list(effects), dtype=np.intp)
    values = np.array(list(effects.values()))
    order = np.argsort(-np.abs(values), kind="stable")
    return rows[order], values[order]


def shares_of_columns(found: Sum, rows: AnyQueries, by_column: ByColumn) -> Floats:
    """Return the share (d,) of each number of a row in what a sum says; the total is 1.

    It is the mean squared change of the scores where the column of X has the value of another row.
    The share of a column is given to its first number.
    """
    said = found.total(rows)
    m = len(said)
    others = taken(rows, np.roll(np.arange(m), m // 2))
    names, groups = columns_of(rows, by_column)
    changes: list[float] = []
    # about 4,096 rows are predicted together
    for some in np.array_split(np.arange(len(names)), -(-m * len(names) // 4096)):
        changed = with_columns_of(rows, others, groups[some], names[some])
        away = found.total(changed).reshape(len(some), *said.shape) - said
        changes.extend((away**2).mean(axis=(1, 2)))
    shares = np.zeros(groups.shape[1])
    made = groups.any(axis=1)
    shares[groups[made].argmax(axis=1)] = np.array(changes)[made]
    return shares / (shares.sum() or 1.0)
